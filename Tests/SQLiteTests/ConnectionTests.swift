import SQLite
import Testing

struct ConnectionTests {
  private let connection: Connection

  init() throws {
    connection = try Connection(":memory:")
    try connection.execute(
      """
      PRAGMA foreign_keys = ON;
      CREATE TABLE parent (key INTEGER PRIMARY KEY) STRICT;
      CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT NOT NULL CHECK (b <> ''), p INTEGER REFERENCES parent) STRICT;
      INSERT INTO t VALUES (1, 'x', NULL);
      """)
  }

  private func count() throws -> Int64? {
    try connection.prepare("SELECT count(*) FROM t").first { $0.integer(0) }
  }

  @Test func aTransactionThatThrowsLeavesNothing() throws {
    struct Stop: Error {}
    #expect(throws: Stop.self) {
      try connection.transaction {
        try connection.execute("INSERT INTO t VALUES (2, 'y', NULL)")
        #expect(!connection.isOutsideTransaction)
        throw Stop()
      }
    }
    #expect(try count() == 1)
    #expect(connection.isOutsideTransaction)
  }

  @Test func aTransactionThatReturnsStays() throws {
    let result = try connection.transaction {
      try connection.execute("INSERT INTO t VALUES (2, 'y', NULL)")
      return 5
    }
    #expect(result == 5)
    #expect(try count() == 2 && connection.isOutsideTransaction)
  }

  @Test func aStatementThatFailsTakesTheWholeTransactionBack() throws {
    #expect(throws: SQLiteError.self) {
      try connection.transaction {
        try connection.execute("INSERT INTO t VALUES (2, 'y', NULL)")
        try connection.execute("INSERT INTO t VALUES (1, 'again', NULL)")
      }
    }
    #expect(try count() == 1)
    try connection.transaction { try connection.execute("INSERT INTO t VALUES (2, 'y', NULL)") }
    #expect(try count() == 2)
  }

  @Test func aCommitThatFailsTakesTheWholeTransactionBack() throws {
    #expect(throws: SQLiteError.self) {
      try connection.transaction {
        try connection.execute("PRAGMA defer_foreign_keys = ON; INSERT INTO t VALUES (2, 'y', 99)")
      }
    }
    #expect(try count() == 1 && connection.isOutsideTransaction)
  }

  /// The extended codes: sqlite3.h.
  @Test(
    arguments: [
      ("INSERT INTO t VALUES (1, 'x', NULL)", 1555), ("INSERT INTO t VALUES (2, '', NULL)", 275),
      ("INSERT INTO t VALUES (2, NULL, NULL)", 1299), ("INSERT INTO t VALUES (2, 'x', 9)", 787),
      ("INSERT INTO t VALUES (2, x'00', NULL)", 3091),
    ] as [(String, Int32)])
  func aBrokenConstraintIsToldWithItsKind(sql: String, extended: Int32) throws {
    let error = try #require(throws: SQLiteError.self) { try connection.prepare(sql).run() }
    #expect(error.code == ResultCode(rawValue: extended))
    #expect(ResultCode.constraint ~= error.code)
    #expect(error.sql == sql)
    #expect(error.description.contains("INSERT INTO t VALUES"))
  }

  @Test func aPrimaryCodeMatchesItsExtendedOnesAndNoOthers() {
    let shortRead = ResultCode(rawValue: 10 | 2 << 8)  // SQLITE_IOERR_SHORT_READ
    #expect(.ioError ~= shortRead)
    #expect(shortRead ~= shortRead)
    #expect(!(shortRead ~= .ioError), "an extended code matches itself only")
    #expect(!(shortRead ~= ResultCode(rawValue: 10 | 3 << 8)))
    #expect(!(.full ~= shortRead) && !(.busy ~= shortRead))
    #expect(shortRead.primary == .ioError)
  }

  @Test func whatIsNoSQLIsRefusedWithItsText() {
    #expect(throws: SQLiteError.self) { try connection.prepare("SELEKT 1") }
    #expect(throws: SQLiteError.self) { try connection.prepare("SELECT nothing FROM nowhere") }
    #expect(throws: SQLiteError.self) { try connection.prepare("") }
  }

  @Test func aFolderIsNoDatabase() throws {
    let error = try #require(throws: SQLiteError.self) { try Connection("/") }
    #expect(ResultCode.cantOpen ~= error.code)
  }

  @Test func aReaderDoesNotMakeAFile() {
    #expect(throws: SQLiteError.self) { try Connection("/tmp/no-such-database-for-reading", .readOnly) }
  }
}
