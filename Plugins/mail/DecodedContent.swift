import CGMime

/// What a part holds, without its transfer encoding (base64, quoted-printable, uuencode); none makes it larger.
final class DecodedContent {
  let bytes: UnsafeRawBufferPointer
  private let stream: UnsafeMutablePointer<GMimeStream>

  init(_ part: UnsafeMutablePointer<GMimePart>) {
    stream = g_mime_stream_mem_new()
    if let wrapper = g_mime_part_get_content(part) { g_mime_data_wrapper_write_to_stream(wrapper, stream) }
    let array = g_mime_stream_mem_get_byte_array(sluice_memory_stream(stream))
    bytes = UnsafeRawBufferPointer(start: array?.pointee.data, count: Int(array?.pointee.len ?? 0))
  }

  deinit {
    g_object_unref(stream)
  }
}
