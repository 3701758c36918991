import Charsets
import StageKit

/// The encoding of a text.
final class TextCharset {
  /// Bytes of a text that are looked at.
  private static let longest = 64 << 10

  private let detection = Detection(Converters(Detection.candidates))
  private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: longest, alignment: 16)

  deinit { room.deallocate() }

  /// A name of the Encoding Standard; `unknown`: it is not sure. `nil`: it is no text.
  func name(of attachment: Attachment, _ mediaType: String) throws(Outcome) -> String? {
    guard mediaType.hasPrefix("text/") else { return nil }
    var count = 0
    while count < room.count {
      let read = try attachment.read(
        into: UnsafeMutableRawBufferPointer(rebasing: room[count...]), at: Int64(count))
      if read == 0 { break }
      count += read
    }
    let found = detection.detect(
      UnsafeRawBufferPointer(rebasing: room[..<count]),
      declared: Charset.label(ofType: attachment.declaredType),
      isMarkup: ["text/html", "text/xml"].contains(mediaType), isCut: Int64(count) < attachment.size)
    return found?.charset.name ?? "unknown"
  }
}
