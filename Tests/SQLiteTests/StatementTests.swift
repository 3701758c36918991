import SQLite
import Testing

struct StatementTests {
  private let connection: Connection

  init() throws {
    connection = try Connection(":memory:")
  }

  private func text(_ value: SQLite.Statement.Value) throws -> (text: String?, kind: String, length: Int64) {
    try #require(
      try connection.prepare("SELECT ?1, typeof(?1), length(CAST(?1 AS BLOB))").first(value) {
        ($0.optionalText(0), $0.text(1), $0.integer(2))
      })
  }

  @Test(arguments: ["", "a", "é🎈\u{301}", "a\0b", "\0", "\0\0", String(repeating: "x", count: 100_000)])
  func aTextComesBackWithEveryByte(value: String) throws {
    let read = try text(.text(value))
    #expect(read.text.map { Array($0.utf8) } == Array(value.utf8))
    #expect(read.kind == "text", "an empty text is no NULL")
    #expect(read.length == Int64(value.utf8.count))
  }

  @Test(arguments: [0, 1, -1, Int64.max, .min, 1 << 53 + 1, 1 << 32])
  func anIntegerComesBackWithEveryBit(value: Int64) throws {
    let read = try connection.prepare("SELECT ?1, typeof(?1)").first(.integer(value)) {
      ($0.integer(0), $0.text(1))
    }
    #expect(read?.0 == value && read?.1 == "integer")
  }

  @Test(arguments: [[], [0], [0, 255, 0], [UInt8](repeating: 7, count: 70_000)] as [[UInt8]])
  func aBlobComesBackWithEveryByte(value: [UInt8]) throws {
    let read = try connection.prepare("SELECT ?1, typeof(?1)").first(.blob(value)) {
      ($0.blob(0), $0.text(1))
    }
    #expect(read?.0 == value && read?.1 == "blob", "an empty blob is no NULL")
  }

  @Test func aNumberComesBack() throws {
    let read = try connection.prepare("SELECT ?1 = 0.1, typeof(?1)").first(.number(0.1)) {
      ($0.integer(0), $0.text(1))
    }
    #expect(read?.0 == 1 && read?.1 == "real")
  }

  @Test func nullIsNull() throws {
    let values: [SQLite.Statement.Value] = [.null, .optional(nil as String?), .optional(nil as Int64?)]
    for value in values {
      let read = try connection.prepare("SELECT ?1").first(value) {
        ($0.optionalText(0), $0.optionalInteger(0), $0.text(0), $0.blob(0))
      }
      let row = try #require(read)
      #expect(row.0 == nil && row.1 == nil && row.2.isEmpty && row.3.isEmpty)
    }
    #expect(try text(.optional("a")).text == "a")
  }

  @Test func bytesThatAreNoUTF8AreReadAsReplacements() throws {
    let read = try connection.prepare("SELECT CAST(x'61FF62' AS TEXT)").first { $0.text(0) }
    #expect(read == "a\u{FFFD}b")
  }

  @Test func aStatementIsRunAgainWithOtherValues() throws {
    try connection.execute("CREATE TABLE t (a INTEGER UNIQUE)")
    let insert = try connection.prepare("INSERT INTO t VALUES (?1)")
    for value in 0..<10 { try insert.run(.integer(Int64(value))) }
    #expect(throws: SQLiteError.self) { try insert.run(.integer(3)) }
    try insert.run(.integer(10))
    #expect(connection.changes == 1 && connection.lastInsertedRow == 11)
    var all: [Int64] = []
    try connection.prepare("SELECT a FROM t ORDER BY a").rows { all.append($0.integer(0)) }
    #expect(all == Array(0...10))
  }

  @Test func aBodyThatThrowsLeavesTheStatementReady() throws {
    struct Stop: Error {}
    let statement = try connection.prepare("VALUES (1), (2), (3)")
    #expect(throws: Stop.self) { try statement.rows { _ in throw Stop() } }
    var all: [Int64] = []
    try statement.rows { all.append($0.integer(0)) }
    #expect(all == [1, 2, 3])
  }

  @Test func noRowIsNil() throws {
    #expect(try connection.prepare("SELECT 1 WHERE 0").first { $0.integer(0) } == nil)
  }

  @Test func aStatementKeepsItsConnectionOpen() throws {
    let statement = try Connection(":memory:").prepare("SELECT 7")
    #expect(try statement.first { $0.integer(0) } == 7)
  }
}
