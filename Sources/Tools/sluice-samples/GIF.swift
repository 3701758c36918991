/// A GIF89a with one global palette of 128 colours; section numbers are those of the GIF89a specification.
struct GIF {
  let width: Int
  let height: Int
  let frames: Int
  /// An index into the palette, 0 to 127.
  let color: (_ x: Int, _ y: Int, _ frame: Int) -> UInt8

  func encoded() -> [UInt8] {
    var bytes = header + palette
    if frames > 1 { bytes += loopForEver }
    for frame in 0..<frames {
      if frames > 1 { bytes += graphicControl }
      bytes += image(frame)
    }
    bytes.append(0x3B)  // trailer (27)
    return bytes
  }

  /// Header (17) and logical screen descriptor (18).
  private var header: [UInt8] {
    var header = Array("GIF89a".utf8)
    header.append(littleEndian: UInt16(width))
    header.append(littleEndian: UInt16(height))
    header += [0xF6, 0, 0]  // a global palette of 2^(6+1) colours, 8 bits a primary; background; aspect
    return header
  }

  /// Global color table (19): from dark blue to light orange.
  private var palette: [UInt8] {
    (0..<128).flatMap { (index: UInt8) in [index * 2, 40 + index, 160 - index] }
  }

  /// Application extension (26) that browsers agreed on; the count 0 repeats for ever.
  private var loopForEver: [UInt8] {
    [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1, 0, 0, 0]
  }

  /// Graphic control extension (23): shown for ten hundredths of a second.
  private var graphicControl: [UInt8] { [0x21, 0xF9, 4, 0, 10, 0, 0, 0] }

  /// Image descriptor (20) and table based image data (22).
  private func image(_ frame: Int) -> [UInt8] {
    var bytes: [UInt8] = [0x2C, 0, 0, 0, 0]
    bytes.append(littleEndian: UInt16(width))
    bytes.append(littleEndian: UInt16(height))
    bytes.append(0)  // no local palette, not interlaced
    let indices = (0..<height).flatMap { y in (0..<width).map { x in color(x, y, frame) & 0x7F } }
    return bytes + uncompressedLZW(indices)
  }

  /// LZW (appendix F) that never needs its dictionary.
  ///
  /// With a minimum code size of 7, codes are 8 bits wide until the dictionary holds 256 entries, so each
  /// code is one byte. A clear code before every hundred pixels empties the dictionary before that.
  private func uncompressedLZW(_ indices: [UInt8]) -> [UInt8] {
    let clear: UInt8 = 0x80
    let endOfInformation: UInt8 = 0x81
    let run = 100
    var bytes: [UInt8] = [7]
    for start in stride(from: 0, to: indices.count, by: run) {
      let pixels = indices[start..<min(start + run, indices.count)]
      bytes += [UInt8(1 + pixels.count), clear]  // a data sub-block (15)
      bytes += pixels
    }
    return bytes + [1, endOfInformation, 0]  // and the block terminator (16)
  }
}

/// A bright bar that walks over a dark gradient.
func animationGIF() -> [UInt8] {
  GIF(width: 96, height: 64, frames: 8) { x, y, frame in
    x / 12 == frame ? 127 : UInt8(y)
  }.encoded()
}

/// A complete GIF followed by a complete PDF. A GIF ends at its trailer; readers look for a PDF's header in
/// the first 1024 bytes (PDF Reference 1.7, implementation note 13) and count its offsets from there.
func polyglotGIF() -> [UInt8] {
  GIF(width: 16, height: 16, frames: 1) { x, y, _ in UInt8(x * 4 + y * 4) }.encoded() + reportPDF()
}
