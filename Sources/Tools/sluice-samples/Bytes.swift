// How the formats below spell text and numbers.

extension [UInt8] {
  mutating func append(ascii text: String) {
    append(contentsOf: text.utf8)
  }

  /// Network order, as PNG, zlib and JPEG want it.
  mutating func append<Number: FixedWidthInteger>(bigEndian number: Number) {
    Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
  }

  /// Least significant byte first, as GIF, DEFLATE and PDF encryption want it.
  mutating func append<Number: FixedWidthInteger>(littleEndian number: Number) {
    Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
  }
}

/// `number` in decimal, filled with zeros on the left to `width` digits.
func decimal(_ number: Int, width: Int) -> String {
  let digits = String(number)
  return String(repeating: "0", count: max(0, width - digits.count)) + digits
}
