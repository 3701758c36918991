import Foundation
import HomeFolder
import Pipeline
import Platform
import SQLite
import Synchronization
import Testing

@testable import LedgerPort
@testable import LedgerRules
@testable import LedgerSQLite

struct OpeningTests {
  private func home() throws -> Home {
    let home = Home(NSTemporaryDirectory() + "sluice-home-" + UUID().uuidString)
    try home.create()
    return home
  }

  private func remove(_ home: Home) { try? FileManager.default.removeItem(atPath: home.path) }

  private func refusal(_ open: () throws -> SQLiteLedger) throws -> LedgerError {
    try #require(throws: LedgerError.self) { _ = try open() }
  }

  @Test(arguments: [1, Schema.version - 1, Schema.version + 1, 2_147_483_647])
  func aLedgerOfAnotherVersionIsRefusedAndStaysAsItIs(version: Int64) throws {
    let home = try home()
    defer { remove(home) }
    _ = try SQLiteLedger(home)
    do {
      let connection = try Connection(home.ledgerPath)
      try connection.execute("PRAGMA user_version = \(version); PRAGMA wal_checkpoint(TRUNCATE)")
    }
    let before = try Data(contentsOf: URL(fileURLWithPath: home.ledgerPath))
    #expect(try refusal { try SQLiteLedger(home) }.code == .otherVersion)
    #expect(try refusal { try SQLiteLedger(reading: home) }.code == .otherVersion)
    #expect(try Data(contentsOf: URL(fileURLWithPath: home.ledgerPath)) == before)
  }

  @Test func aDatabaseOfSomethingElseIsRefusedAndStaysAsItIs() throws {
    let home = try home()
    defer { remove(home) }
    do {
      let connection = try Connection(home.ledgerPath)
      try connection.execute("CREATE TABLE songs (name TEXT); INSERT INTO songs VALUES ('x')")
    }
    let before = try Data(contentsOf: URL(fileURLWithPath: home.ledgerPath))
    #expect(try refusal { try SQLiteLedger(home) }.code == .damaged)
    #expect(try Data(contentsOf: URL(fileURLWithPath: home.ledgerPath)) == before)
  }

  @Test(arguments: [
    "this is no database, and it is longer than a header of SQLite, which has a hundred bytes in it, see?"
  ])
  func aFileOfSomethingElseIsRefusedAndStaysAsItIs(text: String) throws {
    let home = try home()
    defer { remove(home) }
    try Data(text.utf8).write(to: URL(fileURLWithPath: home.ledgerPath))
    #expect(try refusal { try SQLiteLedger(home) }.code == .damaged)
    #expect(try refusal { try SQLiteLedger(reading: home) }.code == .damaged)
    #expect(try Data(contentsOf: URL(fileURLWithPath: home.ledgerPath)) == Data(text.utf8))
  }

