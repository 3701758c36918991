import CGMime
import StageKit

/// How a part says that it is encoded. Programs differ in what they make of a name that is not quite one: what one shows as it
/// is, another decodes.
enum TransferEncoding {
  /// Those of RFC 2045, section 6, two that programs write in their stead, and the names of uuencode that GMime decodes.
  private static let known: Set = [
    "7bit", "8bit", "7-bit", "8-bit", "binary", "base64", "quoted-printable", "uuencode", "x-uuencode",
    "x-uue",
  ]
  private static let field = "Content-Transfer-Encoding"

  /// - Parameter content: what the part was parsed from.
  static func check(
    _ part: UnsafeMutablePointer<GMimeObject>, in content: UnsafeRawBufferPointer
  ) throws(Outcome) {
    let headers = g_mime_object_get_header_list(part)
    for index in 0..<g_mime_header_list_get_count(headers) {
      guard let header = g_mime_header_list_get_header_at(headers, index),
        g_ascii_strcasecmp(g_mime_header_get_name(header), field) == 0
      else { continue }
      let offset = Int(g_mime_header_get_offset(header))
      let value =
        0..<content.count ~= offset
        ? trimmed(value(ofFieldAt: offset, content))
        : trimmed(Array((text(g_mime_header_get_raw_value(header)) ?? "").utf8)[...])
      if value.isEmpty || known.contains(value.lowercased()) { continue }
      throw .reject(
        "damaged",
        "a part of it is encoded in a way that not all programs know: \(plainText(value, limit: 100))")
    }
  }

  /// As it lies there: GMime leaves out what other programs may not, such as what is behind a NUL.
  static func value(
    ofFieldAt start: Int, _ content: UnsafeRawBufferPointer
  ) -> Slice<UnsafeRawBufferPointer> {
    var lines = Lines(content, from: start)
    var end = start
    while let line = lines.next() {
      end = line.endIndex
      guard lines.position < content.count, [0x20, 0x09].contains(content[lines.position]) else { break }
    }
    return content[start..<end].drop { $0 != 0x3A }.dropFirst()
  }

  private static func trimmed<Bytes: BidirectionalCollection<UInt8>>(_ value: Bytes) -> String
  where Bytes.SubSequence == Bytes {
    let space: [UInt8] = [0x20, 0x09, 0x0D, 0x0A]
    var value = value.drop(while: space.contains)
    while let last = value.last, space.contains(last) { value = value.dropLast() }
    // No name is as long, and the sentence cuts it.
    return String(decoding: value.prefix(200), as: UTF8.self)
  }
}
