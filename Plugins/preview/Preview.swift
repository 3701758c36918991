import PDFDocument
import PDFPictures
import Pictures
import StageKit

/// Leaves pictures of images and PDFs beside them: what a recipient looks at before he opens the original.
struct Preview: Stage {
  static let about = About(
    id: "preview", version: "1.0.0",
    summary: "Leaves a thumbnail of images and PDFs beside them, and pictures of a PDF's pages.",
    derives: true,
    keys: [
      "preview.width": "The width of the thumbnail, in pixels.",
      "preview.height": "The height of the thumbnail, in pixels.",
      "preview.pages": "The number of pages of a PDF of which there is a picture.",
      "preview.failed": "Why there is no thumbnail, or not a picture of each page: one of the codes.",
    ],
    codes: [
      "image-damaged": "It cannot be decoded to its end, and `on-failure` is `reject`.",
      "too-many-pixels": "It has more pixels than `max-pixels`, and `on-failure` is `reject`.",
      "not-supported": "It is an image of another format, and `on-failure` is `reject`.",
      "pdf-damaged": "A page to be drawn does not open or cannot be drawn, and `on-failure` is `reject`.",
      "pdf-encrypted": "It does not open without a password, and `on-failure` is `reject`.",
      "not-encoded": "Its picture cannot be written in the format, and `on-failure` is `reject`.",
      "out-of-memory": "It does not fit into the memory the stage may use, and `on-failure` is `reject`.",
      "source-changed": "The content was changed since it was measured.",
      "unreadable": "The system cannot read the content.",
      "not-written": "The system does not take the picture.",
      "vips-unavailable": "libvips does not work on this machine.",
      "poppler-unavailable": "Poppler does not work on this machine.",
    ])

  static let size = Option<Int64>.integer(
    "size", default: 320,
    help: "The longest edge of the thumbnail, in pixels; smaller images are not enlarged."
  ).within(16...2048)
  static let pages = Option<Int64>.integer(
    "pages", default: 0,
    help: "Of how many pages of a PDF, at most, there is a picture `page-1`, `page-2` and so on."
  ).within(0...63)
  static let pageSize = Option<Int64>.integer(
    "page-size", default: 1240, help: "The longest edge of the picture of a page, in pixels."
  ).within(16...4096)
  static let format = Option<String>.text(
    "format", default: "jpeg", help: "What is written; with `jpeg`, transparency becomes white."
  ).among("jpeg", "png", "webp")
  static let maxPixels = Option<Int64>.integer(
    "max-pixels", default: 50_000_000,
    help: "The most pixels of an image; of one of more there is no thumbnail."
  ).within(1...10_000_000_000)
  static let onFailure = Option<String>.text(
    "on-failure", default: "pass",
    help: "What becomes of an image or a PDF of which there is no picture; `pass` goes on without."
  ).among("pass", "reject")
  static let options: [any OptionDeclaration] = [size, pages, pageSize, format, maxPixels, onFailure]

  private let size: Int
  private let pages: Int
  private let pageSize: Int
  private let format: EncodedImage.Format
  private let maxPixels: Int
  private let rejectsFailures: Bool
  private let poppler: Poppler
  private let content = Content()

  init(_ opening: Opening) throws(Outcome) {
    size = Int(opening[Self.size])
    pages = Int(opening[Self.pages])
    pageSize = Int(opening[Self.pageSize])
    format =
      switch opening[Self.format] {
      case "png": .png
      case "webp": .webp(quality: 80)
      default: .jpeg(quality: 80)
      }
    maxPixels = Int(opening[Self.maxPixels])
    rejectsFailures = opening[Self.onFailure] == "reject"
    try Vips.start()
    poppler = try Poppler()
    try PageFonts.start()
    opening.repeatable(
      on:
        "libvips \(Vips.version), libwebp \(Pixels.webpVersion), libheif \(Vips.heifVersion), poppler \(Poppler.version), \(Poppler.tables), cairo \(PageFonts.cairoVersion), \(PageFonts.fingerprint)"
    )
  }

