import CPlatform
import CWorker
import LedgerPort
import Pipeline
import Platform
import Wire
import Workers

/// The worker of the source: many transfers at once, answered in any order.
///
/// It decides nothing about transfers: what it heard of them is returned as ``Outcome``.
final class TransferWorker {
  enum Outcome {
    case news(Flight, TransferNews.Kind)
    case answered(Flight, StageResult, [Metadatum])
    /// The worker ended with it in hand. The culprit is what it ended on.
    case died(Flight, WorkerDeath, isCulprit: Bool)
  }

  /// The flights that left the queue without being handed over.
  struct NotGiven {
    /// Their work is longer than a message to a worker may be.
    var tooLong: [Flight] = []
    /// They gave up their parts to make room.
    var givingWay: [Flight] = []
    /// It does not fit on the disk, even alone.
    var noRoom: (flight: Flight, why: String)?
  }

  let definition: DownloadsDefinition
  private let sandbox: SandboxPolicy
  let environment: SchedulerEnvironment
  private var process: (any Worker)?
  /// Names the worker; `nil`: there is none.
  private(set) var slot: UInt32?
  private var isReady = false
  private var isEnding = false
  /// Why it was killed, if it was.
  private var verdict: WorkerDeath.Cause?
  /// When it was started, in nanoseconds.
  private var startedAt: UInt64 = 0
  private var failedStarts = 0
  /// When the source was last told to end a transfer, in nanoseconds.
  private var stopAskedAt: UInt64 = 0
  /// Opened, and not handed over yet.
  private(set) var queue: [Flight] = []
  /// By serial.
  private(set) var underway: [UInt64: Flight] = [:]
  /// The same in the order in which they were begun, where something follows from the order.
  var inOrder: [Flight] { underway.values.sorted { $0.serial < $1.serial } }
  /// How many were handed over so far.
  private(set) var begun = 0
  /// Those that stand still at their connections.
  private var held: Set<UInt64> = []
  var throughput = Throughput()
  /// In hand of a worker that ended, and it was not to be told which of them did it. They begin one after the other.
  private var suspects: Set<UInt64> = []
  /// The suspect that has begun last, and until when nothing begins beside it, in nanoseconds.
  private var probation: (serial: UInt64, until: UInt64)?
  private static let probationLength: UInt64 = 5_000_000_000

  /// When the disk was first too full for each waiting flight, in nanoseconds; `nil`: a flight fits.
  private var roomLackedSince: UInt64?
  /// Nanoseconds before the lane pauses for that. The kernel frees a deleted file when the last process closes it.
  private static let roomPatience: UInt64 = 1_000_000_000

  private static let startLimit = 3
  /// Nanoseconds for the start, and for one turn of the source, which is to take a second.
  private static let startTimeout: UInt64 = 30_000_000_000
  private static let turnTimeout: UInt64 = 30_000_000_000
  /// Nanoseconds that it has to end a transfer.
  private static let stopTimeout: UInt64 = 5_000_000_000
  private static let urgent = TransferPriority.urgent

  /// Whether a command asks for a link before all others.
  static func isUrgent(_ command: Command) -> Bool {
    switch command {
    case .takeIn(let items): items.contains { $0.url != nil && $0.priority >= urgent }
    case .attachment(let command):
      if case .prioritize(let priority) = command.action { priority >= urgent } else { false }
    case .lane, .delivery, .refresh, .token, .upload, .record, .conversation, .user: false
    }
  }

  init(_ definition: DownloadsDefinition, _ sandbox: SandboxPolicy, _ environment: SchedulerEnvironment) {
    self.definition = definition
    self.sandbox = sandbox
    self.environment = environment
  }

  var isIdle: Bool { queue.isEmpty && underway.isEmpty }

  func add(_ flight: Flight) { queue.append(flight) }

