import LedgerPort
import Pipeline
import Platform
import Testing

/// The search among messages.
struct SearchTests {
  private func numbers(_ bench: Bench, _ typed: String, _ user: String? = "ann") throws -> [Int64] {
    try bench.reader.search(SearchQuery(typed, now: 0), for: user, after: nil, limit: 50).rows.map(\.number)
  }

  @Test(arguments: Engine.allCases) func wordsAreFoundTheNewestFirst(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.group("g", ["ann", "ben"])
    for (index, text) in ["The red house", "a RED car", "houses", "reddish", "car, red"].enumerated() {
      _ = try bench.write("g", "ann", "m\(index)", text)
    }
    #expect(try numbers(bench, "red ") == [5, 2, 1])
    #expect(try numbers(bench, "red") == [5, 4, 2, 1], "the last word is a beginning")
    #expect(try numbers(bench, "red car") == [5, 2])
    #expect(try numbers(bench, "\"red car\"") == [2])
    #expect(try numbers(bench, "hous") == [3, 1])
    #expect(try numbers(bench, "hous ") == [])
    #expect(try numbers(bench, "red blue") == [])
  }

  @Test(arguments: Engine.allCases) func aPageGoesOnWhereTheLastEnded(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.group("g", ["ann", "ben"])
    for index in 1...7 { _ = try bench.write("g", index % 2 == 0 ? "ann" : "ben", "m\(index)", "word") }
    let query = try SearchQuery("word from:ben", now: 0)
    let first = try bench.reader.search(query, for: "ann", after: nil, limit: 2)
    #expect(first.rows.map(\.number) == [7, 5])
    _ = try bench.write("g", "ben", "m8", "word")
    let second = try bench.reader.search(query, for: "ann", after: first.next, limit: 2)
    #expect(second.rows.map(\.number) == [3, 1] && second.next == nil)
  }

  @Test(arguments: Engine.allCases) func onlyWhatOneMayReadIsFound(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.group("g", ["ann", "ben"])
    try bench.group("h", ["ben", "cat"])
    _ = try bench.write("g", "ann", "a1", "secret one")
    _ = try bench.write("h", "cat", "c1", "secret two")
    _ = try bench.say(.user("ann"), "g", .add("cat", nil))
    _ = try bench.write("g", "ann", "a2", "secret three")
    #expect(try numbers(bench, "secret", "ann") == [2, 1])
    #expect(try numbers(bench, "secret in:g", "cat") == [2], "joined later")
    #expect(try numbers(bench, "secret in:h", "ann") == [])
    #expect(try numbers(bench, "secret", "eve") == [])
    #expect(try numbers(bench, "secret", nil).count == 3)
    // A message with a change after the leaving is not found, by its old and by its new words.
    _ = try bench.say(.user("ben"), "g", .remove("ben"))
    _ = try bench.say(.user("ann"), "g", .edit(1, text: "public"))
    _ = try bench.write("g", "ann", "a3", "secret four")
    #expect(try numbers(bench, "public in:g", "ben") == [])
    #expect(try numbers(bench, "secret in:g", "ben") == [2])
    #expect(try numbers(bench, "public", "ann") == [1])
  }

  @Test(arguments: Engine.allCases) func editedAndDeletedTextsAreNotFound(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.group("g", ["ann", "ben"])
    _ = try bench.write("g", "ann", "a1", "first words")
    _ = try bench.write("g", "ann", "a2", "other words")
    _ = try bench.say(.user("ann"), "g", .edit(1, text: "second words"))
    #expect(try numbers(bench, "first") == [])
    #expect(try numbers(bench, "words") == [2, 1], "the time of writing counts")
    _ = try bench.say(.user("ann"), "g", .delete(2))
    #expect(try numbers(bench, "words") == [1])
  }

  @Test(arguments: Engine.allCases) func attachmentsAreFoundByTheirNames(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.group("c", ["ann", "ben"])
    _ = try bench.write("c", "ann", "a1", "the report")
    _ = try bench.exchange {
      $0.commands = [.takeIn([Sample.item("Summary 2026.pdf", message: "a1"), Sample.item("photo.jpg")])]
    }
    #expect(try numbers(bench, "summary") == [1])
    #expect(try numbers(bench, "report summary") == [1], "in the text and in a name")
    #expect(try numbers(bench, "photo") == [2])
    #expect(try numbers(bench, "has:pdf") == [1])
    #expect(try numbers(bench, "has:file") == [2, 1])
    #expect(try numbers(bench, "has:file has:pdf the") == [1])
    #expect(try numbers(bench, "has:mp3") == [])
  }