  /// Content that is neither an image nor a PDF passes without a word.
  func process(_ attachment: Attachment) throws(Outcome) {
    let type = attachment.mediaType
    guard type == nil || attachment.matches("image/*") || attachment.matches("application/pdf") else {
      return
    }
    do throws(Outcome) {
      try content.read(attachment)
      defer { content.release() }
      if attachment.matches("application/pdf") || type == nil && content.bytes.starts(with: "%PDF-".utf8) {
        try show(pdf: content.bytes, attachment)
      } else if let format = ImageFile.format(of: content.bytes) {
        try show(image: content.bytes, format, attachment)
      } else if Self.read.contains(where: attachment.matches) {
        throw Vips.damage("it does not begin like an image")
      } else if let type {
        throw .reject("not-supported", "\(type) is not a format the stage reads")
      }
    } catch {
      if error.verdict == SLUICE_RETRY { throw error }
      attachment.annotate("preview.failed", error.code)
      if rejectsFailures { throw .reject(error.code, error.message) }
    }
  }

  private static let read = [
    "image/jpeg", "image/png", "image/gif", "image/webp", "image/tiff", "image/heic", "image/avif",
  ]

  private func show(
    image bytes: UnsafeRawBufferPointer, _ format: ImageFile.Format, _ attachment: Attachment
  ) throws(Outcome) {
    // libvips allocates memory for a whole WebP to read its header.
    if format == .webp, let size = Pixels.claim(webp: bytes) { try admit(size.width, size.height) }
    let file = try ImageFile(bytes, format: format)
    try admit(file.width, file.height)
    guard file.hasColours else { throw .reject("not-supported", "its samples are no colours") }
    try leave(file.decoded(fitting: size).turned(from: file.orientation), "thumbnail", attachment)
  }

  private func admit(_ width: Int, _ height: Int) throws(Outcome) {
    let (pixels, isBeyond) = width.multipliedReportingOverflow(by: height)
    if !isBeyond, pixels <= maxPixels { return }
    throw .reject("too-many-pixels", "\(width) x \(height) pixels, and \(maxPixels) are allowed")
  }

  private func show(pdf bytes: UnsafeRawBufferPointer, _ attachment: Attachment) throws(Outcome) {
    let document: DrawnDocument
    do throws(Document.Refusal) {
      document = try DrawnDocument(bytes)
    } catch {
      switch error {
      case .needsPassword: throw .reject("pdf-encrypted", "the PDF needs a password to open")
      case .damaged(let reason): throw Self.damage("it does not open: \(reason)")
      }
    }
    guard document.pageCount > 0 else { throw Self.damage("it has no pages") }
    try leave(document.picture(of: 0, fitting: size), "thumbnail", attachment)
    guard pages > 0 else { return }
    var drawn = 0
    defer { attachment.annotate("preview.pages", Int64(drawn)) }
    // The document may claim more pages than it has.
    let count = (try? Document(bytes))?.pageCount ?? 0
    for index in 0..<min(count, document.pageCount, pages) {
      let picture = try document.picture(of: index, fitting: pageSize)
      guard try leave(picture, "page-\(index + 1)", attachment) else { return }
      drawn += 1
    }
  }

  /// Returns whether it was taken.
  @discardableResult
  private func leave(_ pixels: consuming Pixels, _ name: String, _ attachment: Attachment) throws(Outcome)
    -> Bool
  {
    let (width, height) = (pixels.width, pixels.height)
    let encoded = try Self.encoded(pixels, format)
    guard let descriptor = attachment.derive(name, encoded.mediaType) else { return false }
    try Attachment.append(encoded.bytes, to: descriptor)
    if name == "thumbnail" {
      attachment.annotate("preview.width", Int64(width))
      attachment.annotate("preview.height", Int64(height))
    }
    return true
  }

  private static func encoded(
    _ pixels: consuming Pixels, _ format: EncodedImage.Format
  ) throws(Outcome) -> EncodedImage {
    if case .jpeg = format { return try EncodedImage(pixels.onWhite(), as: format) }
    return try EncodedImage(pixels, as: format)
  }

  static func damage(_ reason: String) -> Outcome {
    .reject("pdf-damaged", "the PDF cannot be shown: \(reason)")
  }
}

private let exported = Exported(Preview.self)

/// The plugin's one exported function.
@c(preview_stage)
public func preview_stage(_ hostMajor: UInt32) -> UnsafePointer<sluice_stage>? { exported.description }
