import LedgerPort
import Pipeline
import Testing

/// Attachments that were taken out of others, and objects beside those of attachments.
struct ExpansionTests {
  private static func child(_ number: Int, size: Int64 = 3) -> NewChild {
    NewChild(
      uploadId: "upload\(number)", source: Array("/uploads/upload\(number)".utf8), sizeBytes: size,
      sha256: Sample.content(UInt8(number % 200)), modified: 5,
      fileName: "child \(number)", declaredType: "text/plain")
  }

  private static func derived(_ name: String, _ content: UInt8) -> DerivedObject {
    DerivedObject(
      name: name, stage: "s", mediaType: "c/d", sizeBytes: 3, sha256: Sample.content(content),
      url: "derived/\(content)")
  }

  /// That of a completed attachment with these.
  private static func ended(
    _ lease: Lease, children: Range<Int> = 0..<0, derived: [DerivedObject] = [], isStaged: Bool = true,
    limits: ExpandRules = ExpandRules()
  ) -> Settlement.Ending {
    Sample.ended(lease) { ended in
      ended.children = children.map { child($0) }
      ended.outcome.derived = derived
      ended.stagedDerived = isStaged ? Set(derived.map(\.name)) : []
      ended.limits = limits
    }
  }

  /// The same, that waits for its children.
  private static func expanded(
    _ lease: Lease, _ children: Range<Int>, derived: [DerivedObject] = [], limits: ExpandRules = ExpandRules()
  ) throws -> Settlement.Ending {
    .expanded(try #require(ended(lease, children: children, derived: derived, limits: limits).attachment))
  }

  private func attachment(_ lease: Lease) throws -> LeasedAttachment {
    guard case .attachment(let attachment) = lease.work else { return try #require(nil as LeasedAttachment?) }
    return attachment
  }

  /// An attachment `a` that waits for so many children.
  private func waiting(_ bench: Bench, _ children: Range<Int>, derived: [DerivedObject] = []) throws {
    try bench.takeIn(Sample.item("a"))
    let lease = try bench.claimOne()
    #expect(try bench.settle(lease, try Self.expanded(lease, children, derived: derived)) == .counted)
  }

  private func place(_ name: String, _ bench: Bench) throws -> QueuePlace.State? {
    try bench.reader.place(of: bench.attachment(name).key)?.state
  }

  // MARK: Waiting

  @Test(arguments: Engine.allCases) func aParentIsDueOnceItsChildrenHaveEnded(engine: Engine) throws {
    let bench = try Bench(engine)
    try waiting(bench, 0..<2, derived: [Self.derived("head", 1)])
    let parent = try bench.attachment("a")
    #expect(parent.outcome.status == .queued && parent.outcome.derived.isEmpty)
    #expect(try bench.count(.queued) == 3)
    for number in 0..<2 {
      let lease = try bench.claimOne()
      let child = try attachment(lease)
      #expect(child.origin.parentId == parent.origin.id && child.origin.messageId == parent.origin.messageId)
      #expect(child.origin.fileName == "child \(number)" && child.origin.declaredType == "text/plain")
      #expect(child.origin.senderId == parent.origin.senderId)
      // Stages have worked on the one before.
      #expect(
        child.place
          == TreePlace(
            depth: 1, contents: 2, bytes: 6, microseconds: number == 0 ? 0 : Sample.step.microseconds))
      #expect(child.concluded == nil)
      let ending = number == 0 ? Sample.ended(lease) { $0.outcome.url = nil } : Sample.failed(lease)
      #expect(try bench.settle(lease, ending) == .counted)
    }
    let lease = try bench.claimOne()
    let concluded = try #require(try attachment(lease).concluded)
    #expect(concluded.url == "documents/a" && concluded.derived == [Self.derived("head", 1)])
    #expect(
      concluded.tally.map { "\($0.key) \($0.value.text)" } == [
        "children.count 2", "children.completed 1", "children.failed 1",
      ])
    #expect(concluded.steps == [Sample.step])
    #expect(lease.counted == 1, "to wait is no attempt")
    try bench.settle(lease, Self.ended(lease, derived: concluded.derived, isStaged: false))
    let record = try bench.attachment("a")
    #expect(record.outcome.status == .completed && record.outcome.derived == [Self.derived("head", 1)])
    #expect(try bench.count(.queued) == 0)
  }

