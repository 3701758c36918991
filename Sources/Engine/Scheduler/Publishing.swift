import Ledger
import Objects
import Platform

/// Renames objects to their paths once their attachments are on record.
///
/// The rename fails if the store's disk fails. Then the object waits in the store's incoming folder, and the rename is tried
/// again. If the process ends before that, the next coordinator finds the object there.
final class Publishing {
  private struct Waiting {
    var id: String
    var path: String
  }

  private let store: any ObjectStore
  private var waiting: [Waiting] = []
  private var tries = 0
  /// When to try again, in milliseconds of the steady clock.
  private var dueAt: Int64 = .max
  /// Paths of objects that are stored and have not got them yet.
  private var reserved = PathReservations()

  /// The first wait before another try, and the longest, in milliseconds.
  private static let waits: (first: Int64, longest: Int64) = (1000, 30_000)

  init(_ store: any ObjectStore) {
    self.store = store
  }

  /// Whether objects wait for their paths.
  var isBehind: Bool { !waiting.isEmpty }
  /// When to call ``tryAgain(at:)``, in milliseconds of the steady clock; `nil`: nothing waits.
  var nextTry: Int64? { isBehind ? dueAt : nil }

  // MARK: Paths

  /// What becomes of the path that a stage has chosen.
  enum Claim {
    /// It is this attempt's.
    case granted
    /// It has been taken since the stage looked, and what the stage has stored was discarded: it is to look again.
    case lookAgain
    /// Another object goes there, or to a part of it.
    case refused
  }

  /// Claims a path for an attempt. Two in hand may be on their way to the same path, or one to a path below the other's; with the
  /// same content they share it.
  func claim(_ path: String, for id: String, _ sha256: String?) -> Claim {
    let standing = store.standing(of: path)
    if standing == .taken && store.isStaged(id) {
      store.discard(id)
      return .lookAgain
    }
    return standing != .blocked && reserved.insert(path, sha256) ? .granted : .refused
  }

  /// The attempt has ended without an object at the path.
  func release(_ path: String) {
    reserved.remove(path)
  }

  // MARK: Objects

  /// Takes an object away that is not to be kept.
  func discard(_ id: String) {
    store.discard(id)
  }

  /// Renames an object to its path. If that fails, the object waits for ``tryAgain(at:)``, and the error is returned.
  func publish(_ id: String, to path: String, at time: Int64) -> SystemError? {
    do throws(SystemError) {
      try store.publish(id, to: path)
      release(path)
      return nil
    } catch {
      waiting.append(Waiting(id: id, path: path))
      if dueAt == .max { dueAt = time + Self.waits.first }
      return error
    }
  }

  /// Renames the objects that wait. Returns the first error; `nil`: every object has its path.
  func tryAgain(at time: Int64) -> SystemError? {
    var left: [Waiting] = []
    var failure: SystemError?
    for one in waiting {
      do throws(SystemError) {
        try store.publish(one.id, to: one.path)
        release(one.path)
      } catch {
        failure = failure ?? error
        left.append(one)
      }
    }
    waiting = left
    tries = failure == nil ? 0 : tries + 1
    dueAt = failure == nil ? .max : time + min(Self.waits.first << Int64(min(tries, 10)), Self.waits.longest)
    return failure
  }
}
