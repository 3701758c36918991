/// A baseline JPEG (ITU-T T.81) of one gray component, one even shade per 8 by 8 block.
///
/// An even block has no detail: of its 64 coefficients only DC differs from zero, and no transform is
/// needed. DC is then 8 times the level-shifted shade (A.3.3), and quantization by 8 gives the shade back.
struct JPEG {
  /// In blocks of 8 by 8 pixels.
  let columns: Int
  let rows: Int
  let shade: (_ column: Int, _ row: Int) -> UInt8

  func encoded() -> [UInt8] {
    var bytes: [UInt8] = [0xFF, 0xD8]  // SOI
    bytes += segment(0xE0, Array("JFIF\0".utf8) + [1, 2, 0, 0, 1, 0, 1, 0, 0])  // APP0: ITU-T T.871
    bytes += segment(0xDB, [0] + [UInt8](repeating: 8, count: 64))  // DQT: B.2.4.1
    bytes += segment(0xC0, frameHeader)  // SOF0: B.2.2
    bytes += segment(0xC4, HuffmanTable.dc.specification(destination: 0x00))  // DHT: B.2.4.2
    bytes += segment(0xC4, HuffmanTable.ac.specification(destination: 0x10))
    bytes += segment(0xDA, [1, 1, 0x00, 0, 63, 0])  // SOS: B.2.3
    bytes += entropyCodedSegment
    bytes += [0xFF, 0xD9]  // EOI
    return bytes
  }

  private func segment(_ marker: UInt8, _ parameters: [UInt8]) -> [UInt8] {
    var segment: [UInt8] = [0xFF, marker]
    segment.append(bigEndian: UInt16(2 + parameters.count))
    return segment + parameters
  }

  private var frameHeader: [UInt8] {
    var header: [UInt8] = [8]  // bits a sample
    header.append(bigEndian: UInt16(rows * 8))
    header.append(bigEndian: UInt16(columns * 8))
    return header + [1, 1, 0x11, 0]  // one component, not subsampled, quantization table 0
  }

  /// Each DC is coded as its difference from the block before (F.1.2.1); AC is one end-of-block.
  private var entropyCodedSegment: [UInt8] {
    var bits = BitWriter()
    var previous = 0
    for row in 0..<rows {
      for column in 0..<columns {
        let dc = Int(shade(column, row)) - 128
        let difference = dc - previous
        previous = dc
        let category = Int.bitWidth - difference.magnitude.leadingZeroBitCount
        bits.append(HuffmanTable.dc.code(for: UInt8(category)))
        // F.1.2.1.1: negative differences are sent less one, so that their first bit is 0.
        let low = difference < 0 ? difference - 1 : difference
        bits.append(HuffmanTable.Code(value: low & ((1 << category) - 1), length: category))
        bits.append(HuffmanTable.ac.code(for: 0x00))
      }
    }
    return bits.finished()
  }
}

/// A mosaic: light in the middle, darker towards the corners.
func photoJPEG() -> [UInt8] {
  JPEG(columns: 40, rows: 25) { column, row in
    let (x, y) = (column - 20, row - 12)
    return UInt8(max(16, 240 - (x * x + y * y) * 2 / 5))
  }.encoded()
}
