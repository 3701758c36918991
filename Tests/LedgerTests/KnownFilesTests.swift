import Pipeline
import Testing

@testable import LedgerPort
@testable import LedgerRules
@testable import LedgerSQLite

struct KnownFilesTests {
  @Test func aFileIsTheAttachmentThatItWasTakenInAs() throws {
    let desk = try Desk()
    let ledger = desk.ledger
    #expect(try ledger.known(Desk.item("a")) == nil)
    try desk.takeIn(Desk.item("a"), Desk.item("b", message: "m"))
    let queued = try #require(try ledger.known(Desk.item("a")))
    #expect(queued.status == .queued && queued.url == nil)
    let lease = try desk.claimOne()
    try desk.settle(lease, Desk.completed(lease))
    let completed = try #require(try ledger.known(Desk.item("a")))
    #expect(completed.id == queued.id && completed.status == .completed)
    #expect(completed.url == "documents/a" && completed.sizeBytes == 5)
    #expect(completed.sha256?.count == 32 && completed.sourceSHA256 == completed.sha256)
    #expect(try ledger.known(Desk.item("b")) == nil, "it is another message")
    #expect(try ledger.known(Desk.item("b", message: "m")) != nil)
    var changed = Desk.item("a")
    changed.sourceModified += 1
    #expect(try ledger.known(changed) == nil)
  }

  @Test func itReadsBesideACoordinator() throws {
    let desk = try Desk(inFolder: ())
    let ledger = try desk.folder.reader()
    #expect(try ledger.known(Desk.item("a")) == nil)
    try desk.takeIn(Desk.item("a"))
    #expect(try ledger.known(Desk.item("a")) != nil)
  }
}
