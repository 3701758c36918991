import LedgerPort
import Pipeline
import Platform
import Testing

/// The erasure of users.
struct ErasedUserTests {
  /// Repeats the command until the erasure is whole.
  ///
  /// - Returns: the number of steps.
  @discardableResult
  private func erase(_ id: String, _ bench: Bench) throws -> Int {
    for step in 1...100 {
      switch try bench.command(.user(UserCommand(id, .erase(byService: false)))).first {
      case .user(.erased(isWhole: true)): return step
      case .user(.erased(isWhole: false)): continue
      case let other: throw LedgerError(.other, "\(String(describing: other))")
      }
    }
    throw LedgerError(.other, "it has no end")
  }

  private func add(_ bench: Bench) throws {
    try bench.command(
      .user(
        UserCommand(
          "ann",
          .add(
            name: "Ann Arbor", email: "ann@example.com", password: "hash", role: .user,
            session: NewSession(
              hash: [UInt8](repeating: 1, count: 32), device: "phone", expiresAt: bench.time.now + 1000)))),
      .token(.add(hash: [UInt8](repeating: 2, count: 32), name: "ann", role: .user)),
      .token(.add(hash: [UInt8](repeating: 3, count: 32), name: "ann", role: .service)))
  }

  @Test(arguments: Engine.allCases) func nothingIsLeftButItsId(engine: Engine) throws {
    let bench = try Bench(engine)
    try add(bench)
    try bench.group("c", ["ann", "ben"])
    _ = try bench.say(.user("ann"), "d", .begin(.direct, name: nil, .all, members: ["ben"]))
    for number in 1...3 { _ = try bench.write("c", "ann", "a\(number)", "of ann \(number)") }
    _ = try bench.write("c", "ben", "b1", "of ben")
    _ = try bench.write("d", "ann", "a4", "between two")
    _ = try bench.say(.user("ann"), "c", .edit(2, text: "another"))
    try bench.takeIn(Sample.item("in a message", message: "a1"), Sample.item("alone"))
    var private_ = Sample.item("private", message: "p")
    private_.conversationId = "default"
    var others = Sample.item("of ben", message: "q", sender: "ben")
    others.conversationId = "default"
    try bench.takeIn(private_, others)
    try bench.command(
      .upload(
        .begin(
          UploadRecord(
            id: "open", owner: "ann", role: .user, length: 5, metadata: "", createdAt: 0, expiresAt: 1000),
          atMost: nil)))
    #expect(try erase("ann", bench) > 3)
    #expect(try erase("ann", bench) == 1, "once more changes nothing")

    let user = try #require(try bench.reader.account("ann"))
    #expect(user.user.name == "" && user.user.email == nil && user.password == nil)
    #expect(user.user.erasedAt != nil && user.user.disabledAt != nil)
    #expect(try bench.reader.sessions(of: "ann").isEmpty)
    func isValid(_ byte: UInt8) throws -> Bool? {
      try bench.reader.token(hash: [UInt8](repeating: byte, count: 32))?.isValid(at: bench.time.now)
    }
    #expect(try isValid(1) == nil && isValid(2) == false)
    #expect(try isValid(3) == true, "a service is no user")
    for (id, own) in [("c", 4), ("d", 1)] {
      let view = try #require(try bench.reader.conversation(id, for: "ben"))
      #expect(view.member("ann")?.left != nil && view.member("ann")?.name == nil)
      let messages = try bench.reader.messages(
        in: view.conversation, seenBy: view.member("ben"), before: nil, limit: 9
      ).filter { $0.senderId == "ann" }
      #expect(messages.count == own)
      #expect(messages.allSatisfy { $0.text == nil && $0.deletedAt != nil && $0.clientId == nil })
    }
    let left = try bench.reader.attachments(AttachmentFilter(), after: nil, limit: 9).rows
    #expect(left.map(\.origin.fileName) == ["of ben"])
    #expect(try bench.reader.openUploads(of: nil, at: bench.time.now) == 0)
    for user in ["ben", nil] as [String?] {
      let hits = try bench.reader.search(SearchQuery("of", now: 0), for: user, after: nil, limit: 9).rows
      #expect(hits.map(\.number) == [4])
    }
  }

  @Test(arguments: Engine.allCases) func itsIdIsNeverUsedAgainAndItsAddressIsFree(engine: Engine) throws {
    let bench = try Bench(engine)
    try add(bench)
    try erase("ann", bench)
    var change = UserChange()
    (change.isDisabled, change.adds) = (false, true)
    #expect(try bench.command(.user(UserCommand("ann", .change(change)))) == [.user(.refused(.erased))])
    func addAgain(_ id: String) throws -> CommandResult? {
      try bench.command(
        .user(
          UserCommand(
            id, .add(name: "B", email: "ann@example.com", password: "hash", role: .user, session: nil)))
      ).first
    }
    #expect(try addAgain("ann") == .user(.refused(.idTaken)))
    guard case .user(.user)? = try addAgain("other") else { return #expect(Bool(false)) }
    // A user without a record.
    try erase("eve", bench)
    #expect(try bench.reader.account("eve")?.user.erasedAt != nil)
    #expect(try bench.reader.users(matching: "ann", limit: 9).isEmpty)
  }

  @Test(arguments: Engine.allCases) func aServiceErasesNoAdministrator(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.command(
      .user(
        UserCommand(
          "boss", .add(name: "B", email: "b@example.com", password: "hash", role: .admin, session: nil))))
    #expect(
      try bench.command(.user(UserCommand("boss", .erase(byService: true)))) == [
        .user(.refused(.administrators))
      ])
    #expect(try bench.reader.account("boss")?.user.erasedAt == nil)
  }

  /// Each step is one transaction: so many messages need several.
  @Test func longConversationsTakeSteps() throws {
    let bench = try Bench(.sqlite)
    try bench.group("g", ["ann", "ben"])
    for part in 0..<25 {
      _ = try bench.exchange { exchange in
        exchange.commands = (0..<100).map { number in
          let id = "\(part)-\(number)"
          return .conversation(
            ConversationCommand(
              "g", .user(number % 2 == 0 ? "ann" : "ben"), .write(id: "m" + id, clientId: id, text: "x")))
        }
      }
    }
    try #expect(erase("ann", bench) == 5, "one to begin, three for the conversation, one to end")
    let hits = try bench.reader.search(SearchQuery("from:ann", now: 0), for: nil, after: nil, limit: 9)
    #expect(hits.rows.isEmpty)
    #expect(try bench.reader.conversation("g", for: "ben")?.conversation.lastNumber == 2500)
  }
}