  @Test func aDamagedLedgerIsCalledThat() throws {
    let home = try home()
    defer { remove(home) }
    do {
      let ledger = try SQLiteLedger(home)
      var request = Exchange()
      request.number = 1
      request.commands = [.takeIn((0..<200).map { Desk.item("\($0)") })]
      _ = try ledger.exchange(request)
      try ledger.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }
    var bytes = try Data(contentsOf: URL(fileURLWithPath: home.ledgerPath))
    for index in 8192..<bytes.count where index % 4096 < 64 { bytes[index] = 0xA5 }
    try bytes.write(to: URL(fileURLWithPath: home.ledgerPath))
    #expect(throws: LedgerError.self) {
      let ledger = try SQLiteLedger(home)
      try ledger.attachments { _ in true }
    }
  }

  /// Another program may have written them.
  @Test(arguments: [
    "UPDATE ledger SET position = 9223372036854775807", "UPDATE ledger SET holder = 9223372036854775807",
  ])
  func aLedgerWhoseNumbersAreUsedUpIsRefused(change: String) throws {
    let desk = try Desk(inFolder: ())
    try desk.execute(change)
    #expect(throws: LedgerError.self) {
      try desk.reopen()
      try desk.takeIn(Desk.item("a"))
    }
  }

  @Test func aJobThatHasHadEveryAttemptThereIsIsRefused() throws {
    let desk = try Desk(inFolder: ())
    try desk.takeIn(Desk.item("a"))
    try desk.execute("UPDATE jobs SET attempts = 9223372036854775807")
    #expect(throws: LedgerError.self) { try desk.claimOne() }
  }

  @Test(arguments: [Int64.min, 0, Int64.max]) func aTimeBeyondAllOthersHarmsNothing(time: Int64) throws {
    let desk = try Desk(inFolder: ())
    try desk.takeIn(Desk.item("a"))
    let lease = try desk.claimOne()
    try desk.settle(lease, Desk.again(lease, after: 60_000))
    try desk.execute("UPDATE jobs SET due_at = \(time)")
    try desk.pause()
    let next = try #require(try desk.ledger.status().lanes.first?.nextDue)
    #expect(next == max(time, desk.clock.now) - desk.clock.now)
    #expect(try desk.state().nextDue == (time < desk.clock.now ? nil : next))
    try desk.execute("UPDATE ledger SET seen_at = \(time)")
    // Times beyond what the table holds are refused.
    do { try desk.reopen() } catch let error as LedgerError { #expect(error.code == .damaged) }
  }

  @Test func anEmptyFileBecomesALedger() throws {
    let home = try home()
    defer { remove(home) }
    try Data().write(to: URL(fileURLWithPath: home.ledgerPath))
    #expect(try SQLiteLedger(home).holder == 1)
    #expect(try SQLiteLedger(home).holder == 2)
  }

  @Test func readingAHomeWithoutALedgerSaysWhatToDo() throws {
    let home = try home()
    defer { remove(home) }
    let error = try refusal { try SQLiteLedger(reading: home) }
    #expect(error.description.contains("`sluice ingest` makes one"))
    #expect(!FileManager.default.fileExists(atPath: home.ledgerPath), "a reader makes no file")
  }

  @Test func aReaderCannotWrite() throws {
    let home = try home()
    defer { remove(home) }
    _ = try SQLiteLedger(home)
    let reader = try SQLiteLedger(reading: home)
    let error = try #require(throws: LedgerError.self) { _ = try reader.takeBackLost() }
    #expect(error.code == .unwritable)
  }

  @Test func oneCoordinatorHasAHome() throws {
    let home = try home()
    defer { remove(home) }
    #expect(!home.isInUse)
    do {
      let lock = try home.lock()
      #expect(home.isInUse)
      let error = try #require(throws: LedgerError.self) { _ = try home.lock() }
      #expect(error.code == .inUse && error.description.contains("(process \(getpid()))"))
      withExtendedLifetime(lock) {}
    }
    #expect(!home.isInUse)
    withExtendedLifetime(try home.lock()) {}
  }

  @Test func aHomesFoldersAreMadeAndMadeAgain() throws {
    let home = Home(NSTemporaryDirectory() + "sluice-home-" + UUID().uuidString + "/a//b")
    try home.create()
    try home.create()
    var isFolder: ObjCBool = false
    #expect(
      FileManager.default.fileExists(atPath: home.storePath, isDirectory: &isFolder) && isFolder.boolValue)
    #expect(throws: LedgerError.self) { try Home("/proc/nowhere").create() }
  }

  @Test func aReaderSeesWholeTransactionsWhileAnotherWrites() throws {
    let home = try home()
    defer { remove(home) }
    let writer = try SQLiteLedger(home)
    try writer.connection.execute("PRAGMA synchronous = OFF")
    let reader = try SQLiteLedger(reading: home)
    // One statement sees one snapshot, whatever is committed meanwhile.
    let check = try reader.connection.prepare(
      """
      SELECT (SELECT sum(attachments) FROM counts), (SELECT count(*) FROM attachments),
        (SELECT attachments FROM counts WHERE status = 'queued'), (SELECT count(*) FROM jobs)
      """)
    let writing = Writing(ledger: writer)
    let thread = try Platform.Thread(writing.run)
    defer { thread.join() }
    var seen: Set<Int64> = []
    while !writing.isDone.load(ordering: .sequentiallyConsistent) {
      try check.rows { row in
        #expect(row.integer(0) == row.integer(1) && row.integer(2) == row.integer(3))
        seen.insert(row.integer(1))
      }
      for status in try reader.status().attachments { #expect(status.count >= 0) }
      writing.readings.add(1, ordering: .sequentiallyConsistent)
    }
    #expect(seen.count >= 10, "it read while the other wrote")
  }

  /// Unchecked because the test's own thread does not use the ledger until this is done.
  private final class Writing: @unchecked Sendable {
    let ledger: SQLiteLedger
    let readings = Atomic(0)
    let isDone = Atomic(false)

    init(ledger: SQLiteLedger) { self.ledger = ledger }

    @Sendable func run() {
      defer { isDone.store(true, ordering: .sequentiallyConsistent) }
      do {
        for round in 0..<100 {
          var request = Exchange(number: Int64(round) * 2 + 1)
          request.commands = [.takeIn((0..<4).map { Desk.item("\(round)-\($0)") })]
          request.wanted = [Want(.attachments, 2)]
          let leases = try ledger.exchange(request).leases
          request = Exchange(number: Int64(round) * 2 + 2)
          request.settlements = leases.map { Settlement($0, Desk.completed($0)) }
          _ = try ledger.exchange(request)
          if round % 10 == 0 { waitForAReading() }
        }
      } catch {
        Issue.record("\(error)")
      }
    }

    /// The first of two readings may have begun before this call.
    private func waitForAReading() {
      let enough = readings.load(ordering: .sequentiallyConsistent) + 2
      for _ in 0..<20_000 where readings.load(ordering: .sequentiallyConsistent) < enough { usleep(100) }
    }
  }
}
