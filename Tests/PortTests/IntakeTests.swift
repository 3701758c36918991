import LedgerPort
import Pipeline
import Platform
import Testing

/// What is taken in, known, refused, and queued again.
struct IntakeTests {
  @Test(arguments: Engine.allCases) func theSameFileUnderTheSameMessageIsKnown(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a", message: "m"), Sample.item("a"))
    var changed = Sample.item("a", message: "m")
    changed.sourceModified = 8
    var renamed = Sample.item("a", message: "m")
    (renamed.fileName, renamed.priority) = ("other", 9)
    let results = try bench.command(
      .takeIn([Sample.item("a", message: "m"), Sample.item("a"), changed, renamed]))
    #expect(Sample.counted(results) == [.takenIn(Sample.report(added: 1, known: 3))])
    #expect(try bench.count(.queued) == 3)
  }

  /// Its mailbox was changed since: what waits is read from where it is now.
  @Test(arguments: Engine.allCases) func aMessageOfAMailboxIsFoundAtItsNewPlace(engine: Engine) throws {
    let bench = try Bench(engine)
    func item(_ range: Range<Int64>) -> IntakeItem {
      var item = Sample.item("a", message: "m")
      item.source = MboxPath(file: Array("/m/in".utf8), range, sha256: [UInt8](repeating: 1, count: 32)).path
      (item.sourceSize, item.folderDevice) = (4, 8)
      return item
    }
    let (old, new) = (item(50..<54), item(7..<11))
    try bench.takeIn(old)
    #expect(Sample.counted(try bench.command(.takeIn([new]))) == [.takenIn(Sample.report(known: 1))])
    guard case .attachment(let attachment) = try bench.claimOne().work else {
      return #expect(Bool(false), "there is none")
    }
    #expect(
      attachment.source == .file(host: nil, path: new.source, size: 4, modified: 7, folderDevice: 8))
    #expect(try bench.attachment("a").source == new.source)
  }

  @Test(arguments: Engine.allCases) func itIsSaidHowManyKnownOnesWereNotCompleted(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.end("a")
    try bench.end("b") { $0.outcome = AttachmentOutcome(.failed, reason: Sample.reason) }
    try bench.takeIn(Sample.item("c"))
    let results = try bench.command(.takeIn([Sample.item("a"), Sample.item("b"), Sample.item("c")]))
    #expect(Sample.counted(results) == [.takenIn(Sample.report(known: 3, notCompleted: 1))])
  }

  @Test(arguments: Engine.allCases) func aFileCannotJoinAnotherSendersMessage(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a", message: "m"))
    var report = Sample.report()
    let way = "give it another messageId, or delete the attachments of that one first"
    report.refuse(
      IntakeProblem(
        "list:1", "message 'm' of conversation 'c' is from 'ann', not from 'ben'; \(way)",
        kind: "the message is from another sender; \(way)"))
    #expect(try bench.command(.takeIn([Sample.item("b", message: "m", sender: "ben")])) == [.takenIn(report)])
    try bench.takeIn(Sample.item("b", message: "n", sender: "ben"))
  }

  /// A file stays away if a person deleted it. Retention deletes records only, and the file of a failed one is validated again.
  @Test(arguments: Engine.allCases) func whatRetentionTakesAwayIsNotTakenForSound(engine: Engine) throws {
    for (isRetention, isCompleted, isAgain, added) in [
      (true, false, false, 1), (true, true, false, 0), (false, false, false, 0), (false, true, false, 0),
      (false, false, true, 1), (true, true, true, 1),
    ] {
      let bench = try Bench(engine)
      try bench.end("a") {
        if !isCompleted { $0.outcome = AttachmentOutcome(.rejected, reason: Sample.reason) }
      }
      let id = try bench.attachment("a").origin.id
      try bench.command(.attachment(AttachmentCommand(id, .delete(by: "ann", isRetention: isRetention))))
      var item = Sample.item("a")
      item.isAgain = isAgain
      guard case .takenIn(let report) = try bench.command(.takeIn([item]))[0] else {
        return #expect(Bool(false), "it is refused as a whole")
      }
      #expect(
        report.added == added && report.knownDeleted == 1 - added, "\(isRetention) \(isCompleted) \(isAgain)")
    }
  }

  @Test(arguments: Engine.allCases) func whatIsKnownIsWorkedOnAgainWhereThatIsSaid(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.end("a") { $0.outcome = AttachmentOutcome(.failed, reason: Sample.reason) }
    var item = Sample.item("a")
    item.isAgain = true
    #expect(Sample.counted(try bench.command(.takeIn([item]))) == [.takenIn(Sample.report(known: 1))])
    #expect(try bench.count(.queued) == 1)
  }

  /// To Swift both names are the same text; they are of two users.
  @Test(arguments: Engine.allCases) func aCanonicallyEqualNameIsAnotherSenders(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a", message: "m", sender: "ren\u{E9}"))
    let item = Sample.item("b", message: "m", sender: "rene\u{301}")
    guard case .takenIn(let report) = try bench.command(.takeIn([item]))[0] else {
      return #expect(Bool(false), "it is refused as a whole")
    }
    #expect(report.added == 0 && report.problems.first?.kind == IntakeProblem.otherSender)
    #expect(try bench.count(.queued) == 1)
  }

  /// No user blocks the message of a service by taking its id first.
  @Test(arguments: Engine.allCases) func aServiceTakesTheIdOfAUsersMessageOver(engine: Engine) throws {
    let bench = try Bench(engine)
    var mine = Sample.item("a", message: "m", sender: "eve")
    (mine.isOfUser, mine.participants) = (true, ["eve"])
    try bench.takeIn(mine)
    // Another user is refused.
    var other = Sample.item("b", message: "m", sender: "ben")
    other.isOfUser = true
    guard case .takenIn(let refused) = try bench.command(.takeIn([other]))[0] else {
      return #expect(Bool(false), "it is refused as a whole")
    }
    #expect(refused.problems.map(\.kind) == [IntakeProblem.otherSender])
    var another = Sample.item("c", message: "m", sender: "eve")
    (another.isOfUser, another.participants) = (true, ["eve"])
    try bench.takeIn(another)
    let service = Sample.item("d", message: "m", sender: "ann")
    #expect(
      Sample.counted(try bench.command(.takeIn([service]))) == [.takenIn(Sample.report(added: 1))])
    #expect(try bench.reader.message("m", of: "c")?.senderId == "ann")
    var all: [AttachmentRecord] = []
    try bench.reader.attachments {
      all.append($0)
      return true
    }
    #expect(all.count == 3)
    let users = all.map(\.origin).filter { $0.senderId == "eve" }
    #expect(users.map(\.fileName).sorted() == ["a", "c"] && Set(users.map(\.messageId)).count == 1)
    #expect(all.map(\.origin).filter { $0.messageId == "m" }.map(\.fileName) == ["d"])
    // The id is the service's from now on.
    guard case .takenIn(let late) = try bench.command(.takeIn([mine, other]))[0] else {
      return #expect(Bool(false), "it is refused as a whole")
    }
    #expect(late.added == 0 && late.problems.count == 2)
  }

  /// A service that joins the message of a user owns the id from then on.
  @Test(arguments: Engine.allCases) func aMessageThatAServiceHasJoinedIsNotTakenOver(engine: Engine) throws {
    let bench = try Bench(engine)
    var mine = Sample.item("a", message: "m", sender: "eve")
    mine.isOfUser = true
    try bench.takeIn(mine, Sample.item("b", message: "m", sender: "eve"))
    guard
      case .takenIn(let report) = try bench.command(
        .takeIn([Sample.item("c", message: "m", sender: "ann")]))[0]
    else { return #expect(Bool(false), "it is refused as a whole") }
    #expect(report.problems.map(\.kind) == [IntakeProblem.otherSender])
  }

  @Test(arguments: Engine.allCases) func aServiceTakesTheIdOverForTheSameSenderWithOthers(
    engine: Engine
  ) throws {
    let bench = try Bench(engine)
    var mine = Sample.item("a", message: "m")
    (mine.isOfUser, mine.participants) = (true, ["ann"])
    try bench.takeIn(mine)
    var service = Sample.item("b", message: "m")
    (service.participants, service.checksParticipants) = (["ann", "ben"], true)
    #expect(
      Sample.counted(try bench.command(.takeIn([service]))) == [.takenIn(Sample.report(added: 1))])
    #expect(try bench.reader.message("m", of: "c")?.participants == ["ann", "ben"])
  }

  @Test(arguments: Engine.allCases) func participantsThatAreCheckedAreThoseOnRecord(engine: Engine) throws {
    let bench = try Bench(engine)
    var first = Sample.item("a", message: "m")
    first.participants = ["ann", "ben"]
    try bench.takeIn(first)
    for (participants, isChecked, isTaken) in [
      (["ben", "ann"], true, true), (["ann"], true, false), ([], true, false), (["ann"], false, true),
    ] {
      var item = Sample.item("b-\(participants.count)-\(isChecked)", message: "m")
      (item.participants, item.checksParticipants) = (participants, isChecked)
      guard case .takenIn(let report) = try bench.command(.takeIn([item]))[0] else {
        return #expect(Bool(false), "it is refused as a whole")
      }
      #expect(report.added == (isTaken ? 1 : 0), "\(participants)")
      #expect(report.problems.map(\.kind) == (isTaken ? [] : [IntakeProblem.otherParticipants]))
    }
    #expect(try bench.reader.message("m", of: "c")?.participants == ["ann", "ben"])
    #expect(try bench.reader.message("n", of: "c") == nil)
  }

  @Test(arguments: Engine.allCases) func whatBecameOfEachFileIsToldInTheirOrder(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"))
    var bad = Sample.item("bad")
    bad.source = []
    let results = try bench.command(
      .takeIn([bad, Sample.item("b"), Sample.item("a"), Sample.item("c"), Sample.item("b")]))
    let (a, b, c) = (
      try bench.attachment("a").origin.id, try bench.attachment("b").origin.id,
      try bench.attachment("c").origin.id
    )
    guard case .takenIn(let report) = results[0] else { return #expect(Bool(false), "\(results)") }
    #expect(
      report.outcomes == [.refused, .added(id: b), .known(id: a), .added(id: c), .known(id: b)])
  }

  @Test(arguments: Engine.allCases) func aFileWithoutAMessageIsItsOwn(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"), Sample.item("b", sender: "ben"))
    let (first, second) = (try bench.attachment("a").origin, try bench.attachment("b").origin)
    #expect(first.messageId != second.messageId && !first.messageId.isEmpty && second.senderId == "ben")
  }

  @Test(arguments: Engine.allCases) func whatBreaksARuleIsRefusedAloneWithItsReason(engine: Engine) throws {
    let bench = try Bench(engine)
    var items = (0..<4).map { Sample.item("bad\($0)") }
    items[0].conversationId = ""
    items[1].senderId = "a\0b"
    items[2].sourceSize = -1
    items[3].fileName = String(repeating: "x", count: 1025)
    guard case .takenIn(let report) = try bench.command(.takeIn(items + [Sample.item("a")]))[0] else {
      return #expect(Bool(false), "it is refused as a whole")
    }
    #expect(report.added == 1 && report.problems.count == 4 && report.known == 0)
    #expect(try bench.count(.queued) == 1)
  }

  // MARK: Trying again

  @Test(arguments: Engine.allCases) func whatWasNotCompletedIsQueuedAgain(engine: Engine) throws {
    let bench = try Bench(engine)
    let before = try bench.end("a") {
      $0.outcome = AttachmentOutcome(
        .rejected, reason: Sample.reason, mediaType: "a/b", sizeBytes: 3, sha256: Sample.content(1),
        metadata: #"{"k":1}"#)
    }
    let id = Sample.id(before)
    #expect(try bench.command(.retry(id)) == [.done(hasChanged: true)])
    let record = try bench.attachment("a")
    #expect(record.outcome == AttachmentOutcome(.queued) && record.finishedAt == nil)
    #expect(record.steps == [Sample.step], "its attempts stay on record")
    #expect(try bench.command(.retry(id)) == [.done(hasChanged: false)])
    let lease = try bench.claimOne()
    #expect(lease.attempt == 2 && lease.counted == 1 && lease.crashes == 0 && lease.losses == 0)
    #expect(try bench.settle(before, Sample.ended(before)) == .leaseLost)
  }

  @Test(arguments: Engine.allCases) func whatIsCompletedIsNotTriedAgain(engine: Engine) throws {
    let bench = try Bench(engine)
    let id = Sample.id(try bench.end("a"))
    #expect(
      try bench.command(.retry(id)) == [
        .refused("attachment \(id) is completed: there is nothing to try again")
      ])
  }

  @Test(arguments: Engine.allCases) func whatWaitsIsHastenedByItself(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"), Sample.item("b"))
    for lease in try bench.claim(2) { try bench.settle(lease, Sample.again(lease, after: 9000)) }
    let id = try bench.attachment("b").origin.id
    let reply = try bench.exchange { $0.commands = [.retry(id), .retry(id)] }
    #expect(reply.results == [.done(hasChanged: true), .done(hasChanged: false)])
    #expect(reply.lanes.map(\.nextDue) == [0], "what commands have changed is told")
    let lease = try bench.claimOne()
    #expect(Sample.name(lease) == "b" && lease.attempt == 2 && lease.counted == 2)
    #expect(try bench.command(.retry(id)) == [.done(hasChanged: false)], "it is in hand")
  }
}
