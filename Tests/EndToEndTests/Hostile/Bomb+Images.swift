import Foundation

extension Bomb {
  /// Images that claim more than they contain, or decode to more than their size.
  static let images: [Bomb] = [
    Bomb("a PNG of 900 million pixels", "bomb.png", "too-many-pixels") {
      Samples.whitePNG(width: 30_000, height: 30_000, isThere: false)
    },
    Bomb("a PNG as high as numbers go", "bomb.png", "too-many-pixels", "image-damaged") {
      Samples.whitePNG(width: 100, height: 0x7FFF_FFFF, isThere: false)
    },
    Bomb("a JPEG of 65500 by 65500", "bomb.jpg", "too-many-pixels", "image-damaged") {
      jpeg(width: 65_500, height: 65_500)
    },
    Bomb("a JPEG of 883 scans", "bomb.jpg", nil, "image-damaged", "timed-out", "out-of-memory") {
      jpeg(width: 6000, height: 6000, isProgressive: true)
    },
    Bomb("a WebP of 16384 by 16384 that is lossless", "bomb.webp", "too-many-pixels", "image-damaged") {
      // VP8L: signature, then width and height less one, of 14 bits each.
      webp("VP8L", [0x2F, 0xFF, 0xFF, 0xFF, 0x0F] + [UInt8](repeating: 0, count: 64))
    },
    Bomb("a WebP of 16383 by 16383 that is lossy", "bomb.webp", "too-many-pixels", "image-damaged") {
      webp(
        "VP8 ",
        [0x10, 0, 0, 0x9D, 0x01, 0x2A, 0xFF, 0x3F, 0xFF, 0x3F] + [UInt8](repeating: 0, count: 64))
    },
    Bomb("a WebP whose canvas is 2 to the 24th square", "bomb.webp", "too-many-pixels", "image-damaged") {
      webp("VP8X", [0x10, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])
    },
    Bomb("a GIF of 65535 by 65535", "bomb.gif", "too-many-pixels", "image-damaged") {
      var data = Data("GIF89a".utf8)
      data += [0xFF, 0xFF, 0xFF, 0xFF, 0x80, 0, 0, 0, 0, 0, 255, 255, 255]
      data += [0x2C, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 2, 2, 0x4C, 1, 0, 0x3B]
      return data
    },
    Bomb("a TIFF of 4 milliard by 4 milliard", "bomb.tif", "too-many-pixels", "image-damaged", nil) {
      tiff([
        (256, 4, 1, 0xFFFF_FFFF), (257, 4, 1, 0xFFFF_FFFF), (258, 3, 1, 8), (277, 3, 1, 1), (278, 4, 1, 1),
      ])
    },
    Bomb("a TIFF whose folder of fields leads to itself", "bomb.tif", "image-damaged", nil) {
      tiff([(256, 4, 1, 8), (257, 4, 1, 8), (258, 3, 1, 8), (277, 3, 1, 1)], next: 8)
    },
  ]

  /// Baseline and truncated; or progressive, with as many scans as the format has bands and bits, each of
  /// which says for every block that there is nothing new (ITU-T T.81, annex G).
  private static func jpeg(width: UInt16, height: UInt16, isProgressive: Bool = false) -> Data {
    func big(_ number: UInt16) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 255)] }
    let none = [UInt8](repeating: 0, count: 15)
    var data = Data([0xFF, 0xD8, 0xFF, 0xDB, 0, 67, 0] + [UInt8](repeating: 1, count: 64))
    data += [0xFF, isProgressive ? 0xC2 : 0xC0, 0, 11, 8] + big(height) + big(width) + [1, 1, 0x11, 0]
    // One code of one bit: for DC no difference, for AC that up to 32767 blocks have ended.
    data += [0xFF, 0xC4, 0, 20, 0, 1] + none + [0]
    data += [0xFF, 0xC4, 0, 20, 0x10, 1] + none + [0xE0]
    let blocks = Int(width + 7) / 8 * (Int(height + 7) / 8)
    data += [0xFF, 0xDA, 0, 8, 1, 1, 0, 0, isProgressive ? 0 : 63, 0]
    guard isProgressive else { return data + [UInt8](repeating: 0, count: 16) + [0xFF, 0xD9] }
    data += [UInt8](repeating: 0, count: blocks / 8 + 1)
    // Fifteen bits for 16384 blocks: all zero.
    let runs = [UInt8](repeating: 0, count: (blocks / 16_384 + 1) * 15 / 8 + 1)
    for band: UInt8 in 1...63 {
      for bit: UInt8 in stride(from: 13, through: 0, by: -1) {
        data += [0xFF, 0xDA, 0, 8, 1, 1, 0, band, band, (bit == 13 ? 0 : bit + 1) << 4 | bit] + runs
      }
    }
    return data + [0xFF, 0xD9]
  }

  private static func webp(_ type: String, _ chunk: [UInt8]) -> Data {
    func little(_ number: Int) -> [UInt8] { (0..<4).map { UInt8(number >> (8 * $0) & 255) } }
    var body = Data("WEBP\(type)".utf8)
    body += little(chunk.count) + chunk
    if chunk.count % 2 == 1 { body.append(0) }
    return Data("RIFF".utf8) + Data(little(body.count)) + body
  }

  private static func tiff(_ fields: [(UInt16, UInt16, UInt32, UInt32)], next: UInt32 = 0) -> Data {
    func big(_ number: UInt32) -> [UInt8] { (0..<4).map { UInt8(number >> (24 - 8 * $0) & 255) } }
    func big(_ number: UInt16) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 255)] }
    var data = Data("MM\0*".utf8)
    data += [0, 0, 0, 8] + big(UInt16(fields.count))
    for (tag, type, count, value) in fields {
      // A number of two bytes occupies the first two of four.
      data += big(tag) + big(type) + big(count) + (type == 3 ? big(value << 16) : big(value))
    }
    return data + big(next)
  }
}
