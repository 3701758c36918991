import StageKit

/// A reused buffer for the first bytes of a file.
final class Head {
  private let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: Polyglot.reach, alignment: 16)

  deinit {
    bytes.deallocate()
  }

  /// The beginning of the content. Valid until the next call.
  func read(_ attachment: Attachment) throws(Outcome) -> UnsafeRawBufferPointer {
    let count = try attachment.read(into: bytes, at: 0)
    return UnsafeRawBufferPointer(rebasing: bytes[..<count])
  }
}
