import Foundation
import Platform
import SQLite
import Testing

/// The wall clock is changed during an ingest, or between two. Nothing happens early, late, twice or never
/// because of it.
@Suite(.serialized)
struct ClockChangeTests {
  private static let scheduled = "SELECT count(*) FROM jobs WHERE state = 'scheduled'"

  @Test(arguments: [-5, -9000, 5])
  func whatIsTriedAgainIsTriedInItsTime(hours: Double) throws {
    let (inbox, clock) = try waiting(backoff: "500ms")
    let start = Date()
    let underway = try inbox.start(environment: clock.environment())
    try inbox.wait(for: Self.scheduled)
    clock.set(hours: hours)
    let run = try underway.end(within: 10)
    // Half a second and one second, each less a fifth.
    #expect(Date().timeIntervalSince(start) > 1.2, "it was tried again before its time")
    try expectThreeAttempts(inbox, run)
  }

  @Test(arguments: [-5, -9000, 9000])
  func anIngestThatIsKilledBeforeTheClockIsSetGoesOnInTime(hours: Double) throws {
    let (inbox, clock) = try waiting(backoff: "500ms")
    let underway = try inbox.start(environment: clock.environment())
    try inbox.wait(for: Self.scheduled)
    kill(underway.process.processIdentifier, SIGKILL)
    _ = try underway.end()
    clock.set(hours: hours)
    try expectThreeAttempts(inbox, try inbox.start(environment: clock.environment()).end(within: 10))
  }

  @Test func aDeliveryThatWasPutOffIsMadeThoughTheClockWasSetBackSince() throws {
    let receiver = try WebhookReceiver([.status(500), .status(204)])
    let inbox = try Inbox()
    let clock = try WallClock(inbox.folder)
    let options =
      "{ url: \"\(receiver.url)\", secrets: [\(WebhookTests.secret)], allow-private: [127.0.0.1] }"
    try inbox.folder.write(
      "pipeline.yaml", Pipelines.telling(channels: ["hook": "{ use: webhook, options: \(options) }"]))
    try inbox.add("a", "a text\n")
    clock.set(hours: 5)
    let first = try inbox.run(environment: clock.environment())
    #expect(first.outcome.status == 75, "\(first.outcome.err)")
    #expect(try inbox.ledger(Self.scheduled) == "1")
    clock.set(hours: 0)
    let put = Date()
    while receiver.requests.count < 2, Date().timeIntervalSince(put) < 12 {
      #expect(try inbox.run(environment: clock.environment()).outcome.status & ~75 == 0)
      usleep(200_000)
    }
    #expect(receiver.requests.count == 2)
    #expect(Date().timeIntervalSince(put) > 4, "it waits as long as the schedule says")
    #expect(Set(receiver.requests.map(\.id)).count == 1)
    #expect(try inbox.ledger("SELECT count(*) FROM deliveries WHERE status = 'delivered'") == "1")
  }

  /// Back and forth by up to half a day, continuously.
  @Test func nothingIsLostOrDoubleWhileTheClockIsSetAgainAndAgain() throws {
    let (inbox, clock) = try waiting(backoff: "50ms")
    try inbox.add("spin", "misbehave spin\n")
    for number in 0..<4 { try inbox.add("dawdle-\(number)", "misbehave dawdle\n") }
    try inbox.addNeighbours(1500)
    let underway = try inbox.start(environment: clock.environment())
    var random = SplitMix(state: 12)
    var changes = 0
    while underway.process.isRunning {
      clock.set(hours: Double.random(in: -12...12, using: &random))
      changes += 1
      usleep(3_000)
    }
    let run = try underway.end()
    #expect(changes > 100)
    #expect(run.outcome.status == 1, "\(run.outcome.err)")
    #expect(run.neighbours.count == 1500)
    #expect(run.neighbours.allSatisfy { $0.isCompleted })
    #expect(try run.record("spin").code == "timed-out")
    #expect(try run.record("retry").status == "failed")
    try inbox.checkWhole(run)
    let ends = run.outcome.attachments.map { ("\(inbox.folder.path)/in/\($0.fileName)", Set([$0.status])) }
    let wrong = try inbox.witness.check(
      Dictionary(uniqueKeysWithValues: ends), recipients: ["ben"], isClockSet: true)
    let ids = try column("SELECT id FROM attachments ORDER BY key", inbox)
    #expect(ids == ids.sorted() && Set(ids).count == ids.count, "ids ascend as they are made")
    let deliveries = try column("SELECT id FROM deliveries ORDER BY key", inbox)
    #expect(Set(deliveries).count == deliveries.count)
    Soak.row("the wall clock is set", tries: changes, failures: wrong)
  }

  // MARK: Setting up

  /// An inbox with one attachment that is retried twice and then fails.
  private func waiting(backoff: String) throws -> (Inbox, WallClock) {
    let inbox = try Inbox()
    try inbox.pipeline(
      "timeout: 1500ms", "on-timeout: hold", retry: "{ attempts: 3, backoff: \(backoff), max: 2s }")
    try inbox.add("retry", "misbehave retry\n")
    return (inbox, try WallClock(inbox.folder))
  }

  private func expectThreeAttempts(_ inbox: Inbox, _ run: Inbox.Run) throws {
    #expect(run.outcome.status == 1, "\(run.outcome.err)")
    #expect(try run.record("retry").status == "failed")
    let numbers = try inbox.ledger("SELECT group_concat(DISTINCT number) FROM attempts")
    #expect(numbers == "1,2,3")
    try inbox.checkWhole(run)
  }

  private func column(_ sql: String, _ inbox: Inbox) throws -> [String] {
    var values: [String] = []
    try Connection(inbox.folder.path + "/home/sluice.db", .readOnly).prepare(sql).rows {
      values.append($0.text(0))
    }
    return values
  }
}
