import Foundation
import Pipeline
import SQLite
import Testing

@testable import LedgerPort
@testable import LedgerRules
@testable import LedgerSQLite

/// No byte of what a person deleted is left in the files.
struct ErasureTests {
  private let desk: Desk

  init() throws { desk = try Desk(inFolder: ()) }

  /// Texts that are nowhere else; `suffix` tells attachments apart.
  private static let subjects = [
    "file", "conversation", "message", "sender", "participant", "text", "reference", "metadata", "reason",
    "event", "path",
    "type", "url", "recipient", "step",
  ]

  private static func canary(_ subject: String, _ suffix: String) -> String {
    "canary-\(subject)-of-\(suffix)-here"
  }

  private static func item(_ suffix: String) -> IntakeItem {
    var item = IntakeItem(
      conversationId: canary("conversation", suffix), messageId: canary("message", suffix),
      senderId: canary("sender", suffix), participants: [canary("participant", suffix)],
      fileName: canary("file", suffix), source: Array("/\(canary("path", suffix))".utf8), sourceSize: 5,
      sourceModified: 7, origin: "list:1")
    (item.text, item.reference) = (canary("text", suffix), canary("reference", suffix))
    return item
  }

  /// Takes attachments in, some of which end with all that there can be.
  private func fill(_ suffixes: [String]) throws {
    try desk.takeIn(suffixes.map(Self.item))
    for lease in try desk.claim(suffixes.count) {
      let suffix = String(Desk.name(lease).dropFirst("canary-file-of-".count).dropLast("-here".count))
      func canary(_ subject: String) -> String { Self.canary(subject, suffix) }
      try desk.settle(
        lease,
        Desk.completed(lease) {
          $0.outcome = AttachmentOutcome(
            .rejected, reason: Reason(stage: "pdf", code: "bad", message: canary("reason")),
            mediaType: canary("type"), sizeBytes: 5, sha256: [UInt8](repeating: 9, count: 32),
            metadata: #"{"k":"\#(canary("metadata"))"}"#, url: canary("url"))
          $0.steps = [
            Step(stage: "pdf", verdict: "reject", code: "bad", message: canary("step"), microseconds: 1)
          ]
          $0.events = [
            OutgoingEvent(
              type: "rejected", data: #"{"k":"\#(canary("event"))"}"#, channels: ["events"],
              recipients: [canary("recipient")])
          ]
        })
    }
  }

  /// The canaries of an attachment that are in the ledger's files.
  private func left(of suffix: String) throws -> [String] {
    let path = try desk.folder.ledgerPath
    let files = try ["", "-wal", "-shm"].filter { FileManager.default.fileExists(atPath: path + $0) }
      .map { try Data(contentsOf: URL(fileURLWithPath: path + $0)) }
    #expect(!files.isEmpty)
    return Self.subjects.filter { subject in
      let canary = Data(Self.canary(subject, suffix).utf8)
      return files.contains { $0.range(of: canary) != nil }
    }
  }

  private func id(_ suffix: String) throws -> String {
    var filter = AttachmentFilter()
    filter.fileName = Self.canary("file", suffix)
    return try #require(try desk.ledger.matches(filter, after: nil, limit: 1).rows.first).id
  }

  /// All but the one whose rows are deleted, with enough neighbours that pages split.
  private func deleteOne() throws {
    try fill((0..<40).map { "n\($0)" } + ["victim"] + (40..<80).map { "n\($0)" })
    #expect(try left(of: "victim").count == Self.subjects.count, "each canary can be found")
    let id = try id("victim")
    #expect(try desk.command(.delete(id)) == [.done(hasChanged: true)])
    // The store has deleted the object.
    var exchange = Exchange()
    exchange.deletedObjects = [Self.canary("url", "victim")]
    try desk.send(exchange)
    #expect(try desk.number("SELECT residue FROM ledger") == 1)
  }

  private func expectErased() throws {
    #expect(try left(of: "victim") == [])
    for number in 0..<80 {
      #expect(try left(of: "n\(number)").count == Self.subjects.count, "neighbour \(number) is whole")
    }
  }

  @Test func atRestNoByteIsLeft() throws {
    try deleteOne()
    desk.ledger.rest(isIdle: false)
    #expect(try !left(of: "victim").isEmpty, "somebody waits: it is not the time")
    desk.ledger.rest(isIdle: true)
    try expectErased()
    #expect(try desk.number("SELECT residue FROM ledger") == 0)
    #expect(try desk.findings() == [])
    #expect(try desk.ledger.tombstoneCount() == 1)
  }

  @Test func whatIsErasedBeforeTheObjectIsGoneIsErasedAgain() throws {
    try fill(["victim", "n0"])
    let id = try id("victim")
    #expect(try desk.command(.delete(id)) == [.done(hasChanged: true)])
    desk.ledger.rest(isIdle: true)
    #expect(try left(of: "victim") == ["url"], "its path is needed still")
    desk.ledger.nextErasure = 0
    var exchange = Exchange()
    exchange.deletedObjects = [Self.canary("url", "victim")]
    try desk.send(exchange)
    desk.ledger.rest(isIdle: true)
    #expect(try left(of: "victim") == [])
  }

  @Test func whenACoordinatorLeavesNoByteIsLeft() throws {
    try deleteOne()
    try desk.ledger.leave()
    try expectErased()
  }

  @Test func aReaderInTheWayDefersIt() throws {
    try deleteOne()
    let reader = try SQLiteLedger(reading: try desk.folder)
    try reader.snapshot {
      _ = try reader.status()
      desk.ledger.rest(isIdle: true)
      #expect(try !left(of: "victim").isEmpty)
      #expect(desk.ledger.hasResidue)
    }
    desk.clock.set(by: 0)
    desk.ledger.nextErasure = 0
    desk.ledger.rest(isIdle: true)
    try expectErased()
    #expect(try desk.number("SELECT residue FROM ledger") == 0)
  }

  @Test func theNextCoordinatorDoesWhatOneThatWasKilledLeft() throws {
    try deleteOne()
    // Nothing was left nor erased.
    try desk.reopen()
    #expect(desk.ledger.hasResidue)
    desk.ledger.rest(isIdle: true)
    try expectErased()
    #expect(try desk.number("SELECT residue FROM ledger") == 0)
  }

  @Test func takingTheSameInAgainBringsNothingBack() throws {
    try deleteOne()
    desk.ledger.rest(isIdle: true)
    let report = try desk.takeIn(Self.item("victim"))
    #expect(report.knownDeleted == 1 && report.added == 0)
    #expect(try left(of: "victim") == [])
  }
}
