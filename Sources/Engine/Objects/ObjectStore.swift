import LedgerPort
import Platform

/// Where objects are kept. A stage leaves an object under a name that no reader knows. The object gets its path once
/// the ledger has recorded the attachment, and is discarded otherwise.
///
/// An object is staged and synced before its attachment's transaction, and published after. If the process or
/// the power fails in between, the next coordinator finds it staged and goes on. So no object is at a path
/// without its row, and the folders of the paths need not be synced one by one.
public protocol ObjectStore: AnyObject {
  /// For messages.
  var name: String { get }
  /// Stages objects, synced: of each set all or none. Returns the SHA-256 of each.
  func stage(_ sets: [[NewObject]]) -> [Result<[[UInt8]], SystemError>]
  /// Gives a file of the home a name beside the staged objects, so that a stage can link it as one that is stored. It is discarded by
  /// that name.
  ///
  /// - Parameter descriptor: the file, open: what lies at the path is to be this one.
  /// - Returns: its path in the store; `nil`: it cannot be linked there, as on another file system, or has another link already.
  func adopt(_ file: String, open descriptor: Int32, as name: StagedName) -> String?
  /// Moves a staged object to its path. If nothing is staged, or the path holds the same content, the object
  /// is in place already.
  func publish(_ object: StagedObject) throws(SystemError)
  /// Deletes a staged object, if there is one.
  func discard(_ staged: StagedName)
  /// Whether a stage has left an object under this name.
  func isStaged(_ staged: StagedName) -> Bool
  /// All staged objects, in any order.
  func staged() throws(SystemError) -> [StagedName]
  /// The SHA-256 of a staged object; `nil`: it is not there.
  func digest(ofStaged staged: StagedName) throws(SystemError) -> [UInt8]?
  func standing(of path: String) -> ObjectStanding
  /// The content of an object, to be read from its beginning; `nil`: there is none at this path.
  func open(_ path: String) throws(SystemError) -> Descriptor?
  /// The objects after a path, in order; `nil`: from the first.
  func list(after path: String?) -> any ObjectListing
  /// Deletes objects, where they are there, and the folders that are empty then. For each path, why its object may still be there;
  /// `nil`: it is gone, also if the power fails.
  func delete(_ paths: [String]) -> [SystemError?]
  /// Whether nothing has ever been stored here.
  var isEmpty: Bool { get }
}

/// The name under which a stage has left an object: that of its attachment, and of the lease. So what a coordinator that was taken
/// for lost still leaves there takes no other's place.
public struct StagedName: Sendable, Hashable, CustomStringConvertible {
  public let attachmentId: String
  /// Of an object beside the attachment's own: its name.
  public let derived: String?
  /// `nil`: it was left by a stage that was built for contract 1.0.
  public let token: Token?
  public let text: String

  /// What stands for ``derived`` where the name is that of an adopted file. No object has such a name.
  public static let adopted = "=content"

  public init(attachmentId: String, _ token: Token?, derived: String? = nil) {
    self.attachmentId = attachmentId
    self.token = token
    self.derived = derived
    let name = derived.map { attachmentId + "~" + $0 } ?? attachmentId
    text = token.map { String($0.holder) + "." + String($0.number) + "." + name } ?? name
  }

  /// Reads what ``text`` gives. Any other text is the id of an attachment.
  public init(_ text: String) {
    let parts = text.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
    if parts.count == 3, let holder = Int64(parts[0]), let number = Int64(parts[1]) {
      // An id has no such character.
      let names = parts[2].split(separator: "~", maxSplits: 1, omittingEmptySubsequences: false)
      self.init(
        attachmentId: String(names[0]), Token(holder: holder, number: number),
        derived: names.count > 1 ? String(names[1]) : nil)
    } else {
      self.init(attachmentId: text, nil)
    }
  }

  public var description: String { text }
}

/// An object that is to get its path.
public struct StagedObject: Sendable, Equatable {
  public var name: StagedName
  public var path: String

  public init(_ name: StagedName, path: String) {
    self.name = name
    self.path = path
  }
}

/// What lies at a path of a store.
public enum ObjectStanding: Sendable {
  case free, taken
  /// No object can be here: the path is a folder, or a parent is not a folder.
  case blocked
}

extension ObjectStore {
  /// Refuses an empty store if the ledger has objects: the real store is probably not mounted, and objects
  /// stored in its place would be hidden by it, or lost.
  public func check(_ ledger: any LedgerQueries) throws(LedgerError) {
    guard isEmpty, try ledger.hasObjects() else { return }
    throw LedgerError(
      .unwritable,
      "\(name) is empty, and the ledger has objects in it; mount it or put it back, or if it is lost make the folder "
        + "\(name)/\(FileStore.incoming): then `sluice verify --repair` queues what can be stored again")
  }

  /// Finishes what lost coordinators began: publishes the objects on record, and discards the others. What belongs to one that
  /// is at work stays. Returns those that have not got their paths, and why; they stay staged.
  public func recover(_ ledger: any LedgerQueries) throws -> [(object: StagedObject, error: SystemError)] {
    var waiting: [(StagedObject, SystemError)] = []
    let others = try ledger.otherHolders()
    for name in try staged() {
      if let token = name.token, others.contains(token.holder) { continue }
      guard
        let path = try path(of: name, ledger) ?? heir(of: name, ledger)
      else {
        discard(name)
        continue
      }
      do throws(SystemError) {
        try publish(StagedObject(name, path: path))
      } catch {
        waiting.append((StagedObject(name, path: path), error))
      }
    }
    return waiting
  }

  /// Where an object belongs that is on record; `nil`: it is not.
  private func path(of name: StagedName, _ ledger: any LedgerQueries) throws -> String? {
    guard let derived = name.derived else {
      return try ledger.path(ofCompleted: name.attachmentId) ?? kept(by: name, ledger)
    }
    guard let object = try ledger.object(derived, besideAttachment: name.attachmentId),
      standing(of: object.url) == .free, try digest(ofStaged: name) == object.sha256
    else { return nil }
    return object.url
  }

  /// Where the object belongs that an attachment keeps of an earlier attempt; `nil`: it is none. A power loss may have taken back that
  /// it got its path, after the attachment was queued again.
  private func kept(by name: StagedName, _ ledger: any LedgerQueries) throws -> String? {
    guard let object = try ledger.object(ofAttachment: name.attachmentId), object.isKept,
      standing(of: object.url) == .free, try digest(ofStaged: name) == object.sha256
    else { return nil }
    return object.url
  }

  /// Where the object of a deleted attachment belongs all the same; `nil`: nowhere. Another attachment may have its content at this
  /// path, and a power loss have taken back that the object got it.
  private func heir(of name: StagedName, _ ledger: any LedgerQueries) throws -> String? {
    guard try ledger.tombstones(idPrefix: name.attachmentId).contains(where: { $0.id == name.attachmentId }),
      let digest = try digest(ofStaged: name)
    else { return nil }
    return try ledger.paths(ofContent: digest).first { standing(of: $0) == .free }
  }
}
