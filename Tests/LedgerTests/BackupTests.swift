import Foundation
import SQLite
import Testing

@testable import LedgerPort
@testable import LedgerRules
@testable import LedgerSQLite

/// Copies treat each leased or due job as started once: since the copy was made it may have been.
struct BackupTests {
  @Test func aCopyHasNothingInHandAndLooksWhetherDeliveriesWereMade() throws {
    let desk = try Desk(inFolder: ())
    try desk.takeIn(Desk.item("a"), Desk.item("b"), Desk.item("c"))
    let lease = try desk.claimOne()
    try desk.settle(lease, Desk.completed(lease) { $0.events = [Desk.event()] })
    let inHand = try desk.claimOne()
    let file = try desk.folder.path + "/copy.db"
    _ = try LedgerBackup(of: desk.folder, to: file).make(replacing: false)

    let copy = try Connection(file, .readOnly)
    func number(_ sql: String) throws -> Int64? { try copy.prepare(sql).first { $0.integer(0) } }
    #expect(try number("SELECT count(*) FROM jobs WHERE state = 'leased'") == 0)
    #expect(try number("SELECT count(*) FROM jobs WHERE attempts = 1 AND uncounted = 1") == 4)
    #expect(
      try desk.number("SELECT count(*) FROM jobs WHERE state = 'leased'") == 1,
      "the ledger itself is as it was")
    #expect(try desk.settle(inHand, Desk.completed(inHand)) == .counted, "and work on it goes on")
    #expect(!FileManager.default.fileExists(atPath: file + ".partial"))
  }

  @Test func whatIsQueuedAgainTellsNothingTwice() throws {
    let desk = try Desk()
    try desk.takeIn(Desk.item("a"))
    let lease = try desk.claimOne()
    try desk.settle(lease, Desk.completed(lease) { $0.events = [Desk.event()] })
    let object = try #require(try desk.ledger.objects(after: nil, limit: 9).rows.first)
    try desk.ledger.requeue(object)
    #expect(try !desk.ledger.hasName("documents/a"))
    #expect(try desk.number("SELECT attachments FROM counts WHERE status = 'queued'") == 1)
    let again = try desk.claimOne()
    #expect(again.attempt == 2 && again.counted == 1, "its attempts go on where they were, and none counts")
    try desk.settle(again, Desk.completed(again) { $0.events = [Desk.event()] })
    #expect(try desk.number("SELECT count(*) FROM deliveries") == 2)
    #expect(try desk.findings() == [])
  }
}
