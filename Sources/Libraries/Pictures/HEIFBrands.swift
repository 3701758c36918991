/// The brands of a file that may have a picture (ISO/IEC 23008-12, 10): of its first box, `ftyp`.
struct HEIFBrands {
  let format: ImageFile.Format
  /// Whether there is an animation beside the picture.
  let isSequence: Bool

  /// `nil`: no file of pictures.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= 16, bytes[4..<8].elementsEqual("ftyp".utf8) else { return nil }
    let size = Int(bytes.loadUnaligned(as: UInt32.self).bigEndian)
    // The version of the major brand follows it.
    let places = [8] + stride(from: 16, through: min(bytes.count, size, 1024) - 4, by: 4)
    let brands = places.map { String(decoding: bytes[$0..<$0 + 4], as: UTF8.self) }
    guard !Self.pictures.isDisjoint(with: brands) || !Self.sequences.isDisjoint(with: brands.prefix(1)) else {
      return nil
    }
    format = brands.contains("avif") || brands.contains("avis") ? .avif : .heic
    isSequence = !Self.sequences.isDisjoint(with: brands)
  }

  private static let pictures: Set = ["avif", "heic", "heix", "heim", "heis", "mif1"]
  private static let sequences: Set = ["avis", "hevc", "hevx", "hevm", "hevs", "msf1"]
}
