import Pictures
import StageKit

/// Re-encodes images: upright, no larger than a chat shows them, and without metadata such as the place they
/// were taken.
struct Image: Stage {
  static let about = About(
    id: "image", version: "1.0.0",
    summary: "Writes images anew: upright, made to fit, without metadata such as the location.",
    produces: true,
    keys: [
      "image.format": "What it was: `jpeg`, `png`, `gif`, `webp`, `tiff`, `heic` or `avif`.",
      "image.width": "The width as shown, in pixels, when it leaves the stage.",
      "image.height": "The height as shown, in pixels, when it leaves the stage.",
      "image.original-width": "The width as it was stored, in pixels.",
      "image.original-height": "The height as it was stored, in pixels.",
      "image.orientation": "The EXIF orientation it had: 1 is upright.",
      "image.pages": "The number of frames of an animation, or of pages.",
      "image.action": "`rewritten`, or `as-is` for what the stage does not write anew.",
      "image.removed":
        "The kinds of metadata it had, joined by a space; with them went whatever else was not a pixel.",
      "image.kept":
        "The kinds of metadata that are still in an image left as it is; `unknown` for other formats.",
    ],
    codes: [
      "image-damaged": "It cannot be decoded to its end.",
      "too-many-pixels": "It has more pixels than `max-pixels`, all frames counted.",
      "not-rewritten":
        "It is an animation, has pages or no colours, or is of another format, and `as-is` is `reject`.",
      "not-encoded": "It cannot be written in the new format.",
      "source-changed": "The content was changed since it was measured.",
      "unreadable": "The system cannot read the content.",
      "not-written": "The system does not take the new image.",
      "out-of-memory": "The content does not fit into the memory the stage may use.",
      "vips-unavailable": "libvips does not work on this machine.",
    ])

  static let fit = Option<Int64>.integer(
    "fit", default: 2048, help: "The longest edge, in pixels; larger images are made smaller."
  ).within(1...16_384)
  static let quality = Option<Int64>.integer(
    "quality", default: 80, help: "The quality of a JPEG that is written, from 1 to 100."
  ).within(1...100)
  static let maxPixels = Option<Int64>.integer(
    "max-pixels", default: 50_000_000,
    help: "The most pixels, all frames counted; an image of more is refused before it is decoded."
  ).within(1...10_000_000_000)
  static let asIs = Option<String>.text(
    "as-is", default: "pass",
    help: "What becomes of animations, pages and other formats; `pass` leaves them, with their metadata."
  ).among("pass", "reject")
  static let options: [any OptionDeclaration] = [fit, quality, maxPixels, asIs]

  private let edge: Int
  private let quality: Int
  private let maxPixels: Int
  private let rejectsAsIs: Bool
  private let content = Content()

  init(_ opening: Opening) throws(Outcome) {
    edge = Int(opening[Self.fit])
    quality = Int(opening[Self.quality])
    maxPixels = Int(opening[Self.maxPixels])
    rejectsAsIs = opening[Self.asIs] == "reject"
    try Vips.start()
  }

  /// Content that is not an image passes unchanged.
  func process(_ attachment: Attachment) throws(Outcome) {
    guard attachment.mediaType == nil || attachment.matches("image/*") else { return }
    try content.read(attachment)
    defer { content.release() }
    guard let format = ImageFile.format(of: content.bytes) else { return try passUnread(attachment) }
    // libvips allocates memory for a whole WebP to read its header.
    if format == .webp, let size = Pixels.claim(webp: content.bytes) {
      try admit(size.width, size.height, frames: 1)
    }
    let file: ImageFile
    do throws(Outcome) {
      file = try ImageFile(content.bytes, format: format)
    } catch {
      // Raw photos begin like a TIFF, and libvips cannot read them.
      if format == .tiff || error.code == ImageFile.unsupported {
        return try pass(attachment, keeping: ["unknown"], error.message)
      }
      throw error
    }
    describe(file, to: attachment)
    try admit(file.width, file.height, frames: file.pages)
    if file.isMore || !file.hasColours {
      show(file.width, file.height, to: attachment)
      let reason =
        file.isMore ? "it is an animation, has pages, or is a raw photo" : "its samples are no colours"
      return try pass(attachment, keeping: file.metadata, reason)
    }
    do throws(Outcome) {
      try rewrite(file, attachment)
    } catch {
      guard error.code == ImageFile.unsupported else { throw error }
      show(file.width, file.height, to: attachment)
      try pass(attachment, keeping: file.metadata, error.message)
    }
  }

  private func admit(_ width: Int, _ height: Int, frames: Int) throws(Outcome) {
    let (frame, isBeyond) = width.multipliedReportingOverflow(by: height)
    let (pixels, isFarBeyond) = frame.multipliedReportingOverflow(by: frames)
    if !isBeyond, !isFarBeyond, pixels <= maxPixels { return }
    let each = frames > 1 ? " in each of \(frames) frames" : ""
    throw .reject(
      "too-many-pixels", "\(width) x \(height) pixels\(each), and \(maxPixels) are allowed")
  }

  private func rewrite(_ file: ImageFile, _ attachment: Attachment) throws(Outcome) {
    let pixels = try file.decoded(fitting: edge).turned(from: file.orientation)
    let encoded = try EncodedImage(pixels, as: pixels.isOpaque ? .jpeg(quality: quality) : .png)
    try attachment.replaceContent(with: encoded.bytes)
    attachment.setMediaType(encoded.mediaType)
    attachment.annotate("image.action", "rewritten")
    attachment.annotate("image.removed", file.metadata.joined(separator: " "))
    show(pixels.width, pixels.height, to: attachment)
  }

  private func describe(_ file: ImageFile, to attachment: Attachment) {
    attachment.annotate("image.format", file.format.rawValue)
    attachment.annotate("image.original-width", Int64(file.width))
    attachment.annotate("image.original-height", Int64(file.height))
    attachment.annotate("image.orientation", Int64(file.orientation))
    attachment.annotate("image.pages", Int64(file.pages))
  }

  private func show(_ width: Int, _ height: Int, to attachment: Attachment) {
    attachment.annotate("image.width", Int64(width))
    attachment.annotate("image.height", Int64(height))
  }

  /// Passes content that does not begin like a supported image format.
  private func passUnread(_ attachment: Attachment) throws(Outcome) {
    guard let mediaType = attachment.mediaType else { return }
    if Self.read.contains(where: attachment.matches) {
      throw Vips.damage("it is to be \(mediaType), and does not begin like an image")
    }
    try pass(attachment, keeping: ["unknown"], "\(mediaType) is not a format the stage reads")
  }

  private static let read = [
    "image/jpeg", "image/png", "image/gif", "image/webp", "image/heic", "image/avif",
  ]

  private func pass(_ attachment: Attachment, keeping metadata: [String], _ reason: String) throws(Outcome) {
    attachment.annotate("image.action", "as-is")
    attachment.annotate("image.kept", metadata.joined(separator: " "))
    if rejectsAsIs { throw .reject("not-rewritten", "the image cannot be written anew: \(reason)") }
  }
}

private let exported = Exported(Image.self)

/// The plugin's one exported function.
@c(image_stage)
public func image_stage(_ hostMajor: UInt32) -> UnsafePointer<sluice_stage>? { exported.description }
