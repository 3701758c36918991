import Foundation
import Pipeline
import Platform
import SQLite
import Testing

@testable import Ledger

/// A ledger with short methods for tests.
final class Desk {
  private(set) var ledger: Ledger
  private let home: Home?

  /// A ledger in memory.
  init() throws {
    ledger = try Ledger(path: ":memory:")
    home = nil
  }

  /// A ledger in a temporary folder, deleted when the test ends.
  init(inFolder: Void) throws {
    let home = Home(NSTemporaryDirectory() + "sluice-ledger-" + UUID().uuidString)
    try home.create()
    self.home = home
    ledger = try Ledger(home)
  }

  deinit {
    if let home { try? FileManager.default.removeItem(atPath: home.path) }
  }

  var folder: Home { get throws { try #require(home) } }

  /// The coordinator ends with all its leases, and another one opens the ledger.
  ///
  /// - Parameter machine: whether the kernel ended too.
  func reopen(machine: Bool = false) throws {
    let home = try #require(home)
    if machine { try execute("UPDATE ledger SET machine = 'another run'") }
    ledger = try Ledger(home)
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

  @discardableResult
  func takeIn(_ items: IntakeItem...) throws -> IntakeReport {
    var request = ExchangeRequest()
    request.intake = items
    return try ledger.exchange(request).intake
  }

  func claim(_ count: Int, lane: String = Ledger.attachmentLane) throws -> [Lease] {
    var request = ExchangeRequest()
    request.wanted = [(lane, count)]
    return try ledger.exchange(request).leases
  }

  func claimOne(lane: String = Ledger.attachmentLane) throws -> Lease {
    try #require(try claim(1, lane: lane).first)
  }

  @discardableResult
  func settle(_ lease: Lease, _ ending: Settlement.Ending) throws -> Bool {
    var request = ExchangeRequest()
    request.settlements = [Settlement(lease, ending)]
    let accepted = try ledger.exchange(request).accepted
    try #require(accepted.count == 1)
    return accepted[0]
  }

  func pause(_ lane: String, _ code: String = "disk-full", _ reason: String = "no room") throws {
    var request = ExchangeRequest()
    request.pauses = [(lane, code, reason)]
    _ = try ledger.exchange(request)
  }

  static func key(_ lease: Lease) -> Int64 {
    switch lease.work {
    case .attachment(let attachment): attachment.key
    case .delivery(let delivery): delivery.key
    }
  }

  static func name(_ lease: Lease) -> String {
    if case .attachment(let attachment) = lease.work { attachment.origin.fileName } else { "" }
  }

  static let step = Step(stage: "mime", verdict: "pass", code: nil, message: nil, microseconds: 12)

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

  static func again(
    _ lease: Lease, dueAt: Int64 = 0, crashed: Bool = false, steps: [Step] = [step]
  ) -> Settlement.Ending {
    .again(key: key(lease), dueAt: dueAt, crashed: crashed, attempt: lease.attempt, steps: steps)
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

  /// Every row of every table, to compare before and after.
  func everything() throws -> [String] {
    var rows: [String] = []
    for table in [
      "ledger", "counts", "lanes", "messages", "attachments", "events", "deliveries", "jobs", "attempts",
    ] {
      var columns: [String] = []
      try ledger.connection.prepare("SELECT name FROM pragma_table_info('\(table)')").rows {
        columns.append("quote(\($0.text(0)))")
      }
      let all = columns.joined(separator: "||','||")
      try ledger.connection.prepare("SELECT \(all) FROM \(table)").rows {
        rows.append("\(table): \($0.text(0))")
      }
    }
    return rows
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
