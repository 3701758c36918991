import CWebP
import StageKit

/// Does not use libvips, which starts threads to read a WebP.
extension Pixels {
  package static var webpVersion: Int { Int(WebPGetDecoderVersion()) }

  /// Decodes a WebP, or the first frame of an animated one, scaled down
  /// while decoding if its longest edge exceeds `edge`. A frame counts by itself: one smaller than its canvas is not put on it.
  static func decoded(webp bytes: UnsafeRawBufferPointer, fitting edge: Int) throws(Outcome) -> Pixels {
    let bytes = firstFrame(webp: bytes) ?? bytes
    var config = WebPDecoderConfig()
    guard let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
      WebPInitDecoderConfig(&config) != 0
    else { throw Vips.damage("libwebp is not the one this was built for") }
    try check(WebPGetFeatures(start, bytes.count, &config.input))
    var (width, height) = (Int(config.input.width), Int(config.input.height))
    let longest = max(width, height)
    if longest > edge {
      width = max(width * edge / longest, 1)
      height = max(height * edge / longest, 1)
      config.options.use_scaling = 1
      config.options.scaled_width = Int32(width)
      config.options.scaled_height = Int32(height)
    }
    let bands = config.input.has_alpha != 0 ? 4 : 3
    let pixels = Pixels(width: width, height: height, bands: bands)
    config.output.colorspace = bands == 4 ? MODE_RGBA : MODE_RGB
    config.output.is_external_memory = 1
    config.output.u.RGBA = WebPRGBABuffer(
      rgba: pixels.bytes.assumingMemoryBound(to: UInt8.self).baseAddress, stride: Int32(width * bands),
      size: pixels.bytes.count)
    try check(WebPDecode(start, bytes.count, &config))
    return pixels
  }

  /// The chunks of the first frame, which libwebp decodes by themselves; `nil` where there are no frames (WebP Container
  /// Specification, "Animation": a header of 16 bytes, then alpha and pixels).
  private static func firstFrame(webp bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    var rest = bytes.dropFirst(12)
    while rest.count >= 8 {
      let size = Int(bytes.loadUnaligned(fromByteOffset: rest.startIndex + 4, as: UInt32.self).littleEndian)
      let content = rest.dropFirst(8).prefix(size)
      if rest.prefix(4).elementsEqual("ANMF".utf8) {
        return UnsafeRawBufferPointer(rebasing: content.dropFirst(16))
      }
      // A chunk is padded to an even size.
      rest = rest.dropFirst(8 + size + size % 2)
    }
    return nil
  }

  private static func check(_ status: VP8StatusCode) throws(Outcome) {
    switch status {
    case VP8_STATUS_OK: return
    case VP8_STATUS_NOT_ENOUGH_DATA, VP8_STATUS_SUSPENDED: throw Vips.damage("the WebP is cut short")
    case VP8_STATUS_UNSUPPORTED_FEATURE: throw Vips.damage("the WebP has a feature libwebp does not know")
    case VP8_STATUS_OUT_OF_MEMORY: throw .fail("out-of-memory", "libwebp has no memory for this image")
    default: throw Vips.damage("the WebP is not well-formed (libwebp says \(status.rawValue))")
    }
  }

  /// The size in a WebP's header, and whether it is animated, even with one frame. `nil` if the header cannot
  /// be read.
  package static func claim(webp bytes: UnsafeRawBufferPointer) -> (
    width: Int, height: Int, isAnimated: Bool
  )? {
    var features = WebPBitstreamFeatures()
    guard let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
      WebPGetFeatures(start, bytes.count, &features) == VP8_STATUS_OK
    else { return nil }
    return (Int(features.width), Int(features.height), features.has_animation != 0)
  }
}
