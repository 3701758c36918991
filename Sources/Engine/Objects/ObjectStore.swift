import Ledger
import Platform

/// Where objects are kept. A stage stages an object under its attachment's id. The object gets its path once
/// the ledger has recorded the attachment, and is discarded otherwise.
///
/// An object is staged and synced before its attachment's transaction, and published after. If the process or
/// the power fails in between, the next coordinator finds it staged and goes on. So no object is at a path
/// without its row, and the folders of the paths need not be synced one by one.
public protocol ObjectStore: AnyObject {
  /// For messages.
  var name: String { get }
  /// Moves a staged object to its path. If nothing is staged, or the path holds the same content, the object
  /// is in place already.
  func publish(_ id: String, to path: String) throws(SystemError)
  /// Deletes a staged object, if there is one.
  func discard(_ id: String)
  /// Whether a stage has staged an object for this attachment.
  func isStaged(_ id: String) -> Bool
  /// The names of the staged objects: attachment ids, or other names found there.
  func staged() throws(SystemError) -> [String]
  func standing(of path: String) -> ObjectStanding
  /// Whether nothing has ever been stored here.
  var isEmpty: Bool { get }
}

/// An object that is to get its path.
public struct StagedObject: Sendable, Equatable {
  /// Its attachment's id.
  public var id: String
  public var path: String

  public init(id: String, path: String) {
    self.id = id
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
  public func check(_ ledger: Ledger) throws(LedgerError) {
    guard isEmpty, try ledger.hasObjects() else { return }
    throw LedgerError(
      .unwritable,
      "\(name) is empty, and the ledger has objects in it; mount it or put it back, or if it is lost make the folder "
        + "\(name)/\(FileStore.incoming): then `sluice verify --repair` queues what can be stored again")
  }

  /// Finishes what an earlier coordinator began: publishes the objects on record, and discards the others.
  /// Returns those that have not got their paths, and why; they stay staged.
  public func recover(_ ledger: Ledger) throws -> [(object: StagedObject, error: SystemError)] {
    var waiting: [(StagedObject, SystemError)] = []
    for name in try staged() {
      guard let path = try ledger.location(ofAttachment: name) else {
        discard(name)
        continue
      }
      do throws(SystemError) {
        try publish(name, to: path)
      } catch {
        waiting.append((StagedObject(id: name, path: path), error))
      }
    }
    return waiting
  }
}
