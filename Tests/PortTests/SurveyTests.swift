import LedgerPort
import Pipeline
import Testing

/// What reports count, and the ways in which an attachment is found.
struct SurveyTests {
  private static func step(_ stage: String, _ microseconds: Int64) -> Step {
    Step(
      stage: stage, verdict: "pass", code: "code", message: "a \"quote\", a \\ and\n a line",
      microseconds: microseconds)
  }

  @Test(arguments: Engine.allCases) func everythingThatIsCountedIsSaid(engine: Engine) throws {
    let bench = try Bench(engine)
    let start = bench.time.now
    try bench.takeIn(Sample.item("a"))
    let first = try bench.claimOne()
    try bench.settle(first, Sample.again(first, steps: [Self.step("mime", 3), Self.step("pdf", 400)]))
    bench.time.pass(7)
    let second = try bench.claimOne()
    try bench.settle(second, Sample.ended(second) { $0.steps = [Self.step("mime", 5)] })
    bench.time.pass(1)
    try bench.takeIn(Sample.item("b"))
    let other = try bench.claimOne()
    try bench.settle(other, Sample.failed(other) { $0.steps = [] })
    try bench.takeIn(Sample.item("c"))
    let rows = try bench.reader.survey(AttachmentFilter(), after: nil, limit: 10).rows
    try #require(rows.count == 3)
    #expect(rows[0].id == Sample.id(first) && rows[0].status == .completed && rows[0].reason == nil)
    #expect(rows[0].mediaType == "application/pdf" && rows[0].sizeBytes == 5)
    #expect(rows[0].object == 0x0909_0909_0909_0909, "the first bytes of the hash, in their order")
    #expect(rows[0].times.map { "\($0.stage) \($0.microseconds)" } == ["mime 3", "pdf 400", "mime 5"])
    #expect(rows[0].createdAt == start && rows[0].finishedAt == start + 7)
    #expect(rows[1].reason?.stage == "pdf" && rows[1].reason?.code == "too-many-pages")
    #expect(rows[1].object == nil && rows[1].times.isEmpty)
    #expect(rows[2].status == .queued && rows[2].finishedAt == nil && rows[2].mediaType == nil)
  }

  /// What a table has of attachments is what each has by itself, but for the steps.
  @Test(arguments: Engine.allCases) func recordsAndMetadataAreThoseOfTheAttachments(engine: Engine) throws {
    let bench = try Bench(engine)
    for (number, name) in ["a", "b", "c", "d"].enumerated() {
      try bench.takeIn(Sample.item(name, message: "m\(number / 3)", sender: number < 3 ? "ann" : "eva"))
      let lease = try bench.claimOne()
      try bench.settle(
        lease,
        name == "b"
          ? Sample.failed(lease) : Sample.ended(lease) { $0.outcome.metadata = #"{"name":"\#(name)"}"# })
    }
    try bench.takeIn(Sample.item("e"))
    for filter in [
      AttachmentFilter(), AttachmentFilter(statuses: [.completed]), AttachmentFilter(statuses: [.queued]),
    ] {
      let whole = try bench.reader.attachments(filter, after: nil, limit: 10).rows
      #expect(filter.statuses.count < 6 || whole.count == 5)
      var (records, metadata): ([AttachmentRecord], [String]) = ([], [])
      var marks: (PageMark?, PageMark?) = (nil, nil)
      repeat {
        let page = try bench.reader.records(filter, after: marks.0, limit: 2)
        let texts = try bench.reader.metadata(filter, after: marks.1, limit: 2)
        (records, metadata, marks) = (records + page.rows, metadata + texts.rows, (page.next, texts.next))
      } while marks.0 != nil || marks.1 != nil
      let wanted = whole.map { record in
        var record = record
        record.steps = []
        return "\(record) \(record.origin.senderId)"
      }
      #expect(records.map { "\($0) \($0.origin.senderId)" } == wanted)
      #expect(metadata == whole.map(\.outcome.metadata))
    }
  }

  @Test(arguments: Engine.allCases) func theSurveyFollowsTheFilterInPages(engine: Engine) throws {
    let bench = try Bench(engine)
    for name in ["a", "b", "c", "d", "e"] {
      try bench.end(name) {
        if name == "c" { $0.outcome = AttachmentOutcome(.failed, reason: Sample.reason) }
      }
    }
    var filter = AttachmentFilter(statuses: [.completed])
    filter.fileName = "[^e]"
    var found: [SurveyedAttachment] = []
    var mark: PageMark?
    repeat {
      let page = try bench.reader.survey(filter, after: mark, limit: 2)
      #expect(page.rows.count <= 2)
      found += page.rows
      mark = page.next
    } while mark != nil
    let wanted = try ["a", "b", "d"].map { try bench.attachment($0).origin.id }
    #expect(found.map(\.id) == wanted)
    #expect(found.allSatisfy { $0.object != nil && !$0.times.isEmpty })
  }

  @Test(arguments: Engine.allCases) func anAttachmentIsFoundByItsObjectAndByItsSource(engine: Engine) throws {
    let bench = try Bench(engine)
    for name in ["a", "b"] { try bench.end(name) }
    func names(_ change: (inout AttachmentFilter) -> Void) throws -> [String] {
      var filter = AttachmentFilter()
      change(&filter)
      return try bench.reader.attachments(filter, after: nil, limit: 9).rows.map(\.origin.fileName)
    }
    #expect(try names { $0.objectPath = "documents/b" } == ["b"])
    #expect(try names { $0.objectPath = "documents/B" } == [])
    #expect(try names { $0.source = Array("/in/a".utf8) } == ["a"])
    #expect(try names { $0.source = Array("/in/".utf8) } == [])
    #expect(try names { ($0.source, $0.objectPath) = (Array("/in/a".utf8), "documents/b") } == [])
  }

  @Test(arguments: Engine.allCases) func theDeliveriesOfAChangeAreThoseThatItEnded(engine: Engine) throws {
    let bench = try Bench(engine)
    let begin = try bench.reader.position()
    try bench.end("a") { $0.events = [Sample.event(["ann"]), Sample.event(["ben"])] }
    let leases = try bench.claim(9, Sample.events)
    try #require(leases.count == 2)
    func end(_ lease: Lease) throws -> Position {
      try bench.settle(lease, .delivered(key: Sample.key(lease)))
      return try bench.reader.position()
    }
    let (first, second) = (try end(leases[1]), try end(leases[0]))
    let told = try bench.reader.deliveries(changedAt: first)
    #expect(told.map(\.id) == [Sample.id(leases[1])] && told.map(\.status) == [.delivered])
    #expect(try bench.reader.deliveries(changedAt: second).map(\.id) == [Sample.id(leases[0])])
    #expect(try bench.reader.deliveries(changedAt: begin).isEmpty)
    let other = Position(history: first.history &+ 1, number: first.number)
    #expect(try bench.reader.deliveries(changedAt: other).isEmpty)
    let later = Position(history: first.history, number: second.number + 1)
    #expect(try bench.reader.deliveries(changedAt: later).isEmpty)
  }
}
