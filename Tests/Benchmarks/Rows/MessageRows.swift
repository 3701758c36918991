import Glibc
import HomeFolder
import LedgerPort
import LedgerSQLite
import Platform

/// Reads of a ledger with a million messages in 10,000 conversations of 1,000 people, as the server does them.
enum MessageRows {
  private static let people = 1000
  private static let membersOfOne = 8
  /// Each row is measured for so many people, so that no answer is in a cache.
  private static let readers = 20

  static func run(_ settings: Settings, _ ground: Ground, _ report: Report) {
    let count = settings.size(1_000_000, quick: 50_000)
    let name = "\(Table.number(Double(count))) messages"
    report.measure(name) {
      let home = ground.store("messages")
      var random = SplitMix(state: 11)
      let vocabulary = words(&random)
      let position = try fill(home, count, vocabulary, &random)
      return try measure(home, name, vocabulary, from: position)
    }
  }

  /// Words with the frequencies of a language (Zipf's law): the nth word is n times rarer than the first.
  private static func words(_ random: inout SplitMix) -> [String] {
    (0..<20_000).map { rank in
      var word = ""
      for _ in 0..<(1 + random.next() % 3 + (rank > 500 ? 1 : 0)) {
        word +=
          ["b", "c", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w"][
            Int(random.next() % 16)]
        word += ["a", "e", "i", "o", "u"][Int(random.next() % 5)]
      }
      return word
    }
  }

  private static func text(_ words: [String], _ random: inout SplitMix) -> String {
    var text = random.next() % 20 == 0 ? "今天在图书馆见面 " : ""
    for _ in 0..<12 {
      // The inverse of the distribution of a continuous rank.
      let place = Double(random.next() >> 11) / Double(1 << 53)
      let rank = min(Int(pow(Double(words.count), place)) - 1, words.count - 1)
      text += words[max(rank, 0)] + " "
    }
    return text
  }

  /// - Returns: the position before the last thousandth.
  private static func fill(
    _ home: String, _ count: Int, _ words: [String], _ random: inout SplitMix
  ) throws -> Position {
    let conversations = max(count / 100, membersOfOne)
    progress("writing \(count) messages in \(conversations) conversations")
    return try BenchLedger.at(home) { ledger in
      var members: [[String]] = []
      for number in 0..<conversations {
        members.append((0..<membersOfOne).map { _ in "user \(random.next() % UInt64(people))" })
        members[number] = Array(Set(members[number])).sorted()
      }
      try ledger.apply(
        members.enumerated().map { number, members in
          ConversationCommand(
            "c\(number)", .service("bench"), .begin(.group, name: nil, .all, members: members))
        })
      var position = Position(history: 0, number: 0)
      var done = 0
      while done < count {
        if done >= count - count / 1000 && position.number == 0 {
          position = try Home(home).reader().position()
        }
        let commands = (done..<min(done + 500, count)).map { number in
          let conversation = Int(random.next() % UInt64(conversations))
          let author = members[conversation][Int(random.next() % UInt64(members[conversation].count))]
          return ConversationCommand(
            "c\(conversation)", .user(author),
            .write(id: "m\(number)", clientId: "\(number)", text: text(words, &random)))
        }
        try ledger.apply(commands)
        done += commands.count
      }
      return position
    }
  }

  private static func measure(
    _ path: String, _ name: String, _ words: [String], from position: Position
  ) throws -> [TableRow] {
    let home = Home(path)
    var rows: [TableRow] = []
    func row(_ what: String, atMost goal: Double, _ body: (any LedgerMaintenance, String) throws -> Void)
      throws
    {
      let ledger = try home.reader()
      let times = try (0..<readers).map { number in
        let started = Clock.monotonic()
        try body(ledger, "user \(number * 7)")
        return Double(Clock.monotonic() - started) / 1e6
      }
      rows.append(TableRow("\(name): \(what)", "ms", times, goal: .atMost(goal)))
    }
    try row("50 conversations with unread and last", atMost: 10) { ledger, user in
      _ = try ledger.conversations(of: user, after: nil, limit: 50)
    }
    try row("a page of 50", atMost: 10) { ledger, user in
      guard let first = try ledger.conversations(of: user, after: nil, limit: 1).rows.first,
        let view = try ledger.membership(of: first.conversation.id, for: user)
      else { throw BenchError("\(user) has no conversation") }
      _ = try ledger.messages(in: view.conversation, seenBy: view.member(user), before: nil, limit: 50)
    }
    try row("the changes of the last thousandth", atMost: 100) { ledger, user in
      let now = try ledger.position()
      _ = try ledger.changes(of: user, after: position.number, upTo: now.number, limit: 200)
    }
    for (what, typed, goal) in [
      ("a search for the most frequent word", words[0] + " ", 20.0),
      ("a search for a rare word", words[15_000] + " ", 20),
      ("a search for two words", words[5...6].joined(separator: " ") + " ", 20),
      ("a search for a letter", "b", 100),
      ("a search for the beginning of a word", String(words[40].prefix(4)), 100),
      ("a search in Chinese", "图书馆", 100),
    ] {
      try row(what, atMost: goal) { ledger, user in
        _ = try ledger.search(SearchQuery(typed, now: 0), for: user, after: nil, limit: 20)
      }
    }
    try row("a search by relevance", atMost: 100) { ledger, user in
      var query = try SearchQuery(words[20] + " ", now: 0)
      query.order = .relevance
      _ = try ledger.search(query, for: user, after: nil, limit: 20)
    }
    let started = Clock.monotonic()
    try BenchLedger.at(path) { _ in _ = try home.reader().position() }
    rows.append(
      TableRow("\(name): opened", "ms", [Double(Clock.monotonic() - started) / 1e6], goal: .atMost(250)))
    return rows
  }
}
