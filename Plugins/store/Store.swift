import Glibc
import StageKit

/// Writes objects. `process` copies the content to the store's incoming folder;
/// `flush` syncs up to sixty-four copies together. The host moves an object to its path once the ledger has
/// recorded the attachment, so that no object is at a path without a row that owns it.
///
/// Content that is already stored is linked instead of copied.
struct Store: Stage {
  static let about = About(
    id: "store", version: "1.0.0", summary: "Writes the content below the store, once for equal content.",
    capability: .store, flushes: true,
    codes: [
      "disk-full": "The store's file system has no room; the lane pauses until there is some.",
      "path-taken": "Another object lies at the path; the template does not tell the two apart.",
      "store-unwritable": "The system cannot write to the store.",
      "source-changed": "The content was changed while it was copied.",
      "unreadable": "The system cannot read the content.",
      "no-template": "No path template is for the media type.",
      "path-too-long": "The path made from the template is too long.",
    ])

  static let path = Option<[Entry]>.template(
    "path",
    help: "Where objects go below the store: a template, or a map from media type patterns to templates."
  ).required()
  static let options: [any OptionDeclaration] = [path]

  private let templates: [Entry]
  private let folder: ObjectFolder
  private var copies: [Copy] = []

  init(_ opening: Opening) throws(Outcome) {
    templates = opening[Self.path]
    guard let folder = opening.folder else { throw .fail("store-unwritable", "no folder is granted") }
    self.folder = try ObjectFolder(folder)
  }

  mutating func process(_ attachment: Attachment) throws(Outcome) {
    guard let template = attachment.best(of: templates)?.text else {
      throw .fail(
        "no-template", "no path is for \(attachment.mediaType ?? "an unknown type"); add one for \"*/*\"")
    }
    let path = try attachment.expand(template)
    if try folder.holds(attachment, at: path) {
      attachment.setLocation(path)
      return
    }
    if let twin = attachment.twin, let link = try folder.link(twin, to: attachment) {
      copies.append(link)
    } else {
      copies.append(try folder.copy(attachment))
    }
    attachment.setLocation(path)
  }

  mutating func flush() throws(Outcome) {
    defer { copies.removeAll(keepingCapacity: true) }
    for copy in copies { folder.startSync(copy) }
    for copy in copies {
      do throws(Outcome) { try folder.sync(copy) } catch { copy.attachment.settle(error) }
    }
    if !copies.isEmpty { try folder.syncNames() }
  }
}

private let exported = Exported(Store.self)

/// The plugin's one exported function.
@c(store_stage)
public func store_stage(_ hostMajor: UInt32) -> UnsafePointer<sluice_stage>? { exported.description }
