import Foundation
import Pipeline
import SQLite
import Testing

@testable import LedgerPort
@testable import LedgerRules
@testable import LedgerSQLite

/// No word of a deleted message is left in the index of words.
struct SearchErasureTests {
  private let desk: Desk

  /// Its beginning is no other word's, so that an index has it as a whole.
  private static let word = "quokkazebulon"

  init() throws {
    desk = try Desk(inFolder: ())
    try say("g", .begin(.group, name: nil, .all, members: ["ann"]))
  }

  @discardableResult
  private func say(_ id: String, _ action: ConversationCommand.Action) throws -> CommandResult? {
    try desk.command(.conversation(Self.command(id, action))).first
  }

  private static func command(_ id: String, _ action: ConversationCommand.Action) -> ConversationCommand {
    ConversationCommand(id, .service("shop", for: "ann"), action)
  }

  private static func write(_ number: Int, _ text: String) -> ConversationCommand.Action {
    .write(id: "m\(number)", clientId: "c\(number)", text: text)
  }

  private func isLeft(_ path: String? = nil) throws -> Bool {
    let path = try path ?? desk.folder.ledgerPath
    return try ["", "-wal"].filter { FileManager.default.fileExists(atPath: path + $0) }.contains {
      try Data(contentsOf: URL(fileURLWithPath: path + $0)).range(of: Data(Self.word.utf8)) != nil
    }
  }

  private func rest() throws {
    for _ in 0..<20 {
      desk.ledger.nextErasure = 0
      if !desk.ledger.rest(isIdle: true) { break }
    }
    #expect(try desk.number("SELECT residue FROM ledger") == 0)
  }

  private func deleteOne(of count: Int) throws {
    for number in 1...count {
      try say(
        "g", Self.write(number, number == count / 2 + 1 ? "the \(Self.word) word" : "a text number \(number)")
      )
    }
    #expect(try isLeft())
    try say("g", .delete(Int64(count / 2 + 1)))
  }

  @Test(arguments: [1, 2, 30, 300]) func atRestNoWordIsLeft(count: Int) throws {
    try deleteOne(of: count)
    try rest()
    #expect(try !isLeft())
    #expect(try desk.findings() == [])
    let found = try desk.ledger.search(SearchQuery("number ", now: 0), for: "ann", after: nil, limit: 500)
    #expect(found.rows.count == count - 1)
  }

  @Test func neitherIsOneThatWasWrittenAndDeletedAtOnce() throws {
    var exchange = Exchange()
    exchange.commands = [
      .conversation(Self.command("g", Self.write(1, Self.word))),
      .conversation(Self.command("g", .delete(1))),
    ]
    try desk.send(exchange)
    try rest()
    #expect(try !isLeft())
  }

  /// FTS5 merges its segments on its own now and then, and drops the word. It keeps the word after these numbers of messages.
  @Test(arguments: [2, 9, 100]) func aCopyMadeBeforeHasNone(count: Int) throws {
    try deleteOne(of: count)
    #expect(try isLeft())
    let file = try desk.folder.path + "/copy.db"
    _ = try LedgerBackup(of: desk.folder, to: file).make(replacing: false)
    #expect(try !isLeft(file))
  }

  @Test func whatASearchWouldMissIsSaidAndPutRight() throws {
    for number in 1...3 { try say("g", Self.write(number, "text \(number)")) }
    try desk.execute(
      "DELETE FROM documents WHERE number = 1; UPDATE documents SET text = 'other' WHERE number = 2")
    try desk.execute(
      "INSERT INTO documents (conversation, number, text, names, contents) VALUES (1, 9, 'stray', '', '')")
    #expect(try desk.findings().count(where: { $0.contains("a search ") }) == 3)
    try desk.ledger.mendSearch()
    #expect(try desk.findings() == [])
    func found(_ typed: String) throws -> [Int64] {
      try desk.ledger.search(SearchQuery(typed, now: 0), for: "ann", after: nil, limit: 5).rows.map(\.number)
    }
    #expect(try Set(found("text")) == [1, 2, 3] && found("stray") == [] && found("other") == [])
  }
}
