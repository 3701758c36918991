/// A text of Outlook's, as it is kept compressed (MS-OXRTFCP).
struct CompressedRTF {
  /// As far as it is there.
  private(set) var text: [UInt8] = []

  /// What may be referred to before it has been read (section 2.1.2.1), where the first bytes are written behind it.
  private static let dictionary = Array(
    (#"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor MS Sans "#
      + #"SerifSymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0"# + "\r\n"
      + #"\par \pard\plain\f0\fs20\b\i\u\tab\tx"#).utf8)
  private static let room = 4096

  /// `nil`: it is none. The two sizes before it, compressed and not, are not heeded, as by programs that show more than they say.
  ///
  /// - Parameter limit: bytes of text that are written at most.
  init?(_ bytes: UnsafeRawBufferPointer, atMost limit: Int) {
    var fields = Fields(bytes)
    guard (try? fields.bytes(8)) != nil, let type = try? fields.number(UInt32.self),
      (try? fields.number(UInt32.self)) != nil, let rest = try? fields.bytes(fields.left)
    else { return nil }
    switch type {
    case 0x414C_454D: text = Array(rest.prefix(limit))
    case 0x7546_5A4C: unpack(rest, limit)
    default: return nil
    }
  }

  /// Before each eight items a byte says, lowest bit first, which is a byte and which a place and length of bytes before.
  private mutating func unpack(_ bytes: UnsafeRawBufferPointer, _ count: Int) {
    var window = Self.dictionary + [UInt8](repeating: 0, count: Self.room - Self.dictionary.count)
    var end = Self.dictionary.count
    var fields = Fields(bytes)
    func write(_ byte: UInt8) {
      text.append(byte)
      window[end] = byte
      end = (end + 1) % Self.room
    }
    while let control = try? fields.number(UInt8.self) {
      for bit in 0..<8 {
        if text.count >= count { return }
        if control >> bit & 1 == 0 {
          guard let byte = try? fields.number(UInt8.self) else { return }
          write(byte)
        } else {
          guard let item = try? UInt16(bigEndian: fields.number(UInt16.self)) else { return }
          let place = Int(item >> 4)
          // The place where the next byte is written marks the end.
          if place == end { return }
          for offset in 0..<min(Int(item & 0xF) + 2, count - text.count) {
            write(window[(place + offset) % Self.room])
          }
        }
      }
    }
  }
}