  /// The text of equal contents comes once, perhaps late.
  @Test(arguments: Engine.allCases) func textsThatStagesFoundAreSearched(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.group("c", ["ann", "ben"])
    func end(_ name: String, _ texts: [ContentText], _ status: Status = .completed) throws {
      _ = try bench.exchange { $0.commands = [.takeIn([Sample.item(name)])] }
      let lease = try bench.claimOne()
      try bench.settle(
        lease,
        Sample.ended(lease) {
          $0.outcome.derived = [
            DerivedObject(
              name: "text", stage: "text", mediaType: "text/plain", sizeBytes: 3, sha256: Sample.content(7),
              url: "derived/7")
          ]
          ($0.texts, $0.stagedDerived) = (texts, ["text"])
        })
    }
    try end("one.pdf", [])
    #expect(try numbers(bench, "quokka") == [])
    try end("two.pdf", [ContentText(sha256: Sample.content(7), "a quokka\0here".utf8)])
    try end("three.pdf", [])
    #expect(try numbers(bench, "quokka here") == [3, 2, 1])
    let id = try #require(try bench.reader.attachments(AttachmentFilter(), after: nil, limit: 9).rows.last)
      .origin.id
    _ = try bench.command(.delete(id))
    #expect(try numbers(bench, "quokka") == [2, 1])
  }

  @Test func theDatesAndTheSenderFilter() throws {
    let bench = try Bench(.sqlite)
    try bench.group("g", ["ann", "ben"])
    _ = try bench.write("g", "ann", "a1", "one http://example.com")
    _ = try bench.write("g", "ben", "b1", "one")
    #expect(try numbers(bench, "one from:ben") == [2])
    #expect(try numbers(bench, "from:ann") == [1])
    #expect(try numbers(bench, "has:link") == [1])
    #expect(try numbers(bench, "one before:2000-01-01") == [])
    #expect(try numbers(bench, "one after:2000-01-01") == [2, 1])
  }

  // MARK: SQLite alone

  @Test(
    arguments: [
      ("今天在图书馆见面", "图书", true), ("今天在图书馆见面", "馆", true), ("今天在图书馆见面", "书图", false),
      ("東京タワーで会おう", "タワー", true), ("ไปกินข้าวกันไหม", "ข้าว", true), ("iPhone手机壳", "手机", true),
      ("iPhone手机壳", "iphone", true), ("Straße nach Köln", "koln", true), ("Café à midi", "cafe", true),
      ("학교에서 만나요", "학교", true), ("Great 👍 job", "👍", true), ("Привет, мир", "МИР", true),
      ("Tiếng Việt", "tieng viet", true), ("naïve", "\"naive\"", true), ("κόσμος", "κοσμος", true),
      ("Fußball", "fussball", true), ("Łódź", "lodz", true), ("ガイド", "カ\u{3099}イト\u{3099}", true),
      ("ｶﾞｲﾄﾞ", "ガイド", true), ("Ａｂｃ", "abc", true), ("чаи\u{306}ка", "чайка", true), ("대한민국", "대", true),
      ("대한", "대하", true), ("مُحَمَّد", "محمد", true), ("🇩🇪", "🇩🇪", true), ("❤\u{FE0F} you", "❤", true),
      ("❤ you", "❤\u{FE0F}", true), ("हिन्दी में", "हिन्", true),
      ("שָׁלוֹם", "שלום", true), ("Øre", "ore", true), ("word", "w", true),
    ])
  func wordsOfManyLanguagesAreFound(text: String, typed: String, isFound: Bool) throws {
    let bench = try Bench(.sqlite)
    try bench.group("g", ["ann", "ben"])
    _ = try bench.write("g", "ann", "a1", text)
    #expect(try numbers(bench, typed).isEmpty == !isFound)
  }

