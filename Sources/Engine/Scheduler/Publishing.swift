import Ledger
import Objects
import Platform

/// Gives objects their paths once their attachments are on record.
///
/// That may fail, as long as the store's disk does: such an object waits in the store's incoming folder, and is tried again.
/// Whatever happens meanwhile, the next coordinator finds it there.
final class Publishing {
  private struct Waiting {
    var id: String
    var path: String
  }

  private let publisher: ObjectPublisher
  private var waiting: [Waiting] = []
  private var tries = 0
  /// When to try again, in milliseconds of the steady clock.
  private var dueAt: Int64 = .max
  /// Paths of objects that are stored and have not got them yet.
  private var reserved = PathReservations()

  /// The first wait before another try, and the longest, in milliseconds.
  private static let waits: (first: Int64, longest: Int64) = (1000, 30_000)

  init(_ publisher: ObjectPublisher) {
    self.publisher = publisher
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
    let standing = publisher.standing(of: path)
    if standing == .taken && publisher.hasIncoming(id) {
      publisher.discard(id)
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
    publisher.discard(id)
  }

  /// Gives an object its path. What cannot be done now waits; the reason is for whoever looks after the store.
  func publish(_ id: String, to path: String, at time: Int64) -> SystemError? {
    do throws(SystemError) {
      try publisher.publish(id, to: path)
      release(path)
      return nil
    } catch {
      waiting.append(Waiting(id: id, path: path))
      if dueAt == .max { dueAt = time + Self.waits.first }
      return error
    }
  }

  /// Tries what waits once more. Returns why it still waits; `nil`: all have their paths.
  func tryAgain(at time: Int64) -> SystemError? {
    var left: [Waiting] = []
    var failure: SystemError?
    for one in waiting {
      do throws(SystemError) {
        try publisher.publish(one.id, to: one.path)
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
