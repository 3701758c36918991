import CZlib
import StageKit

/// The data of an entry of a ZIP, piece by piece.
enum ZipData {
  /// Hands the data to `body`, until that answers `false`, in pieces of up to 32 KiB and no more than `limit` bytes in all.
  /// Returns `false` where the data are longer, damaged, encrypted, or packed in another way than Office does.
  static func read(
    _ entry: ZipDirectory.Entry, _ attachment: Attachment, limit: Int,
    _ body: (UnsafeRawBufferPointer) -> Bool
  ) throws(Outcome) -> Bool {
    guard !entry.isEncrypted, let start = try ZipDirectory.data(of: entry, attachment) else { return false }
    switch entry.method {
    case 0: return try copy(start, entry.compressedSize, attachment, limit, body)
    case 8: return try inflate(start, entry.compressedSize, attachment, limit, body)
    default: return false
    }
  }

  private static let piece = 32 << 10

  private static func copy(
    _ start: Int64, _ size: Int64, _ attachment: Attachment, _ limit: Int,
    _ body: (UnsafeRawBufferPointer) -> Bool
  ) throws(Outcome) -> Bool {
    var done: Int64 = 0
    while done < size {
      if done >= limit { return false }
      let bytes = try attachment.read(Int(min(size - done, Int64(piece))), at: start + done)
      if bytes.isEmpty { return false }
      done += Int64(bytes.count)
      if !bytes.withUnsafeBytes(body) { return true }
    }
    return true
  }

  private static func inflate(
    _ start: Int64, _ size: Int64, _ attachment: Attachment, _ limit: Int,
    _ body: (UnsafeRawBufferPointer) -> Bool
  ) throws(Outcome) -> Bool {
    var stream = z_stream()
    guard sluice_inflate_begin(&stream) == Z_OK else {
      throw .fail("out-of-memory", "there is no memory to unpack a part of the content")
    }
    defer { inflateEnd(&stream) }
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: piece, alignment: 16)
    defer { room.deallocate() }
    var (taken, given): (Int64, Int) = (0, 0)
    while taken < size {
      var packed = try attachment.read(Int(min(size - taken, Int64(piece))), at: start + taken)
      if packed.isEmpty { return false }
      taken += Int64(packed.count)
      let answer = packed.withUnsafeMutableBufferPointer { input -> Bool? in
        stream.next_in = input.baseAddress
        stream.avail_in = UInt32(input.count)
        repeat {
          stream.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
          stream.avail_out = UInt32(room.count)
          let status = CZlib.inflate(&stream, Z_NO_FLUSH)
          let count = room.count - Int(stream.avail_out)
          given += count
          if given > limit { return false }
          if count > 0, !body(UnsafeRawBufferPointer(rebasing: room[..<count])) { return true }
          if status == Z_STREAM_END { return true }
          if status != Z_OK, status != Z_BUF_ERROR { return false }
        } while stream.avail_out == 0
        return nil
      }
      if let answer { return answer }
    }
    return false
  }
}
