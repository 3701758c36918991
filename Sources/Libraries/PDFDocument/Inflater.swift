import CPoppler
import StageKit

/// Unpacks zlib data (RFC 1950) a piece at a time, with GLib, which brings zlib.
package final class Inflater {
  /// How many bytes of the piece before are repeated, so that a short word is never cut in two.
  package static let overlap = 2

  private let converter: OpaquePointer
  private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 32 << 10, alignment: 16)

  /// Uses GLib's converter once with good data and once with bad, so that all that GLib prepares for either is there
  /// before the sandbox closes.
  package init() {
    converter = g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_ZLIB)
    let empty: [UInt8] = [0x78, 0x9C, 0x03, 0x00, 0x00, 0x00, 0x00, 0x01]
    for count in [empty.count, 1] {
      var budget = 100
      empty.withUnsafeBytes { bytes in
        _ = unpack(UnsafeRawBufferPointer(rebasing: bytes[..<count]), &budget) { _ in true }
      }
    }
  }

  deinit {
    g_object_unref(UnsafeMutableRawPointer(converter))
    room.deallocate()
  }

  /// Hands over what the data unpack to. What follows their end is not looked at.
  ///
  /// Returns whether they were valid to their end and `body` accepted each piece. `budget` is reduced by the bytes that
  /// were read and written; once it is used up, the answer is false.
  package func unpack(
    _ packed: UnsafeRawBufferPointer, _ budget: inout Int, _ body: (UnsafeRawBufferPointer) -> Bool
  ) -> Bool {
    g_converter_reset(converter)
    room[0] = UInt8(ascii: " ")
    room[1] = UInt8(ascii: " ")
    var rest = packed[...]
    while true {
      var read: gsize = 0
      var written: gsize = 0
      // In small pieces: data may be long and unpack to nothing.
      let piece = rest.prefix(32 << 10)
      let result = g_converter_convert(
        converter, UnsafeRawBufferPointer(rebasing: piece).baseAddress, gsize(piece.count),
        room.baseAddress.map { $0 + Self.overlap }, gsize(room.count - Self.overlap), G_CONVERTER_NO_FLAGS,
        &read, &written, nil)
      guard result == G_CONVERTER_CONVERTED || result == G_CONVERTER_FINISHED else { return false }
      budget -= Int(read) + Int(written)
      let count = Int(written) + Self.overlap
      guard budget >= 0, body(UnsafeRawBufferPointer(rebasing: room[..<count])) else { return false }
      if result == G_CONVERTER_FINISHED { return true }
      room[0] = room[count - 2]
      room[1] = room[count - 1]
      rest = rest.dropFirst(Int(read))
    }
  }
}
