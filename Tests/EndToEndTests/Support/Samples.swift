import Foundation

/// The attachments that `sluice-samples` makes, and variants of them.
enum Samples {
  static func data(_ name: String) throws -> Data {
    guard let data = try all.get()[name] else { throw CocoaError(.fileNoSuchFile) }
    return data
  }

  /// By file name, made once for all tests.
  private static let all: Result<[String: Data], any Error> = Result {
    let folder = try TemporaryFolder()
    let status = try FixtureStages.run(SluiceCommand.folder + "/sluice-samples", [folder.path])
    guard status == 0 else { throw Failed(status: status) }
    let files = try folder.files(below: ".").map { name in
      (name, try Data(contentsOf: URL(fileURLWithPath: folder.path + "/" + name)))
    }
    return Dictionary(uniqueKeysWithValues: files)
  }

  private struct Failed: Error {
    var status: Int32
  }

  // MARK: JPEG

  /// A photo as taken by a phone: with an orientation and the place (Exif 2.32, 4.6.4 and 4.6.6).
  static func photo(orientation: UInt8) throws -> Data {
    // TIFF header, then two fields: orientation, and where the GPS fields are.
    var exif = Data("Exif\0\0MM\0*".utf8) + [0, 0, 0, 8, 0, 2]
    exif += [0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0]
    exif += [0x88, 0x25, 0, 4, 0, 0, 0, 1, 0, 0, 0, 38, 0, 0, 0, 0]
    // N, 52 degrees 31 minutes 12 seconds.
    exif += [0, 2, 0, 1, 0, 2, 0, 0, 0, 2, 0x4E, 0, 0, 0, 0, 2, 0, 5, 0, 0, 0, 3, 0, 0, 0, 68, 0, 0, 0, 0]
    for number: UInt8 in [52, 31, 12] { exif += [0, 0, 0, number, 0, 0, 0, 1] }
    let length = UInt16(exif.count + 2)
    let segment = Data([0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 0xFF)]) + exif
    let photo = try data("photo.jpg")
    return photo.prefix(2) + segment + photo.dropFirst(2)
  }

  /// Width and height of a JPEG, from its frame header (ITU-T T.81, B.2.2).
  static func size(jpeg: Data) -> (width: Int, height: Int)? {
    let bytes = [UInt8](jpeg)
    var next = 2
    while next + 9 < bytes.count, bytes[next] == 0xFF {
      if 0xC0...0xC2 ~= bytes[next + 1] {
        return (
          Int(bytes[next + 7]) << 8 | Int(bytes[next + 8]), Int(bytes[next + 5]) << 8 | Int(bytes[next + 6])
        )
      }
      next += 2 + (Int(bytes[next + 2]) << 8 | Int(bytes[next + 3]))
    }
    return nil
  }

  // MARK: PNG (ISO 15948, clauses 5 and 11)

  /// The gradient, with the colour of its first pixel transparent.
  static func transparentPNG() throws -> Data {
    let photo = try data("photo.png")
    let endOfHeader = 8 + 25
    return photo.prefix(endOfHeader) + chunk("tRNS", [0, 0, 0, 0, 0, 160]) + photo.dropFirst(endOfHeader)
  }

  /// A white image of one bit per pixel; `isThere`: with all its data, else nearly empty.
  static func whitePNG(width: UInt32, height: UInt32, isThere: Bool = true) -> Data {
    func bigEndian(_ number: UInt32) -> [UInt8] {
      (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    }
    let line = [0] + [UInt8](repeating: 0xFF, count: Int(width + 7) / 8)
    let lines = isThere ? (0..<height).flatMap { _ in line } : line
    var png = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
    png += chunk("IHDR", bigEndian(width) + bigEndian(height) + [1, 0, 0, 0, 0])
    // Stored blocks of a zlib stream, and its Adler-32 (RFC 1950, RFC 1951).
    var stream: [UInt8] = [0x78, 0x01]
    var (a, b): (UInt32, UInt32) = (1, 0)
    for start in stride(from: 0, to: lines.count, by: 65_535) {
      let block = lines[start..<min(start + 65_535, lines.count)]
      let (low, high) = (UInt8(block.count & 0xFF), UInt8(block.count >> 8))
      stream += [block.endIndex == lines.count ? 1 : 0, low, high, ~low, ~high] + block
      for byte in block {
        a = (a + UInt32(byte)) % 65_521
        b = (b + a) % 65_521
      }
    }
    png += chunk("IDAT", stream + bigEndian(b << 16 | a))
    return png + chunk("IEND", [])
  }

  private static func chunk(_ type: String, _ data: [UInt8]) -> Data {
    let body = Array(type.utf8) + data
    var crc: UInt32 = 0xFFFF_FFFF
    for byte in body { crc = table[Int(UInt8(truncatingIfNeeded: crc) ^ byte)] ^ (crc >> 8) }
    let ends = [UInt32(data.count), ~crc].map { number in
      (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    }
    return Data(ends[0]) + body + ends[1]
  }

  /// Of CRC-32 (annex D).
  private static let table = (0..<256).map { (byte: UInt32) in
    (0..<8).reduce(byte) { crc, _ in crc & 1 == 1 ? 0xEDB8_8320 ^ (crc >> 1) : crc >> 1 }
  }
}
