/// The animation in a PNG (PNG Specification, third edition, 11.3.6).
enum PNGAnimation {
  /// How many frames the chunk `acTL` announces; `nil`: the PNG is a still image.
  ///
  /// The chunk counts if it comes before the first pixels. Whether its checksum is right is not looked at.
  static func frames(in bytes: UnsafeRawBufferPointer) -> Int? {
    var rest = bytes.dropFirst(8)
    while rest.count >= 12 {
      let kind = rest.dropFirst(4).prefix(4)
      if kind.elementsEqual("IDAT".utf8) { return nil }
      if kind.elementsEqual("acTL".utf8) {
        let frames = Int(bytes.loadUnaligned(fromByteOffset: rest.startIndex + 8, as: UInt32.self).bigEndian)
        return frames > 0 ? frames : nil
      }
      let size = bytes.loadUnaligned(fromByteOffset: rest.startIndex, as: UInt32.self).bigEndian
      // A chunk has its length and kind before the data, and a checksum behind.
      rest = rest.dropFirst(12 + Int(size))
    }
    return nil
  }
}
