import CGMime
import Glibc
import StageKit

/// What a part holds, without its transfer encoding (base64, quoted-printable, uuencode); none makes it larger.
final class DecodedContent {
  let bytes: UnsafeRawBufferPointer
  /// Whether they lie in the mail as they are.
  let isPlain: Bool
  private let stream: UnsafeMutablePointer<GMimeStream>

  init(_ part: UnsafeMutablePointer<GMimePart>) throws(Outcome) {
    stream = g_mime_stream_mem_new()
    var end: [UInt8]? = []
    var isPlain = true
    if let wrapper = g_mime_part_get_content(part) {
      let encoding = g_mime_data_wrapper_get_encoding(wrapper)
      isPlain = Self.plain.contains(encoding)
      if let fault = EncodedText.fault(of: Self.encoded(wrapper), encoding) {
        g_object_unref(stream)
        throw .reject("damaged", fault)
      }
      if encoding == GMIME_CONTENT_ENCODING_BASE64 {
        end = Base64.cutEnd(of: Self.encoded(wrapper))
      }
      if end != nil { g_mime_data_wrapper_write_to_stream(wrapper, stream) }
      if let end, !end.isEmpty { g_mime_stream_write(stream, end, end.count) }
    }
    let array = g_mime_stream_mem_get_byte_array(sluice_memory_stream(stream))
    bytes = UnsafeRawBufferPointer(start: array?.pointee.data, count: Int(array?.pointee.len ?? 0))
    self.isPlain = isPlain
    if end == nil { throw .reject("damaged", "base64 in it goes on behind its padding") }
  }

  private static let plain = [
    GMIME_CONTENT_ENCODING_DEFAULT, GMIME_CONTENT_ENCODING_7BIT, GMIME_CONTENT_ENCODING_8BIT,
    GMIME_CONTENT_ENCODING_BINARY,
  ]

  deinit {
    g_object_unref(stream)
  }

  /// A part of the bytes of the mail: nothing is copied.
  private static func encoded(_ wrapper: UnsafeMutablePointer<GMimeDataWrapper>) -> UnsafeRawBufferPointer {
    guard let stream = g_mime_data_wrapper_get_stream(wrapper),
      let array = g_mime_stream_mem_get_byte_array(sluice_memory_stream(stream))
    else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    let all = UnsafeRawBufferPointer(start: array.pointee.data, count: Int(array.pointee.len))
    let start = min(max(Int(stream.pointee.bound_start), 0), all.count)
    let end = stream.pointee.bound_end < 0 ? all.count : min(Int(stream.pointee.bound_end), all.count)
    return UnsafeRawBufferPointer(rebasing: all[start..<max(start, end)])
  }
}

/// What programs read in base64 (RFC 2045, section 6.8) and GMime does not.
enum Base64 {
  /// The last one or two bytes where the padding is missing: GMime leaves them out, and programs that show mails do not.
  ///
  /// `nil`: something lies behind the padding. GMime ends there, and some programs go on.
  static func cutEnd(of text: UnsafeRawBufferPointer) -> [UInt8]? {
    guard let base = text.baseAddress else { return [] }
    if let padding = memchr(base, 0x3D, text.count) {
      let behind = text[base.distance(to: UnsafeRawPointer(padding))...]
      return behind.allSatisfy { [0x3D, 0x20, 0x09, 0x0D, 0x0A].contains($0) } ? [] : nil
    }
    var count = 0
    var bits: UInt32 = 0
    for byte in text {
      guard let value = value(of: byte) else { continue }
      bits = bits << 6 | value
      count &+= 1
    }
    return switch count % 4 {
    case 2: [UInt8(truncatingIfNeeded: bits >> 4)]
    case 3: [UInt8(truncatingIfNeeded: bits >> 10), UInt8(truncatingIfNeeded: bits >> 2)]
    default: []
    }
  }

  private static func value(of letter: UInt8) -> UInt32? {
    switch letter {
    case 0x41...0x5A: UInt32(letter) - 0x41
    case 0x61...0x7A: UInt32(letter) - 0x61 + 26
    case 0x30...0x39: UInt32(letter) - 0x30 + 52
    case 0x2B: 62
    case 0x2F: 63
    default: nil
    }
  }
}