  @Test(arguments: Engine.allCases) func oneWithKnownChildrenThatHaveEndedGoesOnAtOnce(engine: Engine) throws
  {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"))
    let first = try bench.claimOne()
    try bench.settle(first, Self.ended(first, children: 0..<1))
    let child = try bench.claimOne()
    try bench.settle(child, Sample.failed(child))
    #expect(try bench.command(.reprocess(try bench.attachment("a").origin.id)) == [.done(hasChanged: true)])
    let again = try bench.claimOne()
    let reply = try bench.exchange { exchange in
      // The same content at the same place is the same child, whatever its file is called.
      var ending = Self.ended(again, children: 0..<1).attachment
      ending?.children[0].uploadId = "other"
      if let ending { exchange.settlements = [Settlement(again, .expanded(ending))] }
    }
    #expect(reply.settled == [.counted] && reply.uploadsToDelete == ["other"])
    let lease = try bench.claimOne()
    #expect(try attachment(lease).concluded?.children.map(\.count) == [1])
    #expect(try bench.reader.attachments(AttachmentFilter(), after: nil, limit: 10).rows.count == 2)
  }

  @Test(arguments: Engine.allCases) func whatIsCancelledGoesOnAndWaitsAgainIfItIsWantedAfterAll(
    engine: Engine
  )
    throws
  {
    let bench = try Bench(engine)
    try waiting(bench, 0..<1)
    let id = try bench.attachment("a").origin.id
    let child = try bench.claimOne()
    #expect(try bench.command(.cancel(id)) == [.done(hasChanged: true)])
    #expect(try bench.command(.retry(id)) == [.done(hasChanged: true)])
    #expect(try bench.claim(1).isEmpty)
    #expect(try place("a", bench) == .expanded)
    try bench.settle(child, Sample.failed(child))
    #expect(try attachment(try bench.claimOne()).concluded != nil)
  }

  @Test(arguments: Engine.allCases) func oneThatIsDueWaitsForAChildThatIsTriedAgain(engine: Engine) throws {
    let bench = try Bench(engine)
    try waiting(bench, 0..<1)
    let child = try bench.claimOne()
    try bench.settle(child, Sample.failed(child))
    try bench.command(.retry(try bench.attachment("child 0").origin.id))
    // Its turn has come, and it waits.
    #expect(try bench.claim(1).isEmpty)
    let again = try bench.claimOne()
    #expect(try attachment(again).origin.fileName == "child 0")
    #expect(try bench.claim(1).isEmpty)
    try bench.settle(again, Sample.failed(again))
    #expect(try attachment(try bench.claimOne()).concluded != nil)
  }

