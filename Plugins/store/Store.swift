import Glibc
import StageKit

/// Writes objects: temporary name, data synced, renamed to its path, folders synced, and only then a pass.
///
/// `process` copies; `flush` syncs up to sixty-four copies together and gives them their names. A replay finds its own
/// object and passes. Content that is stored already is linked instead of copied.
struct Store: Stage {
  static let about = About(
    id: "store", version: "1.0.0", summary: "Writes the content below the store, once for equal content.",
    capability: .store, flushes: true,
    codes: [
      "disk-full": "The store's file system has no room; the lane pauses until there is some.",
      "path-taken": "Another object lies at the path; the template does not tell the two apart.",
      "store-unwritable": "The system cannot write to the store.",
      "source-changed": "The content had another length when it was copied than when it was measured.",
      "unreadable": "The system cannot read the content.",
      "path-too-long": "The path made from the template is too long.",
    ])

  static let path = Option<[Entry]>.template(
    "path",
    help: "Where objects go below the store: a template, or a map from media type patterns to templates."
  ).required()
  static let options: [any OptionDeclaration] = [path]

  private let templates: [Entry]
  private let root: ObjectFolder
  private var copies: [Copy] = []

  init(_ opening: Opening) throws(Outcome) {
    templates = opening[Self.path]
    guard let folder = opening.folder else { throw .fail("store-unwritable", "no folder is granted") }
    root = try ObjectFolder(folder)
  }

  mutating func process(_ attachment: Attachment) throws(Outcome) {
    guard let template = attachment.best(of: templates)?.text else {
      throw .fail(
        "path-too-long",
        "no path template is for \(attachment.mediaType ?? "an unknown type"); add one for \"*/*\"")
    }
    let path = try attachment.expand(template)
    var copy = Copy(attachment: attachment, path: path)
    if let twin = attachment.twin, try root.link(twin, size: attachment.size, to: copy.temporaryName) {
      copy.isLink = true
    } else {
      copy.descriptor = try root.copy(attachment, to: copy.temporaryName)
    }
    copies.append(copy)
  }

  mutating func flush() throws(Outcome) {
    defer { copies.removeAll(keepingCapacity: true) }
    root.sync(copies)
    for copy in copies {
      do throws(Outcome) {
        try root.place(copy)
        copy.attachment.setLocation(copy.path)
      } catch {
        root.discard(copy)
        copy.attachment.settle(error)
      }
    }
    try root.syncFolders()
  }
}

private let exported = Exported(Store.self)

/// The plugin's one exported function.
@c(store_stage)
public func store_stage(_ hostMajor: UInt32) -> UnsafePointer<sluice_stage>? { exported.description }
