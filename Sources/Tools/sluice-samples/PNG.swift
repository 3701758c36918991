/// A truecolour PNG: ISO 15948 (PNG specification, second edition).
struct PNG {
  typealias RGB = (red: UInt8, green: UInt8, blue: UInt8)

  let width: Int
  let height: Int
  let color: (_ x: Int, _ y: Int) -> RGB

  /// Signature (clause 5.2), then the three chunks that every image has (clause 11.2).
  func encoded() -> [UInt8] {
    var bytes: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    bytes += chunk("IHDR", header)
    bytes += chunk("IDAT", zlibStored(scanlines))
    bytes += chunk("IEND", [])
    return bytes
  }

  private var header: [UInt8] {
    var header: [UInt8] = []
    header.append(bigEndian: UInt32(width))
    header.append(bigEndian: UInt32(height))
    header += [8, 2]  // bit depth 8, colour type 2: truecolour (table 11.1)
    header += [0, 0, 0]  // compression and filter method 0, not interlaced
    return header
  }

  /// Each scanline starts with its filter type, here 0 for none (clause 9.2).
  private var scanlines: [UInt8] {
    var bytes: [UInt8] = []
    for y in 0..<height {
      bytes.append(0)
      for x in 0..<width {
        let (red, green, blue) = color(x, y)
        bytes += [red, green, blue]
      }
    }
    return bytes
  }

  /// Length of the data, type, data, CRC over type and data (clause 5.3).
  private func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
    let body = Array(type.utf8) + data
    var chunk: [UInt8] = []
    chunk.append(bigEndian: UInt32(data.count))
    chunk += body
    chunk.append(bigEndian: CRC32.checksum(body))
    return chunk
  }
}

/// A zlib stream (RFC 1950) of DEFLATE blocks that are stored, not compressed (RFC 1951 clause 3.2.4).
func zlibStored(_ data: [UInt8]) -> [UInt8] {
  let largestBlock = 65535
  var stream: [UInt8] = [0x78, 0x01]  // DEFLATE, 32 KiB window, fastest; a multiple of 31 (clause 2.2)
  var start = 0
  repeat {
    let end = min(start + largestBlock, data.count)
    let length = UInt16(end - start)
    stream.append(end == data.count ? 1 : 0)  // BFINAL; BTYPE 00 and the padding to the next byte
    stream.append(littleEndian: length)
    stream.append(littleEndian: ~length)
    stream += data[start..<end]
    start = end
  } while start < data.count
  stream.append(bigEndian: Adler32.checksum(data))
  return stream
}

func photoPNG() -> [UInt8] {
  PNG(width: 320, height: 200) { x, y in
    (red: UInt8(x * 255 / 319), green: UInt8(y * 255 / 199), blue: 160)
  }.encoded()
}
