import LedgerPort
import Pipeline
import Testing

/// What commands about attachments do, in each state that one can be in.
struct CommandTests {
  private static let changed = CommandResult.done(hasChanged: true)
  private static let unchanged = CommandResult.done(hasChanged: false)

  /// The states that an attachment can be in.
  enum Standing: String, CaseIterable, Sendable {
    case due, waiting, leased, cancelledWaiting, cancelledLeased, completed, rejected, cancelled, deleted,
      unknown
  }

  static let all = Engine.allCases.flatMap { engine in Standing.allCases.map { (engine, $0) } }

  /// Brings an attachment there. Returns its id, and the lease where it is in hand.
  private func make(_ standing: Standing, _ bench: Bench) throws -> (id: String, lease: Lease?) {
    if standing == .unknown { return ("nobody", nil) }
    try bench.takeIn(Sample.item("a"))
    let id = try bench.attachment("a").origin.id
    if standing == .due { return (id, nil) }
    if standing == .deleted {
      try bench.command(.delete(id))
      return (id, nil)
    }
    let lease = try bench.claimOne()
    switch standing {
    case .leased: return (id, lease)
    case .cancelledLeased:
      try bench.command(.cancel(id))
      return (id, lease)
    case .waiting, .cancelledWaiting:
      try bench.settle(lease, Sample.again(lease, after: 60_000))
      if standing == .cancelledWaiting { try bench.command(.cancel(id)) }
    case .completed: try bench.settle(lease, Sample.ended(lease))
    case .rejected: try bench.settle(lease, Sample.failed(lease))
    case .cancelled:
      try bench.command(.cancel(id))
      try bench.settle(
        lease, Sample.ended(lease) { $0.outcome = AttachmentOutcome(.cancelled, reason: Sample.reason) })
    case .due, .deleted, .unknown: break
    }
    return (id, nil)
  }

