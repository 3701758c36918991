import FrontWire
import LedgerPort
import Platform
import Reporting
import Synchronization

// What became of attachments, in figures.
extension API {
  /// So many are counted for one request, and for so many nanoseconds: others wait for the thread that counts.
  static let mostReported: Int64 = 100_000
  private static let reportTime: UInt64 = 2_000_000_000

  /// The figures of `sluice report`.
  func report(_ request: FrontRequest) throws -> FrontReply {
    let most = Int(Self.mostReported)
    let (filter, limit, _) = try Self.filter(request, .report, atMost: most)
    guard reporting.begin() else {
      throw Problem(
        503, "busy", "another report is being made", remedy: "ask again in a second",
        fields: [.init("Retry-After", "1")])
    }
    defer { reporting.end() }
    let page = try ReportPage(
      ledger, filter, limit: limit ?? most, home: home, until: Clock.monotonic() + Self.reportTime)
    var writer = JSONWriter()
    writer.object { writer in
      ReportJSON.members(page, to: &writer)
      writer.key("more")
      writer.value(page.hasMore)
    }
    return Self.json(writer.text)
  }
}

/// What one of all threads does at a time: else reports would take all those that answer.
final class OneAtATime: Sendable {
  private let isTaken = Atomic(false)

  /// False: another does it.
  func begin() -> Bool { !isTaken.exchange(true, ordering: .acquiring) }
  func end() { isTaken.store(false, ordering: .releasing) }
}
