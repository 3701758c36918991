import Foundation
import Testing

@testable import SQLite

/// What deleted rows leave in the file is overwritten, and nothing else.
struct ResidueTests {
  private let path = FileManager.default.temporaryDirectory.path + "/sluice-residue-" + UUID().uuidString

  private func open() throws -> Connection {
    let connection = try Connection(path)
    try connection.execute("PRAGMA journal_mode = WAL; PRAGMA secure_delete = ON")
    connection.checkpointByHand()
    return connection
  }

  private func remove() {
    for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
  }

  /// How often a text is in the file or its log.
  private func occurrences(_ text: String) throws -> Int {
    var count = 0
    for suffix in ["", "-wal"] {
      guard let bytes = FileManager.default.contents(atPath: path + suffix) else { continue }
      var rest = bytes[...]
      while let found = rest.range(of: Data(text.utf8)) {
        count += 1
        rest = rest[found.upperBound...]
      }
    }
    return count
  }

  /// Rows of many lengths under random keys, in a table with indexes, of which some are deleted: pages are split and joined.
  private func fill(_ connection: Connection, rows: Int) throws {
    try connection.execute(
      """
      CREATE TABLE t (name TEXT PRIMARY KEY, value TEXT, more BLOB) WITHOUT ROWID;
      CREATE TABLE u (key INTEGER PRIMARY KEY, name TEXT, value TEXT);
      CREATE INDEX u_name ON u (name, value);
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
      INSERT INTO t SELECT 'secret-' || hex(randomblob(8)) || '-' || i,
        printf('%.*c', abs(random() % CASE i % 40 WHEN 0 THEN 9000 ELSE 200 END), 'x'), randomblob(i % 50) FROM n;
      INSERT INTO u (name, value) SELECT name, value FROM t;
      """)
  }

  private func dump(_ connection: Connection) throws -> [String] {
    var rows: [String] = []
    try connection.prepare(
      "SELECT name || value || hex(more) FROM t UNION ALL SELECT key || name || value FROM u INDEXED BY u_name ORDER BY 1"
    ).rows { rows.append($0.text(0)) }
    return rows
  }

  @Test func nothingOfDeletedRowsIsLeftAndAllOthersAre() throws {
    defer { remove() }
    let connection = try open()
    try fill(connection, rows: 3000)
    // One after the other, so that pages are joined.
    try connection.execute(
      "DELETE FROM t WHERE name GLOB '*[1379]'; DELETE FROM u WHERE name GLOB '*[1379]'; DELETE FROM u WHERE name NOT GLOB '*0'"
    )
    #expect(connection.truncateLog())
    let before = try dump(connection)
    // Each that is left has its name once in each place.
    let left = 2 * 300 + before.count - 300
    #expect(try occurrences("secret-") > left, "copies are left: else this test shows nothing")
    #expect(try connection.eraseResidue())
    #expect(try occurrences("secret-") == left)
    #expect(try dump(connection) == before)
    #expect(try connection.prepare("PRAGMA integrity_check").first { $0.text(0) } == "ok")
  }

  /// What the connection had in memory is read anew: else it would come back with the next change of a page.
  @Test func itDoesNotComeBack() throws {
    defer { remove() }
    let connection = try open()
    try fill(connection, rows: 2000)
    try connection.execute("DELETE FROM u; DELETE FROM t WHERE name NOT GLOB '*7'")
    #expect(try connection.eraseResidue())
    let left = try #require(try connection.prepare("SELECT count(*) FROM t").first { Int($0.integer(0)) })
    try connection.execute("UPDATE t SET more = x'00'")
    #expect(connection.truncateLog())
    try connection.execute("UPDATE t SET name = upper(name)")
    #expect(try connection.eraseResidue())
    #expect(try occurrences("secret-") == 0 && occurrences("SECRET-") == left)
  }

  /// A page that the connection still had in memory would bring the bytes back as soon as another row on it is changed in its place.
  @Test func aPageInMemoryDoesNotBringItBack() throws {
    defer { remove() }
    let connection = try open()
    try connection.execute(
      """
      CREATE TABLE v (key INTEGER PRIMARY KEY, name TEXT, state INTEGER);
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
      INSERT INTO v SELECT i * 2654435761 % 4294967296, 'secret-' || printf('%040d', i * 7919) || '-' || i, 2 FROM n;
      DELETE FROM v WHERE name NOT GLOB '*7';
      """)
    let left = 300
    #expect(connection.truncateLog())
    #expect(try occurrences("secret-") > left, "copies are left: else this test shows nothing")
    #expect(try connection.eraseResidue())
    #expect(try occurrences("secret-") == left)
    try connection.execute("UPDATE v SET state = 3")
    #expect(connection.truncateLog())
    #expect(try occurrences("secret-") == left)
  }

  @Test func aReaderIsNotDisturbedAndMayBeInTheWay() throws {
    defer { remove() }
    let connection = try open()
    try fill(connection, rows: 500)
    #expect(connection.truncateLog())
    let reader = try Connection(path, .readOnly)
    reader.neverCheckpointOnClose()
    try reader.execute("BEGIN")
    let before = try dump(reader)
    try connection.execute("PRAGMA busy_timeout = 0; DELETE FROM t WHERE name GLOB '*[1-5]'")
    #expect(try !connection.eraseResidue(), "the log holds what the reader does not see")
    #expect(try dump(reader) == before)
    try reader.execute("COMMIT; BEGIN")
    let after = try dump(reader)
    #expect(after.count < before.count)
    try reader.execute("COMMIT")
    #expect(try connection.eraseResidue())
    #expect(try dump(reader) == after)
  }

  @Test func aPageThatMakesNoSenseStaysAsItIs() {
    for bytes: [(Int, UInt8)] in [
      [(0, 1)], [(0, 13), (3, 255)], [(0, 13), (5, 255), (6, 255)], [(0, 10), (1, 0), (2, 9), (5, 1)],
    ] {
      var page = [UInt8](repeating: 7, count: 512)
      for index in 0..<12 { page[index] = 0 }
      for (index, byte) in bytes { page[index] = byte }
      let before = page
      let isFound = page.withUnsafeMutableBytes { BTreePage.erase($0, isFirst: false, usable: 512) }
      if bytes.count < 4 { #expect(!isFound && page == before, "\(bytes)") }
      #expect(page[256...] == before[256...])
    }
  }

  @Test func aDatabaseInMemoryHasNothingToErase() throws {
    let connection = try Connection(":memory:")
    try connection.execute("CREATE TABLE t (a)")
    #expect(try connection.eraseResidue())
  }
}
