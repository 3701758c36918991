import LedgerPort
import Pipeline
import Platform
import Testing

/// People who write to each other.
struct ConversationTests {
  private static let changed = ConversationResult.done(hasChanged: true)
  private static let unchanged = ConversationResult.done(hasChanged: false)

  // MARK: Beginning

  @Test(arguments: Engine.allCases) func aPairHasOneDirectConversation(engine: Engine) throws {
    let bench = try Bench(engine)
    let first = try bench.say(.user("ann"), "d1", .begin(.direct, name: nil, .joined, members: ["ben"]))
    #expect(first == .begun(id: "d1", isNew: true))
    // The other way round, and by the product; all at once, as racing requests come.
    let results = try bench.exchange {
      $0.commands = [
        .conversation(
          ConversationCommand("d2", .user("ben"), .begin(.direct, name: nil, .all, members: ["ann"]))),
        .conversation(
          ConversationCommand(
            "d3", .service("shop"), .begin(.direct, name: nil, .all, members: ["ben", "ann"]))),
        .conversation(
          ConversationCommand("d4", .user("an"), .begin(.direct, name: nil, .all, members: ["nben"]))),
      ]
    }.results
    #expect(
      results == [
        .conversation(.begun(id: "d1", isNew: false)), .conversation(.begun(id: "d1", isNew: false)),
        .conversation(.begun(id: "d4", isNew: true)),
      ])
    for members in [[], ["ann"], ["ben", "eve"]] {
      let result = try bench.say(.user("ann"), "d5", .begin(.direct, name: nil, .all, members: members))
      guard case .refused(.invalid("members", _)) = result else {
        Issue.record("\(members): \(result)")
        continue
      }
    }
    #expect(try bench.reader.conversations(of: nil, after: nil, limit: 9).rows.count == 2)
  }

  @Test(arguments: Engine.allCases) func aServicesIdIsOneConversation(engine: Engine) throws {
    let bench = try Bench(engine)
    let begin = ConversationCommand.Action.begin(.group, name: "Team", .all, members: ["ann", "ben", "ann"])
    #expect(try bench.say(.service("shop"), "g", begin) == .begun(id: "g", isNew: true))
    #expect(try bench.say(.service("shop"), "g", begin) == .begun(id: "g", isNew: false))
    #expect(
      try bench.say(.user("eve"), "g", begin)
        == .refused(.conflict("there is a conversation 'g' already")))
    let view = try #require(try bench.reader.conversation("g", for: "ben"))
    #expect(view.members.map(\.user) == ["ann", "ben"] && view.conversation.name == "Team")
    #expect(try bench.reader.conversation("g", for: "eve") == nil)
    #expect(try bench.reader.conversations(of: "eve", after: nil, limit: 9).rows.isEmpty)
  }

  @Test(arguments: Engine.allCases) func whatCannotBeIsSaid(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.group("g", ["ann", "ben"])
    func isInvalid(_ action: ConversationCommand.Action, _ name: String, id: String = "h") throws -> Bool {
      if case .refused(.invalid(name, _)) = try bench.say(.user("ann"), id, action) { true } else { false }
    }
    #expect(try isInvalid(.begin(.group, name: "", .all, members: []), "name"))
    #expect(
      try isInvalid(.begin(.group, name: String(repeating: "n", count: 201), .all, members: []), "name"))
    #expect(try isInvalid(.begin(.group, name: nil, .all, members: ["a\nb"]), "members"))
    #expect(try isInvalid(.begin(.group, name: nil, .all, members: (0...1000).map { "u\($0)" }), "members"))
    #expect(try isInvalid(.begin(.direct, name: "x", .all, members: ["ben"]), "name"))
    let long = String(repeating: "i", count: 257)
    #expect(try isInvalid(.begin(.group, name: nil, .all, members: []), "id", id: long))
    for id in ["", "a/b", ".", ".."] {
      #expect(try isInvalid(.begin(.group, name: nil, .all, members: []), "id", id: id))
    }
    #expect(try isInvalid(.add("", .member), "user", id: "g"))
    #expect(try isInvalid(.write(id: "m", clientId: "", text: "x"), "id", id: "g"))
    #expect(try isInvalid(.write(id: "m", clientId: "c", text: ""), "text", id: "g"))
    let text = String(repeating: "x", count: Message.longestText)
    #expect(try isInvalid(.write(id: "m", clientId: "c", text: text + "x"), "text", id: "g"))
    #expect(try isInvalid(.write(id: "m", clientId: "c", text: "x", replyTo: 1), "replyTo", id: "g"))
    #expect(try bench.write("g", "ann", "c", text).number == 1)
    #expect(try isInvalid(.edit(1, text: text + "x"), "text", id: "g"))
  }

  // MARK: Members

  @Test(arguments: Engine.allCases) func adminsSayWhoTakesPartAndTheLastIsFollowed(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.group("g", ["ann", "ben"])
    #expect(try bench.say(.user("eve"), "g", .add("eve", .admin)) == .refused(.notFound))
    let admins = ConversationResult.refused(.forbidden("an admin of the group does this"))
    #expect(try bench.say(.user("ben"), "g", .add("eve", .member)) == admins)
    #expect(try bench.say(.user("ben"), "g", .remove("ann")) == admins)
    #expect(try bench.say(.user("ben"), "g", .rename("Mine")) == admins)
    #expect(try bench.say(.user("ann"), "g", .add("cid", .member)) == Self.changed)
    #expect(try bench.say(.user("ann"), "g", .add("cid", .member)) == Self.unchanged)
    #expect(try bench.say(.user("ann"), "g", .rename("Team")) == Self.changed)
    #expect(try bench.say(.user("ann"), "g", .rename("Team")) == Self.unchanged)
    #expect(try bench.say(.user("ann"), "g", .remove("ann")) == Self.changed)
    #expect(try bench.say(.user("ann"), "g", .remove("ann")) == Self.left)
    #expect(try bench.say(.user("ann"), "g", .add("ann", .member)) == Self.left)
    let members = try #require(try bench.reader.conversation("g", for: "cid")).members
    #expect(members.map(\.user) == ["ann", "ben", "cid"])
    #expect(
      members.map(\.role) == [.admin, .admin, .member] && members.map(\.isPresent) == [false, true, true])
    // Nor does the last admin end that by taking a lower role; and whoever comes first into an empty group is one.
    #expect(try bench.say(.user("ben"), "g", .add("ben", .member)) == Self.changed)
    func roles() throws -> [Member.Role] {
      try bench.reader.conversation("g", for: nil)?.members.filter(\.isPresent).map(\.role) ?? []
    }
    #expect(try roles() == [.admin, .member])
    #expect(try bench.say(.user("ben"), "g", .remove("cid")) == Self.changed)
    #expect(try bench.say(.user("ben"), "g", .remove("nobody")) == .refused(.notFound))
    _ = try bench.say(.user("ben"), "g", .remove("ben"))
    #expect(
      try bench.say(.service("shop"), "g", .add("cid", .member)) == Self.changed && roles() == [.admin])
  }

  private static let left = ConversationResult.refused(
    .forbidden("who has left a conversation changes nothing in it"))

  @Test(arguments: Engine.allCases) func aDirectConversationKeepsItsTwo(engine: Engine) throws {
    let bench = try Bench(engine)
    _ = try bench.say(.user("ann"), "d", .begin(.direct, name: nil, .all, members: ["ben"]))
    for action in [ConversationCommand.Action.add("eve", .member), .remove("ben"), .rename("x")] {
      guard case .refused(.conflict) = try bench.say(.user("ann"), "d", action) else {
        Issue.record("\(action)")
        continue
      }
    }
  }

  @Test(arguments: Engine.allCases, Conversation.History.allCases)
  func aMemberSeesWhatItsGroupShows(engine: Engine, history: Conversation.History) throws {
    let bench = try Bench(engine)
    try bench.group("g", ["ann"], history)
    for number in 1...2 { _ = try bench.write("g", "ann", "c\(number)", "before \(number)") }
    _ = try bench.say(.user("ann"), "g", .add("ben", .member))
    _ = try bench.write("g", "ann", "c3", "with ben")
    let first: Int64 = history == .all ? 1 : 3
    #expect(try bench.seen("g", by: "ben") == Array((first...3).reversed()))
    // What was written before does not count as unread.
    #expect(try #require(try bench.reader.conversation("g", for: "ben")).unread == 1)
    _ = try bench.say(.user("ann"), "g", .remove("ben"))
    _ = try bench.write("g", "ann", "c4", "without ben")
    #expect(try bench.seen("g", by: "ben") == Array((first...3).reversed()))
    let view = try #require(try bench.reader.conversation("g", for: "ben"))
    #expect(view.last?.number == 3 && view.unread == 1)
    for action in [
      ConversationCommand.Action.write(id: "x", clientId: "x", text: "x"), .edit(3, text: "x"), .delete(3),
    ] { #expect(try bench.say(.user("ben"), "g", action) == Self.left) }
    // Nor does it see what becomes later of what was there.
    bench.time.pass(5)
    _ = try bench.say(.user("ann"), "g", .edit(3, text: "edited later"))
    _ = try bench.say(.user("ann"), "g", .rename("renamed later"))
    let former = try #require(try bench.member("g", "ben"))
    let third = try bench.reader.message(3, in: view.conversation, seenBy: former)
    #expect(third?.text == "with ben" && third?.editedAt == nil)
    #expect(try bench.reader.message(4, in: view.conversation, seenBy: former) == nil)
    let now = try bench.reader.position().number
    #expect(try bench.reader.changes(of: "ben", after: now - 2, upTo: now, limit: 9).changes.isEmpty)
    // Also to a client that has not asked since before, at once or a little at a time.
    for limit in [1, 9] {
      var (place, texts): (Int64, [Int64: String?]) = (0, [:])
      while place < now {
        let (changes, upTo) = try bench.reader.changes(of: "ben", after: place, upTo: now, limit: limit)
        for message in changes.flatMap(\.messages) { texts[message.number] = message.text }
        place = upTo
      }
      #expect(texts[3] == "with ben" && texts[4] == nil && texts.count == Int(4 - first))
    }
    _ = try bench.say(.user("ann"), "g", .delete(3))
    let told = try bench.reader.changes(of: "ben", after: now, upTo: now + 1, limit: 9).changes
    #expect(told.flatMap(\.messages).map(\.number) == [3] && told.allSatisfy(\.members.isEmpty))
    // Of its numbers nobody is told any more.
    #expect(try bench.say(.user("ben"), "g", .reach(delivered: 9, read: 9)) == Self.unchanged)
    _ = try bench.say(.user("ann"), "g", .add("ben", .member))
    _ = try bench.write("g", "ann", "c5", "again")
    #expect(try bench.seen("g", by: "ben") == (history == .all ? [5, 4, 3, 2, 1] : [5]))
  }

  // MARK: Messages

  @Test(arguments: Engine.allCases) func aMessageIsWrittenOnceHoweverOftenItIsSent(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.group("g", ["ann", "ben"])
    try bench.group("h", ["ann", "ben"])
    let first = try bench.write("g", "ann", "c", "hello")
    #expect(first.number == 1 && first.senderId == "ann" && first.text == "hello")
    let results = try bench.exchange { exchange in
      exchange.commands = (1...5).map {
        .conversation(
          ConversationCommand("g", .user("ann"), .write(id: "other \($0)", clientId: "c", text: "other")))
      }
    }.results
    #expect(results.allSatisfy { $0 == .conversation(.written(first, isNew: false)) })
    let elsewhere = try bench.say(.user("ann"), "h", .write(id: "m2", clientId: "c", text: "x"))
    #expect(
      elsewhere == .refused(.conflict("this sender has a message 'c' in another conversation")))
    // Another's may be called so, too.
    #expect(try bench.write("g", "ben", "c", "hi").number == 2)
    #expect(
      try bench.say(.user("eve"), "g", .write(id: "m", clientId: "e", text: "x")) == .refused(.notFound))
    #expect(
      try bench.say(.user("ann"), "i", .write(id: "m", clientId: "e", text: "x")) == .refused(.notFound))
    #expect(try #require(try bench.reader.conversation("g", for: "ann")).conversation.lastNumber == 2)
  }

  @Test(arguments: Engine.allCases) func aMessageIsChangedByItsSenderAndLeavesNothingOnceDeleted(
    engine: Engine
  )
    throws
  {
    let bench = try Bench(engine)
    try bench.group("g", ["ann", "ben", "cid"])
    _ = try bench.write("g", "ben", "c", "hello")
    #expect(
      try bench.say(.user("ann"), "g", .edit(1, text: "x"))
        == .refused(.forbidden("a message is changed by its sender alone")))
    #expect(try bench.say(.user("ben"), "g", .edit(1, text: "hello")) == Self.unchanged)
    bench.time.pass(5)
    #expect(try bench.say(.user("ben"), "g", .edit(1, text: "hello!")) == Self.changed)
    let edited = try #require(try bench.message("g", 1))
    #expect(edited.text == "hello!" && edited.editedAt == bench.time.now && edited.number == 1)
    #expect(
      try bench.say(.user("cid"), "g", .delete(1))
        == .refused(.forbidden("a message is deleted by its sender, or by an admin of the group")))
    #expect(try bench.say(.user("ann"), "g", .delete(1)) == Self.changed)
    #expect(try bench.say(.user("ben"), "g", .delete(1)) == Self.unchanged)
    let deleted = try #require(try bench.message("g", 1))
    #expect(deleted.text == nil && deleted.deletedAt == bench.time.now)
    #expect(
      try bench.say(.user("ben"), "g", .edit(1, text: "x")) == .refused(.conflict("the message was deleted")))
    #expect(try bench.say(.user("ben"), "g", .delete(2)) == .refused(.notFound))
    // Sent once more by a client that has not heard of that, it stays deleted.
    #expect(
      try bench.say(.user("ben"), "g", .write(id: "m2", clientId: "c", text: "hello"))
        == .written(deleted, isNew: false))
  }

  @Test(arguments: Engine.allCases) func pointersOnlyRiseAndUnreadIsCounted(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.group("g", ["ann", "ben"])
    for number in 1...4 { _ = try bench.write("g", number == 3 ? "ben" : "ann", "c\(number)", "x") }
    func unread() throws -> Int64? { try bench.reader.conversation("g", for: "ben")?.unread }
    #expect(try unread() == 3)
    func reach(_ delivered: Int64, _ read: Int64) throws -> ConversationResult {
      try bench.say(.user("ben"), "g", .reach(delivered: delivered, read: read))
    }
    #expect(try reach(2, 0) == Self.changed)
    #expect(try reach(1, 1) == Self.changed)
    #expect(try reach(2, 1) == Self.unchanged && reach(0, 0) == Self.unchanged)
    let member = try #require(try bench.member("g", "ben"))
    #expect(member.deliveredNumber == 2 && member.readNumber == 1)
    #expect(try unread() == 2)
    _ = try bench.say(.user("ann"), "g", .delete(2))
    #expect(try unread() == 1)
    #expect(try reach(.max, .max) == Self.changed)
    #expect(try bench.member("g", "ben")?.readNumber == 4 && unread() == 0)
    #expect(try bench.say(.user("eve"), "g", .reach(delivered: 1, read: 1)) == .refused(.notFound))
  }

  // MARK: Attachments

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

  // MARK: What has changed

  /// A client that asks for what has changed, a little at a time, knows in the end what there is.
  @Test(arguments: Engine.allCases, [1, 3, 100])
  func whoFollowsTheChangesKnowsAll(engine: Engine, limit: Int) throws {
    let bench = try Bench(engine)
    var random = SplitMix(state: UInt64(limit))
    let users = ["ann", "ben", "cid"]
    for id in ["g", "h"] { try bench.group(id, users) }
    var clients = Dictionary(uniqueKeysWithValues: users.map { ($0, Follower($0)) })
    for step in 1...120 {
      let user = users[Int.random(in: 0..<3, using: &random)]
      let id = Bool.random(using: &random) ? "g" : "h"
      let number = Int64.random(in: 1...20, using: &random)
      let action: ConversationCommand.Action =
        switch Int.random(in: 0...9, using: &random) {
        case 0...4: .write(id: "m\(step)", clientId: "c\(step)", text: "text \(step)")
        case 5: .edit(number, text: "edited \(step)")
        case 6: .delete(number)
        case 7: .reach(delivered: number, read: number / 2)
        case 8: .remove(users[Int.random(in: 0..<3, using: &random)])
        default: .add(users[Int.random(in: 0..<3, using: &random)], .admin)
        }
      _ = try bench.say(step % 7 == 0 ? .service("shop", for: user) : .user(user), id, action)
      if step % 10 == 0 {
        for user in users { try clients[user]?.follow(bench.reader, limit: limit) }
      }
    }
    for user in users {
      let client = try #require(clients[user])
      for id in ["g", "h"] {
        let view = try #require(try bench.reader.conversation(id, for: user))
        let member = view.members.first { $0.user == user }
        let all = try bench.reader.messages(in: view.conversation, seenBy: member, before: nil, limit: 1000)
        let known = client.messages[id, default: [:]].filter { member?.sees($0.key) == true }
        // Whoever has left sees what was there then, which it may have been told later.
        let mine = known.sorted { $0.key < $1.key }.map(\.value)
        #expect(all.reversed().map(\.number) == mine.map(\.number), "\(user) in \(id)")
        if member?.isPresent == true {
          #expect(all.reversed() == mine, "\(user) in \(id)")
          #expect(client.members[id] == view.members, "\(user) in \(id)")
        }
      }
    }
  }
}

