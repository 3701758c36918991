/// Some of the characters of ASCII. To look one up costs a shift.
struct ASCIISet: Sendable {
  private var low: UInt64 = 0
  private var high: UInt64 = 0

  /// - Parameter characters: each of them ASCII.
  init(_ characters: String) {
    for byte in characters.utf8 {
      if byte < 64 { low |= 1 << byte } else { high |= 1 << (byte - 64) }
    }
  }

  func contains(_ byte: UInt8) -> Bool {
    // A shift by 64 or more gives 0: no byte above ASCII is found.
    byte < 64 ? low >> byte & 1 == 1 : high >> (byte - 64) & 1 == 1
  }
}