  /// Takes a flight out before it was handed over. False: it was, or is not here.
  func removeQueued(_ flight: Flight) -> Bool {
    guard let place = queue.firstIndex(where: { $0 === flight }) else { return false }
    queue.remove(at: place)
    return true
  }

  func removeAllQueued() -> [Flight] {
    defer { queue.removeAll() }
    return queue
  }

  func stop(_ flight: Flight) {
    guard underway[flight.serial] != nil, !flight.fetch.isStopAsked else { return }
    flight.fetch.isStopAsked = true
    stopAskedAt = environment.clock.monotonic()
    _ = process?.give(TransferOrder(serial: flight.serial, .stop))
  }

  // MARK: Giving work

  /// Hands over what waits; starts the worker where there is none.
  ///
  /// - Parameters:
  ///   - slot: for a worker that is to be started.
  ///   - inHand: the number of leased transfers, opened or not.
  ///   - isRoomComing: the disk will have more room soon.
  ///   - work: what the worker is told of a flight.
  func dispatch(
    slot next: () -> UInt32, inHand: Int, isRoomComing: @autoclosure () -> Bool,
    _ work: (Flight) -> TransferWork
  ) throws(SchedulerError) -> NotGiven {
    var rest = NotGiven()
    if queue.isEmpty { return rest }
    guard let process else {
      try start(next())
      return rest
    }
    guard isReady, !isEnding else { return rest }
    while let place = nextPlace() {
      var flight = queue[place]
      if suspectAtWork != nil && flight.lease.priority < Self.urgent { break }
      if let why = lackOfRoom(for: flight) {
        // Transfers under way may leave room.
        if !underway.isEmpty { break }
        if let other = nextThatFits() {
          flight = other
        } else {
          guard isTimeToMakeRoom(inHand: inHand, isRoomComing()) else { break }
          guard let made = makeRoom() else {
            _ = removeQueued(flight)
            rest.noRoom = (flight, why)
            return rest
          }
          rest.givingWay = made.givingWay
          flight = made.room
        }
      }
      _ = removeQueued(flight)
      switch process.give(work(flight), descriptor: flight.content) {
      case .given:
        underway[flight.serial] = flight
        roomLackedSince = nil
        begun += 1
        flight.fetch.heardAt = environment.clock.monotonic()
        flight.fetch.received = flight.fetch.progress.bytes
        flight.fetch.pace = (flight.fetch.heardAt, flight.fetch.received)
        if suspects.remove(flight.serial) != nil {
          probation = (flight.serial, flight.fetch.heardAt + Self.probationLength)
        }
      case .full, .gone:
        // It reads what it was told before, or its end is reported.
        queue.insert(flight, at: 0)
        return rest
      case .tooLong: rest.tooLong.append(flight)
      case .failed(let error): throw SchedulerError(error)
      }
      holdOthers()
    }
    return rest
  }

  /// The suspect beside which nothing begins now.
  private var suspectAtWork: Flight? {
    guard let probation, environment.clock.monotonic() < probation.until else { return nil }
    return underway[probation.serial]
  }

  /// Where in the queue the next one is; `nil`: each waits for a connection.
  private func nextPlace() -> Int? { turn.next(of: queue.map(entry)) }

  private var turn: TransferTurn {
    TransferTurn(
      connections: definition.connections, perHost: definition.perHost, urgent: Self.urgent,
      underway: underway.values.lazy.map(entry))
  }

  /// The first in turn that fits on the disk; `nil`: none does.
  private func nextThatFits() -> Flight? {
    let fitting = queue.filter { lackOfRoom(for: $0) == nil }
    return turn.next(of: fitting.map(entry)).map { fitting[$0] }
  }

  /// Whether the disk has been too full for a second, without files that will soon be deleted.
  private func isTimeToMakeRoom(inHand: Int, _ isRoomComing: Bool) -> Bool {
    // A part can give way only in the queue.
    guard queue.count >= inHand, !isRoomComing else {
      roomLackedSince = nil
      return false
    }
    let now = environment.clock.monotonic()
    let since = roomLackedSince ?? now
    roomLackedSince = since
    if now - min(since, now) < Self.roomPatience { return false }
    roomLackedSince = nil
    return true
  }

