import Foundation
import Testing

@testable import SQLite

/// A file whose program was killed in the midst of a transaction, before it had a write-ahead log.
struct HotJournalTests {
  @Test func whoeverReadsHasItTakenBack() throws {
    let folder = NSTemporaryDirectory() + "sluice-journal-\(UUID())"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (path, killed) = (folder + "/a.db", folder + "/b.db")
    let writer = try Connection(path)
    try writer.execute("PRAGMA cache_size = 2")
    try writer.execute("CREATE TABLE t (x INTEGER PRIMARY KEY, y BLOB)")
    for key in 1...50 { try writer.execute("INSERT INTO t VALUES (\(key), zeroblob(2000))") }
    // More than the cache holds: what was there is synced to the journal, and the file is written to.
    try writer.execute("BEGIN IMMEDIATE")
    try writer.execute("UPDATE t SET y = randomblob(2000)")
    for suffix in ["", "-journal"] {
      try FileManager.default.copyItem(atPath: path + suffix, toPath: killed + suffix)
    }
    try writer.execute("ROLLBACK")
    let plain = try Connection(killed, .readOnly)
    #expect(throws: SQLiteError.self, "it needs somebody who writes") {
      _ = try plain.prepare("SELECT count(*) FROM t").first { $0.integer(0) }
    }
    let reader = try Connection(reading: killed)
    let zeros = try reader.prepare("SELECT count(*) FROM t WHERE y = zeroblob(2000)").first { $0.integer(0) }
    #expect(zeros == 50, "as before the transaction")
  }
}
