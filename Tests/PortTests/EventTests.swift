import LedgerPort
import Testing

/// Events become deliveries, in order, each told once.
struct EventTests {
  @Test(arguments: Engine.allCases) func oneDeliveryForEachRecipientOnEachChannel(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.end("a") {
      $0.events = [
        Sample.event(channels: ["events", "hook"]), Sample.event([], type: "nobody"),
        Sample.event(["cat"], type: "nowhere", channels: []),
      ]
    }
    let records = try bench.reader.deliveries(of: 1)
    #expect(records.map(\.recipient) == ["ann", "ann", "ben", "ben"])
    #expect(records.map(\.channel) == ["events", "hook", "events", "hook"])
    #expect(records[0].id == records[1].id && records[0].id != records[2].id, "an id for each recipient")
    #expect(try bench.claim(9, .channel("hook")).map(Sample.name) == ["ann", "ben"])
    #expect(try bench.claim(9, Sample.events).map(Sample.id) == [records[0].id, records[2].id])
  }

  @Test(arguments: Engine.allCases) func aDeliverySaysWhatItIsFor(engine: Engine) throws {
    let bench = try Bench(engine)
    let attachment = try bench.end("a") {
      ($0.events, $0.priority) = ([Sample.event(["ben"])], 4)
      $0.events[0].data = #"{"a":1}"#
    }
    let lease = try bench.claimOne(Sample.events)
    #expect(lease.priority == 4 && lease.attempt == 1 && lease.counted == 1)
    guard case .delivery(let delivery) = lease.work else { return #expect(Bool(false), "\(lease)") }
    #expect(delivery.channel == "events" && delivery.recipient == "ben" && delivery.data == #"{"a":1}"#)
    #expect(delivery.type == "attachment.completed" && delivery.createdAt == bench.time.now)
    #expect(delivery.attachmentId == Sample.id(attachment) && delivery.conversationId == "c")
    #expect(delivery.messageId == (try bench.attachment("a")).origin.messageId)
  }

  @Test(arguments: Engine.allCases) func theSameTypeTwiceIsToldTwice(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.end("a") { $0.events = [Sample.event(["ann"]), Sample.event(["ann"])] }
    #expect(Set(try bench.reader.deliveries(of: 1).map(\.id)).count == 2)
  }

  @Test(arguments: Engine.allCases, [false, true])
  func whatWasToldIsNotToldAgain(engine: Engine, hasSteps: Bool) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"))
    let first = try bench.claimOne()
    let ending = Sample.failed(first) {
      $0.events = [Sample.event(["ann"], type: "attachment.failed")]
      if !hasSteps { $0.steps = [] }
    }
    try bench.settle(first, ending)
    try bench.command(.retry(Sample.id(first)))
    let second = try bench.claimOne()
    let events = [Sample.event(["ann"], type: "attachment.failed"), Sample.event(["ann"], type: "other")]
    try bench.settle(second, Sample.failed(second) { $0.events = events })
    #expect(try bench.reader.deliveries(of: 1).map(\.type) == ["attachment.failed", "other"])
  }

  /// Ends it so often, with events of these types to ann.
  private func end(_ bench: Bench, _ endings: [[String]]) throws -> [DeliveryRecord] {
    try bench.takeIn(Sample.item("a"))
    for (index, types) in endings.enumerated() {
      if index > 0 { try bench.command(.retry(try bench.attachment("a").origin.id)) }
      let lease = try bench.claimOne()
      try bench.settle(
        lease,
        Sample.failed(lease) { $0.events = types.map { Sample.event(["ann"], type: $0, channels: ["hook"]) } }
      )
    }
    return try bench.reader.deliveries(of: 1)
  }

  @Test(arguments: Engine.allCases) func theLastWordIsHowItEnded(engine: Engine) throws {
    let told = try end(
      try Bench(engine),
      [["completed"], ["rejected"], ["rejected"], ["completed"], ["completed"], ["rejected"]])
    #expect(told.map(\.type) == ["completed", "rejected", "completed", "rejected"])
    #expect(Set(told.map(\.id)).count == 4, "each is an event of its own")
  }

