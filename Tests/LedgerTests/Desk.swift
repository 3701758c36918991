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

/// A ledger with short methods for tests.
final class Desk {
  private(set) var ledger: SQLiteLedger
  /// The clock of every opening.
  let clock = TestClock()
  private let home: Home?
  /// The number of the last exchange of this opening.
  private(set) var number: Int64 = 0

  /// A ledger in memory.
  init() throws {
    ledger = try SQLiteLedger(path: ":memory:", clock: clock.value)
    home = nil
  }

  /// A ledger in a temporary folder, deleted when the test ends.
  init(inFolder: Void) throws {
    let home = Home(NSTemporaryDirectory() + "sluice-ledger-" + UUID().uuidString)
    try home.create()
    self.home = home
    ledger = try SQLiteLedger(path: home.ledgerPath, clock: clock.value)
  }

  deinit {
    if let home { try? FileManager.default.removeItem(atPath: home.path) }
  }

  var folder: Home { get throws { try #require(home) } }

  /// The coordinator ends with all its leases, and another one opens the ledger.
  func reopen() throws {
    ledger = try another()
    number = 0
  }

  /// Another coordinator opens the ledger, while this one does not know.
  func another() throws -> SQLiteLedger {
    try SQLiteLedger(path: try folder.ledgerPath, clock: clock.value)
  }

  // MARK: Doing

  static func item(
    _ name: String, message: String? = nil, sender: String = "ann", conversation: String = "c",
    priority: Int64 = 0
  ) -> IntakeItem {
    IntakeItem(
      conversationId: conversation, messageId: message, senderId: sender, participants: ["ann", "ben"],
      fileName: name, source: Array("/in/\(name)".utf8), sourceSize: 5, sourceModified: 7, priority: priority,
      origin: "list:1")
  }

  /// Sends an exchange with the next number.
  @discardableResult
  func send(_ exchange: Exchange) throws(LedgerError) -> ExchangeReply {
    var exchange = exchange
    exchange.number = number + 1
    let reply = try ledger.exchange(exchange)
    if exchange.takesNumber { number += 1 }
    return reply
  }

  @discardableResult
  func command(_ commands: Command...) throws(LedgerError) -> [CommandResult] {
    var exchange = Exchange()
    exchange.commands = commands
    return try send(exchange).results
  }

  @discardableResult
  func takeIn(_ items: IntakeItem...) throws -> IntakeReport { try takeIn(items) }

  @discardableResult
  func takeIn(_ items: [IntakeItem]) throws -> IntakeReport {
    guard case .takenIn(let report) = try command(.takeIn(items)).first else {
      throw LedgerError(.other, "the command is not answered")
    }
    return report
  }

  /// What became of commands, without the ids of files.
  static func counted(_ results: [CommandResult]) -> [CommandResult] {
    results.map { result in
      guard case .takenIn(var report) = result else { return result }
      report.outcomes = []
      return .takenIn(report)
    }
  }

  func claim(_ count: Int, lane: LaneName = .attachments) throws -> [Lease] {
    var exchange = Exchange()
    exchange.wanted = [Want(lane, count)]
    return try send(exchange).leases
  }

  func claimOne(lane: LaneName = .attachments) throws -> Lease {
    try #require(try claim(1, lane: lane).first)
  }

  /// How a lane stands.
  func state(of lane: LaneName = .attachments, countsWaiting: Int = 0) throws -> LaneState {
    var exchange = Exchange()
    exchange.wanted = [Want(lane, 0, countsWaiting: countsWaiting)]
    return try #require(try send(exchange).lanes.first)
  }

  @discardableResult
  func settle(_ lease: Lease, _ ending: Settlement.Ending) throws -> SettlementOutcome {
    var exchange = Exchange()
    exchange.settlements = [Settlement(lease, ending)]
    let settled = try send(exchange).settled
    try #require(settled.count == 1)
    return settled[0]
  }

  @discardableResult
  func pause(
    _ lane: LaneName = .attachments, _ cause: Pause.Cause = .fault, _ code: String = "disk-full",
    _ reason: String = "no room"
  ) throws -> CommandResult? {
    let pause = Pause(cause, code: code, reason: reason, by: "test")
    return try command(.lane(LaneCommand(lane, .pause(pause)))).first
  }

  @discardableResult
  func resume(_ lane: LaneName = .attachments, _ cause: Pause.Cause? = nil) throws -> CommandResult? {
    try command(.lane(LaneCommand(lane, .resume(cause)))).first
  }

  @discardableResult
  func retry(_ id: String) throws -> CommandResult? {
    try command(.retry(id)).first
  }

  /// Makes the row of a channel's lane.
  func use(_ channel: String) throws { _ = try claim(0, lane: .channel(channel)) }

  static func key(_ lease: Lease) -> Int64 {
    switch lease.work {
    case .attachment(let attachment): attachment.key
    case .delivery(let delivery): delivery.key
    case .transfer(let transfer): transfer.key
    }
  }

  /// The id of its attachment.
  static func id(_ lease: Lease) -> String {
    switch lease.work {
    case .attachment(let attachment): attachment.origin.id
    case .delivery(let delivery): delivery.attachmentId
    case .transfer: ""
    }
  }

  static func name(_ lease: Lease) -> String {
    if case .attachment(let attachment) = lease.work { attachment.origin.fileName } else { "" }
  }

  static let step = Step(stage: "mime", verdict: "pass", code: nil, message: nil, microseconds: 12)
  static let reason = Reason(stage: "size", code: "too-large", message: "5 bytes, and 4 are allowed")

  static func completed(_ lease: Lease, _ change: (inout EndedAttachment) -> Void = { _ in })
    -> Settlement.Ending
  {
    guard case .attachment(let attachment) = lease.work else { return .released }
    var ended = EndedAttachment(
      attachment,
      AttachmentOutcome(
        .completed, mediaType: "application/pdf", sizeBytes: 5, sha256: [UInt8](repeating: 9, count: 32),
        metadata: #"{"pdf.pages":2}"#, url: "documents/\(name(lease))"),
      attempt: lease.attempt, steps: [step], events: [])
    change(&ended)
    return .attachment(ended)
  }

  /// It ended with a reason. It has its object, unless that is changed.
  static func ended(
    _ lease: Lease, _ status: Status, _ change: (inout EndedAttachment) -> Void = { _ in }
  ) -> Settlement.Ending {
    completed(lease) {
      ($0.outcome.status, $0.outcome.reason) = (status, reason)
      change(&$0)
    }
  }

  static func again(
    _ lease: Lease, after: Int64 = 0, crashed: Bool = false, steps: [Step] = [step]
  ) -> Settlement.Ending {
    .again(key: key(lease), after: after, crashed: crashed, attempt: lease.attempt, steps: steps)
  }

  static func event(_ recipients: [String] = ["ann", "ben"], channels: [String] = ["events"]) -> OutgoingEvent
  {
    OutgoingEvent(type: "attachment.completed", data: "{}", channels: channels, recipients: recipients)
  }

  // MARK: Looking

  func execute(_ sql: String) throws { try ledger.connection.execute(sql) }

  func number(_ sql: String) throws -> Int64 {
    try #require(try ledger.connection.prepare(sql).first { $0.integer(0) })
  }

  /// Every row of every table but that of the coordinators, to compare before and after.
  func everything() throws -> [String] { try Self.rows(of: ledger.connection, besides: ["coordinators"]) }

  /// Every row of a database's tables.
  static func rows(of connection: Connection, besides left: [String] = []) throws -> [String] {
    var tables: [String] = []
    try connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").rows {
      tables.append($0.text(0))
    }
    var rows: [String] = []
    for table in tables where !left.contains(table) {
      var columns: [String] = []
      try connection.prepare("SELECT name FROM pragma_table_info('\(table)')").rows {
        columns.append("quote(\($0.text(0)))")
      }
      let all = columns.joined(separator: "||','||")
      try connection.prepare("SELECT \(all) FROM \(table)").rows { rows.append("\(table): \($0.text(0))") }
    }
    return rows
  }

  /// The findings of a check, without those of ids that tests made up.
  func findings() throws -> [String] {
    var findings: [String] = []
    try ledger.inspectFile { findings.append("\($0.place): \($0.message)") }
    try ledger.inspectRows { findings.append("\($0.place): \($0.message)") }
    return findings
  }

  func count(_ status: Status) throws -> Int64 {
    try number("SELECT attachments FROM counts WHERE status = '\(status.rawValue)'")
  }

  /// The stored counts equal the counted rows.
  func checkCounts() throws {
    for status in Status.allCases {
      let rows = try number("SELECT count(*) FROM attachments WHERE status = '\(status.rawValue)'")
      #expect(try count(status) == rows, "\(status)")
      if status.isFinal {
        let bytes = try number(
          "SELECT coalesce(sum(size_bytes), 0) FROM attachments WHERE status = '\(status.rawValue)'")
        #expect(try number("SELECT bytes FROM counts WHERE status = '\(status.rawValue)'") == bytes)
      }
    }
  }

  /// Asks for a content whose hash repeats a byte; `nil`: for one without a hash.
  static func question(
    _ byte: UInt8?, _ size: Int64, _ line: String? = nil, _ name: String = "a", _ declaredType: String? = nil
  ) -> ContentQuestion {
    ContentQuestion(
      sha256: byte.map { [UInt8](repeating: $0, count: 32) } ?? [], size: size, fingerprint: line,
      claims: .init(declaredType: declaredType, fileName: name))
  }
}

/// A clock that stands until a test moves it.
final class TestClock: Sendable {
  /// Milliseconds since the kernel started.
  private let passed = Atomic<Int64>(3_600_000)
  /// When it started, by the wall clock.
  private let start = Atomic<Int64>(1_700_000_000_000)

  var value: Clock {
    Clock(
      now: { self.now }, steady: { self.now }, monotonic: { UInt64(self.sinceBoot) * 1_000_000 },
      sinceBoot: { self.sinceBoot })
  }

  var now: Int64 { sinceBoot + start.load(ordering: .relaxed) }
  private var sinceBoot: Int64 { passed.load(ordering: .relaxed) }

  /// So many milliseconds pass.
  func pass(_ milliseconds: Int64) { passed.add(milliseconds, ordering: .relaxed) }

  /// Somebody sets the clock, forward or back. To be done between two openings: a process does not see it.
  func set(by milliseconds: Int64) { start.add(milliseconds, ordering: .relaxed) }

  /// The kernel ends, and another run of it begins, at the same time by the wall clock.
  func restart() {
    let lost = passed.exchange(1000, ordering: .relaxed)
    start.add(lost - 1000, ordering: .relaxed)
  }
}

extension Command {
  static func retry(_ id: String) -> Command { .attachment(AttachmentCommand(id, .retry)) }
  static func cancel(_ id: String, _ reason: String = "ann took it back") -> Command {
    .attachment(AttachmentCommand(id, .cancel(reason)))
  }
  static func prioritize(_ id: String, _ priority: Int64) -> Command {
    .attachment(AttachmentCommand(id, .prioritize(priority)))
  }
  static func delete(_ id: String, by person: String = "ann") -> Command {
    .attachment(AttachmentCommand(id, .delete(by: person)))
  }
}