  /// Its stages have changed, and take other contents out. What they took out before is a child as well, and is worked on.
  @Test(arguments: Engine.allCases) func childrenThatComeOutNoMoreAreWaitedForAndCounted(engine: Engine)
    throws
  {
    let bench = try Bench(engine)
    try waiting(bench, 0..<2)
    for lease in try bench.claim(2) { try bench.settle(lease, Sample.failed(lease)) }
    let concluding = try bench.claimOne()
    try bench.settle(concluding, Self.ended(concluding))
    let parent = try bench.attachment("a").origin.id
    try bench.command(.retry(try bench.attachment("child 0").origin.id))
    try bench.command(.reprocess(parent))
    let leases = try bench.claim(2)
    let first = try #require(leases.first { try attachment($0).origin.id == parent })
    let child = try #require(leases.first { try attachment($0).origin.id != parent })
    #expect(try bench.settle(first, try Self.expanded(first, 2..<3)) == .counted)
    try bench.settle(child, Sample.failed(child))
    let new = try bench.claimOne()
    #expect(try attachment(new).origin.fileName == "child 2", "its parent waits for it")
    try bench.settle(new, Sample.ended(new) { $0.outcome.url = nil })
    #expect(
      try attachment(try bench.claimOne()).concluded?.tally.map { "\($0.key) \($0.value.text)" } == [
        "children.count 3", "children.completed 1", "children.failed 2",
      ])
  }

  @Test(arguments: Engine.allCases) func aDeletedChildIsNotWaitedForAndDoesNotComeBack(engine: Engine) throws
  {
    let bench = try Bench(engine)
    try waiting(bench, 0..<1)
    let id = try bench.attachment("child 0").origin.id
    let reply = try bench.exchange { $0.commands = [.delete(id)] }
    #expect(reply.uploadsToDelete == ["upload0"])
    let lease = try bench.claimOne()
    #expect(try attachment(lease).concluded?.children == [])
    try bench.settle(lease, Self.ended(lease))
    try bench.command(.reprocess(try bench.attachment("a").origin.id))
    let again = try bench.claimOne()
    #expect(try bench.settle(again, try Self.expanded(again, 0..<1)) == .counted)
    #expect(try bench.reader.attachments(AttachmentFilter(), after: nil, limit: 10).rows.count == 1)
  }

  @Test(arguments: Engine.allCases) func whatComesOutIsKnownDeletedOrNew(engine: Engine) throws {
    let bench = try Bench(engine)
    try waiting(bench, 0..<3)
    let parent = try bench.attachment("a")
    let children = try (0..<3).map { try bench.attachment("child \($0)") }
    try bench.command(.delete(children[1].origin.id))
    // How large it is, and that it came out before, makes it the same, and not where its file lies.
    var found = (0..<4).map { Self.child($0) } + [Self.child(0), Self.child(2, size: 4)]
    found[0].source = Array("/elsewhere".utf8)
    #expect(
      try bench.reader.standing(of: found, in: parent.origin) == [
        .known(children[0].origin.id), .deleted, .known(children[2].origin.id), .new, .new, .new,
      ])
    #expect(try bench.reader.standing(of: found, in: children[0].origin).allSatisfy { $0 == .new })
    let first = try bench.reader.children(of: parent.key, after: nil, limit: 1)
    let rest = try bench.reader.children(of: parent.key, after: first.next, limit: 9)
    #expect(
      (first.rows + rest.rows).map { "\($0.attachment.origin.fileName) \($0.sizeBytes)" } == [
        "child 0 3", "child 2 3",
      ])
    #expect(try bench.reader.childCount(of: parent.key) == 2 && rest.next == nil)
  }

  @Test(arguments: Engine.allCases) func childrenOfADeletedParentAreTheirOwn(engine: Engine) throws {
    let bench = try Bench(engine)
    try waiting(bench, 0..<1)
    try bench.command(.delete(try bench.attachment("a").origin.id))
    let lease = try bench.claimOne()
    #expect(try attachment(lease).origin.parentId == nil && attachment(lease).place == TreePlace())
    #expect(try bench.settle(lease, Sample.failed(lease)) == .counted)
  }

  // MARK: Limits

  @Test(arguments: Engine.allCases) func childrenThatAreTooManyAreNotTaken(engine: Engine) throws {
    var limits = ExpandRules()
    (limits.depth, limits.contents, limits.bytes) = (2, 3, 9)
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"))
    let root = try bench.claimOne()
    #expect(try bench.settle(root, try Self.expanded(root, 0..<2, limits: limits)) == .counted)
    let leases = try bench.claim(2)
    try #require(leases.count == 2)
    // The two of them are too many together, whether they wait or not.
    #expect(try bench.settle(leases[0], try Self.expanded(leases[0], 2..<3, limits: limits)) == .counted)
    for ending in [
      try Self.expanded(leases[1], 3..<4, limits: limits),
      Self.ended(leases[1], children: 3..<4, limits: limits),
    ] {
      guard case .tooManyChildren("too-many-contents", _) = try bench.settle(leases[1], ending) else {
        Issue.record("it is taken")
        continue
      }
    }
    #expect(try bench.count(.queued) == 4, "nothing has changed, and its lease goes on")
    #expect(try bench.settle(leases[1], Sample.failed(leases[1])) == .counted)
    let leaf = try bench.claimOne()
    guard
      case .tooManyChildren("too-deep", _) = try bench.settle(
        leaf, try Self.expanded(leaf, 4..<5, limits: limits))
    else { return #expect(Bool(false), "it is taken") }
    limits = ExpandRules()
    limits.bytes = 11
    guard
      case .tooManyChildren("too-large", _) = try bench.settle(
        leaf, try Self.expanded(leaf, 4..<5, limits: limits))
    else { return #expect(Bool(false), "it is taken") }
  }

  /// It comes out of the same attachment again, and takes no room a second time.
  @Test(arguments: Engine.allCases) func whatIsWorkedOnAgainCountsItsChildrenOnce(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"))
    let root = try bench.claimOne()
    try bench.settle(root, Self.ended(root, children: 0..<2))
    let middle = try bench.claimOne()
    try bench.settle(middle, Self.ended(middle, children: 2..<5))
    for lease in try bench.claim(9) { try bench.settle(lease, Sample.failed(lease)) }
    for (name, rest, children) in [("child 0", Int64(2), 2..<5), ("a", 3, 0..<2), ("child 0", 2, 2..<5)] {
      try bench.command(.reprocess(try bench.attachment(name).origin.id))
      let lease = try bench.claimOne()
      let place = try attachment(lease).place
      #expect(place.contents == rest && place.bytes == rest * 3, "\(name)")
      var limits = ExpandRules()
      limits.contents = 5
      #expect(try bench.settle(lease, Self.ended(lease, children: children, limits: limits)) == .counted)
    }
    #expect(try bench.reader.attachments(AttachmentFilter(), after: nil, limit: 20).rows.count == 6)
  }

  /// After its stages were changed, other children come out of an attachment. The earlier ones stay.
  @Test(arguments: Engine.allCases) func earlierChildrenTakeRoomUntilTheyAreDeleted(engine: Engine) throws {
    var limits = ExpandRules()
    limits.contents = 5
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"))
    let first = try bench.claimOne()
    #expect(try bench.settle(first, Self.ended(first, children: 0..<2, limits: limits)) == .counted)
    for lease in try bench.claim(9) { try bench.settle(lease, Sample.failed(lease)) }
    try bench.command(.reprocess(try bench.attachment("a").origin.id))
    let second = try bench.claimOne()
    guard
      case .tooManyChildren("too-many-contents", _) = try bench.settle(
        second, Self.ended(second, children: 1..<6, limits: limits))
    else { return #expect(Bool(false), "it is taken") }
    try bench.command(.delete(try bench.attachment("child 0").origin.id))
    #expect(try bench.settle(second, Self.ended(second, children: 0..<6, limits: limits)) == .counted)
    #expect(try bench.reader.attachments(AttachmentFilter(), after: nil, limit: 20).rows.count == 6)
  }

  // MARK: Derived objects

  @Test(arguments: Engine.allCases) func theyAreOnRecordWithWhatIsCompleted(engine: Engine) throws {
    let bench = try Bench(engine)
    let objects = [Self.derived("head", 1), Self.derived("text", 2)]
    try bench.end("a") { ($0.outcome.derived, $0.stagedDerived) = (objects, ["head", "text"]) }
    #expect(try bench.attachment("a").outcome.derived == objects)
    let id = try bench.attachment("a").origin.id
    #expect(try bench.reader.object("text", besideAttachment: id)?.url == "derived/2")
    #expect(try bench.reader.object("other", besideAttachment: id) == nil)
    #expect(try bench.reader.derivedObjects(after: nil, limit: 10).rows.map(\.derived) == ["head", "text"])
    let first = try bench.reader.derivedObjects(after: nil, limit: 1)
    #expect(first.rows.map(\.derived) == ["head"])
    #expect(try bench.reader.derivedObjects(after: first.next, limit: 1).rows.map(\.derived) == ["text"])
    #expect(try bench.reader.hasObject(at: "derived/1", sha256: Sample.content(1)))
  }

  @Test(arguments: Engine.allCases) func oneThatSeveralHaveGoesWithTheLast(engine: Engine) throws {
    let bench = try Bench(engine)
    for name in ["a", "b"] {
      try bench.end(name) { ($0.outcome.derived, $0.stagedDerived) = ([Self.derived("head", 1)], ["head"]) }
    }
    let ids = try ["a", "b"].map { try bench.attachment($0).origin.id }
    #expect(try bench.exchange { $0.commands = [.delete(ids[0])] }.objectsToDelete == ["documents/a"])
    _ = try bench.exchange { $0.deletedObjects = ["documents/a"] }
    #expect(
      try bench.exchange { $0.commands = [.delete(ids[1])] }.objectsToDelete.sorted() == [
        "derived/1", "documents/b",
      ])
    // Until it is deleted, its path is not given to another.
    try bench.takeIn(Sample.item("c"))
    let lease = try bench.claimOne()
    #expect(try bench.settle(lease, Self.ended(lease, derived: [Self.derived("head", 1)])) == .conflict)
    _ = try bench.exchange { $0.deletedObjects = ["derived/1", "documents/b"] }
    let again = try bench.claimOne()
    #expect(try bench.settle(again, Self.ended(again, derived: [Self.derived("head", 1)])) == .counted)
  }

  /// What was not staged must be there: those of equal content may be gone meanwhile.
  @Test(arguments: Engine.allCases) func oneThatIsNotThereIsNotTaken(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"))
    let lease = try bench.claimOne()
    let objects = [Self.derived("head", 1)]
    #expect(try bench.settle(lease, Self.ended(lease, derived: objects, isStaged: false)) == .conflict)
    let again = try bench.claimOne()
    #expect(again.counted == 1)
    #expect(try bench.settle(again, Self.ended(again, derived: objects)) == .counted)
  }

  @Test(arguments: Engine.allCases) func whatIsWorkedOnAgainGivesThemUp(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.end("a") { ($0.outcome.derived, $0.stagedDerived) = ([Self.derived("head", 1)], ["head"]) }
    let id = try bench.attachment("a").origin.id
    #expect(try bench.exchange { $0.commands = [.reprocess(id)] }.objectsToDelete == ["derived/1"])
    #expect(try bench.attachment("a").outcome.derived.isEmpty)
    #expect(try bench.reader.derivedObjects(after: nil, limit: 10).rows.isEmpty)
  }
}
