import CVips
import Glibc
import StageKit

/// What libvips needs once per process, made before the sandbox closes.
enum Vips {
  /// The loaders that are in use. None of them reads anything but the content, and none starts a thread.
  private static let loaders = [
    "VipsForeignLoadJpeg", "VipsForeignLoadPng", "VipsForeignLoadNsgif", "VipsForeignLoadWebp",
    "VipsForeignLoadTiff",
  ]

  static func start() throws(Outcome) {
    // libvips passes warnings on to GLib's log, and an image may give any number of them.
    g_log_set_default_handler(ignore, nil)
    // A colour profile is dated when it is made, and glibc opens a file for the time zone then.
    setenv("TZ", "UTC0", 0)
    tzset()
    guard sluice_vips_start() == 0 else {
      throw .fail("vips-unavailable", "libvips \(version) does not start: \(takeError())")
    }
    vips_concurrency_set(1)
    vips_cache_set_max(0)
    // Its compiler writes machine code as it goes, and the sandbox has no memory that can be run.
    vips_vector_set_enabled(0)
    vips_block_untrusted_set(1)
    vips_operation_block_set("VipsForeignLoad", 1)
    for loader in loaders { vips_operation_block_set(loader, 0) }
    try rehearse()
  }

  /// Takes tiny images the way others will go, so that whatever is loaded on first use is there.
  private static func rehearse() throws(Outcome) {
    do throws(Outcome) {
      for encoded in [EncodedImage.Format.jpeg(quality: 80), .png] {
        let image = try EncodedImage(Pixels(width: 24, height: 16, bands: 4), as: encoded)
        defer { extendLifetime(image) }
        guard let format = ImageFile.format(of: image.bytes) else { throw damage() }
        let pixels = try ImageFile(image.bytes, format: format).decoded(fitting: 12).turned(from: 6)
        guard pixels.width == 8, pixels.height == 12 else {
          throw damage("24 x 16 pixels do not become 12 x 8")
        }
      }
    } catch {
      throw .fail("vips-unavailable", "libvips \(version) misreads an image that is valid: \(error.message)")
    }
  }

  static var version: String { String(cString: vips_version_string()) }

  /// The outcome of an image that libvips does not read; the reason is what it says.
  static func damage(_ reason: String = takeError()) -> Outcome {
    .reject("image-damaged", "the image cannot be decoded: \(reason)")
  }

  /// What libvips says went wrong: the first line of it, in plain characters.
  static func takeError() -> String {
    defer { vips_error_clear() }
    guard let text = vips_error_buffer() else { return "no reason given" }
    let bytes = UnsafeRawBufferPointer(start: text, count: strnlen(text, 1000))
    let line = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    let plain = line.unicodeScalars.filter { $0.properties.generalCategory != .control }
    return plain.isEmpty ? "no reason given" : String(String.UnicodeScalarView(plain.prefix(300)))
  }
}

/// GLib's default is to print.
private func ignore(
  _ domain: UnsafePointer<CChar>?, _ level: GLogLevelFlags, _ message: UnsafePointer<CChar>?,
  _ data: gpointer?
) {}
