import CVips
import Glibc
import StageKit

/// An image in memory whose header has been read, but no pixels. The bytes must outlive it.
package struct ImageFile {
  package enum Format: String {
    case jpeg, png, gif, webp, tiff, heic, avif
  }

  /// The code of the outcome where an image is whole, and its codec is not there.
  package static let unsupported = HEIFFile.unsupported

  package let format: Format
  /// The size of one frame, as stored.
  package let width: Int
  package let height: Int
  /// Frames of an animation, or pages.
  package let pages: Int
  /// Whether there is more than one picture regardless of the number of pages: a TIFF with embedded images,
  /// such as a raw photo, or an animation of one frame.
  package let isMore: Bool
  /// Whether the samples are colours: measurements, such as heights in floating point, have no colours of their own.
  package let hasColours: Bool
  /// The EXIF orientation: 1 is upright; from 5 on, width and height are swapped.
  package let orientation: Int
  /// The kinds of metadata present, of those that libvips or libheif reports.
  package let metadata: [String]

  private let bytes: UnsafeRawBufferPointer
  /// Whether there is a colour profile for as many colours as the image has.
  private let hasFitProfile: Bool
  private let heif: HEIFFile?

  /// The format by the first bytes; `nil`: none of these.
  package static func format(of bytes: UnsafeRawBufferPointer) -> Format? {
    if let brands = HEIFBrands(bytes) { return brands.format }
    guard let source = source(bytes) else { return nil }
    defer { g_object_unref(source) }
    defer { vips_error_clear() }
    guard let loader = vips_foreign_find_load_source(source) else { return nil }
    switch String(cString: loader) {
    case "VipsForeignLoadJpegSource": return .jpeg
    case "VipsForeignLoadPngSource": return .png
    case "VipsForeignLoadNsgifSource": return .gif
    case "VipsForeignLoadWebpSource": return .webp
    case "VipsForeignLoadTiffSource": return .tiff
    default: return nil
    }
  }

  /// Throws a rejection as `image-damaged`, or as `not-supported` where a codec is not there.
  package init(_ bytes: UnsafeRawBufferPointer, format: Format) throws(Outcome) {
    switch format {
    case .heic, .avif: try self.init(heif: bytes, format: format)
    default: try self.init(vips: bytes, format: format)
    }
    guard width > 0, height > 0 else { throw Vips.damage("it has no pixels") }
  }

  private init(heif bytes: UnsafeRawBufferPointer, format: Format) throws(Outcome) {
    let file = try HEIFFile(bytes)
    self.bytes = bytes
    self.format = format
    (width, height, pages, metadata) = (file.width, file.height, max(file.pictures, 1), file.metadata)
    isMore = pages > 1 || HEIFBrands(bytes)?.isSequence == true
    // libheif turns what it decodes.
    (orientation, hasColours, hasFitProfile) = (1, true, false)
    heif = file
  }

  private init(vips bytes: UnsafeRawBufferPointer, format: Format) throws(Outcome) {
    let source = Self.source(bytes)
    defer { if let source { g_object_unref(source) } }
    guard let source, let image = sluice_vips_open(source) else { throw Vips.damage() }
    defer { g_object_unref(image) }
    self.bytes = bytes
    self.format = format
    width = Int(vips_image_get_width(image))
    height = Int(vips_image_get_page_height(image))
    // libvips knows no frames of a PNG.
    let frames = format == .png ? PNGAnimation.frames(in: bytes) : nil
    pages = frames ?? max(Int(vips_image_get_n_pages(image)), 1)
    isMore =
      pages > 1 || frames != nil || vips_image_get_typeof(image, VIPS_META_N_SUBIFDS) != 0
      || format == .webp && Pixels.claim(webp: bytes)?.isAnimated == true
    let turned = Int(vips_image_get_orientation(image))
    orientation = 1...8 ~= turned ? turned : 1
    metadata = Self.metadata(of: image)
    hasColours =
      [VIPS_FORMAT_UCHAR, VIPS_FORMAT_USHORT].contains(vips_image_get_format(image))
      || [VIPS_INTERPRETATION_LAB, VIPS_INTERPRETATION_LABS, VIPS_INTERPRETATION_scRGB].contains(
        vips_image_get_interpretation(image))
    hasFitProfile = sluice_vips_has_fit_profile(image) != 0
    heif = nil
  }

  /// Decodes the first frame, scaled to fit a square with sides of `edge` pixels.
  package func decoded(fitting edge: Int) throws(Outcome) -> Pixels {
    if let heif { return try decoded(heif, fitting: edge) }
    do throws(Outcome) {
      return try decoded(bytes, fitting: edge, usingProfile: hasFitProfile)
    } catch {
      // What is wrong may be the profile, or the end mark of a JPEG.
      if hasFitProfile, let pixels = try? decoded(bytes, fitting: edge, usingProfile: false) { return pixels }
      if format == .jpeg, let pixels = decodedWithEnd(fitting: edge) { return pixels }
      throw error
    }
  }

  private func decoded(
    _ bytes: UnsafeRawBufferPointer, fitting edge: Int, usingProfile: Bool, failOn level: String = "error"
  ) throws(Outcome) -> Pixels {
    let source = Self.source(bytes)
    defer { if let source { g_object_unref(source) } }
    guard let source else { throw Vips.damage() }
    // A conversion from a profile takes some milliseconds, even from sRGB.
    let profile = usingProfile ? "srgb" : nil
    if format == .webp {
      // Decode at twice the target size, and let libvips do the final scaling, which it does better.
      let pixels = try Pixels.decoded(webp: bytes, fitting: edge * 2)
      defer { extendLifetime(pixels) }
      let image = try pixels.shared()
      defer { g_object_unref(image) }
      guard sluice_vips_take_profile(image, source) == 0 else { throw Vips.damage() }
      return try Self.pixels(of: sluice_vips_fit_image(image, Int32(edge), profile))
    }
    return try Self.pixels(of: sluice_vips_fit(source, Int32(edge), profile, "[fail_on=\(level)]"))
  }

  private func decoded(_ file: HEIFFile, fitting edge: Int) throws(Outcome) -> Pixels {
    let pixels = try file.decoded()
    defer { extendLifetime(pixels) }
    let image = try pixels.shared()
    defer { g_object_unref(image) }
    file.setProfile(of: image)
    let profile = sluice_vips_has_fit_profile(image) != 0 ? "srgb" : nil
    return try Self.pixels(of: sluice_vips_fit_image(image, Int32(edge), profile))
  }

  /// Decodes a JPEG of which nothing but the end mark is missing. Where pixels are missing before the mark, libjpeg warns.
  private func decodedWithEnd(fitting edge: Int) -> Pixels? {
    let mark: [UInt8] = [0xFF, 0xD9]
    if bytes.suffix(mark.count).elementsEqual(mark) { return nil }
    let whole = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count + mark.count, alignment: 16)
    defer { whole.deallocate() }
    whole.copyMemory(from: bytes)
    UnsafeMutableRawBufferPointer(rebasing: whole[bytes.count...]).copyBytes(from: mark)
    let content = UnsafeRawBufferPointer(whole)
    return try? decoded(content, fitting: edge, usingProfile: hasFitProfile, failOn: "warning")
  }

  /// Takes ownership of the image.
  private static func pixels(of fitted: UnsafeMutablePointer<VipsImage>?) throws(Outcome) -> Pixels {
    guard let fitted else { throw Vips.damage() }
    defer { g_object_unref(fitted) }
    guard let plain = sluice_vips_to_srgb(fitted) else { throw Vips.damage() }
    defer { g_object_unref(plain) }
    // Bands beyond colours and alpha have a meaning only for the program that made them.
    let bands = vips_image_get_bands(plain)
    guard let image = sluice_vips_first_bands(plain, bands == 4 ? 4 : min(bands, 3)) else {
      throw Vips.damage()
    }
    defer { g_object_unref(image) }
    return try Pixels.computed(from: image)
  }

  private static func source(_ bytes: UnsafeRawBufferPointer) -> UnsafeMutablePointer<VipsSource>? {
    vips_source_new_from_memory(bytes.baseAddress, bytes.count)
  }

  private static func metadata(of image: UnsafeMutablePointer<VipsImage>) -> [String] {
    let kinds = [
      ("exif", VIPS_META_EXIF_NAME), ("location", "exif-ifd3-GPSLatitude"), ("xmp", VIPS_META_XMP_NAME),
      ("iptc", VIPS_META_IPTC_NAME), ("photoshop", VIPS_META_PHOTOSHOP_NAME), ("profile", VIPS_META_ICC_NAME),
    ]
    var found = kinds.filter { vips_image_get_typeof(image, $0.1) != 0 }.map(\.0)
    let fields = vips_image_get_fields(image)
    defer { g_strfreev(fields) }
    var next = fields
    while let field = next?.pointee {
      // Each of a PNG's comments is a field.
      if strncmp(field, "png-comment-", 12) == 0 || strcmp(field, "gif-comment") == 0 {
        found.append("comment")
        break
      }
      next = next.map { $0 + 1 }
    }
    return found
  }
}
