import CVips
import StageKit

/// An image in memory: lines of pixels from top to bottom, each of three bytes (red, green, blue) or four
/// (and alpha).
package struct Pixels: ~Copyable {
  package let width: Int
  package let height: Int
  package let bands: Int
  package let bytes: UnsafeMutableRawBufferPointer

  /// Computes an image, which must be in sRGB.
  static func computed(from image: UnsafeMutablePointer<VipsImage>) throws(Outcome) -> Pixels {
    let (width, height) = (Int(vips_image_get_width(image)), Int(vips_image_get_height(image)))
    let bands = Int(vips_image_get_bands(image))
    guard 3...4 ~= bands, vips_image_get_format(image) == VIPS_FORMAT_UCHAR else {
      throw Vips.damage("its \(bands) bands are no colours")
    }
    let pixels = Pixels(width: width, height: height, bands: bands)
    guard sluice_vips_compute(image, pixels.bytes.baseAddress) == 0 else { throw Vips.damage() }
    return pixels
  }

  /// All pixels black, or transparent.
  package init(width: Int, height: Int, bands: Int) {
    (self.width, self.height, self.bands) = (width, height, bands)
    bytes = .allocate(byteCount: width * height * bands, alignment: 16)
    bytes.initializeMemory(as: UInt8.self, repeating: 0)
  }

  deinit {
    bytes.deallocate()
  }

  /// Whether no pixel is transparent.
  package var isOpaque: Bool {
    bands == 3 || stride(from: 3, to: bytes.count, by: 4).allSatisfy { bytes[$0] == 255 }
  }

  /// As a libvips image, which must not outlive the pixels and which the caller must unref.
  func shared() throws(Outcome) -> UnsafeMutablePointer<VipsImage> {
    guard
      let image = vips_image_new_from_memory(
        bytes.baseAddress, bytes.count, Int32(width), Int32(height), Int32(bands), VIPS_FORMAT_UCHAR)
    else { throw Vips.damage() }
    image.pointee.Type = VIPS_INTERPRETATION_sRGB
    return image
  }

  /// Turned upright by an EXIF orientation.
  package consuming func turned(from orientation: Int) throws(Outcome) -> Pixels {
    if orientation == 1 { return self }
    defer { extendLifetime(self) }
    let image = try shared()
    defer { g_object_unref(image) }
    guard let turned = sluice_vips_turn(image, Int32(orientation)) else {
      throw Vips.damage()
    }
    defer { g_object_unref(turned) }
    return try Pixels.computed(from: turned)
  }

  /// Without transparency, as it looks on white paper.
  package consuming func onWhite() -> Pixels {
    if bands == 3 { return self }
    let opaque = Pixels(width: width, height: height, bands: 3)
    let source = bytes.assumingMemoryBound(to: UInt8.self)
    let target = opaque.bytes.assumingMemoryBound(to: UInt8.self)
    for pixel in 0..<width * height {
      let alpha = Int(source[pixel * 4 + 3])
      for band in 0..<3 {
        let value = Int(source[pixel * 4 + band]) * alpha + 255 * (255 - alpha)
        target[pixel * 3 + band] = UInt8((value + 127) / 255)
      }
    }
    return opaque
  }
}
