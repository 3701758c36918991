import LedgerPort
import Pipeline
import Platform

/// Gives a command for each attachment that a person means, in batches, and counts what became of them.
struct Selected {
  /// What became of the commands.
  struct Tally {
    var matched = 0
    var changed = 0
    /// What was asked for was so before, or has changed since the attachments were looked up.
    var unchanged = 0
    var refused: [String] = []
    var bytes: Int64 = 0
  }

  /// Commands in one transaction.
  private static let batch = 2000

  var ledger: any LedgerQueries
  var filter: AttachmentFilter
  var limit: Int?

  /// Counts those that are meant, and changes nothing.
  func count() throws -> Tally {
    var tally = Tally()
    try pages { page in
      tally.matched += page.count
      tally.bytes = page.reduce(tally.bytes) { .saturatingSum($0, $1.sizeBytes) }
    }
    return tally
  }

  /// Gives the command for each. It is about those only that still have one of the filter's statuses.
  func apply(_ action: AttachmentCommand.Action, _ desk: CommandDesk) throws -> Tally {
    var tally = Tally()
    try pages { page in
      tally.matched += page.count
      tally.bytes = page.reduce(tally.bytes) { .saturatingSum($0, $1.sizeBytes) }
      let commands = page.map {
        Command.attachment(AttachmentCommand($0.id, action, only: filter.ids == nil ? filter.statuses : nil))
      }
      for result in try desk.apply(commands) {
        switch result {
        case .done(hasChanged: true), .takenIn: tally.changed += 1
        case .done, .conversation, .user: tally.unchanged += 1
        case .refused(let reason): tally.refused.append(reason)
        }
      }
    }
    return tally
  }

  private func pages(_ body: ([AttachmentMatch]) throws -> Void) throws {
    var mark: PageMark?
    var left = limit ?? .max
    repeat {
      let page = try ledger.matches(filter, after: mark, limit: min(Self.batch, left))
      left -= page.rows.count
      if !page.rows.isEmpty { try body(page.rows) }
      mark = page.next
    } while mark != nil && left > 0
  }
}
