import LedgerPort
import Testing

/// People on record, their accounts and their sessions.
struct UserTests {
  private static func session(_ byte: UInt8, until: Int64, device: String = "phone") -> NewSession {
    NewSession(hash: [UInt8](repeating: byte, count: 32), device: device, expiresAt: until)
  }

  private static func add(
    _ id: String, _ email: String?, name: String = "Ann", session: NewSession? = nil
  ) -> Command {
    .user(
      UserCommand(
        id, .add(name: name, email: email, password: email.map { _ in "hash" }, role: .user, session: session)
      ))
  }

  private func refusal(_ bench: Bench, _ id: String, _ action: UserCommand.Action) throws -> UserResult
    .Refusal?
  {
    try refusal(bench, .user(UserCommand(id, action)))
  }

  private func refusal(_ bench: Bench, _ command: Command) throws -> UserResult.Refusal? {
    guard case .user(.refused(let refusal))? = try bench.command(command).first else { return nil }
    return refusal
  }

  @Test(arguments: Engine.allCases) func anAddressIsOnePersons(engine: Engine) throws {
    let bench = try Bench(engine)
    #expect(try refusal(bench, Self.add("ann", "Ann@Example.com")) == nil)
    #expect(try refusal(bench, Self.add("other", "ann@example.COM")) == .emailTaken)
    #expect(try refusal(bench, Self.add("ann", "b@example.com")) == .idTaken)
    #expect(try refusal(bench, Self.add("ben", "ben@example.com")) == nil)
    var change = UserChange()
    change.email = "ANN@example.com"
    #expect(try refusal(bench, "ben", .change(change)) == .emailTaken)
    // A user may change the case of letters in its own address.
    #expect(try refusal(bench, "ann", .change(change)) == nil)
    #expect(try bench.reader.account(ofEmail: "ann@example.com")?.user.email == "ANN@example.com")
    #expect(try bench.reader.users(after: nil, limit: 9).rows.map(\.id) == ["ann", "ben"])
    for (name, email) in [("", "c@example.com"), ("c", "none"), ("a\u{1}", "c@example.com")] {
      guard case .invalid? = try refusal(bench, Self.add("cat", email, name: name)) else {
        Issue.record("\(name) \(email)")
        continue
      }
    }
    guard case .invalid? = try refusal(bench, Self.add("a/b", "c@example.com")) else {
      return #expect(Bool(false), "its id is no part of a path")
    }
  }