  @Test(arguments: all) func retry(engine: Engine, standing: Standing) throws {
    let bench = try Bench(engine)
    let (id, lease) = try make(standing, bench)
    let result = try #require(try bench.command(.retry(id)).first)
    switch standing {
    case .due, .leased: #expect(result == Self.unchanged)
    case .waiting, .cancelledWaiting, .cancelledLeased, .rejected, .cancelled:
      #expect(result == Self.changed)
      if let lease { try bench.settle(lease, .released) }
      let next = try bench.claimOne()
      #expect(next.cancellation == nil && Sample.id(next) == id, "it is due, and wanted")
    case .completed, .deleted, .unknown:
      guard case .refused = result else { return #expect(Bool(false), "\(result)") }
    }
  }

  @Test(arguments: all) func cancel(engine: Engine, standing: Standing) throws {
    let bench = try Bench(engine)
    let (id, lease) = try make(standing, bench)
    let result = try #require(try bench.command(.cancel(id, "the second")).first)
    switch standing {
    case .due, .waiting, .leased:
      #expect(result == Self.changed)
      let place = try #require(try bench.reader.place(of: bench.attachment("a").key))
      #expect(place.cancellation == "the second" && place.nextDue == 0)
      // What is put off all the same is due at once.
      if let lease { #expect(try bench.settle(lease, Sample.again(lease, after: 60_000)) == .counted) }
      let next = try bench.claimOne()
      #expect(next.cancellation == "the second")
      let ended = Sample.ended(next) { $0.outcome = AttachmentOutcome(.cancelled, reason: Sample.reason) }
      #expect(try bench.settle(next, ended) == .counted)
      #expect(try bench.count(.cancelled) == 1 && bench.count(.queued) == 0)
    case .cancelledWaiting, .cancelledLeased, .cancelled:
      #expect(result == Self.unchanged)
      if let key = try bench.reader.attachments(idPrefix: id).first?.key,
        let place = try bench.reader.place(of: key)
      {
        #expect(place.cancellation == "ann took it back", "the first reason stays")
      }
    case .completed, .rejected, .deleted, .unknown:
      guard case .refused = result else { return #expect(Bool(false), "\(result)") }
    }
  }

  @Test(arguments: all) func prioritize(engine: Engine, standing: Standing) throws {
    let bench = try Bench(engine)
    let (id, lease) = try make(standing, bench)
    let result = try #require(try bench.command(.prioritize(id, 3)).first)
    switch standing {
    case .due, .waiting, .leased, .cancelledWaiting, .cancelledLeased:
      #expect(result == Self.changed)
      #expect(try bench.command(.prioritize(id, 3)) == [Self.unchanged])
      if let lease { try bench.settle(lease, .released) }
      bench.time.pass(60_000)
      try bench.takeIn(Sample.item("b", priority: 2), Sample.item("c", priority: 4))
      #expect(try bench.claim(9).map(Sample.name) == ["c", "a", "b"])
    case .completed, .rejected, .cancelled, .deleted, .unknown:
      guard case .refused = result else { return #expect(Bool(false), "\(result)") }
    }
  }

  @Test(arguments: all) func delete(engine: Engine, standing: Standing) throws {
    let bench = try Bench(engine)
    let (id, lease) = try make(standing, bench)
    let key = try bench.reader.attachments(idPrefix: id).first?.key ?? 0
    let reply = try bench.exchange { $0.commands = [.delete(id)] }
    switch standing {
    case .unknown:
      #expect(reply.results == [.refused("no attachment has the id nobody")] && reply.position == nil)
    case .deleted: #expect(reply.results == [Self.unchanged] && reply.position == nil)
    default:
      #expect(reply.results == [Self.changed])
      #expect(reply.objectsToDelete == (standing == .completed ? ["documents/a"] : []))
      let position = try #require(reply.position)
      let before = Position(history: position.history, number: position.number - 1)
      #expect(try bench.changes(since: before) == [Change(.deletion, id)])
      #expect(try bench.reader.attempts(of: key).isEmpty && bench.reader.place(of: key) == nil)
    }
    if standing == .unknown { return }
    #expect(try bench.reader.attachments(idPrefix: id).isEmpty)
    #expect(
      try bench.reader.tombstones(idPrefix: id) == [
        Tombstone(id: id, deletedBy: "ann", deletedAt: bench.time.now)
      ])
    #expect(try bench.reader.tombstoneCount() == 1)
    for status in Status.allCases { #expect(try bench.count(status) == 0, "\(status)") }
    if let lease {
      #expect(try bench.settle(lease, Sample.ended(lease)) == .leaseLost, "what comes of it is not wanted")
      #expect(try !bench.reader.hasName("documents/a"))
    }
    bench.time.pass(100_000)
    #expect(try bench.claim(9).isEmpty)
    // The same file under the same message is not taken in again; another is.
    var report = Sample.report(known: 1)
    report.knownDeleted = 1
    #expect(Sample.counted(try bench.command(.takeIn([Sample.item("a")]))) == [.takenIn(report)])
    try bench.takeIn(Sample.item("a", message: "other"))
  }

  @Test(arguments: Engine.allCases) func anObjectOfTwoIsDeletedWithTheSecond(engine: Engine) throws {
    let bench = try Bench(engine)
    for name in ["a", "b"] { try bench.end(name) { $0.outcome.url = "documents/shared" } }
    let ids = [try bench.attachment("a").origin.id, try bench.attachment("b").origin.id]
    #expect(try bench.exchange { $0.commands = [.delete(ids[0])] }.objectsToDelete == [])
    #expect(try bench.reader.hasObject(at: "documents/shared", sha256: Sample.content(9)))
    #expect(try bench.exchange { $0.commands = [.delete(ids[1])] }.objectsToDelete == ["documents/shared"])
    #expect(try bench.reader.hasName("documents/shared") && !bench.reader.hasObjects())
    // Nothing gets the path before the object is gone.
    try bench.takeIn(Sample.item("c"))
    let lease = try bench.claimOne()
    let ended = Sample.ended(lease) { $0.outcome.url = "documents/shared" }
    #expect(try bench.settle(lease, ended) == .conflict)
    let reply = try bench.exchange { $0.deletedObjects = ["documents/shared", "documents/nobody's"] }
    #expect(try reply.objectsToDelete == [] && !bench.reader.hasName("documents/shared"))
    let again = try bench.claimOne()
    #expect(try bench.settle(again, Sample.ended(again) { $0.outcome.url = "documents/shared" }) == .counted)
    // An object that is somebody's stays, whatever is said of it.
    try bench.exchange { $0.deletedObjects = ["documents/shared"] }
    #expect(try bench.reader.hasName("documents/shared"))
  }

  @Test(arguments: Engine.allCases) func allThatIsOfAnAttachmentIsDeletedWithIt(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a", message: "m"), Sample.item("b", message: "m"))
    for lease in try bench.claim(2) {
      try bench.settle(lease, Sample.ended(lease) { $0.events = [Sample.event(["ann", "ben"])] })
    }
    let inHand = try bench.claim(1, Sample.events)
    let key = try bench.attachment("b").key
    try bench.command(.delete(try bench.attachment("a").origin.id))
    #expect(try bench.settle(inHand[0], .delivered(key: Sample.key(inHand[0]))) == .leaseLost)
    let left = try bench.reader.deliveries(DeliveryFilter(), after: nil, limit: 99).rows
    #expect(left.map(\.attachmentId) == Array(repeating: try bench.attachment("b").origin.id, count: 2))
    #expect(try bench.reader.deliveries(of: key).count == 2)
    #expect(try bench.claim(9, Sample.events).count == 2)
    // Its message is there as long as it has an attachment: another sender is refused.
    let other = Sample.item("c", message: "m", sender: "ben")
    guard case .takenIn(let first) = try bench.command(.takeIn([other])).first else {
      return #expect(Bool(false))
    }
    #expect(first.problems.count == 1)
    try bench.command(.delete(try bench.attachment("b").origin.id))
    // The same manifest once more brings nothing of it back.
    try bench.command(.takeIn([Sample.item("a", message: "m"), Sample.item("b", message: "m")]))
    guard case .takenIn(let second) = try bench.command(.takeIn([other])).first else {
      return #expect(Bool(false))
    }
    #expect(second.problems.isEmpty && second.added == 1)
  }

  @Test(arguments: Engine.allCases) func whatHasChangedSinceIsLeftAsItIs(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.end("a")
    let id = try bench.attachment("a").origin.id
    func delete(_ only: Set<Status>) throws -> CommandResult? {
      try bench.command(.attachment(AttachmentCommand(id, .delete(by: "ann"), only: only))).first
    }
    #expect(try delete([.failed, .queued]) == Self.unchanged)
    #expect(try bench.attachment("a").outcome.status == .completed)
    #expect(try delete([.failed, .completed]) == Self.changed)
  }
}