  @Test(arguments: Engine.allCases) func severalEventsOfAnEndingAreOneWord(engine: Engine) throws {
    let told = try end(
      try Bench(engine),
      [
        ["pages", "completed"], ["pages", "completed"], ["pages", "failed"], ["failed"],
        ["pages", "completed"],
      ])
    #expect(told.map(\.type) == ["pages", "completed", "pages", "failed", "pages", "completed"])
  }

  @Test(arguments: Engine.allCases) func theIdsFollowFromWhatIsTold(engine: Engine) throws {
    // The same seed gives the attachment the same id in both.
    let benches = [try Bench(engine, seed: 7), try Bench(.model, seed: 7)]
    for bench in benches { try bench.end("a") { $0.events = [Sample.event()] } }
    let ids = try benches.map { try $0.reader.deliveries(of: 1).map(\.id) }
    #expect(ids[0] == ids[1] && ids[0].count == 2)
  }

  // MARK: Leased in the exchange that adds them

  /// Ends attachments with an event each, does more, and wants deliveries in the same exchange.
  private func born(
    _ bench: Bench, _ recipients: [(name: String, priority: Int64)], wanting count: Int,
    _ more: [Settlement] = []
  ) throws -> [String] {
    for (name, priority) in recipients { try bench.takeIn(Sample.item(name, priority: priority)) }
    let leases = try bench.claim(9)
    let reply = try bench.exchange {
      $0.settlements =
        more
        // In order of intake, whatever their priority.
        + leases.sorted { $0.job < $1.job }.map { lease in
          Settlement(lease, Sample.ended(lease) { $0.events = [Sample.event([Sample.name(lease)])] })
        }
      $0.wanted = [Want(Sample.events, count)]
    }
    #expect(reply.lanes.map(\.granted) == [reply.leases.count])
    return reply.leases.map(Sample.name)
  }

  @Test(arguments: Engine.allCases) func newDeliveriesAreGivenAtOnce(engine: Engine) throws {
    let bench = try Bench(engine)
    #expect(try born(bench, [("a", 0), ("b", 0), ("c", 0)], wanting: 2) == ["a", "b"])
    #expect(try bench.claim(9, Sample.events).map(Sample.name) == ["c"])
  }

  @Test(arguments: Engine.allCases) func ofNewDeliveriesThoseWithPriorityAreFirst(engine: Engine) throws {
    let bench = try Bench(engine)
    #expect(try born(bench, [("a", 0), ("b", 5)], wanting: 1) == ["b"])
    #expect(try bench.claim(9, Sample.events).map(Sample.name) == ["a"])
  }

  @Test(arguments: Engine.allCases) func newDeliveriesOvertakeNothingThatIsDue(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.end("a") { $0.events = [Sample.event(["a"])] }
    #expect(try born(bench, [("b", 0)], wanting: 1) == ["a"])
    #expect(try bench.claim(9, Sample.events).map(Sample.name) == ["b"])
  }

  @Test(arguments: Engine.allCases) func newDeliveriesDoNotOvertakeWhatIsGivenBack(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.end("a") { $0.events = [Sample.event(["a"])] }
    let lease = try bench.claimOne(Sample.events)
    #expect(try born(bench, [("b", 0)], wanting: 1, [Settlement(lease, .released)]) == ["a"])
    #expect(try bench.claim(9, Sample.events).map(Sample.name) == ["b"])
  }

  @Test(arguments: Engine.allCases) func newDeliveriesDoNotOvertakeWhatIsTriedAgain(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.end("a") { $0.events = [Sample.event(["a"])] }
    let lease = try bench.claimOne(Sample.events)
    let again = Settlement(
      lease, .deliveryAgain(key: Sample.key(lease), after: 0, reason: Sample.reason))
    #expect(try born(bench, [("b", 0)], wanting: 1, [again]) == ["a"])
  }
}
