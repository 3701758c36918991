import HomeFolder
import LedgerPort
import Pipeline
import Platform

/// What a report shows: what was counted, and the attachments that stand out.
package struct ReportPage {
  package var tally = ReportTally()
  /// The largest and the slowest, by id; those that were deleted meanwhile are not there.
  package var records: [String: AttachmentRecord] = [:]
  package var home: String
  /// In milliseconds since 1970.
  package var madeAt = Clock.now()
  /// Whether there may be more than was counted.
  package var hasMore = false

  /// Attachments that are read at a time.
  private static let pageSize = 5000

  /// - Parameters:
  ///   - limit: attachments that are counted; `nil`: all.
  ///   - end: nanoseconds of the monotonic clock, after which no more are counted; `nil`: it takes as long as it does.
  package init(
    _ ledger: any LedgerQueries, _ filter: AttachmentFilter, limit: Int?, home: Home, until end: UInt64? = nil
  ) throws {
    self.home = home.path
    var left = limit ?? .max
    var mark: PageMark?
    repeat {
      let page = try ledger.survey(filter, after: mark, limit: min(Self.pageSize, left))
      for attachment in page.rows { tally.add(attachment) }
      left -= page.rows.count
      mark = page.next
    } while mark != nil && left > 0 && end.map { Clock.monotonic() < $0 } ?? true
    hasMore = mark != nil
    for id in Set((tally.largest + tally.slowest).map(\.id)) {
      records[id] = try ledger.attachments(idPrefix: id).first
    }
  }
}
