import CGMime
import Glibc

/// Converters to UTF-8. glibc loads one from a file when it is first wanted, which the sandbox would not allow, and GMime asks for
/// any that a header names. So all are loaded before, and stay: 10 MB, a tenth of a second.
final class Charsets {
  private let loaded: [iconv_t]

  init() {
    loaded = Self.names.split(separator: " ").compactMap { Self.converter(String($0)) }
  }

  deinit {
    for converter in loaded { iconv_close(converter) }
  }

  private static func converter(_ charset: String) -> iconv_t? {
    guard let converter = iconv_open("UTF-8", charset), Int(bitPattern: converter) != -1 else { return nil }
    return converter
  }

  /// A text as UTF-8; what is wrong in it becomes U+FFFD. `nil`: the charset is not known.
  ///
  /// Without a label, and for the labels that programs write without a look at the text, it is UTF-8 where it can be, and
  /// Windows-1252 otherwise, in which each byte has a meaning.
  func utf8(_ bytes: UnsafeRawBufferPointer, _ label: String?) -> [UInt8]? {
    let label = label?.lowercased() ?? "us-ascii"
    if Self.unspecific.contains(label) {
      if String(validating: bytes, as: UTF8.self) != nil { return Array(bytes) }
      return convert(bytes, "CP1252")
    }
    // A slash begins options of iconv_open(3).
    guard label.utf8.count <= 40, !label.utf8.contains(UInt8(ascii: "/")) else { return nil }
    return convert(bytes, String(cString: g_mime_charset_iconv_name(label)))
  }

  private static let unspecific: Set = [
    "us-ascii", "ascii", "ansi_x3.4-1968", "utf-8", "utf8", "iso-8859-1", "iso8859-1", "latin1",
    "unknown-8bit", "8bit",
    "default", "x-unknown", "unknown", "binary", "",
  ]

  private func convert(_ bytes: UnsafeRawBufferPointer, _ charset: String) -> [UInt8]? {
    guard let converter = Self.converter(charset) else { return nil }
    defer { iconv_close(converter) }
    var output: [UInt8] = []
    output.reserveCapacity(bytes.count + bytes.count / 2)
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 1)
    defer { room.deallocate() }
    var source = UnsafeMutableRawPointer(mutating: bytes.baseAddress)?.assumingMemoryBound(to: CChar.self)
    var left = bytes.count
    while true {
      var target = room.baseAddress?.assumingMemoryBound(to: CChar.self)
      var free = room.count
      let before = left
      let result = iconv(converter, &source, &left, &target, &free)
      let failure = errno
      output.append(contentsOf: UnsafeRawBufferPointer(rebasing: room[..<(room.count - free)]))
      if result != -1 || left == 0 { return output }
      if failure == E2BIG && (free < room.count || left < before) { continue }
      // Not a character, or half of one at the end.
      output.append(contentsOf: "\u{FFFD}".utf8)
      source = source.map { $0 + 1 }
      left -= 1
    }
  }
}
