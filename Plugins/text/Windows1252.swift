/// Windows-1252, the encoding of most text that is labelled Latin-1 (WHATWG Encoding Standard, index
/// windows-1252).
enum Windows1252 {
  static func scalar(_ byte: UInt8) -> Unicode.Scalar {
    0x80...0x9F ~= byte ? scalars[Int(byte) - 0x80] : Unicode.Scalar(byte)
  }

  /// The characters from 0x80 to 0x9F. The five unassigned bytes stay control characters.
  private static let scalars: [Unicode.Scalar] = [
    "€", "\u{81}", "‚", "ƒ", "„", "…", "†", "‡", "ˆ", "‰", "Š", "‹", "Œ", "\u{8D}", "Ž", "\u{8F}",
    "\u{90}", "‘", "’", "“", "”", "•", "–", "—", "˜", "™", "š", "›", "œ", "\u{9D}", "ž", "Ÿ",
  ]
}
