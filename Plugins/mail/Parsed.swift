import CGMime
import StageKit

/// A mail as GMime reads it. The bytes must outlive it: parts are read from them when they are asked for.
final class Parsed {
  let message: UnsafeMutablePointer<GMimeMessage>

  private let stream: UnsafeMutablePointer<GMimeStream>
  private let array: UnsafeMutablePointer<GByteArray>

  /// Once for a worker, before the sandbox closes.
  static func prepare() { g_mime_init() }

  /// `nil`: nothing in it is the header of a mail.
  init?(_ bytes: UnsafeRawBufferPointer) {
    // GLib does not count further, and a mail of 4 GB is none.
    guard let base = bytes.baseAddress, let count = guint(exactly: bytes.count) else { return nil }
    array = .allocate(capacity: 1)
    array.initialize(
      to: GByteArray(
        data: UnsafeMutablePointer(mutating: base.assumingMemoryBound(to: guint8.self)), len: count))
    stream = g_mime_stream_mem_new_with_byte_array(array)
    // The bytes are the caller's, and the parser only reads them.
    g_mime_stream_mem_set_owner(sluice_memory_stream(stream), 0)
    let parser = g_mime_parser_new_with_stream(stream)
    g_mime_parser_set_persist_stream(parser, 1)
    let message = g_mime_parser_construct_message(parser, nil)
    g_object_unref(parser)
    guard let message else {
      g_object_unref(stream)
      array.deallocate()
      return nil
    }
    self.message = message
  }

  deinit {
    g_object_unref(message)
    g_object_unref(stream)
    array.deallocate()
  }

  /// What the mail consists of.
  var root: UnsafeMutablePointer<GMimeObject>? { g_mime_message_get_mime_part(message) }
}

/// A text of GMime's own.
func text(_ text: UnsafePointer<CChar>?) -> String? { text.map { String(cString: $0) } }

/// A text that GMime made for the caller.
func taken(_ text: UnsafeMutablePointer<CChar>?) -> String? {
  defer { g_free(text) }
  return text.map { String(cString: $0) }
}
