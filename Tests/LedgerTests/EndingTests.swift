import Pipeline
import Platform
import Testing

@testable import LedgerPort
@testable import LedgerRules
@testable import LedgerSQLite

struct EndingTests {
  private let desk: Desk
  private let events = LaneName.channel("events")
  private let reason = Desk.reason

  init() throws { desk = try Desk() }

  @Test func anEndIsWrittenWithAllThatBelongsToIt() throws {
    try desk.takeIn(Desk.item("a"))
    let lease = try desk.claimOne()
    let second = Step(stage: "pdf", verdict: "pass", code: "x", message: "y", microseconds: 3)
    try desk.settle(
      lease,
      Desk.completed(lease) {
        $0.steps = [Desk.step, second]
        $0.events = [Desk.event(["ann", "ben"], channels: ["events", "hook"])]
      })
    let record = try #require(try desk.ledger.attachments(idPrefix: "").first)
    #expect(
      record.outcome.status == .completed && record.outcome.reason == nil
        && record.outcome.url == "documents/a")
    #expect(record.outcome.mediaType == "application/pdf" && record.outcome.sizeBytes == 5)
    #expect(
      record.outcome.sha256 == [UInt8](repeating: 9, count: 32)
        && record.outcome.metadata == #"{"pdf.pages":2}"#)
    #expect(try #require(record.finishedAt) >= record.createdAt)
    #expect(record.steps.map(\.stage) == ["mime", "pdf"])
    let attempts = try desk.ledger.attempts(of: record.key)
    #expect(attempts.map(\.number) == [1, 1] && attempts.map(\.step.code) == [nil, "x"])
    let deliveries = try desk.ledger.deliveries(of: record.key)
    #expect(deliveries.map(\.recipient) == ["ann", "ann", "ben", "ben"])
    #expect(deliveries.map(\.channel) == ["events", "hook", "events", "hook"])
    #expect(deliveries.allSatisfy { $0.status == .pending && $0.finishedAt == nil })
    #expect(deliveries[0].id == deliveries[1].id, "an event has one id for each recipient")
    #expect(Set(deliveries.map(\.id)).count == 2)
    #expect(try desk.number("SELECT count(*) FROM jobs WHERE kind = 'attachment'") == 0)
    #expect(try desk.number("SELECT count(*) FROM jobs WHERE kind = 'delivery'") == 4)
    #expect(try desk.ledger.path(ofCompleted: record.origin.id) == "documents/a")
    try desk.checkCounts()
  }

  @Test func aTransactionThatFailsWritesNothingOfIt() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"), Desk.item("c"))
    let leases = try desk.claim(2)
    let before = try desk.everything()
    var request = Exchange()
    request.commands = [
      .takeIn([Desk.item("d")]),
      .lane(LaneCommand(.attachments, .pause(Pause(.fault, code: "disk-full", reason: "no room")))),
    ]
    request.settlements = [
      Settlement(leases[0], Desk.completed(leases[0]) { $0.events = [Desk.event()] }),
      // A completed attachment has no reason.
      Settlement(leases[1], Desk.completed(leases[1]) { $0.outcome.reason = self.reason }),
    ]
    request.wanted = [Want(.attachments, 9), Want(.channel("x"), 1)]
    #expect(throws: LedgerError.self) { try desk.send(request) }
    #expect(try desk.everything() == before)
    // The leases are still valid: the same settlement without the mistake is accepted.
    #expect(try desk.settle(leases[0], Desk.completed(leases[0])) == .counted)
    #expect(try desk.settle(leases[1], Desk.completed(leases[1])) == .counted)
    let next = try desk.claimOne()
    #expect(Desk.name(next) == "c" && next.token != leases[0].token)
    try desk.checkCounts()
  }

  /// Otherwise the same exchange, sent again, would refer to a row that was never written.
  @Test func aFingerprintOfATransactionThatFailedIsNotKept() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"), Desk.item("c"))
    let leases = try desk.claim(3)
    var exchange = Exchange()
    exchange.settlements = leases.map { lease in
      Settlement(lease, Desk.completed(lease) { $0.fingerprint = "first" })
    }
    try desk.execute(
      "CREATE TRIGGER no_c BEFORE UPDATE ON attachments WHEN new.file_name = 'c' BEGIN SELECT RAISE(ABORT, 'no'); END"
    )
    #expect(throws: LedgerError.self) { try desk.send(exchange) }
    try desk.execute("DROP TRIGGER no_c")
    #expect(try desk.send(exchange).settled == [.counted, .counted, .counted])
    #expect(try desk.number("SELECT count(*) FROM fingerprints") == 1)
    #expect(try desk.findings() == [])
  }

  @Test func anAttachmentThatHasEndedDoesNotEndAgain() throws {
    try desk.takeIn(Desk.item("a"))
    let lease = try desk.claimOne()
    try desk.settle(lease, Desk.completed(lease) { $0.events = [Desk.event(["ben"])] })
    // Another program gives it a job.
    try desk.execute(
      """
      INSERT INTO jobs (kind, subject, lane, priority, state, due_at)
      SELECT 'attachment', key, (SELECT key FROM lanes WHERE kind = 'attachments'), 0, 'due', 0 FROM attachments
      """)
    let second = try desk.claimOne()
    let ending = Desk.completed(second) {
      $0.events = [Desk.event(["ben"])]
      $0.outcome.url = "documents/another"
    }
    #expect(try desk.settle(second, ending) == .counted)
    #expect(try desk.number("SELECT count(*) FROM events") == 1)
    #expect(try desk.number("SELECT count(*) FROM names") == 1, "nor does it take another path")
    #expect(try desk.number("SELECT count(*) FROM jobs WHERE kind = 'attachment'") == 0)
    try desk.checkCounts()
  }

  @Test func aRepairTakesJobsOfEndedOnesAwayAndTellsNothingAgain() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"))
    for lease in try desk.claim(2) {
      try desk.settle(lease, Desk.completed(lease) { $0.events = [Desk.event(["ben"])] })
    }
    try desk.execute(
      """
      INSERT INTO jobs (kind, subject, lane, priority, state, due_at)
      SELECT 'attachment', key, (SELECT key FROM lanes WHERE kind = 'attachments'), 0, 'due', 0 FROM attachments
        WHERE file_name = 'a';
      UPDATE attachments SET status = 'queued', url = NULL, finished_at = NULL WHERE file_name = 'b';
      """)
    try desk.ledger.mendJobs()
    try desk.ledger.recount()
    let leases = try desk.claim(9)
    #expect(leases.map(Desk.name) == ["b"] && leases[0].attempt == 2)
    try desk.settle(leases[0], Desk.completed(leases[0]) { $0.events = [Desk.event(["ben"])] })
    #expect(try desk.number("SELECT count(*) FROM events") == 2)
    try desk.checkCounts()
  }

  @Test func anEndWithAReasonKeepsIt() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"), Desk.item("c"))
    for (lease, status) in zip(try desk.claim(3), [Status.rejected, .failed, .quarantined]) {
      try desk.settle(
        lease,
        Desk.completed(lease) {
          $0.outcome.status = status
          $0.outcome.reason = self.reason
          $0.outcome.url = nil
        })
    }
    for status in [Status.rejected, .failed, .quarantined] {
      var found: [AttachmentRecord] = []
      try desk.ledger.attachments(AttachmentFilter(statuses: [status])) {
        found.append($0)
        return true
      }
      #expect(found.count == 1 && found.first?.outcome.reason == reason)
      #expect(try desk.count(status) == 1)
      let id = try #require(found.first?.origin.id)
      #expect(try desk.ledger.path(ofCompleted: id) == nil)
    }
    try desk.checkCounts()
  }

  @Test func everyAttemptIsKept() throws {
    try desk.takeIn(Desk.item("a"))
    for _ in 0..<3 {
      let lease = try desk.claimOne()
      let step = Step(
        stage: "pdf", verdict: "retry", code: "busy", message: "no", microseconds: 1)
      try desk.settle(lease, Desk.again(lease, steps: [Desk.step, step]))
    }
    let lease = try desk.claimOne()
    try desk.settle(lease, Desk.completed(lease))
    let attempts = try desk.ledger.attempts(of: Desk.key(lease))
    #expect(attempts.map(\.number) == [1, 1, 2, 2, 3, 3, 4])
    #expect(attempts.last?.step.verdict == "pass")
    #expect(try desk.ledger.attachments(idPrefix: "").first?.steps.count == 1, "the last attempt's are shown")
  }

  @Test func anEventForNobodyIsNotWritten() throws {
    try desk.takeIn(Desk.item("a"))
    let lease = try desk.claimOne()
    try desk.settle(lease, Desk.completed(lease) { $0.events = [Desk.event([]), Desk.event(["ben"])] })
    #expect(try desk.number("SELECT count(*) FROM events") == 1)
  }

  @Test func aDeliveryCarriesItsEventAndEndsOnce() throws {
    try desk.takeIn(Desk.item("a", message: "m"))
    let lease = try desk.claimOne()
    try desk.settle(lease, Desk.completed(lease) { $0.events = [Desk.event(["ben"])] })
    let leased = try desk.claimOne(lane: events)
    guard case .delivery(let delivery) = leased.work else {
      Issue.record("it is for something else")
      return
    }
    #expect(delivery.channel == "events" && delivery.recipient == "ben" && delivery.messageId == "m")
    #expect(
      delivery.type == "attachment.completed" && delivery.data == "{}" && delivery.conversationId == "c")
    #expect(try desk.settle(leased, .delivered(key: delivery.key)) == .counted)
    let record = try #require(try desk.ledger.deliveries(of: Desk.key(lease)).first)
    #expect(record.id == delivery.id && record.status == .delivered && record.finishedAt != nil)
    #expect(try desk.claim(9, lane: events).isEmpty)
    #expect(try desk.number("SELECT count(*) FROM jobs") == 0)
  }

  @Test func aDeliverysIdIsTheSameInEachTry() throws {
    try desk.takeIn(Desk.item("a"))
    let lease = try desk.claimOne()
    try desk.settle(lease, Desk.completed(lease) { $0.events = [Desk.event(["ben"])] })
    var ids: Set<String> = []
    for _ in 0..<4 {
      let leased = try desk.claimOne(lane: events)
      guard case .delivery(let delivery) = leased.work else { continue }
      ids.insert(delivery.id)
      try desk.settle(leased, .deliveryAgain(key: delivery.key, after: 0, reason: reason))
    }
    #expect(ids.count == 1)
    let record = try #require(try desk.ledger.deliveries(of: Desk.key(lease)).first)
    #expect(record.status == .pending && record.reason == reason.message)
  }

  @Test func aDeadLetterKeepsItsReasonAndIsCounted() throws {
    try desk.takeIn(Desk.item("a"))
    let lease = try desk.claimOne()
    try desk.settle(lease, Desk.completed(lease) { $0.events = [Desk.event(["ann", "ben"])] })
    let leased = try desk.claim(2, lane: events)
    try desk.settle(leased[0], .deadLetter(key: Desk.key(leased[0]), reason: reason))
    try desk.settle(leased[1], .delivered(key: Desk.key(leased[1])))
    let records = try desk.ledger.deliveries(of: Desk.key(lease))
    #expect(records.map(\.status) == [.dead, .delivered])
    #expect(records.map(\.reason) == [reason.message, nil])
    #expect(try desk.ledger.status().deadLetters == 1)
    #expect(try desk.claim(9, lane: events).isEmpty)
  }

  @Test func theObjectOfAContentIsFoundByItsHashAndSize() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"))
    let leases = try desk.claim(2)
    try desk.settle(leases[0], Desk.completed(leases[0]))
    try desk.settle(
      leases[1],
      Desk.completed(leases[1]) {
        $0.outcome.sha256 = [UInt8](repeating: 8, count: 32)
        $0.outcome.url = nil
      })
    var request = Exchange()
    request.contents = [
      Desk.question(9, 5), Desk.question(9, 6), Desk.question(8, 5), Desk.question(nil, 5),
    ]
    #expect(try desk.send(request).contents.map(\.url) == ["documents/a", nil, nil, nil])
    request.wanted = [Want(.attachments, 1)]
    #expect(
      try desk.send(request).contents.map(\.url) == ["documents/a", nil, nil, nil],
      "and together with other things")
  }

  @Test func whatWasSaidCountsOnTheSameLineAndForTheSameClaims() throws {
    try desk.takeIn(Desk.item("a.txt"), Desk.item("b.txt"))
    let leases = try desk.claim(2)
    let metadata = "{\"a\":\"b\\n\",\"c\":1,\"d\":2.5,\"e\":true}"
    try desk.settle(
      leases[0],
      Desk.completed(leases[0]) {
        $0.fingerprint = "first"
        $0.outcome.mediaType = "text/plain"
        $0.outcome.metadata = metadata
      })
    // Without an object there is nothing to link to.
    try desk.settle(
      leases[1],
      Desk.completed(leases[1]) {
        $0.fingerprint = "second"
        $0.outcome.url = nil
      })
    var request = Exchange()
    request.contents = [
      Desk.question(9, 5, "first", "x.txt"), Desk.question(9, 5, "second", "x.txt"),
      Desk.question(9, 5, "third", "x.txt"), Desk.question(9, 5, nil, "x.txt"),
      Desk.question(9, 5, "first", "x.pdf"),
      Desk.question(9, 5, "first", "txt"), Desk.question(9, 5, "first", "x.txt", "text/html"),
    ]
    let answers = try desk.send(request).contents
    #expect(answers.map { $0.said != nil } == [true, false, false, false, false, false, false])
    #expect(answers[0].said?.mediaType == "text/plain")
    #expect(answers[0].said.map { JSONWriter.object(of: $0.metadata) } == metadata)
  }

  @Test func theStatusShowsTheQueue() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"), Desk.item("c"), Desk.item("d"))
    let leases = try desk.claim(3)
    try desk.settle(leases[0], Desk.again(leases[0], after: .max))
    try desk.settle(leases[1], Desk.completed(leases[1]) { $0.events = [Desk.event(["ben"])] })
    try desk.pause(events, .fault, "gone", "gone: 410")
    let status = try desk.ledger.status()
    #expect(status.lanes.map(\.name.description) == ["attachments", "channel:events"])
    #expect(status.lanes.map(\.due) == [1, 1] && status.lanes.map(\.scheduled) == [1, 0])
    #expect(status.lanes.map(\.leased) == [1, 0] && status.lanes.map(\.pause?.reason) == [nil, "gone: 410"])
    #expect(status.attachments.first { $0.status == .queued }?.count == 3)
    #expect(status.attachments.first { $0.status == .completed }.map { [$0.count, $0.bytes] } == [1, 5])
    #expect(status.lanes.map(\.nextDue) == [1 << 50, nil])
    #expect(status.oldestQueuedAt == desk.clock.now && status.deadLetters == 0)
  }

  @Test func recordsAreHandedOverInOrderPageByPage() throws {
    try desk.takeIn((0..<1203).map { Desk.item("\($0)") })
    var names: [String] = []
    try desk.ledger.attachments {
      names.append($0.origin.fileName)
      return true
    }
    #expect(names == (0..<1203).map(String.init))
    var few = 0
    try desk.ledger.attachments(AttachmentFilter(statuses: [.queued])) { _ in
      few += 1
      return few < 700
    }
    #expect(few == 700, "whoever has seen enough gets no more")
    var none = 0
    try desk.ledger.attachments(AttachmentFilter(statuses: [.failed])) { _ in
      none += 1
      return true
    }
    #expect(none == 0)
  }
}
