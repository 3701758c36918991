import StageKit

/// Reads the content byte by byte, from a buffer that is reused.
final class ByteReader: IteratorProtocol {
  /// Why `next` ended before the content did.
  private(set) var failure: Outcome?

  private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
  private var attachment: Attachment?
  private var offset: Int64 = 0
  private var end: Int64 = 0
  private var position = 0
  private var count = 0

  deinit {
    room.deallocate()
  }

  /// Begins with the byte at `range.lowerBound`.
  func start(_ attachment: Attachment, _ range: Range<Int64>) {
    self.attachment = attachment
    failure = nil
    offset = range.lowerBound
    end = range.upperBound
    position = 0
    count = 0
  }

  func next() -> UInt8? {
    if position == count && !fill() { return nil }
    defer { position += 1 }
    return room[position]
  }

  private func fill() -> Bool {
    guard let attachment, offset < end else { return false }
    let wanted = Int(min(Int64(room.count), end - offset))
    do throws(Outcome) {
      count = try attachment.read(into: UnsafeMutableRawBufferPointer(rebasing: room[..<wanted]), at: offset)
      if count == 0 { throw .retry("source-changed", "the content ends at byte \(offset), before \(end)") }
    } catch {
      failure = error
      count = 0
    }
    position = 0
    offset += Int64(count)
    return count > 0
  }
}
