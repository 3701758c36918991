import CHEIF
import CVips
import Glibc
import StageKit

/// libvips' state per process, created before the sandbox closes.
package enum Vips {
  /// The enabled loaders. Each of them reads only the content, and starts no thread.
  private static let loaders = [
    "VipsForeignLoadJpeg", "VipsForeignLoadPng", "VipsForeignLoadNsgif", "VipsForeignLoadWebp",
    "VipsForeignLoadTiff",
  ]

  /// Runs once, however often a stage is opened, because each initialization would leave memory on the heap.
  package static func start() throws(Outcome) { if let failure { throw failure } }

  private static let failure: Outcome? = {
    do throws(Outcome) {
      try prepare()
      return nil
    } catch {
      return error
    }
  }()

  private static func prepare() throws(Outcome) {
    // libvips passes warnings to GLib's log, and an image may cause any number of them.
    g_log_set_default_handler(ignore, nil)
    // Creating a colour profile uses the date, and glibc would open a file for the time zone.
    setenv("TZ", "UTC0", 0)
    tzset()
    guard sluice_vips_start() == 0 else {
      throw .fail("vips-unavailable", "libvips \(version) does not start: \(takeError())")
    }
    vips_concurrency_set(1)
    vips_cache_set_max(0)
    // The vector compiler generates machine code, and the sandbox forbids executable memory.
    vips_vector_set_enabled(0)
    vips_block_untrusted_set(1)
    vips_operation_block_set("VipsForeignLoad", 1)
    for loader in loaders { vips_operation_block_set(loader, 0) }
    guard sluice_heif_start() else { throw .fail("vips-unavailable", "libheif does not start") }
    try rehearse()
  }

  /// Processes tiny images in the same way as others, so that everything loaded on first use is loaded.
  private static func rehearse() throws(Outcome) {
    do throws(Outcome) {
      for encoded in [EncodedImage.Format.jpeg(quality: 80), .png, .webp(quality: 80)] {
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

  package static var version: String { String(cString: vips_version_string()) }

  package static var heifVersion: String {
    "\(String(cString: sluice_heif_version())), libde265 \(String(cString: sluice_hevc_version()))"
  }

  /// The outcome for an image that libvips cannot read, with libvips' reason.
  package static func damage(_ reason: String = takeError()) -> Outcome {
    .reject("image-damaged", "the image cannot be decoded: \(reason)")
  }

  /// libvips' error message: its first line, in plain characters.
  package static func takeError() -> String {
    defer { vips_error_clear() }
    guard let text = vips_error_buffer() else { return "no reason given" }
    let bytes = UnsafeRawBufferPointer(start: text, count: strnlen(text, 1000))
    let line = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    let plain = line.unicodeScalars.filter { $0.properties.generalCategory != .control }
    return plain.isEmpty ? "no reason given" : String(String.UnicodeScalarView(plain.prefix(300)))
  }
}

/// GLib would print by default.
private func ignore(
  _ domain: UnsafePointer<CChar>?, _ level: GLogLevelFlags, _ message: UnsafePointer<CChar>?,
  _ data: gpointer?
) {}
