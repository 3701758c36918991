import LedgerPort
import LedgerRules
import Pipeline
import Synchronization

/// Tells new files from known ones while they are found, and lets at most so many of the new ones through.
///
/// Unchecked because only the thread that finds files uses it, but for ``hasMore``.
final class NewFiles: @unchecked Sendable {
  enum Verdict {
    case new
    /// The attachment that it is; `nil`: the same command named it before.
    case known(KnownFile?)
    /// It is new, and as many as are wanted were let through.
    case tooMany
  }

  /// `nil`: there is no ledger.
  private let ledger: (any LedgerQueries)?
  private var left: Int64?
  /// Hashes of the files that were let through: they are on record only later.
  private var seen: Set<Int> = []
  private let more = Atomic(false)

  /// - Parameter limit: how many new ones to let through; `nil`: all.
  init(_ ledger: (any LedgerQueries)?, limit: Int64?) {
    self.ledger = ledger
    left = limit
  }

  /// Whether a new file was not let through. Any thread may ask.
  var hasMore: Bool { more.load(ordering: .relaxed) }

  func judge(_ item: IntakeItem) -> Verdict {
    // A ledger that cannot be read at the moment knows nothing: then fewer are let through, and not more.
    if let ledger, let known = try? ledger.known(item) { return .known(known) }
    if let ledger, (try? ledger.wasDeleted(item)) == true { return .known(nil) }
    var hasher = Hasher()
    hasher.combine(item.lastingPath)
    hasher.combine(item.url)
    hasher.combine(item.conversationId)
    hasher.combine(item.messageId)
    let hash = hasher.finalize()
    if seen.contains(hash) { return .known(nil) }
    if left == 0 {
      more.store(true, ordering: .relaxed)
      return .tooMany
    }
    left = left.map { $0 - 1 }
    seen.insert(hash)
    return .new
  }

  /// The files of a batch that are let through, with those that are known.
  func admitted(_ items: [IntakeItem]) -> [IntakeItem] {
    items.filter { item in
      if hasMore { return false }
      if case .tooMany = judge(item) { return false }
      return true
    }
  }
}
