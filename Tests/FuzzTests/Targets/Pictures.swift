@testable import Pictures

extension FuzzTarget {
  /// The readers of pictures that are not a library's.
  static let pictures = FuzzTarget(name: "pictures") { bytes in
    try bytes.withUnsafeBytes { bytes in
      let brands = HEIFBrands(bytes)
      try demand(brands == nil || bytes[4..<8].elementsEqual("ftyp".utf8), "brands without a box of them")
      if let problem = HEIFReferences.problem(in: bytes) {
        try demand(bytes.count > 30, "in \(bytes.count) bytes \(problem)")
      }
      if let frames = PNGAnimation.frames(in: bytes) {
        try demand(1..<(1 << 32) ~= frames, "\(frames) frames")
      }
      for start in [0, 4, 10] {
        let isThere = ExifPlace.isThere(in: UnsafeRawBufferPointer(rebasing: bytes.dropFirst(start)))
        try demand(!isThere || bytes.count > 20, "a place in \(bytes.count) bytes")
      }
    }
  }
}
