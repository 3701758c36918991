import LedgerPort
import Pipeline
import Platform
import Testing

/// People who write to each other.
struct ConversationTests {
  static let changed = ConversationResult.done(hasChanged: true)
  static let unchanged = ConversationResult.done(hasChanged: false)

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

  static let left = ConversationResult.refused(
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
