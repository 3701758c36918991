import LedgerPort
import Pipeline

/// The attachments that were last rejected, failed or quarantined.
struct WatchFailures {
  /// The newest first.
  private(set) var records: [AttachmentRecord] = []
  private var position: Position?
  /// How many are kept.
  private static let most = 20
  /// At the start, what changed in so many exchanges is looked at, if the ledger has it still.
  private static let before: Int64 = 500

  /// Looks at what has changed.
  mutating func follow(_ ledger: any LedgerQueries) throws {
    let now = try ledger.position()
    var next = position ?? Position(history: now.history, number: max(now.number - Self.before, 0))
    var ids: [String] = []
    while let page = try ledger.changes(since: next, limit: 500) {
      ids += page.changes.filter { $0.kind == .attachment }.map(\.id)
      ids = Array(ids.suffix(1000))
      next = page.next
      if !page.hasMore { break }
    }
    // Where the stream is another, or was too far ahead, this begins again.
    position = next.history == now.history && next.number >= now.number ? next : now
    if ids.isEmpty { return }
    var filter = AttachmentFilter(statuses: [.rejected, .failed, .quarantined])
    filter.ids = Set(ids)
    var found: [String: AttachmentRecord] = [:]
    try ledger.attachments(filter) { record in
      found[record.origin.id] = record
      return true
    }
    records.removeAll { record in ids.contains(record.origin.id) }
    var seen: Set<String> = []
    let newest = ids.reversed().filter { seen.insert($0).inserted }.compactMap { found[$0] }
    records = Array((newest + records).prefix(Self.most))
  }
}
