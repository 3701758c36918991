import LedgerPort
import Pipeline
import Platform
import Testing

// Attachments in conversations, services, ids, expiry and muting.
extension ConversationTests {
  @Test(arguments: Engine.allCases) func membersReadItsAttachmentsAndTheirMessageFollowsThem(engine: Engine)
    throws
  {
    let bench = try Bench(engine)
    try bench.group("c", ["ann", "cid"])
    // Of a written message, and of one that comes with its attachment.
    let written = try bench.write("c", "ann", "c1", "see this")
    try bench.takeIn(
      Sample.item("a", message: written.id), Sample.item("b", message: "m2"), Sample.item("own"))
    #expect(try bench.seen("c", by: "cid") == [3, 2, 1])
    let a = try bench.attachment("a")
    #expect(try bench.reader.participants(of: a.key) == ["ann", "cid"], "not those that it names")
    #expect(try bench.member("c", "ben") == nil)
    _ = try bench.say(.user("ann"), "c", .add("ben", .member))
    _ = try bench.say(.user("ann"), "c", .remove("cid"))
    #expect(try bench.reader.participants(of: a.key) == ["ann", "cid"], "ben came later")
    bench.time.pass(5)
    try bench.takeIn(Sample.item("late", message: written.id))
    let late = try bench.attachment("late")
    #expect(try bench.reader.participants(of: late.key) == ["ann"], "it came after cid had left")
    let former = try bench.member("c", "cid")
    #expect(
      try bench.reader.attachments(ofMessages: [written.id], in: "c", seenBy: former)[written.id]?.count == 1)
    try bench.takeIn(Sample.item("d", message: "m4"))
    #expect(try bench.reader.participants(of: try bench.attachment("d").key) == ["ann", "ben"])
    var filter = AttachmentFilter()
    filter.participant = "cid"
    #expect(try bench.reader.matches(filter, after: nil, limit: 9).rows.count == 3)
    let before = try bench.reader.position().number
    let lease = try bench.claimOne()
    guard case .attachment(let leased) = lease.work else { return }
    #expect(leased.participants == #"["ann","cid"]"#)
    _ = try bench.settle(lease, Sample.ended(lease))
    let change = try #require(try bench.reader.changes(in: "c", at: before + 1))
    #expect(change.messages.map(\.id) == [written.id] && change.members.isEmpty)
    let found = try bench.reader.attachments(ofMessages: [written.id, "m2", "none"], in: "c", seenBy: nil)
    #expect(found[written.id]?.map(\.origin.fileName) == ["a", "late"] && found.count == 2)
    #expect(found[written.id]?.first?.outcome.status == .completed)
    // Away with all of it.
    let deletion = ConversationCommand("c", .user("ann"), .delete(1))
    let reply = try bench.exchange { $0.commands = [.conversation(deletion)] }
    #expect(reply.results == [.conversation(Self.changed)])
    #expect(
      Set(reply.deletedAttachments) == Set([a, late].map(\.origin.id)), "the scheduler lets go of them")
    #expect(try bench.reader.attachments(ofMessages: [written.id], in: "c", seenBy: nil).isEmpty)
    let report = try bench.command(.takeIn([Sample.item("e", message: written.id)]))
    guard case .takenIn(let report)? = report.first else { return }
    #expect(report.problems.map(\.kind) == [IntakeProblem.goneMessage])
    // Of the one that was left its attachment goes, and the message stays.
    try bench.command(
      .attachment(AttachmentCommand(try bench.attachment("b").origin.id, .delete(by: "ann"))))
    #expect(try bench.message("c", 2)?.deletedAt == nil && bench.message("c", 2) != nil)
  }

  /// What a service may do does not depend on whether its name is a member's.
  @Test(arguments: Engine.allCases) func aServiceSeesAllAndWritesForMembersAlone(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.group("g", ["ann"])
    _ = try bench.write("g", "ann", "c1", "before")
    _ = try bench.say(.service("shop"), "g", .add("shop", .member))
    #expect(try bench.say(.service("shop"), "g", .edit(1, text: "mended")) == Self.changed)
    _ = try bench.say(.service("shop"), "g", .remove("shop"))
    #expect(try bench.say(.service("shop"), "g", .delete(1)) == Self.changed)
    func write(_ person: String?, _ client: String) throws -> ConversationResult {
      try bench.say(
        .service("shop", for: person), "g", .write(id: "m-\(client)", clientId: client, text: "x"))
    }
    guard case .refused(.invalid("senderId", _)) = try write(nil, "s1"),
      case .written(let hers, isNew: true) = try write("ann", "s2"), hers.senderId == "ann",
      case .refused(.invalid("senderId", _)) = try write("ban", "s3"),
      case .refused(.invalid("senderId", _)) = try bench.say(
        .service("else"), "g", .reach(delivered: 1, read: 1)),
      case .refused(.invalid("senderId", _)) = try bench.say(
        .service("else", for: "ban"), "g", .mute(until: 5, urgentBreaksMute: nil))
    else { return #expect(Bool(false), "for its members alone") }
  }

  /// Who was taken out is answered that its message is written, where that was so.
  @Test(arguments: Engine.allCases) func aRepeatedMessageIsKnownAlsoOnceItsSenderHasLeft(engine: Engine)
    throws
  {
    let bench = try Bench(engine)
    try bench.group("g", ["ann", "ben"])
    let message = try bench.write("g", "ben", "c", "x")
    _ = try bench.say(.user("ann"), "g", .remove("ben"))
    let again = ConversationCommand.Action.write(id: "other", clientId: "c", text: "x")
    #expect(try bench.say(.user("ben"), "g", again) == .written(message, isNew: false))
    #expect(
      try bench.say(.user("ben"), "g", .write(id: "other", clientId: "d", text: "x")) == Self.left)
  }

  /// Nobody leaves files under an id that is to become another's conversation.
  @Test(arguments: Engine.allCases) func whatIsOfMembersWaitsForNoConversation(engine: Engine) throws {
    let bench = try Bench(engine)
    var item = Sample.item("a", message: "m")
    item.isOfMember = true
    guard case .takenIn(let report)? = try bench.command(.takeIn([item])).first else { return }
    #expect(report.added == 0 && report.problems.map(\.kind) == [IntakeProblem.noMember])
    try bench.group("c", ["ann"])
    try bench.takeIn(item)
  }

  /// Two members may give their attachments the same message id: it is a client id.
  @Test(arguments: Engine.allCases) func membersTakeNoIdsFromEachOther(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.group("g", ["ann", "ben"])
    try bench.group("h", ["ann"])
    func item(_ name: String, _ sender: String, in conversation: String) -> IntakeItem {
      var item = Sample.item(name, message: "m", sender: sender)
      (item.conversationId, item.isOfMember, item.isOfUser) = (conversation, true, true)
      return item
    }
    try bench.takeIn(item("a", "ann", in: "g"), item("b", "ben", in: "g"), item("c", "ann", in: "g"))
    let view = try #require(try bench.reader.membership(of: "g", for: nil))
    let messages = try bench.reader.messages(
      in: view.conversation, seenBy: nil, before: nil, limit: 9
    ).sorted { $0.number < $1.number }
    #expect(messages.map(\.senderId) == ["ann", "ben"] && messages.map(\.clientId) == ["m", "m"])
    let files = try bench.reader.attachments(ofMessages: messages.map(\.id), in: "g", seenBy: nil)
    #expect(messages.map { files[$0.id]?.map(\.origin.fileName) ?? [] } == [["a", "c"], ["b"]])
    guard case .takenIn(let report)? = try bench.command(.takeIn([item("d", "ann", in: "h")])).first else {
      return #expect(Bool(false), "it is refused as a whole")
    }
    #expect(report.added == 0 && report.problems.count == 1, "the client id is one of another conversation")
  }

  @Test(arguments: Engine.allCases) func aMessageExpires(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.group("g", ["ann", "ben"])
    func write(_ client: String, _ expiresAt: Int64? = nil) throws -> Message? {
      let result = try bench.say(
        .user("ann"), "g", .write(id: "m-\(client)", clientId: client, text: "x", expiresAt: expiresAt))
      guard case .written(let message, true) = result else { return nil }
      return message
    }
    let now = try #require(try write("a")).createdAt
    #expect(try write("b", now) == nil, "its time is over")
    #expect(try write("c", now + 9000)?.expiresAt == now + 9000)
    #expect(
      try bench.say(.user("ben"), "g", .expire(after: 6000))
        == .refused(.forbidden("an admin of the group does this")))
    #expect(try bench.say(.user("ann"), "g", .expire(after: 6000)) == Self.changed)
    #expect(try bench.say(.user("ann"), "g", .expire(after: 6000)) == Self.unchanged)
    guard case .refused(.invalid("expireAfter", _)) = try bench.say(.user("ann"), "g", .expire(after: 1))
    else {
      return #expect(Bool(false), "it is too short")
    }
    // The earlier time counts, also for the message of an attachment.
    #expect(try write("d", now + 9000)?.expiresAt == now + 6000)
    #expect(try write("e", now + 1000)?.expiresAt == now + 1000)
    var item = Sample.item("file")
    item.conversationId = "g"
    try bench.takeIn(item)
    func expired(_ after: Int64) throws -> [Int64] {
      try bench.reader.expiredMessages(at: now + after, limit: 9).map(\.number).sorted()
    }
    #expect(try expired(999) == [] && expired(1000) == [4] && expired(6000) == [3, 4, 5])
    #expect(try expired(9000) == [2, 3, 4, 5])
    _ = try bench.say(.service("expiry"), "g", .delete(3))
    #expect(try expired(9000) == [2, 4, 5], "it is deleted")
    #expect(try bench.say(.user("ann"), "g", .expire(after: nil)) == Self.changed)
    #expect(try write("f")?.expiresAt == nil)
  }

  /// How one has muted a conversation, the others are not told, not even that something was set.
  @Test(arguments: Engine.allCases) func mutingIsOnesOwn(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.group("g", ["ann", "ben"])
    let before = try bench.reader.position().number
    #expect(
      try bench.say(.user("ben"), "g", .mute(until: .some(5), urgentBreaksMute: nil)) == Self.changed)
    #expect(
      try bench.say(.user("ben"), "g", .mute(until: nil, urgentBreaksMute: false)) == Self.changed)
    let member = try #require(try bench.member("g", "ben"))
    #expect(member.mutedUntil == 5 && !member.urgentBreaksMute, "each is set for itself")
    #expect(try bench.say(.user("ben"), "g", .mute(until: nil, urgentBreaksMute: nil)) == Self.unchanged)
    let now = try bench.reader.position().number
    func told(_ user: String) throws -> Int {
      try bench.reader.changes(of: user, after: before, upTo: now, limit: 9).changes.count
    }
    #expect(try told("ben") == 1 && told("ann") == 0)
    #expect(try bench.say(.user("ben"), "g", .mute(until: .some(nil), urgentBreaksMute: nil)) == Self.changed)
    #expect(try bench.member("g", "ben")?.mutedUntil == nil)
  }

  /// Whatever happens after a joining, and however little is asked for at a time: some answer has it.
  @Test(arguments: Engine.allCases, [1, 2, 50]) func aJoiningIsInSomeAnswer(engine: Engine, limit: Int) throws
  {
    let bench = try Bench(engine)
    try bench.group("g", ["ann", "ben"], .all)
    for number in 1...3 { _ = try bench.write("g", "ann", "a\(number)", "x") }
    let before = try bench.reader.position().number
    _ = try bench.say(.user("ann"), "g", .add("dan", .member))
    for number in 4...6 { _ = try bench.write("g", "ann", "a\(number)", "x") }
    _ = try bench.say(.user("dan"), "g", .reach(delivered: 6, read: 6))
    let now = try bench.reader.position().number
    var (place, joinings) = (before, 0)
    while place < now {
      let (changes, upTo) = try bench.reader.changes(of: "dan", after: place, upTo: now, limit: limit)
      for change in changes {
        let joined = try #require(change.view.member("dan")).joinedChange
        if joined > place && joined <= upTo { joinings += 1 }
      }
      place = upTo
    }
    #expect(joinings == 1)
  }

  /// A client that knows a message by its own name for it sends files into that message.
  @Test(arguments: Engine.allCases) func anAttachmentMayNameItsMessageAsItsClientDoes(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.group("c", ["ann", "ben"])
    let message = try bench.write("c", "ann", "mine", "see")
    try bench.takeIn(Sample.item("a", message: "mine"))
    #expect(try bench.attachment("a").origin.messageId == message.id)
    #expect(try bench.seen("c", by: "ben") == [1])
    // Another's attachment under the same id, before or after, does not get between them.
    try bench.takeIn(Sample.item("x", message: "early", sender: "ben"))
    let early = try bench.write("c", "ann", "early", "later")
    try bench.takeIn(Sample.item("y", message: "early"))
    #expect(try bench.attachment("y").origin.messageId == early.id)
    // Another's names are its own.
    try bench.takeIn(Sample.item("b", message: "mine", sender: "ben"))
    #expect(
      try bench.attachment("b").origin.messageId == "mine" && bench.seen("c", by: "ben") == [4, 3, 2, 1])
  }

  @Test(arguments: Engine.allCases) func whoIsNoMemberBringsNothing(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.group("c", ["cid"])
    guard case .takenIn(let report)? = try bench.command(.takeIn([Sample.item("a", message: "m")])).first
    else {
      return
    }
    #expect(report.added == 0 && report.problems.map(\.kind) == [IntakeProblem.noMember])
    #expect(try bench.reader.message("m", of: "c") == nil)
    // Nor does who was one.
    _ = try bench.say(.service("shop"), "c", .add("ann", .member))
    _ = try bench.say(.service("shop"), "c", .remove("ann"))
    let later = try bench.command(.takeIn([Sample.item("a", message: "m")]))
    guard case .takenIn(let left)? = later.first else { return }
    #expect(left.added == 0 && left.problems.map(\.kind) == [IntakeProblem.noMember])
    // What came before there was a conversation is its participants', as it was.
    try bench.takeIn(Sample.item("b").replacing(conversation: "old"))
    try bench.group("old", ["cid"])
    #expect(try bench.reader.participants(of: try bench.attachment("b").key) == ["ann", "ben"])
  }
}
