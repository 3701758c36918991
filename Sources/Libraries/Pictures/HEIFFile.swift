import CHEIF
import CVips
import Glibc
import StageKit

/// A HEIC or AVIF whose header has been read. The bytes must outlive it.
///
/// Does not use libvips, whose loader starts threads.
final class HEIFFile {
  let width: Int
  let height: Int
  /// Of the same rank: thumbnails and masks do not count.
  let pictures: Int
  /// The names of the kinds of metadata, of all pictures.
  let metadata: [String]

  private let file: OpaquePointer
  private let bands: Int

  /// The code of the outcome where libheif does not have what it takes.
  static let unsupported = "not-supported"

  init(_ bytes: UnsafeRawBufferPointer) throws(Outcome) {
    if let problem = HEIFReferences.problem(in: bytes) { throw Vips.damage(problem) }
    var (facts, fault) = (sluice_heif_facts(), sluice_heif_fault())
    guard let file = sluice_heif_open(bytes.baseAddress, bytes.count, &facts, &fault) else {
      throw Self.outcome(fault)
    }
    self.file = file
    (width, height, pictures) = (Int(facts.width), Int(facts.height), Int(facts.pictures))
    bands = facts.has_alpha ? 4 : 3
    let place = (0..<facts.exif_count).contains { Self.hasPlace(file, $0) }
    metadata = [
      ("exif", facts.exif_count > 0), ("location", place), ("xmp", facts.has_xmp),
      ("profile", facts.has_profile),
    ].filter(\.1).map(\.0)
  }

  deinit {
    sluice_heif_close(file)
  }

  /// Decodes the picture in its full size, in the colours of its profile.
  func decoded() throws(Outcome) -> Pixels {
    var fault = sluice_heif_fault()
    guard sluice_heif_decode(file, &fault) else { throw Self.outcome(fault) }
    let pixels = Pixels(width: width, height: height, bands: bands)
    sluice_heif_take(file, pixels.bytes.assumingMemoryBound(to: UInt8.self).baseAddress)
    return pixels
  }

  /// Gives an image the colour profile of the file, if any.
  func setProfile(of image: UnsafeMutablePointer<VipsImage>) {
    var size = 0
    guard let profile = sluice_heif_profile(file, &size) else { return }
    defer { free(profile) }
    vips_image_set_blob_copy(image, VIPS_META_ICC_NAME, profile, size)
  }

  private static func hasPlace(_ file: OpaquePointer, _ number: Int32) -> Bool {
    var size = 0
    guard let exif = sluice_heif_exif(file, number, &size) else { return false }
    defer { free(exif) }
    return ExifPlace.isThere(in: UnsafeRawBufferPointer(start: exif, count: size))
  }

  private static func outcome(_ fault: sluice_heif_fault) -> Outcome {
    let reason = withUnsafeBytes(of: fault.reason) {
      String(decoding: $0.prefix { $0 != 0 }.map { 0x20..<0x7F ~= $0 ? $0 : 0x3F }, as: UTF8.self)
    }
    switch fault.result {
    case SLUICE_HEIF_UNKNOWN: return .reject(unsupported, "libheif cannot decode it: \(reason)")
    case SLUICE_HEIF_NO_MEMORY: return .fail("out-of-memory", "libheif has no memory for this image")
    default: return Vips.damage(reason)
    }
  }
}
