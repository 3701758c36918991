import Glibc
import StageKit

/// Stores content below the store under its hash, so that equal content is stored once.
struct Greeting: Stage {
  static let about = About(
    id: "greeting", version: "0.1.0", summary: "Keeps content below the store under its hash.",
    capability: .store,
    keys: ["greeting.path": "Where the object lies below the store."],
    codes: [
      "store-unwritable": "The system cannot write to the store.",
      "source-changed": "The content was changed while it was copied.",
      "unreadable": "The system cannot read the content.",
      "path-too-long": "The path is too long.",
    ])

  static let folder = Option<String>.text(
    "folder", default: "objects", help: "The folder below the store that objects lie in.")
  static let options: [any OptionDeclaration] = [folder]

  private let folder: String
  private let store: Int32

  init(_ opening: Opening) throws(Outcome) {
    folder = opening[Self.folder]
    guard let store = opening.folder else { throw .fail("store-unwritable", "no folder is granted") }
    self.store = store
    if mkdirat(store, ".incoming", 0o700) != 0 && errno != EEXIST { throw Self.fault("making .incoming") }
  }

  func process(_ attachment: Attachment) throws(Outcome) {
    // `expand` never yields a path outside the store, whatever the option says.
    let path = try attachment.expand("\(folder)/{sha256}")
    // The host moves the object to its path once the ledger has recorded the attachment.
    if faccessat(store, path, F_OK, 0) != 0 { try copy(attachment, to: ".incoming/\(attachment.stagedName)") }
    attachment.setLocation(path)
    attachment.annotate("greeting.path", path)
  }

  private func copy(_ attachment: Attachment, to name: String) throws(Outcome) {
    unlinkat(store, name, 0)  // left by an earlier attempt
    let object = openat(store, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if object < 0 { throw Self.fault("making an object") }
    defer { close(object) }
    var offset: Int64 = 0
    while true {
      let piece = try attachment.read(256 << 10, at: offset)
      if piece.isEmpty { break }
      if write(object, piece, piece.count) != piece.count { throw Self.fault("writing an object") }
      offset += Int64(piece.count)
    }
    try attachment.checkUnchanged()
    // A pass promises that the object is durable: its data and its name.
    if fsync(object) != 0 { throw Self.fault("syncing an object") }
    let incoming = openat(store, ".incoming", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer { close(incoming) }
    if incoming < 0 || fsync(incoming) != 0 { throw Self.fault("syncing .incoming") }
  }

  private static func fault(_ doing: String) -> Outcome {
    .retry("store-unwritable", "\(doing): \(String(cString: strerror(errno)))")
  }
}

private let exported = Exported(Greeting.self)

@c(greeting_stage)
public func greeting_stage(_ hostMajor: UInt32) -> UnsafePointer<sluice_stage>? { exported.description }
