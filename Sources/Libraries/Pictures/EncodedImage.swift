import CPNG
import CTurboJPEG
import CWebP
import StageKit

/// Pixels encoded as a file without any metadata.
///
/// Does not use libvips, which starts threads to save an image.
package struct EncodedImage: ~Copyable {
  package let mediaType: String
  package let bytes: UnsafeRawBufferPointer
  private let release: (UnsafeMutableRawPointer?) -> Void

  deinit {
    release(UnsafeMutableRawPointer(mutating: bytes.baseAddress))
  }

  package enum Format {
    case jpeg(quality: Int)
    case png
    case webp(quality: Int)
  }

  package init(_ pixels: borrowing Pixels, as format: Format) throws(Outcome) {
    switch format {
    case .jpeg(let quality): try self.init(jpeg: pixels, quality: quality)
    case .png: try self.init(png: pixels)
    case .webp(let quality): try self.init(webp: pixels, quality: quality)
    }
  }

  /// A progressive JPEG; transparency is dropped. From quality 90 on, colours have the full resolution, below
  /// it half of it in each direction.
  private init(jpeg pixels: borrowing Pixels, quality: Int) throws(Outcome) {
    guard let encoder = tjInitCompress() else { throw Self.failure("JPEG", tjGetErrorStr2(nil)) }
    defer { tjDestroy(encoder) }
    var encoded: UnsafeMutablePointer<UInt8>?
    var count: UInt = 0
    let format = pixels.bands == 4 ? TJPF_RGBX : TJPF_RGB
    let sampling = quality >= 90 ? TJSAMP_444 : TJSAMP_420
    let failed = tjCompress2(
      encoder, pixels.bytes.baseAddress, Int32(pixels.width), 0, Int32(pixels.height), Int32(format.rawValue),
      &encoded, &count, Int32(sampling.rawValue), Int32(quality), TJFLAG_PROGRESSIVE)
    guard failed == 0, let encoded else {
      tjFree(encoded)
      throw Self.failure("JPEG", tjGetErrorStr2(encoder))
    }
    mediaType = "image/jpeg"
    bytes = UnsafeRawBufferPointer(start: encoded, count: Int(count))
    release = { tjFree($0?.assumingMemoryBound(to: UInt8.self)) }
  }

  /// A PNG, with alpha if the pixels have it.
  private init(png pixels: borrowing Pixels) throws(Outcome) {
    var image = sluice_png(UInt32(pixels.width), UInt32(pixels.height), pixels.bands == 4 ? 1 : 0)
    defer { png_image_free(&image) }
    var count = sluice_png_bound(image)
    let room = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 16)
    guard png_image_write_to_memory(&image, room, &count, 0, pixels.bytes.baseAddress, 0, nil) != 0 else {
      room.deallocate()
      throw withUnsafeBytes(of: image.message) {
        Self.failure("PNG", $0.baseAddress?.assumingMemoryBound(to: CChar.self))
      }
    }
    mediaType = "image/png"
    bytes = UnsafeRawBufferPointer(start: room, count: count)
    release = { $0?.deallocate() }
  }

  /// A lossy WebP, with alpha if the pixels have it. libwebp starts no thread for it.
  private init(webp pixels: borrowing Pixels, quality: Int) throws(Outcome) {
    let (width, height) = (Int32(pixels.width), Int32(pixels.height))
    let start = pixels.bytes.assumingMemoryBound(to: UInt8.self).baseAddress
    let line = Int32(pixels.width * pixels.bands)
    var encoded: UnsafeMutablePointer<UInt8>?
    let count =
      pixels.bands == 4
      ? WebPEncodeRGBA(start, width, height, line, Float(quality), &encoded)
      : WebPEncodeRGB(start, width, height, line, Float(quality), &encoded)
    guard count > 0, let encoded else { throw Self.failure("WebP", nil) }
    mediaType = "image/webp"
    bytes = UnsafeRawBufferPointer(start: encoded, count: count)
    release = { WebPFree($0) }
  }

  private static func failure(_ format: String, _ reason: UnsafePointer<CChar>?) -> Outcome {
    let reason = reason.map { String(cString: $0) } ?? "no reason given"
    return .fail("not-encoded", "writing it as \(format): \(reason)")
  }
}
