import Pipeline
import Platform
import SQLite
import Testing

@testable import LedgerPort
@testable import LedgerRules
@testable import LedgerSQLite

struct IntakeTests {
  private let desk: Desk

  init() throws { desk = try Desk() }

  @Test func aFileIsTakenInOnceForEachMessage() throws {
    #expect(try desk.takeIn(Desk.item("a", message: "m")).added == 1)
    let again = try desk.takeIn(Desk.item("a", message: "m"))
    #expect(again.added == 0 && again.known == 1)
    #expect(try desk.takeIn(Desk.item("a", message: "n")).added == 1)
    #expect(try desk.takeIn(Desk.item("a", message: "m", conversation: "d")).added == 1)
    #expect(try desk.takeIn(Desk.item("b", message: "m")).added == 1)
    #expect(try desk.count(.queued) == 4)
    try desk.checkCounts()
  }

  @Test func theSameFileTwiceInOneBatchIsTakenInOnce() throws {
    let report = try desk.takeIn(Desk.item("a", message: "m"), Desk.item("a", message: "m"))
    #expect(report.added == 1 && report.known == 1)
    try desk.checkCounts()
  }

  @Test func aFileWithoutAMessageIsTakenInOnce() throws {
    let report = try desk.takeIn(Desk.item("a"), Desk.item("b"), Desk.item("a"))
    #expect(report.added == 2 && report.known == 1)
    #expect(try desk.number("SELECT count(*) FROM messages") == 2, "each file is a message of its own")
    #expect(
      try desk.takeIn(Desk.item("a", message: "m")).added == 1, "under a message it is another attachment")
  }

  @Test func aFileThatChangedIsAnotherAttachment() throws {
    try desk.takeIn(Desk.item("a", message: "m"))
    var longer = Desk.item("a", message: "m")
    longer.sourceSize += 1
    var later = Desk.item("a", message: "m")
    later.sourceModified += 1
    #expect(try desk.takeIn(longer, later).added == 2)
  }

  @Test func aFileIsKnownWhenItHasEndedToo() throws {
    try desk.takeIn(Desk.item("a", message: "m"))
    let lease = try desk.claimOne()
    try desk.settle(lease, Desk.completed(lease))
    #expect(try desk.takeIn(Desk.item("a", message: "m")).known == 1)
    #expect(try desk.claim(9).isEmpty)
  }

  @Test func anotherSendersMessageIsRefusedAndTheRestOfTheBatchIsTaken() throws {
    try desk.takeIn(Desk.item("a", message: "m"))
    let report = try desk.takeIn(
      Desk.item("b", message: "m", sender: "eve"), Desk.item("c", message: "m", sender: "ann"))
    #expect(report.added == 1 && report.known == 0)
    let problem = try #require(report.problems.first)
    #expect(report.problems.count == 1)
    #expect(problem.text.hasPrefix("list:1: message 'm' of conversation 'c' is from 'ann', not from 'eve'"))
    #expect(try desk.number("SELECT count(*) FROM attachments WHERE file_name = 'b'") == 0)
    #expect(try desk.takeIn(Desk.item("b", message: "m", sender: "eve", conversation: "d")).added == 1)
    try desk.checkCounts()
  }

  @Test func anotherSenderIsRefusedWithAFileThatIsKnownToo() throws {
    try desk.takeIn(Desk.item("a", message: "m"))
    let report = try desk.takeIn(Desk.item("a", message: "m", sender: "eve"))
    #expect(report.known == 0 && report.added == 0 && report.problems.count == 1)
  }

  @Test func whatWasTakenInIsWhatIsLeased() throws {
    var item = Desk.item("ü\u{301} \"\n.pdf", message: "m", conversation: "ç")
    item.source = [0x2F, 0xFF, 0xFE, 0x2E]
    item.participants = ["ann", "b\"en"]
    item.declaredType = "text/plain"
    item.folderDevice = 3
    try desk.takeIn(item)
    let lease = try desk.claimOne()
    guard case .attachment(let attachment) = lease.work else {
      Issue.record("it is for something else")
      return
    }
    #expect(attachment.origin.fileName == item.fileName && attachment.source.path == item.source)
    #expect(
      attachment.origin.conversationId == "ç" && attachment.origin.messageId == "m"
        && attachment.origin.senderId == "ann")
    #expect(attachment.participants == #"["ann","b\"en"]"#)
    #expect(attachment.origin.declaredType == "text/plain")
    #expect(
      attachment.source
        == .file(host: nil, path: item.source, size: 5, modified: 7, folderDevice: 3))
    #expect(lease.attempt == 1 && lease.counted == 1 && lease.crashes == 0 && lease.losses == 0)
  }

  private static let long = String(repeating: "x", count: 257)

  static let faults: [(change: @Sendable (inout IntakeItem) -> Void, saying: String)] = [
    ({ $0.conversationId = "" }, "'conversationId' has 0 bytes where 1 to 256 are allowed"),
    ({ $0.conversationId = long }, "'conversationId' has 257 bytes"),
    ({ $0.messageId = "" }, "'messageId' has 0 bytes"),
    ({ $0.senderId = "a\0b" }, "'senderId' holds a NUL character"),
    ({ $0.participants = ["ann", ""] }, "'participants' has 0 bytes"),
    ({ $0.fileName = String(repeating: "n", count: 1025) }, "'fileName' has 1025 bytes"),
    ({ $0.text = "a\0b" }, "'text' holds a NUL character"), ({ $0.source = [] }, "is not an absolute path"),
    ({ $0.source = Array("in/a".utf8) }, "is not an absolute path"),
    ({ $0.source = [0x2F, 0, 0x61] }, "'path' holds a NUL character"),
    ({ $0.source = [0x2F] + Array(repeating: 0x61, count: 4095) }, "has 4096 bytes"),
    ({ $0.sourceSize = -1 }, "its size is -1"),
  ]

  /// Items may come from another process, and an item that breaks a constraint of the tables would end the
  /// coordinator.
  @Test(arguments: faults.indices) func anItemThatCannotBeCostsItselfOnly(index: Int) throws {
    var item = Desk.item("b")
    Self.faults[index].change(&item)
    let report = try desk.takeIn(Desk.item("a"), item, Desk.item("c"))
    #expect(report.added == 2)
    #expect(report.problems.count == 1)
    #expect(
      report.problems.allSatisfy { $0.origin == "list:1" && $0.message.contains(Self.faults[index].saying) })
  }

  @Test func whatIsKnownAndWasNotCompletedIsCounted() throws {
    try desk.takeIn(Desk.item("a"), Desk.item("b"), Desk.item("c"))
    for lease in try desk.claim(2) {
      try desk.settle(
        lease,
        Desk.completed(lease) {
          guard Desk.name(lease) == "a" else { return }
          ($0.outcome.status, $0.outcome.url) = (.failed, nil)
          $0.outcome.reason = Reason(stage: "source", code: "missing", message: "it is gone")
        })
    }
    let report = try desk.takeIn(Desk.item("a"), Desk.item("b"), Desk.item("c"))
    #expect(report.added == 0 && report.known == 3 && report.knownNotCompleted == 1)
  }

  @Test func aBatchThatFailsInTheMiddleIsTakenBackWhole() throws {
    try desk.execute(
      "CREATE TRIGGER no_b BEFORE INSERT ON attachments WHEN new.file_name = 'b' BEGIN SELECT RAISE(ABORT, 'no'); END"
    )
    let before = try desk.everything()
    #expect(throws: LedgerError.self) { try desk.takeIn(Desk.item("a"), Desk.item("b")) }
    #expect(try desk.everything() == before)
    #expect(try desk.takeIn(Desk.item("a")).added == 1)
  }

  /// A user who ingests a folder every night finds most files known: each costs one index lookup, however
  /// many there are.
  @Test func whatIsKnownIsFoundWithoutReadingAllThereIs() throws {
    let desk = try Desk()
    let items = (0..<20_000).map { Desk.item("\($0)") }
    #expect(try desk.takeIn(items).added == 20_000)
    let started = Clock.monotonic()
    #expect(try desk.takeIn(items).known == 20_000)
    // A fraction of a second; scanning all rows for each file would read 400 million.
    #expect(Clock.monotonic() - started < 10_000_000_000)
  }
}
