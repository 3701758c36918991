import LedgerPort
import Pipeline
import Testing

/// The stream of changes, and the other queries.
struct ChangeTests {
  @Test(arguments: Engine.allCases) func eachExchangeThatChangesSomethingHasAPosition(engine: Engine) throws {
    let bench = try Bench(engine)
    let begin = try bench.reader.position()
    let first = try bench.exchange { $0.commands = [.takeIn([Sample.item("a"), Sample.item("b")])] }
    #expect(first.position == Position(history: begin.history, number: begin.number + 1))
    let claim = try bench.exchange { $0.wanted = [Want(.attachments, 9)] }
    #expect(claim.position == nil)
    let released = try bench.exchange { $0.settlements = [Settlement(claim.leases[1], .released)] }
    #expect(released.position == nil)
    let last = try bench.exchange {
      $0.settlements = [
        Settlement(claim.leases[0], Sample.ended(claim.leases[0]) { $0.events = [Sample.event(["ann"])] })
      ]
      $0.wanted = [Want(Sample.events, 1)]
      $0.commands = [.lane(LaneCommand(.attachments, .pause(Sample.person)))]
    }
    #expect(last.position?.number == begin.number + 2)
    #expect(try bench.reader.position() == last.position)
    let delivered = try bench.exchange {
      $0.settlements = [Settlement(last.leases[0], .delivered(key: Sample.key(last.leases[0])))]
    }
    let (a, b) = (try bench.attachment("a").origin.id, try bench.attachment("b").origin.id)
    let page = try #require(try bench.reader.changes(since: begin, limit: 100))
    #expect(
      page.changes == [
        Change(.attachment, a), Change(.attachment, b), Change(.attachment, a), Change(.lane, "attachments"),
        Change(.delivery, Sample.id(last.leases[0])),
      ])
    #expect(page.next == delivered.position && !page.hasMore)
  }

  @Test(arguments: Engine.allCases) func whatChangesNothingVisibleIsNoChange(engine: Engine) throws {
    let bench = try Bench(engine)
    let id = Sample.id(try bench.end("a"))
    let position = try bench.reader.position()
    try bench.command(
      .takeIn([Sample.item("a")]), .retry(id), .lane(LaneCommand(.attachments, .resume(nil))))
    #expect(try bench.reader.position() == position)
  }

  @Test(arguments: Engine.allCases) func changesComeInPages(engine: Engine) throws {
    let bench = try Bench(engine)
    var place = try bench.reader.position()
    for name in ["a", "b", "c", "d", "e"] { try bench.takeIn(Sample.item(name)) }
    let first = try #require(try bench.reader.changes(since: place, limit: 2))
    #expect(first.changes.count == 2 && first.hasMore)
    place = first.next
    let second = try #require(try bench.reader.changes(since: place, limit: 9))
    #expect(second.changes.count == 3 && !second.hasMore)
    let last = try #require(try bench.reader.changes(since: second.next, limit: 9))
    #expect(last.changes.isEmpty && !last.hasMore && last.next == second.next)
  }

  @Test(arguments: Engine.allCases) func aPlaceThatIsNotInTheStreamHasNoChanges(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"))
    let now = try bench.reader.position()
    for place in [
      Position(history: now.history ^ 1, number: now.number),
      Position(history: now.history, number: now.number + 1), Position(history: now.history, number: -1),
    ] {
      #expect(try bench.reader.changes(since: place, limit: 9) == nil, "\(place)")
    }
    try bench.succeed()
    #expect(try bench.reader.position() == now, "the history goes on")
    try bench.takeIn(Sample.item("b"))
    #expect(try bench.reader.position().number == now.number + 1)
  }

  // MARK: Other queries

  @Test(arguments: Engine.allCases) func attachmentsComeInPagesInOrderOfIntake(engine: Engine) throws {
    let bench = try Bench(engine)
    for number in 0..<7 {
      try bench.takeIn(Sample.item("f\(number)", priority: Int64(number)))
    }
    let lease = try bench.claimOne()
    try bench.settle(lease, Sample.ended(lease))
    var names: [[String]] = []
    var mark: PageMark?
    repeat {
      let page = try bench.reader.attachments(AttachmentFilter(statuses: [.queued]), after: mark, limit: 2)
      names.append(page.rows.map(\.origin.fileName))
      mark = page.next
    } while mark != nil
    #expect(names.flatMap { $0 } == ["f0", "f1", "f2", "f3", "f4", "f5"] && names[0].count == 2)
    #expect(try bench.reader.attachments(AttachmentFilter(statuses: []), after: nil, limit: 9).rows.isEmpty)
    #expect(
      try bench.reader.attachments(AttachmentFilter(statuses: [.completed, .failed]), after: nil, limit: 9)
        .rows.map(\.origin.fileName)
        == [
          "f6"
        ])
  }

  @Test(arguments: Engine.allCases) func anAttachmentIsFoundByTheBeginOfItsId(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"))
    bench.time.pass(1 << 40)
    try bench.takeIn(Sample.item("b"))
    let id = try bench.attachment("b").origin.id
    #expect(try bench.reader.attachments(idPrefix: id).map(\.origin.fileName) == ["b"])
    #expect(try bench.reader.attachments(idPrefix: String(id.prefix(8))).map(\.origin.fileName) == ["b"])
    #expect(try bench.reader.attachments(idPrefix: "").count == 2)
    #expect(try bench.reader.attachments(idPrefix: id + "0").isEmpty)
    for number in 0..<12 { try bench.takeIn(Sample.item("\(number)")) }
    #expect(try bench.reader.attachments(idPrefix: "0").count == 10, "ten at most")
  }

  @Test(arguments: Engine.allCases) func whatIsNotThereIsNotFound(engine: Engine) throws {
    let reader = try Bench(engine).reader
    #expect(try reader.attempts(of: 5).isEmpty && reader.deliveries(of: 5).isEmpty)
    #expect(try reader.object(ofAttachment: "x") == nil && reader.path(ofCompleted: "x") == nil)
    #expect(try !reader.hasObjects() && !reader.hasName("x"))
    #expect(try !reader.hasObject(at: "x", sha256: Sample.content(9)))
    #expect(try reader.objects(after: nil, limit: 9).rows.isEmpty)
  }
}
