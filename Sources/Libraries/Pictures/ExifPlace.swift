/// Whether EXIF says where a photo was taken.
enum ExifPlace {
  /// - Parameter exif: from the header of the TIFF on (CIPA DC-008, 4.5.2).
  static func isThere(in exif: UnsafeRawBufferPointer) -> Bool {
    let reader = Reader(bytes: exif, isLittle: exif.first == UInt8(ascii: "I"))
    guard let first = reader.number(4, at: 4), let place = reader.value(0x8825, inDirectoryAt: first) else {
      return false
    }
    return reader.value(2, inDirectoryAt: place) != nil  // GPSLatitude
  }

  private struct Reader {
    let bytes: UnsafeRawBufferPointer
    let isLittle: Bool

    func number(_ width: Int, at start: Int) -> Int? {
      guard start >= 0, start <= bytes.count - width else { return nil }
      let places = isLittle ? Array((0..<width).reversed()) : Array(0..<width)
      return places.reduce(0) { $0 << 8 | Int(bytes[start + $1]) }
    }

    /// The last four bytes of an entry: a value, or the place of one.
    func value(_ tag: Int, inDirectoryAt start: Int) -> Int? {
      guard let count = number(2, at: start) else { return nil }
      for entry in 0..<count where number(2, at: start + 2 + 12 * entry) == tag {
        return number(4, at: start + 2 + 12 * entry + 8)
      }
      return nil
    }
  }
}
