import Glibc
import HomeFolder
import LedgerPort
import LedgerSQLite
import Pipeline
import Platform

/// Waits until attachments have ended, in this process or in another. Reads only.
final class EndWait {
  private let ledger: any LedgerQueries
  /// Up to here the changes are known.
  private var position: Position
  private var pending: Set<String> = []
  /// Those that may have ended before ``position``.
  private var unsure: [String] = []
  private(set) var completed = 0
  private(set) var notCompleted = 0
  private(set) var deleted = 0

  /// Microseconds between two looks.
  private static let interval: UInt32 = 50_000

  /// Begins to follow the changes. To be made before the files are queued.
  init(_ home: Home) throws(LedgerError) {
    ledger = try home.reader()
    position = try ledger.position()
  }

  /// - Parameter isKnown: it was there before, so that it may have ended.
  func add(_ id: String, isKnown: Bool) {
    if pending.insert(id).inserted && isKnown { unsure.append(id) }
  }

  /// One that a person has deleted. As for an ingest, that is in order: it is not waited for, and told.
  func addDeleted(_ id: String) {
    pending.remove(id)
    deleted += 1
  }

  /// Those whose links are fetched only once they are asked for.
  func unasked() throws(LedgerError) -> [String] {
    var ids: [String] = []
    for id in pending {
      guard let record = try ledger.attachments(idPrefix: id).first(where: { $0.origin.id == id }) else {
        continue
      }
      if try ledger.transfer(ofAttachment: record.key)?.isNotPrefetched == true { ids.append(id) }
    }
    return ids
  }

  /// How many have not ended.
  var open: Int { pending.count }

  /// Waits until all have ended, or until this time of the monotonic clock, in nanoseconds.
  ///
  /// - Parameters:
  ///   - standing: gets once a second how the queue stands.
  ///   - body: gets each as it ends.
  func wait(
    until deadline: UInt64?, standing: (LedgerStatus) -> Void, each body: (AttachmentRecord) -> Void
  ) throws(LedgerError) {
    var lookedAt: UInt64 = 0
    while !pending.isEmpty {
      for id in unsure { try look(id, body) }
      unsure.removeAll()
      if try takeChanges(body) { continue }
      let now = Clock.monotonic()
      if let deadline, now >= deadline { return }
      if now - lookedAt >= 1_000_000_000 {
        lookedAt = now
        standing(try ledger.status())
      }
      usleep(Self.interval)
    }
  }

  /// Returns whether more changes are there already.
  private func takeChanges(_ body: (AttachmentRecord) -> Void) throws(LedgerError) -> Bool {
    guard let page = try ledger.changes(since: position, limit: 1000) else {
      // Too many have happened, or the ledger was restored from a backup.
      position = try ledger.position()
      unsure = Array(pending)
      return true
    }
    for change in page.changes where pending.contains(change.id) {
      if change.kind == .attachment { try look(change.id, body) }
      if change.kind == .deletion { addDeleted(change.id) }
    }
    position = page.next
    return page.hasMore
  }

  private func look(_ id: String, _ body: (AttachmentRecord) -> Void) throws(LedgerError) {
    guard let record = try ledger.attachments(idPrefix: id).first(where: { $0.origin.id == id }) else {
      if try ledger.tombstones(idPrefix: id).contains(where: { $0.id == id }) { addDeleted(id) }
      return
    }
    guard record.outcome.status.isFinal, pending.remove(id) != nil
    else { return }
    if record.outcome.status == .completed { completed += 1 } else { notCompleted += 1 }
    body(record)
  }
}