  @Test func excerptsShowTheMatches() throws {
    let bench = try Bench(.sqlite)
    try bench.group("g", ["ann", "ben"])
    let text =
      String(repeating: "long ", count: 100) + "the \u{1}big\u{2} <b>House</b> stands "
      + String(repeating: "here ", count: 100)
    _ = try bench.write("g", "ann", "a1", text)
    let hit = try #require(
      try bench.reader.search(SearchQuery("house", now: 0), for: "ann", after: nil, limit: 5).rows.first)
    let excerpt = try #require(hit.excerpts.first)
    #expect(hit.excerpts.count == 1 && excerpt.field == .text)
    #expect(excerpt.parts.filter(\.isMatch).map(\.text) == ["House"])
    let whole = excerpt.parts.map(\.text).joined()
    #expect(whole.hasPrefix("…") && whole.hasSuffix("…") && whole.contains(" big  <b>House</b> stands"))
  }

  @Test func anExcerptIsShortEvenOfOneLongWord() throws {
    let bench = try Bench(.sqlite)
    try bench.group("g", ["ann", "ben"])
    let (long, match) = (String(repeating: "z", count: 30_000), "m" + String(repeating: "y", count: 3000))
    _ = try bench.write("g", "ann", "a1", "\(long) \(match) \(long)")
    let hit = try #require(
      try bench.reader.search(SearchQuery("my", now: 0), for: "ann", after: nil, limit: 5).rows.first)
    let parts = try #require(hit.excerpts.first).parts
    #expect(parts.map(\.isMatch) == [false, true, false])
    #expect(
      parts.allSatisfy { $0.text.count <= 201 } && parts[0].text.hasPrefix("…z")
        && parts[2].text.hasSuffix("z…"))
  }

  @Test func theMostRelevantIsFirst() throws {
    let bench = try Bench(.sqlite)
    try bench.group("g", ["ann", "ben"])
    _ = try bench.write("g", "ann", "a1", "cake cake cake")
    for index in 2...9 {
      _ = try bench.write("g", "ann", "a\(index)", "a long text about much more than one cake")
    }
    var query = try SearchQuery("cake", now: 0)
    query.order = .relevance
    let first = try bench.reader.search(query, for: "ann", after: nil, limit: 4)
    #expect(first.rows.first?.number == 1)
    let rest = try bench.reader.search(query, for: "ann", after: first.next, limit: 50)
    #expect(Set((first.rows + rest.rows).map(\.number)) == Set(1...9) && rest.rows.count == 5)
  }

  @Test(arguments: [
    "\"", "\"\"", "a\" OR \"b", "room : c1", "NEAR(a b)", "a*", "€", "-", "text:a", "a\0b", "^a", "{x}",
  ])
  func nothingTypedIsSyntax(typed: String) throws {
    let bench = try Bench(.sqlite)
    try bench.group("g", ["ann", "ben"])
    _ = try bench.write("g", "ann", "a1", "none of it")
    guard let query = try? SearchQuery(typed, now: 0) else { return }
    #expect(try bench.reader.search(query, for: "ann", after: nil, limit: 5).rows.isEmpty)
  }
}

struct SearchQueryTests {
  @Test func wordsPhrasesAndFiltersAreRead() throws {
    let query = try SearchQuery(
      "red  \"big house\" from:ann in:\"a \"\"b\"\" c\" has:PDF after:2027-01-31 re:x ca", now: 0)
    #expect(
      query.phrases == [
        .init("red"), .init("big house"), .init("re:x"), .init("ca", isPrefix: true),
      ])
    #expect(query.senderId == "ann" && query.conversationId == "a \"b\" c" && query.kinds == ["pdf"])
    #expect(query.after == 1_801_353_600_000 && query.before == nil)
    #expect(try SearchQuery("a", now: 0).phrases == [.init("a", isPrefix: true)])
    #expect(try SearchQuery("a \"two w", now: 0).phrases == [.init("a"), .init("two w", isPrefix: true)])
    #expect(try SearchQuery("\"two w*\" FROM:x", now: 0).phrases == [.init("two w*", isPrefix: true)])
    #expect(try SearchQuery("wor* x", now: 0).phrases.first == .init("wor*", isPrefix: true))
  }

  @Test(arguments: ["", "  ", "!!", "from:", "before:soon", "in:\"\"", String(repeating: "a", count: 1001)])
  func whatIsNoSearchIsSaid(typed: String) {
    #expect(throws: SearchQuery.Fault.self) { try SearchQuery(typed, now: 0) }
  }
}