  private func entry(_ flight: Flight) -> TransferTurn.Entry {
    TransferTurn.Entry(
      priority: flight.lease.priority, user: flight.transfer?.link.scope, host: flight.host,
      serial: flight.serial, crawls: crawls(flight))
  }

  /// What shows that a transfer does not crawl: so many bytes within so many nanoseconds, 8 KiB a second.
  private static let leastPace: (bytes: Int64, time: UInt64) = (120 << 10, 15_000_000_000)

  private func crawls(_ flight: Flight) -> Bool {
    underway[flight.serial] != nil && !held.contains(flight.serial)
      && environment.clock.monotonic() > flight.fetch.pace.since + Self.leastPace.time
  }

  /// The hosts whose content crawls, and how many transfers do.
  var crawling: (hosts: Set<Int64>, count: Int) {
    let flights = underway.values.filter(crawls)
    return (Set(flights.map(\.host)), min(flights.count, definition.connections))
  }

  private func start(_ slot: UInt32) throws(SchedulerError) {
    let setup = Setup(
      stages: [definition.stage], sandbox: sandbox, capability: .network, output: definition.maxSize)
    if let excess = setup.excess { throw SchedulerError(.configuration, excess) }
    do throws(SystemError) {
      process = try environment.startWorker(slot, setup, nil)
    } catch {
      throw SchedulerError(error)
    }
    (self.slot, isReady, isEnding, verdict) = (slot, false, false, nil)
    startedAt = environment.clock.monotonic()
  }

  /// While something urgent is under way, all else stands still; but not for what crawls, which has no use for the line.
  func holdOthers() {
    let isUrgent = underway.values.contains { $0.lease.priority >= Self.urgent && !crawls($0) }
    for flight in inOrder {
      let serial = flight.serial
      let isHeld = isUrgent && flight.lease.priority < Self.urgent
      if isHeld == held.contains(serial) { continue }
      if isHeld { held.insert(serial) } else { held.remove(serial) }
      flight.fetch.heardAt = environment.clock.monotonic()
      flight.fetch.pace = (flight.fetch.heardAt, flight.fetch.received)
      _ = process?.give(TransferOrder(serial: serial, isHeld ? .hold : .goOn))
    }
  }

  func isHeld(_ flight: Flight) -> Bool { held.contains(flight.serial) }

  // MARK: What is heard

  func take(_ news: WorkerNews) throws(SchedulerError) -> [Outcome] {
    switch news {
    case .said(let message): return try take(message)
    case .writable: return []
    case .flooded: condemn(.flooded)
    case .closed: isEnding = true
    case .ended(let cause): return try bury(cause)
    }
    return []
  }

  private func take(_ message: WorkerMessage) throws(SchedulerError) -> [Outcome] {
    if verdict != nil { return [] }
    switch message {
    case .ready:
      (isReady, failedStarts) = (true, 0)
    case .refusal(let refusal):
      throw SchedulerError(.configuration, "source '\(definition.stage.id)': \(refusal.message)")
    case .news(let news):
      guard let flight = underway[news.serial] else { return invalid("news of a transfer it was not given") }
      if case .checkpoint(let progress) = news.kind, progress.bytes > definition.maxSize {
        return invalid("more bytes than it may write")
      }
      flight.fetch.heardAt = environment.clock.monotonic()
      throughput.add(max(news.kind.bytes - flight.fetch.received, 0), at: flight.fetch.heardAt)
      flight.fetch.received = news.kind.bytes
      if abs(flight.fetch.received - flight.fetch.pace.bytes) >= Self.leastPace.bytes {
        flight.fetch.pace = (flight.fetch.heardAt, flight.fetch.received)
      }
      return [.news(flight, news.kind)]
    case .result(let result):
      guard let flight = underway.removeValue(forKey: result.serial), let said = result.report.results.first
      else {
        return invalid("a result of a transfer it was not given")
      }
      held.remove(result.serial)
      suspects.remove(result.serial)
      holdOthers()
      process?.resetFlood()
      return [.answered(flight, said, result.report.metadata)]
    case .invalid(let text): return invalid(text)
    case .description, .trace, .fault: return invalid("an answer to no question")
    }
    return []
  }

