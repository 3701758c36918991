/// A Huffman table as a JPEG carries it: how many codes there are of each length, then what they mean.
struct HuffmanTable {
  struct Code {
    let value: Int
    let length: Int
  }

  /// BITS: the number of codes of 1, 2, … 16 bits.
  let counts: [UInt8]
  /// HUFFVAL: the symbols in the order of their codes.
  let symbols: [UInt8]

  /// ITU-T T.81 table K.3: categories of luminance DC differences.
  static let dc = HuffmanTable(
    counts: [0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0], symbols: Array(0...11))

  /// End-of-block is the only AC symbol that is ever written.
  static let ac = HuffmanTable(counts: [1] + [UInt8](repeating: 0, count: 15), symbols: [0x00])

  /// The parameters of a DHT segment: ITU-T T.81 B.2.4.2.
  func specification(destination: UInt8) -> [UInt8] {
    [destination] + counts + symbols
  }

  /// ITU-T T.81 annex C: codes of one length count upwards, a longer length shifts left.
  /// A symbol the table lacks has an empty code.
  func code(for symbol: UInt8) -> Code {
    var value = 0
    var index = 0
    for (length, count) in zip(1..., counts) {
      for _ in 0..<count {
        if symbols[index] == symbol { return Code(value: value, length: length) }
        value += 1
        index += 1
      }
      value <<= 1
    }
    return Code(value: 0, length: 0)
  }
}

/// Packs codes, most significant bit first, into an entropy-coded segment.
struct BitWriter {
  private var bytes: [UInt8] = []
  private var pending = 0
  private var pendingCount = 0

  mutating func append(_ code: HuffmanTable.Code) {
    pending = pending << code.length | code.value
    pendingCount += code.length
    while pendingCount >= 8 {
      pendingCount -= 8
      let byte = UInt8(truncatingIfNeeded: pending >> pendingCount)
      bytes.append(byte)
      // ITU-T T.81 F.1.2.3: a stuffed zero tells data from a marker.
      if byte == 0xFF { bytes.append(0) }
    }
    pending &= (1 << pendingCount) - 1
  }

  /// The bytes, the last one filled with 1-bits: ITU-T T.81 B.1.1.5, note 1.
  mutating func finished() -> [UInt8] {
    if pendingCount > 0 {
      let missing = 8 - pendingCount
      append(HuffmanTable.Code(value: (1 << missing) - 1, length: missing))
    }
    return bytes
  }
}