  @Test(arguments: Engine.allCases) func whoSignsInHasASessionUntilItEnds(engine: Engine) throws {
    let bench = try Bench(engine)
    let end = bench.time.now + 1000
    try bench.command(Self.add("ann", "ann@example.com", session: Self.session(1, until: end)))
    // The password is another one since it was checked.
    #expect(
      try refusal(bench, "ann", .signIn(password: "old", Self.session(2, until: end))) == .wrongPassword)
    #expect(
      try refusal(bench, "eve", .signIn(password: "hash", Self.session(2, until: end))) == .wrongPassword)
    #expect(try refusal(bench, "ann", .signIn(password: "hash", Self.session(3, until: end + 500))) == nil)
    #expect(try bench.reader.sessions(of: "ann").count == 2)
    #expect(try bench.reader.tokens().isEmpty, "sessions are no operator's tokens")
    let token = try #require(try bench.reader.token(hash: [UInt8](repeating: 3, count: 32)))
    #expect(token.name == "ann" && token.role == .user && token.device == "phone" && token.isValid(at: end))
    // It moves later, and not earlier.
    for until in [end + 9000, end] {
      try bench.command(.user(UserCommand("ann", .prolong(session: token.id, until: until))))
    }
    #expect(try bench.reader.sessions(of: "ann").map(\.expiresAt).contains(end + 9000))
    // The next sign-in removes ended sessions.
    bench.time.pass(2000)
    #expect(try refusal(bench, "ann", .signIn(password: "hash", Self.session(4, until: end + 9000))) == nil)
    #expect(try Set(bench.reader.sessions(of: "ann").map(\.id)) == ["030303030303", "040404040404"])
    try bench.command(.user(UserCommand("ann", .signOut(session: token.id))))
    #expect(try bench.reader.sessions(of: "ann").map(\.id) == ["040404040404"])
    // Another's session is not ended so.
    try bench.command(.user(UserCommand("eve", .signOut(session: "040404040404"))))
    #expect(try bench.reader.sessions(of: "ann").count == 1)
    try bench.command(.user(UserCommand("ann", .signOut(session: nil))))
    #expect(try bench.reader.sessions(of: "ann").isEmpty)
  }

  @Test(arguments: Engine.allCases) func oneSessionTooManyEndsTheOneThatWouldEndFirst(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.command(Self.add("ann", "ann@example.com"))
    let start = bench.time.now
    for number in 1...(User.mostSessions + 2) {
      let session = Self.session(UInt8(number), until: start + 10_000 + Int64(number))
      #expect(try refusal(bench, "ann", .signIn(password: "hash", session)) == nil)
    }
    let ids = try bench.reader.sessions(of: "ann").map(\.id)
    #expect(ids.count == User.mostSessions)
    #expect(!ids.contains("010101010101") && !ids.contains("020202020202") && ids.contains("030303030303"))
  }

  @Test(arguments: Engine.allCases) func anotherPasswordEndsTheOtherSessions(engine: Engine) throws {
    let bench = try Bench(engine)
    let end = bench.time.now + 1000
    try bench.command(Self.add("ann", "ann@example.com", session: Self.session(1, until: end)))
    try bench.command(.user(UserCommand("ann", .signIn(password: "hash", Self.session(2, until: end)))))
    var change = UserChange()
    (change.password, change.ifPassword, change.keepsSession) = ("new", "old", "020202020202")
    #expect(try refusal(bench, "ann", .change(change)) == .wrongPassword)
    change.ifPassword = "hash"
    #expect(try refusal(bench, "ann", .change(change)) == nil)
    #expect(try bench.reader.sessions(of: "ann").map(\.id) == ["020202020202"])
    #expect(
      try refusal(bench, "ann", .signIn(password: "hash", Self.session(3, until: end))) == .wrongPassword)
  }

  @Test(arguments: Engine.allCases) func whoIsDisabledComesInByNothing(engine: Engine) throws {
    let bench = try Bench(engine)
    let end = bench.time.now + 1000
    try bench.command(
      Self.add("ann", "ann@example.com", session: Self.session(1, until: end)),
      .token(.add(hash: [UInt8](repeating: 2, count: 32), name: "ann", role: .user)),
      .token(.add(hash: [UInt8](repeating: 3, count: 32), name: "ann", role: .service)))
    var change = UserChange()
    change.isDisabled = true
    #expect(try refusal(bench, "ann", .change(change)) == nil)
    #expect(try bench.reader.sessions(of: "ann").isEmpty)
    func isValid(_ byte: UInt8) throws -> Bool? {
      try bench.reader.token(hash: [UInt8](repeating: byte, count: 32))?.isValid(at: bench.time.now)
    }
    #expect(try isValid(1) == nil && isValid(2) == false)
    #expect(try isValid(3) == true, "a service is no user")
    #expect(try refusal(bench, "ann", .signIn(password: "hash", Self.session(4, until: end))) == .disabled)
    #expect(try bench.reader.users(matching: "ann", limit: 9).isEmpty)
    #expect(try bench.reader.users(matching: "ann@example.com", limit: 9).isEmpty)
    change.isDisabled = false
    #expect(try refusal(bench, "ann", .change(change)) == nil)
    #expect(try isValid(2) == true)
    // A user of the product's has no record before.
    (change.isDisabled, change.adds) = (true, false)
    #expect(try refusal(bench, "sub-7", .change(change)) == .notFound)
    change.adds = true
    #expect(try refusal(bench, "sub-7", .change(change)) == nil)
    #expect(try bench.reader.account("sub-7")?.user.disabledAt == bench.time.now)
  }

  /// It may do less than they.
  @Test(arguments: Engine.allCases) func aServiceDoesNotChangeAdministrators(engine: Engine) throws {
    let bench = try Bench(engine)
    let add = UserCommand.Action.add(
      name: "Boss", email: "boss@example.com", password: "hash", role: .admin,
      session: Self.session(1, until: bench.time.now + 1000))
    try bench.command(
      .user(UserCommand("boss", add)),
      .token(.add(hash: [UInt8](repeating: 2, count: 32), name: "boss", role: .admin)))
    func change(_ make: (inout UserChange) -> Void, isByService: Bool) throws -> UserResult.Refusal? {
      var change = UserChange()
      change.isByService = isByService
      make(&change)
      return try refusal(bench, "boss", .change(change))
    }
    #expect(try change({ $0.password = "other" }, isByService: true) == .administrators)
    #expect(try change({ $0.email = "evil@example.com" }, isByService: true) == .administrators)
    #expect(try change({ $0.isDisabled = true }, isByService: true) == .administrators)
    #expect(try change({ $0.name = "Anna" }, isByService: true) == nil)
    #expect(try change({ $0.isDisabled = true }, isByService: false) == nil)
    #expect(try bench.reader.token(hash: [UInt8](repeating: 1, count: 32)) == nil)
    let made = try bench.reader.token(hash: [UInt8](repeating: 2, count: 32))
    #expect(made?.isValid(at: bench.time.now) == true, "it is an operator's, and no session")
  }

  @Test(arguments: Engine.allCases) func anAddressAndAPasswordComeTogether(engine: Engine) throws {
    let bench = try Bench(engine)
    var change = UserChange()
    (change.name, change.adds) = ("Ann", true)
    #expect(try refusal(bench, "ann", .change(change)) == nil)
    for (email, password) in [("a@example.com", nil), (nil, "hash")] as [(String?, String?)] {
      (change.email, change.password) = (email, password)
      guard case .invalid? = try refusal(bench, "ann", .change(change)) else {
        Issue.record("\(email ?? "-") \(password ?? "-")")
        continue
      }
    }
    (change.email, change.password) = ("a@example.com", "hash")
    #expect(try refusal(bench, "ann", .change(change)) == nil)
    #expect(try bench.reader.account("ann")?.password == "hash")
  }

  @Test(arguments: Engine.allCases) func otherMembersAreToldOfAName(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.group("g", ["ann", "ben"])
    let before = try bench.reader.position().number
    #expect(try bench.reader.conversation("g", for: "ben")?.member("ann")?.name == nil)
    try bench.command(Self.add("ann", nil, name: "Ann B."))
    func changes() throws -> [String?] {
      let now = try bench.reader.position().number
      return try bench.reader.changes(of: "ben", after: before, upTo: now, limit: 9).changes
        .flatMap(\.members).map(\.name)
    }
    #expect(try changes() == ["Ann B."])
    var change = UserChange()
    change.name = "Anna"
    try bench.command(.user(UserCommand("ann", .change(change))))
    #expect(try changes() == ["Anna"])
    #expect(try bench.reader.sharesConversation("ann", with: "ben"))
    _ = try bench.say(.service("shop"), "g", .remove("ann"))
    #expect(try !bench.reader.sharesConversation("ann", with: "ben"))
    // A former member's new name is no change for the others.
    let left = try bench.reader.position().number
    change.name = "Anne"
    try bench.command(.user(UserCommand("ann", .change(change))))
    let now = try bench.reader.position().number
    #expect(try bench.reader.changes(of: "ben", after: left, upTo: now, limit: 9).changes.isEmpty)
  }

  @Test(arguments: Engine.allCases) func usersAreFoundByBeginningsOfTheirNames(engine: Engine) throws {
    let bench = try Bench(engine)
    for (id, name) in [("1", "Ben Miller"), ("2", "Anna Bergman"), ("3", "\"x\" OR y*")] {
      try bench.command(Self.add(id, "\(id)@example.com", name: name))
    }
    func found(_ text: String) throws -> [String] {
      try bench.reader.users(matching: text, limit: 9).map(\.id)
    }
    #expect(try found("be") == ["2", "1"] && found("BERG ann") == ["2"] && found("erg") == [])
    #expect(try found("2@EXAMPLE.com") == ["2"] && found("2@example") == [])
    #expect(try found("\"") == [] && found("\"x") == ["3"] && found("NOT y") == [] && found("or") == ["3"])
    var change = UserChange()
    change.name = "Ben Adams"
    try bench.command(.user(UserCommand("1", .change(change))))
    #expect(try found("miller") == [] && found("adams") == ["1"])
  }

  @Test func accentsAndLettersOfAllLanguagesAreFound() throws {
    let bench = try Bench(.sqlite)
    for (id, name) in [("1", "Bén Müller"), ("2", "Ελένη"), ("3", "山田太郎"), ("4", "Łukasz")] {
      try bench.command(Self.add(id, "\(id)@example.com", name: name))
    }
    for (text, id) in [("ben muller", "1"), ("BÉN", "1"), ("Ελέ", "2"), ("山田", "3"), ("łuk", "4")] {
      #expect(try bench.reader.users(matching: text, limit: 9).map(\.id) == [id], "\(text)")
    }
  }

  @Test func anAddressHasTheFormOfOne() {
    for email in ["a@b.c", "ann.b+x@example.com", "ü@exämple.de", "a@localhost", "o'neil@x-y.co"] {
      #expect(User.fault(ofEmail: email) == nil, "\(email)")
    }
    for email in [
      "", "a", "@b", "a@", "a@b@c", "a b@c.d", "a@b..c", "a@.b", "a@-b.c", "a@b.c\n", "a\u{200B}@b.c",
      "\u{202E}a@b.c", "<a@b.c>", "a,b@c.d",
      String(repeating: "a", count: 65) + "@b.c", "a@" + String(repeating: "b.", count: 130) + "c",
      "a\u{A0}@b.c",
    ] { #expect(User.fault(ofEmail: email) != nil, "\(email)") }
  }

  @Test func aNameHasFiftyCharacters() {
    let family = "👨‍👩‍👧‍👦"
    #expect(User.fault(ofName: String(repeating: family, count: 50)) == nil)
    #expect(User.fault(ofName: String(repeating: family, count: 51)) != nil)
    #expect(User.fault(ofName: "a" + String(repeating: "\u{301}", count: 2000)) != nil)
    for name in ["", "  ", "\u{200B}", "a\nb", "a\u{7F}", "a\u{202E}b", "a\u{2028}b"] {
      #expect(User.fault(ofName: name) != nil)
    }
    #expect(User.name(fromEmail: "ann.b@x") == "ann.b")
  }
}