  private func invalid(_ text: String) -> [Outcome] {
    condemn(.invalidReply(text))
    return []
  }

  /// Ends a worker that does not start, or whose source does not come back.
  func checkLimits() {
    guard let process, verdict == nil else { return }
    holdOthers()
    let now = environment.clock.monotonic()
    if !isReady {
      if now > startedAt + Self.startTimeout {
        condemn(.timedOut(afterMilliseconds: Int64(Self.startTimeout / 1_000_000)))
      }
    } else if !underway.isEmpty {
      let since = process.status.since
      if since > 0, now > since, now - since > Self.turnTimeout {
        condemn(.timedOut(afterMilliseconds: Int64(Self.turnTimeout / 1_000_000)))
      } else if let still = inOrder.first(where: { isStill($0, now) }) {
        still.fetch.isStalled = true
        stop(still)
      } else if now > stopAskedAt + Self.stopTimeout, underway.values.contains(where: \.fetch.isStopAsked) {
        condemn(.timedOut(afterMilliseconds: Int64(Self.stopTimeout / 1_000_000)))
      } else if let count = process.excessThreads {
        condemn(.tooManyThreads(count))
      }
    }
  }

  /// Nothing was heard of it for too long. One that stands still for another is not to say anything.
  private func isStill(_ flight: Flight, _ now: UInt64) -> Bool {
    let limit = UInt64(definition.stage.timeout) * 1_000_000
    return !flight.fetch.isStopAsked && !held.contains(flight.serial) && now > flight.fetch.heardAt
      && now - flight.fetch.heardAt > limit
  }

  private func condemn(_ cause: WorkerDeath.Cause) {
    if verdict != nil { return }
    (verdict, isEnding) = (cause, true)
    process?.kill()
  }

  private func bury(_ cause: WorkerDeath.Cause) throws(SchedulerError) -> [Outcome] {
    guard let process else { return [] }
    let death = WorkerDeath(verdict ?? cause, lastWords: process.lastWords)
    let serial = process.status.serial
    let lost = inOrder
    if !isReady {
      failedStarts += 1
      if failedStarts >= Self.startLimit {
        throw SchedulerError(
          .configuration,
          "the worker for source \(definition.stage.id) does not start: \(death.message(in: definition.stage))"
        )
      }
    }
    let suspect = suspectAtWork
    (self.process, slot, isReady, isEnding) = (nil, nil, false, false)
    underway.removeAll()
    held.removeAll()
    let culprit = lost.first { $0.serial == serial } ?? suspect ?? (lost.count == 1 ? lost[0] : nil)
    // None can be named: they begin one after the other, so that the next time one can.
    if culprit == nil { suspects.formUnion(lost.map(\.serial)) }
    if let culprit { suspects.remove(culprit.serial) }
    return lost.map { flight in
      let isCulprit = flight === culprit
      if !isCulprit { queue.append(flight) }
      return .died(flight, death, isCulprit: isCulprit)
    }
  }
}

extension TransferNews.Kind {
  /// In the file.
  fileprivate var bytes: Int64 {
    switch self {
    case .checkpoint(let progress): progress.bytes
    case .received(let bytes): bytes
    }
  }
}

extension Flight {
  /// That of its link; 0: it has none.
  var host: Int64 { transfer?.host ?? 0 }
}
