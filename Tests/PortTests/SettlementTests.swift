import LedgerPort
import Pipeline
import Testing

/// What settlements write.
struct SettlementTests {
  @Test(arguments: Engine.allCases) func anAttachmentEndsWithAllThatIsKnownOfIt(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"))
    #expect(try bench.attachment("a").outcome == AttachmentOutcome(.queued))
    let created = bench.time.now
    bench.time.pass(1234)
    let lease = try bench.claimOne()
    let outcome = AttachmentOutcome(
      .quarantined, reason: Sample.reason, mediaType: "a/b", sizeBytes: 77, sha256: Sample.content(4),
      metadata: #"{"original.sha256":"00ff"}"#, url: "x/y")
    let steps = [Sample.step, Step(stage: "s", verdict: "hold", code: "c", message: "m", microseconds: 3)]
    try bench.settle(lease, Sample.ended(lease) { ($0.outcome, $0.steps) = (outcome, steps) })
    let record = try bench.attachment("a")
    #expect(record.outcome == outcome && record.steps == steps)
    #expect(record.createdAt == created && record.finishedAt == created + 1234)
    #expect(record.source == Array("/in/a".utf8))
    let object = try bench.reader.object(ofAttachment: record.origin.id)
    #expect(object?.url == "x/y" && object?.sizeBytes == 77 && object?.sourceSHA256 == "00ff")
    #expect(try bench.reader.path(ofCompleted: record.origin.id) == nil, "it is not completed")
  }

  @Test(arguments: Engine.allCases) func countsAreThoseOfTheRows(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.end("a")
    try bench.end("b") {
      ($0.outcome.status, $0.outcome.reason, $0.outcome.sizeBytes) = (.rejected, Sample.reason, 11)
    }
    try bench.end("c") { $0.outcome.sizeBytes = nil }
    try bench.takeIn(Sample.item("d"))
    let counts = try bench.reader.status().attachments.sorted { $0.status.rawValue < $1.status.rawValue }
    #expect(counts.map(\.status) == [.cancelled, .completed, .failed, .quarantined, .queued, .rejected])
    #expect(counts.map(\.count) == [0, 2, 0, 0, 1, 1] && counts.map(\.bytes) == [0, 5, 0, 0, 0, 11])
    try bench.command(.retry(try bench.attachment("b").origin.id))
    let after = try bench.reader.status().attachments.sorted { $0.status.rawValue < $1.status.rawValue }
    #expect(after.map(\.count) == [0, 2, 0, 0, 2, 0] && after.map(\.bytes) == [0, 5, 0, 0, 0, 0])
  }

  @Test(arguments: Engine.allCases) func eachStepOfAnAttemptIsOnRecordOnce(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"))
    let long = (0..<19).map {
      Step(stage: "s\($0)", verdict: "pass", code: nil, message: nil, microseconds: $0)
    }
    let first = try bench.claimOne()
    try bench.settle(first, Sample.again(first, steps: long))
    let second = try bench.claimOne()
    try bench.settle(second, .released)
    let third = try bench.claimOne()
    try bench.settle(third, Sample.ended(third))
    let attempts = try bench.reader.attempts(of: 1)
    #expect(attempts.map(\.number) == [Int](repeating: 1, count: 19) + [3])
    #expect(attempts.map(\.step) == long + [Sample.step])
    #expect(try bench.attachment("a").steps == [Sample.step], "those of the last attempt")
  }

  @Test(arguments: Engine.allCases) func anotherContentCannotHaveThePathOfAnObject(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.end("a") { $0.outcome.url = "o" }
    try bench.takeIn(Sample.item("b"))
    let lease = try bench.claimOne()
    let other = Sample.ended(lease) {
      ($0.outcome.url, $0.outcome.sha256, $0.events) = ("o", Sample.content(1), [Sample.event()])
    }
    #expect(try bench.settle(lease, other) == .pathTaken)
    #expect(try bench.settle(lease, other) == .leaseLost, "it was given back")
    #expect(try bench.reader.attempts(of: 2).isEmpty && bench.reader.deliveries(of: 2).isEmpty)
    let next = try bench.claimOne()
    #expect(next.attempt == 2 && next.counted == 1, "it is due, and the attempt does not count")
    #expect(try bench.settle(next, Sample.ended(next) { $0.outcome.url = "o" }) == .counted)
    #expect(try bench.reader.objects(after: nil, limit: 9).rows.map(\.url) == ["o", "o"])
  }

  @Test(arguments: Engine.allCases) func aPathIsFreeWhenNoAttachmentHasItsObjectThere(engine: Engine) throws {
    let bench = try Bench(engine)
    for name in ["a", "b"] {
      try bench.end(name) {
        ($0.outcome.status, $0.outcome.reason, $0.outcome.url) = (.rejected, Sample.reason, "o")
      }
    }
    #expect(try bench.reader.hasObject(at: "o", sha256: Sample.content(9)))
    #expect(try !bench.reader.hasObject(at: "o", sha256: Sample.content(8)))
    try bench.command(.retry(try bench.attachment("a").origin.id))
    let lease = try bench.claimOne()
    let other = Sample.ended(lease) { ($0.outcome.url, $0.outcome.sha256) = ("o", Sample.content(1)) }
    #expect(try bench.settle(lease, other) == .pathTaken, "it is the other's still")
    try bench.command(.retry(try bench.attachment("b").origin.id))
    #expect(try !bench.reader.hasName("o") && !bench.reader.hasObjects())
    let next = try bench.claimOne()
    #expect(try bench.settle(lease, other) == .leaseLost)
    #expect(try !bench.reader.hasName("o"), "a lost lease takes no path")
    let again = Sample.ended(next) { ($0.outcome.url, $0.outcome.sha256) = ("o", Sample.content(1)) }
    #expect(try bench.settle(next, again) == .counted)
    #expect(try bench.reader.hasName("o") && bench.reader.hasObjects())
  }

  @Test(arguments: Engine.allCases) func aDeliveryEndsDeliveredOrDead(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.end("a") { $0.events = [Sample.event(["ann", "ben", "cat"])] }
    let leases = try bench.claim(9, Sample.events)
    #expect(leases.map(Sample.name) == ["ann", "ben", "cat"])
    let away = Reason(stage: "events", code: "away", message: "it is away")
    try bench.settle(leases[0], .delivered(key: Sample.key(leases[0])))
    try bench.settle(leases[1], .deadLetter(key: Sample.key(leases[1]), reason: away))
    try bench.settle(leases[2], .deliveryAgain(key: Sample.key(leases[2]), after: 500, reason: away))
    let records = try bench.reader.deliveries(of: 1)
    #expect(records.map(\.status) == [.delivered, .dead, .pending])
    #expect(records.map(\.reason) == [nil, "it is away", "it is away"])
    #expect(records.map { $0.finishedAt != nil } == [true, true, false])
    #expect(try bench.reader.status().deadLetters == 1)
    #expect(try bench.claim(9, Sample.events).isEmpty)
    bench.time.pass(500)
    let again = try bench.claimOne(Sample.events)
    #expect(again.attempt == 2 && again.counted == 2 && Sample.name(again) == "cat")
    try bench.settle(again, .delivered(key: Sample.key(again)))
    #expect(try bench.reader.deliveries(of: 1).map(\.reason) == [nil, "it is away", nil])
  }
}
