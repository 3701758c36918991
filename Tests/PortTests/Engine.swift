import Foundation
import LedgerPort
import LedgerSQLite
import ModelLedger
import Pipeline
import Platform
import Synchronization
import Testing

/// What implements the ledger's port. Each rule is tried on all.
enum Engine: String, CaseIterable, Sendable {
  /// What the port means.
  case model
  case sqlite
}

/// A clock that stands still until it is moved.
final class StillClock: Sendable {
  private let time = Mutex<Int64>(1_700_000_000_000)

  var now: Int64 { time.withLock { $0 } }

  func pass(_ milliseconds: Int64) { time.withLock { $0 += milliseconds } }

  var clock: Clock {
    Clock(
      now: { self.now }, steady: { self.now }, monotonic: { UInt64(self.now) * 1_000_000 },
      sinceBoot: { self.now })
  }
}

/// Makes ids from a seed: two engines that draw as many have the same.
final class SeededIds: Sendable {
  private let random: Mutex<SplitMix>
  private let clock: StillClock

  init(_ seed: UInt64, _ clock: StillClock) {
    random = Mutex(SplitMix(state: seed))
    self.clock = clock
  }

  func generator() -> UUIDv7Generator {
    UUIDv7Generator(clock: clock.clock) { buffer in
      self.random.withLock { random in
        for index in buffer.indices { buffer[index] = UInt8.random(in: .min ... .max, using: &random) }
      }
    }
  }
}

/// A new ledger of an engine, with the one coordinator that has it, and short methods for tests.
final class Bench {
  /// How long a coordinator of the model does nothing until it is taken for lost.
  static let patience: Int64 = 15_000

  /// In memory where there is such a folder: no test here takes the power away.
  private static let folder =
    FileManager.default.isWritableFile(atPath: "/dev/shm") ? "/dev/shm/" : NSTemporaryDirectory()

  let time: StillClock
  private let ids: SeededIds
  let model: ModelLedger?
  /// Of SQLite.
  private let path: String
  private(set) var writer: any LedgerWriter
  private(set) var reader: any LedgerQueries
  /// Of the last exchange.
  var number: Int64 = 0

  init(_ engine: Engine, seed: UInt64 = 1, time: StillClock = StillClock()) throws {
    let ids = SeededIds(seed, time)
    (self.time, self.ids) = (time, ids)
    path = Self.folder + "sluice-port-" + UUID().uuidString
    switch engine {
    case .model:
      let model = ModelLedger(patience: Self.patience, clock: { time.now }, ids: { ids.generator() })
      self.model = model
      (writer, reader) = (try model.join(), model.reader())
    case .sqlite:
      model = nil
      (writer, reader) = try Self.open(path, time, ids)
    }
  }

  private static func open(
    _ path: String, _ time: StillClock, _ ids: SeededIds
  ) throws -> (any LedgerWriter, any LedgerQueries) {
    let ledger = try SQLiteLedger(path: path, clock: time.clock, ids: ids.generator())
    ledger.sealer = PlainSealer()
    return (ledger, ledger)
  }

  deinit {
    for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
  }

  /// Another coordinator joins, for which the one before is lost unless it has left. Returns that one.
  @discardableResult
  func succeed() throws -> any LedgerWriter {
    let before = writer
    time.pass(Self.patience + 1)
    if let model {
      writer = try model.join()
    } else {
      (writer, reader) = try Self.open(path, time, ids)
    }
    number = 0
    return before
  }

  // MARK: Doing

  @discardableResult
  func exchange(_ fill: (inout Exchange) -> Void) throws -> ExchangeReply {
    var exchange = Exchange(number: number + 1)
    fill(&exchange)
    let reply = try writer.exchange(exchange)
    if exchange.takesNumber { number += 1 }
    return reply
  }

  @discardableResult
  func command(_ commands: Command...) throws -> [CommandResult] {
    try exchange { $0.commands = commands }.results
  }

  func takeIn(_ items: IntakeItem...) throws {
    let results = try command(.takeIn(items))
    try #require(Sample.counted(results) == [.takenIn(Sample.report(added: items.count))])
  }

  func claim(_ count: Int, _ lane: LaneName = .attachments) throws -> [Lease] {
    try exchange { $0.wanted = [Want(lane, count)] }.leases
  }

  func claimOne(_ lane: LaneName = .attachments) throws -> Lease {
    try #require(try claim(1, lane).first)
  }

  /// The state of a lane.
  func state(_ lane: LaneName = .attachments, countsWaiting: Int = 0) throws -> LaneState {
    try #require(try exchange { $0.wanted = [Want(lane, 0, countsWaiting: countsWaiting)] }.lanes.first)
  }

  @discardableResult
  func settle(_ lease: Lease, _ ending: Settlement.Ending) throws -> SettlementOutcome {
    try #require(try exchange { $0.settlements = [Settlement(lease, ending)] }.settled.first)
  }

  /// Takes in a file, and ends it.
  @discardableResult
  func end(_ name: String, _ change: (inout EndedAttachment) -> Void = { _ in }) throws -> Lease {
    try takeIn(Sample.item(name))
    let lease = try claimOne()
    try #require(try settle(lease, Sample.ended(lease, change)) == .counted)
    return lease
  }

  func attachment(_ name: String) throws -> AttachmentRecord {
    let all = try reader.attachments(AttachmentFilter(), after: nil, limit: 100).rows
    return try #require(all.first { $0.origin.fileName == name })
  }

  func count(_ status: Status) throws -> Int64 {
    try #require(try reader.status().attachments.first { $0.status == status }).count
  }

  /// What has changed since a position.
  func changes(since position: Position) throws -> [Change] {
    try #require(try reader.changes(since: position, limit: 1000)).changes
  }
}

/// Expects an error of a code.
func expectError(
  _ code: LedgerError.Code, at location: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) {
  #expect(throws: LedgerError.self, sourceLocation: location) {
    do {
      try body()
    } catch let error as LedgerError where error.code != code {
      Issue.record("\(error.code) is thrown: \(error)", sourceLocation: location)
      throw error
    }
  }
}
