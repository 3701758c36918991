import LedgerPort
import Pipeline
import Platform

/// Deletes what the pipeline's `keep` keeps no longer.
struct Pruning {
  var rules: KeepRules
  var ledger: any LedgerQueries
  /// In milliseconds since 1970.
  var now = Clock.machine.now()

  /// Asked before each batch.
  var isWanted: () -> Bool = { true }

  /// Attachments and bytes that were deleted, or would be.
  struct Tally {
    var attachments = 0
    var bytes: Int64 = 0
    /// How many of each status.
    var statuses: [Status: Int] = [:]
    /// Bytes of completed ones.
    var completedBytes: Int64 = 0
  }

  /// - Parameter desk: `nil`: nothing is changed.
  func run(_ desk: CommandDesk?) throws -> Tally {
    var tally = Tally()
    try desk?.finishDeletions()
    defer { try? desk?.finishDeletions() }  // what fails here is done by the next coordinator
    for status in Status.allCases {
      guard let age = rules.ages[status] else { continue }
      var filter = AttachmentFilter(statuses: [status])
      // One that ended before was taken in before.
      (filter.until, filter.endedBefore) = (now - age, now - age)
      try prune(filter, desk, &tally) { _ in true }
    }
    guard let limit = rules.bytes else { return tally }
    let kept = try ledger.status().attachments.first { $0.status == .completed }?.bytes ?? 0
    // What is deleted above is not there any more, unless nothing is changed.
    var excess = kept - limit - (desk == nil ? tally.completedBytes : 0)
    if excess <= 0 { return tally }
    let aged = desk == nil ? rules.ages[.completed] : nil
    var filter = AttachmentFilter(statuses: [.completed])
    filter.endedSince = aged.map { now - $0 }
    try prune(filter, desk, &tally) { match in
      if excess <= 0 { return false }
      excess -= match.sizeBytes
      return true
    }
    return tally
  }

  /// - Parameter isMeant: asked of each in order of intake; false: it is the first that stays, and so do those after it.
  private func prune(
    _ filter: AttachmentFilter, _ desk: CommandDesk?, _ tally: inout Tally,
    _ isMeant: (AttachmentMatch) -> Bool
  ) throws {
    var mark: PageMark?
    repeat {
      if !isWanted() { return }
      let page = try ledger.matches(filter, after: mark, limit: 500)
      let meant = page.rows.prefix(while: isMeant)
      var isDeleted = Array(repeating: true, count: meant.count)
      if let desk, !meant.isEmpty {
        let commands = meant.map {
          Command.attachment(
            AttachmentCommand($0.id, .delete(by: "sluice prune", isRetention: true), only: filter.statuses))
        }
        isDeleted = try desk.apply(commands).map { $0 == .done(hasChanged: true) }
      }
      for (match, isDeleted) in zip(meant, isDeleted) where isDeleted {
        tally.attachments += 1
        tally.bytes = .saturatingSum(tally.bytes, match.sizeBytes)
        tally.statuses[match.status, default: 0] += 1
        if match.status == .completed {
          tally.completedBytes = .saturatingSum(tally.completedBytes, match.sizeBytes)
        }
      }
      if meant.count < page.rows.count { return }
      mark = page.next
    } while mark != nil
  }
}
