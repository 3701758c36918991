import Ledger
import Platform

/// Where objects are kept. A stage stages an object under its attachment's id; it gets its path once the ledger has the
/// attachment, and is discarded otherwise.
///
/// An object is staged, synced, before its attachment's transaction, and published after. Whenever the process or the power
/// ends in between, the next coordinator finds it staged and goes on. So there is no object at a path without its row, and the
/// folders of the paths need not be synced one by one.
public protocol ObjectStore: AnyObject {
  /// For messages.
  var name: String { get }
  /// Moves a staged object to its path. Where nothing is staged, or the path holds the same content, the path has it already.
  func publish(_ id: String, to path: String) throws(SystemError)
  /// Takes a staged object away, if there is one.
  func discard(_ id: String)
  /// Whether a stage has staged an object for this attachment.
  func isStaged(_ id: String) -> Bool
  /// The attachments of the staged objects: ids, or what else bears a name there.
  func staged() throws(SystemError) -> [String]
  func standing(of path: String) -> ObjectStanding
  /// Nothing has ever been stored here.
  var isEmpty: Bool { get }
}

/// What lies at a path of a store.
public enum ObjectStanding: Sendable {
  case free, taken
  /// It can hold no object whatever its content: it is a folder, or a part of it is none.
  case blocked
}

extension ObjectStore {
  /// Refuses an empty store where the ledger has objects: what is stored into the place of one that is away would be hidden by
  /// it, or lost.
  public func check(_ ledger: Ledger) throws(LedgerError) {
    guard isEmpty, try ledger.hasObjects() else { return }
    throw LedgerError(
      .unwritable,
      "\(name) is empty, and the ledger has objects in it; mount it or put it back, or if it is lost make the folder "
        + "\(name)/\(FileStore.incoming): then `sluice verify --repair` queues what can be stored again")
  }

  /// Finishes what an earlier coordinator began: publishes what is on record, and takes the rest away. Returns what could not
  /// be done; such an object stays staged.
  public func recover(_ ledger: Ledger) throws -> [String] {
    var problems: [String] = []
    for name in try staged() {
      guard let path = try ledger.location(ofAttachment: name) else {
        discard(name)
        continue
      }
      do throws(SystemError) {
        try publish(name, to: path)
      } catch {
        problems.append(
          "\(error); the object of attachment \(name) waits in the store's \(FileStore.incoming)")
      }
    }
    return problems
  }
}
