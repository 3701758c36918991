import CGMime

/// A field of a part's header as it lies in the content: GMime leaves out what other programs may not, such as what is behind a NUL.
struct Field {
  let name: String
  /// With the ends of its lines.
  let value: [UInt8]

  func isCalled(_ name: String) -> Bool { g_ascii_strcasecmp(self.name, name) == 0 }

  /// Those of a part, in order.
  ///
  /// - Parameter content: what the part was parsed from.
  static func all(
    of part: UnsafeMutablePointer<GMimeObject>, in content: UnsafeRawBufferPointer
  ) -> [Field] {
    let headers = g_mime_object_get_header_list(part)
    return (0..<g_mime_header_list_get_count(headers)).compactMap { index in
      guard let header = g_mime_header_list_get_header_at(headers, index),
        let name = text(g_mime_header_get_name(header))
      else { return nil }
      let offset = Int(g_mime_header_get_offset(header))
      let value =
        0..<content.count ~= offset
        ? value(at: offset, content) : Array((text(g_mime_header_get_raw_value(header)) ?? "").utf8)
      return Field(name: name, value: value)
    }
  }

  private static func value(at start: Int, _ content: UnsafeRawBufferPointer) -> [UInt8] {
    var lines = Lines(content, from: start)
    var end = start
    while let line = lines.next() {
      end = line.endIndex
      guard lines.position < content.count, [0x20, 0x09].contains(content[lines.position]) else { break }
    }
    return Array(content[start..<end].drop { $0 != 0x3A }.dropFirst())
  }
}
