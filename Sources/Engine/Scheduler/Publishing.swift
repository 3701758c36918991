import LedgerPort
import Objects
import Platform

/// Objects on their way to their paths, once their attachments are on record.
///
/// They are renamed by a thread of their own, a batch at a time. A rename fails if the store's disk fails. Then the object waits in
/// the store's incoming folder, and the rename is tried again. If the process ends before that, the next coordinator finds the
/// object there.
struct Publishing {
  private struct Publication {
    var object: StagedObject
    /// What ends once the object has its path, or waits for it.
    var settlement: PendingSettlement?
    /// It was tried before.
    var isRetry = false
  }

  private let store: any ObjectStore
  private var next: [Publication] = []
  private var underway: [Publication] = []
  private var waiting: [StagedObject] = []
  /// Attachments that were deleted while their objects were on their way.
  private var forgotten: Set<String> = []
  private var tries = 0
  /// When to try those that wait again, in milliseconds of the steady clock.
  private var dueAt: Int64 = .max
  /// Paths of objects that are stored and have not got them yet.
  private var reserved = PathReservations()

  private struct Taken: Hashable {
    var path: String
    var sha256: String
  }

  /// What the ledger has refused. The next attempt meets the object at the path, unless that is lost.
  private var taken: Set<Taken> = []

  /// The first wait before another try, and the longest, in milliseconds.
  private static let waits: (first: Int64, longest: Int64) = (1000, 30_000)

  init(_ store: any ObjectStore) {
    self.store = store
  }

  /// Whether a rename has failed and is to be tried again.
  var isBehind: Bool { dueAt != .max }
  /// Whether nothing is on its way but what waits for another try.
  var isSettled: Bool { next.isEmpty && underway.isEmpty }
  /// Settlements that end with a rename.
  var settlements: Int { next.count { $0.settlement != nil } + underway.count { $0.settlement != nil } }
  /// When objects are due to be tried again, in milliseconds of the steady clock; `nil`: none waits, or they are under way.
  var nextTry: Int64? { waiting.isEmpty || !underway.isEmpty ? nil : dueAt }

  // MARK: Paths

  /// What becomes of the path that a stage has chosen.
  enum Claim {
    /// It is this attempt's.
    case granted
    /// It has been taken since the stage looked, and what the stage has stored was discarded; or the object that the stage found
    /// there was deleted since. It is to look again.
    case lookAgain
    /// Another object goes there, or to a part of it.
    case refused
    /// Nothing is there, but the path is on record as another content's.
    case refusedByRecord
  }

  /// Claims a path for an attempt. Two in hand may be on their way to the same path, or one to a path below the other's; with the
  /// same content they share it.
  mutating func claim(_ path: String, for name: StagedName, _ sha256: String?) -> Claim {
    let standing = store.standing(of: path)
    let isStaged = store.isStaged(name)
    if standing == .taken && isStaged {
      store.discard(name)
      return .lookAgain
    }
    if standing == .free && !isStaged { return .lookAgain }
    if let sha256, taken.remove(Taken(path: path, sha256: sha256)) != nil, standing == .free {
      return .refusedByRecord
    }
    return standing != .blocked && reserved.insert(path, sha256) ? .granted : .refused
  }

  /// The ledger has refused a path for a content, since it is another's there.
  mutating func note(_ path: String, isTakenFor sha256: String?) {
    guard let sha256 else { return }
    if taken.count >= 1024 { taken.removeAll() }
    taken.insert(Taken(path: path, sha256: sha256))
  }

  /// The attempt has ended without an object at the path.
  mutating func release(_ path: String) {
    reserved.remove(path)
  }

  // MARK: Objects

  /// Takes an object away that is not to be kept.
  func discard(_ name: StagedName) {
    store.discard(name)
  }

  /// Has an object renamed to its path.
  mutating func publish(_ object: StagedObject, ending settlement: PendingSettlement?) {
    next.append(Publication(object: object, settlement: settlement))
  }

  /// Takes over an object whose rename failed before this run.
  mutating func wait(for object: StagedObject, at time: Int64) {
    waiting.append(object)
    if !isBehind { dueAt = time + Self.waits.first }
  }

  /// Whether an object is to be renamed to this path now.
  func isOnItsWay(_ path: String) -> Bool {
    next.contains { $0.object.path == path } || underway.contains { $0.object.path == path }
  }

  /// The attachment was deleted: its object is not to get its path any more where that failed.
  mutating func forget(_ attachmentId: String) {
    for object in waiting where object.name.attachmentId == attachmentId { drop(object) }
    waiting.removeAll { $0.name.attachmentId == attachmentId }
    if (next + underway).contains(where: { $0.object.name.attachmentId == attachmentId }) {
      forgotten.insert(attachmentId)
    }
  }

  private mutating func drop(_ object: StagedObject) {
    discard(object.name)
    release(object.path)
  }

  /// The next batch to be renamed, unless one is under way, or there is none.
  mutating func nextBatch(at time: Int64) -> [StagedObject]? {
    guard underway.isEmpty else { return nil }
    if dueAt <= time {
      next += waiting.map { Publication(object: $0, isRetry: true) }
      waiting.removeAll()
    }
    if next.isEmpty { return nil }
    (underway, next) = (next, [])
    return underway.map(\.object)
  }

  /// Takes what became of the batch: for each object, why it has not got its path.
  ///
  /// - Returns: the settlements that end now; and the first error.
  mutating func take(
    _ results: [SystemError?], at time: Int64
  ) -> (ended: [PendingSettlement], failure: SystemError?) {
    let wasRetry = underway.contains(where: \.isRetry)
    let batch = underway
    underway = []
    for (publication, error) in zip(batch, results) {
      let isForgotten = forgotten.remove(publication.object.name.attachmentId) != nil
      if error == nil {
        release(publication.object.path)
      } else if isForgotten {
        drop(publication.object)
      } else {
        waiting.append(publication.object)
      }
    }
    if waiting.isEmpty {
      (tries, dueAt) = (0, .max)
    } else if wasRetry || !isBehind {
      if wasRetry { tries += 1 }
      dueAt = time + min(Self.waits.first << Int64(min(tries, 10)), Self.waits.longest)
    }
    return (batch.compactMap(\.settlement), results.lazy.compactMap(\.self).first)
  }
}