/// A client that is told what has changed.
private struct Follower {
  private let user: String
  private var position: Int64 = 0
  private(set) var messages: [String: [Int64: Message]] = [:]
  private(set) var members: [String: [Member]] = [:]

  init(_ user: String) { self.user = user }

  mutating func follow(_ reader: any LedgerQueries, limit: Int) throws {
    let now = try reader.position().number
    while position < now {
      let (changes, upTo) = try reader.changes(of: user, after: position, upTo: now, limit: limit)
      #expect(upTo > position && upTo <= now)
      for change in changes {
        let id = change.view.conversation.id
        for message in change.messages { messages[id, default: [:]][message.number] = message }
        for member in change.members {
          members[id, default: []].removeAll { $0.user == member.user }
          members[id, default: []].append(member)
          members[id]?.sort { $0.user < $1.user }
        }
        // Who has come just now reads what there is.
        let member = change.view.member(user)
        if let member, member.joinedChange > position {
          members[id] = change.view.members
          let all = try reader.messages(
            in: change.view.conversation, seenBy: member, before: nil, limit: 1000)
          for message in all { messages[id, default: [:]][message.number] = message }
        }
      }
      position = upTo
    }
  }
}

extension Bench {
  func say(
    _ author: ConversationCommand.Author, _ id: String, _ action: ConversationCommand.Action
  ) throws -> ConversationResult {
    let result = try #require(try command(.conversation(ConversationCommand(id, author, action))).first)
    guard case .conversation(let said) = result else { return .refused(.notFound) }
    return said
  }

