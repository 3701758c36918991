import LedgerPort
import Pipeline
import Platform
import Scheduler
import Synchronization

/// Puts checks on record. Those that wait go to the ledger together, so that they share a sync. All threads use it.
final class CheckRecords: Sendable {
  private struct Waiting: Sendable {
    var command: Command
    /// Whether it is on record.
    var then: @Sendable (Bool) -> Void
  }

  private struct State {
    var lastTicket: UInt64 = firstTicket
    /// On their way to the ledger, by ticket.
    var underway: [UInt64: [Waiting]] = [:]
  }

  private let waiting = Mailbox<Waiting>(capacity: 4096)
  private let state = Mutex(State())
  private let intake: Intake
  private let ids = Mutex(UUIDv7Generator())
  private let thread = Mutex<Thread?>(nil)

  private static let unexplained = Reason(stage: "check", code: "unexplained", message: "no reason given")

  /// Those of the front door are above, and those of other clients of the intake below.
  private static let firstTicket: UInt64 = 1 << 62

  init(intake: Intake) throws(SystemError) {
    self.intake = intake
    let started = try Thread { [self] in
      while case let all = waiting.receive(), !all.isEmpty { send(all) }
    }
    thread.withLock { $0 = started }
  }

  /// - Parameter then: called once it is on record, or cannot be: the disk is full, or the program ends.
  func add(_ result: CheckResult, door: String, then: @escaping @Sendable (Bool) -> Void) {
    var outcome = AttachmentOutcome(
      result.outcome, reason: result.outcome == .completed ? nil : result.reason ?? Self.unexplained,
      mediaType: result.mediaType,
      sizeBytes: result.sizeBytes, metadata: JSONWriter.object(of: result.metadata))
    outcome.sha256 = result.sha256.flatMap { Hexadecimal.bytes($0) }
    // Each is its own, at a path where nothing can be.
    let source = RecordedCheck.place + ids.withLock { $0.next() }
    let item = IntakeItem(
      conversationId: "clamd", senderId: door, fileName: "content", source: Array(source.utf8))
    let one = Waiting(command: .record(RecordedCheck(item, outcome, steps: result.steps)), then: then)
    if !waiting.send(one) { then(false) }
  }

  private func send(_ all: [Waiting]) {
    let ticket = state.withLock { state in
      state.lastTicket += 1
      state.underway[state.lastTicket] = all
      return state.lastTicket
    }
    if !intake.send(all.map(\.command), ticket: ticket) { answer(ticket, isRecorded: false) }
  }

  /// Commands are on record, or are not: there is no room.
  func answer(_ ticket: UInt64, isRecorded: Bool) {
    for one in state.withLock({ $0.underway.removeValue(forKey: ticket) }) ?? [] { one.then(isRecorded) }
  }

  /// Called once nothing more is added. What was added is written first.
  func stop() {
    waiting.close()
    thread.withLock { $0 }?.join()
    let left = state.withLock { state in
      defer { state.underway = [:] }
      return state.underway.values.flatMap(\.self)
    }
    for one in left { one.then(false) }
  }
}
