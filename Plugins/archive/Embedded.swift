import CArchive
import StageKit

/// A RAR, 7z or tar behind other bytes, as in a program that unpacks itself: programs look for one there, and libarchive does not.
enum Embedded {
  /// Bytes in which one is looked for. Programs look in 1 MiB to 8 MiB.
  private static let reach = 8 << 20
  /// Bytes of a header whose sum is taken: those that begin an archive are shorter.
  private static let longestHeader = 512
  private static let overlap = longestHeader + 64

  /// Where the first begins; `nil`: there is none. What merely has the same first bytes has not the sum of a header behind them.
  static func offset(in attachment: Attachment) throws(Outcome) -> Int64? {
    var place = 0
    let end = min(reach, Int(attachment.size))
    while place < end, !attachment.isCancelled {
      let piece = try attachment.read(pieceSize, at: Int64(place))
      if piece.isEmpty { return nil }
      let isLast = place + piece.count >= Int(attachment.size)
      let count = isLast ? piece.count : max(piece.count - overlap, 1)
      if let found = piece.withUnsafeBytes({ first(in: $0, at: place, before: count) }) {
        return Int64(place + found)
      }
      place += count
    }
    return nil
  }

  private static let pieceSize = 1 << 20

  private static func first(in bytes: UnsafeRawBufferPointer, at place: Int, before end: Int) -> Int? {
    var found = [
      first(of: sevenZip, in: bytes, before: end, isSevenZip), first(of: rar, in: bytes, before: end, isRAR),
    ].compactMap { $0 }.min()
    // GNU's tar goes on from block to block until it finds a header.
    for start in stride(from: (512 - place % 512) % 512, to: min(end, found ?? end), by: 512)
    where isTar(bytes, start) {
      found = start
      break
    }
    return found
  }

  private static func first(
    of signature: [UInt8], in bytes: UnsafeRawBufferPointer, before end: Int,
    _ isHeader: (UnsafeRawBufferPointer, Int) -> Bool
  ) -> Int? {
    guard let base = bytes.baseAddress else { return nil }
    var index = 0
    while index < end,
      let found = sluice_find(base + index, bytes.count - index, signature, signature.count)
    {
      index = base.distance(to: found)
      if index < end, isHeader(bytes, index) { return index }
      index += 1
    }
    return nil
  }

  private static let sevenZip: [UInt8] = [0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C]
  private static let rar: [UInt8] = [0x52, 0x61, 0x72, 0x21, 0x1A, 0x07]

  private static func isTar(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> Bool {
    bytes.count - start >= 512 && bytes[(start + 257)..<(start + 262)].elementsEqual("ustar".utf8)
      && TarWalk.isHeader([UInt8](bytes[start..<(start + 512)]))
  }

  /// 7zFormat.txt: signature, version, the sum of the 20 bytes behind it.
  private static func isSevenZip(_ bytes: UnsafeRawBufferPointer, _ index: Int) -> Bool {
    guard bytes.count - index >= 32 else { return false }
    return CRC32.sum(of: bytes[(index + 12)..<(index + 32)]) == number(bytes, index + 8, 4)
  }

  /// The RAR technote: signature; in RAR 5 a sum of 4 bytes and a size before what it is the sum of, earlier one of 2 bytes before the
  /// type 0x73.
  private static func isRAR(_ bytes: UnsafeRawBufferPointer, _ index: Int) -> Bool {
    let rest = bytes.count - index
    if rest >= 20, bytes[index + 6] == 0 {
      let size = Int(number(bytes, index + 12, 2))
      guard bytes[index + 9] == 0x73, 7...longestHeader ~= size, rest >= 7 + size else { return false }
      let sum = CRC32.sum(of: bytes[(index + 9)..<(index + 7 + size)])
      return sum & 0xFFFF == number(bytes, index + 7, 2)
    }
    guard rest >= 16, bytes[index + 6] == 1, bytes[index + 7] == 0 else { return false }
    // Seven bits a byte, the lowest first.
    var (size, length) = (0, 0)
    repeat {
      size |= Int(bytes[index + 12 + length] & 0x7F) << (7 * length)
      length += 1
    } while bytes[index + 11 + length] & 0x80 != 0 && length < 3
    guard 2...longestHeader ~= size, rest >= 12 + length + size else { return false }
    let sum = CRC32.sum(of: bytes[(index + 12)..<(index + 12 + length + size)])
    return sum == number(bytes, index + 8, 4)
  }

  private static func number(_ bytes: UnsafeRawBufferPointer, _ index: Int, _ count: Int) -> UInt32 {
    bytes[index..<(index + count)].reversed().reduce(0) { $0 << 8 | UInt32($1) }
  }
}

/// The sum of ITU-T V.42, bit by bit: headers are short.
private enum CRC32 {
  static func sum(of bytes: Slice<UnsafeRawBufferPointer>) -> UInt32 {
    var sum = UInt32.max
    for byte in bytes {
      sum ^= UInt32(byte)
      for _ in 0..<8 { sum = (sum >> 1) ^ (sum & 1 == 1 ? 0xEDB8_8320 : 0) }
    }
    return ~sum
  }
}