  func group(
    _ id: String, _ members: [String], _ history: Conversation.History = .joined
  ) throws {
    let begin = ConversationCommand.Action.begin(.group, name: nil, history, members: members)
    try #require(try say(.service("shop"), id, begin) == .begun(id: id, isNew: true))
  }

  func write(_ id: String, _ user: String, _ client: String, _ text: String) throws -> Message {
    let result = try say(
      .user(user), id, .write(id: "message-\(user)-\(client)", clientId: client, text: text))
    guard case .written(let message, isNew: true) = result else {
      throw LedgerError(.other, "it is not written: \(result)")
    }
    return message
  }

  func member(_ id: String, _ user: String) throws -> Member? {
    try reader.conversation(id, for: nil)?.members.first { $0.user == user }
  }

  func message(_ id: String, _ number: Int64) throws -> Message? {
    try reader.conversation(id, for: nil).flatMap {
      try reader.message(number, in: $0.conversation, seenBy: nil)
    }
  }

  /// The numbers of the messages that a member sees, the newest first, in pages of two.
  func seen(_ id: String, by user: String) throws -> [Int64] {
    guard let view = try reader.conversation(id, for: user) else { return [] }
    let member = view.members.first { $0.user == user }
    var numbers: [Int64] = []
    while true {
      let page = try reader.messages(
        in: view.conversation, seenBy: member, before: numbers.last, limit: 2)
      if page.isEmpty { return numbers }
      numbers += page.map(\.number)
    }
  }
}

extension IntakeItem {
  func replacing(conversation: String) -> IntakeItem {
    var item = self
    item.conversationId = conversation
    return item
  }
}
