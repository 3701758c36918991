import StageKit

/// The type of an ISO base media file by the brands of its first box, `ftyp` (ISO/IEC 14496-12, 4.3): the major brand and those that
/// the file is compatible with.
enum MediaBrands {
  /// - Returns: `nil` where libmagic's answer stands.
  static func type(_ head: UnsafeRawBufferPointer, found: String) -> String? {
    guard vague.contains(found), head.count >= 16, head[4..<8].elementsEqual("ftyp".utf8) else { return nil }
    let size = head.loadUnaligned(as: UInt32.self).bigEndian
    let end = min(head.count, Int(size))
    // The version of the major brand follows it.
    let places = [8] + stride(from: 16, through: end - 4, by: 4)
    for place in places {
      let brand = String(decoding: head[place..<place + 4], as: UTF8.self)
      if let type = types[brand], type.hasPrefix("image/") || !found.hasPrefix("image/") { return type }
    }
    return nil
  }

  private static let vague: Set = [
    "application/octet-stream", "image/heif", "image/heif-sequence", "audio/mp4",
  ]

  /// Brands that say what is in the file. Others, such as `mif1`, leave it to those that follow.
  private static let types: [String: String] = {
    var types: [String: String] = [:]
    for (type, brands) in [
      ("image/avif", "avif avis"),
      ("image/heic", "heic heix heim heis"),
      ("image/heic-sequence", "hevc hevx hevm hevs"),
      ("image/x-canon-cr3", "crx_"),
      ("audio/mp4", "M4A_ M4B_"),
      ("video/quicktime", "qt__"),
      (
        "video/mp4",
        "isom iso2 iso3 iso4 iso5 iso6 iso7 iso8 iso9 mp41 mp42 mp71 avc1 MSNV XAVC f4v_ av01 cmfc dash"
      ),
    ] {
      for brand in brands.split(separator: " ") {
        types[String(brand.map { $0 == "_" ? " " : $0 })] = type
      }
    }
    return types
  }()
}
