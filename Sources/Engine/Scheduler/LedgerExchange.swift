import LedgerPort
import Pipeline

/// A lease that has ended, until that is on record. A class, since a copy of all it holds would cost more than the rest of an
/// exchange.
final class PendingSettlement {
  let flight: Flight
  let ending: Settlement.Ending
  /// What to tell once it counts.
  let event: SchedulerEvent?
  /// When the lease ended, in nanoseconds of the monotonic clock.
  let since: UInt64
  /// An attachment has ended.
  let isEnd: Bool
  /// It records events, so that deliveries are due.
  let emits: Bool
  /// The job was put off.
  let isPutOff: Bool

  init(flight: Flight, ending: Settlement.Ending, event: SchedulerEvent? = nil, since: UInt64) {
    self.flight = flight
    self.ending = ending
    self.event = event
    self.since = since
    switch ending {
    case .attachment(let ended): (isEnd, emits, isPutOff) = (true, !ended.events.isEmpty, false)
    case .again, .putOff, .deliveryAgain: (isEnd, emits, isPutOff) = (false, false, true)
    case .transferAgain, .transferRestarts: (isEnd, emits, isPutOff) = (false, false, true)
    case .expanded, .released, .delivered, .deadLetter, .fetched, .notFetched, .fetchAgain:
      (isEnd, emits, isPutOff) = (false, false, false)
    }
  }
}

/// Gathers what goes to the ledger, and keeps what was sent until the reply is here. There is one exchange at a time.
///
/// A value without a clock: the scheduler says what time it is.
struct LedgerExchange {
  /// What was sent, in the order of the request.
  struct Sent {
    var settlements: [PendingSettlement]
    var questions: [(serial: UInt64, question: ContentQuestion)]
    /// The commands of a client, which come first; and whose they are.
    var batch: (commands: [Command], ticket: UInt64)?
  }

  private let tuning: Tuning
  private let turns: TurnRule
  private var settlements: [PendingSettlement] = []
  private var commands: [Command] = []
  /// The last of each transfer that is not on record, by job.
  private var checkpoints: [JobKey: TransferCheckpoint] = [:]
  private var batches: [Intake.Batch] = []
  private var underway: Sent?
  /// What is under way. It is kept until it is answered, since it may have to be sent again.
  private var request = Exchange()
  /// The last that was answered.
  private var lastNumber: Int64 = 0
  /// Where the ledger did not say what became of the exchange: since when, how often in a row, and when to try again, in
  /// nanoseconds of the monotonic clock.
  private var trouble: (since: UInt64, times: Int, next: UInt64)?
  /// Whether its fate is not known.
  private var isIndeterminate = false
  /// The disk of the ledger is full.
  private(set) var isOutOfRoom = false

  init(_ tuning: Tuning, turns: TurnRule = .sender) { (self.tuning, self.turns) = (tuning, turns) }

  /// All that was settled is on record, and nothing is under way.
  var isSettled: Bool { underway == nil && settlements.isEmpty }
  var isUnderway: Bool { underway != nil }
  var hasBatch: Bool { !batches.isEmpty }
  /// Without room, what no client waits for does not hold up what one does.
  var takesBatches: Bool { isOutOfRoom ? batches.count < Self.mostBatches : batches.isEmpty }
  private static let mostBatches = 64

  /// Ends a lease, once the ledger has it.
  mutating func settle(_ settlement: PendingSettlement) { settlements.append(settlement) }

  /// A command of the scheduler's own.
  mutating func add(_ command: Command) { commands.append(command) }

  /// How far a transfer is.
  mutating func add(_ checkpoint: TransferCheckpoint) { checkpoints[checkpoint.job] = checkpoint }

  /// A pause of this lane is not on record yet.
  func isToPause(_ lane: LaneName) -> Bool {
    (commands + request.commands).contains { command in
      if case .lane(let one) = command, one.lane == lane, case .pause = one.action { true } else { false }
    }
  }

  /// Commands of a client: one batch at a time.
  mutating func takeIn(_ batch: Intake.Batch) { batches.append(batch) }

  /// Drops files that were found, which are found again. A client waits for what comes of its commands.
  mutating func dropFiles() { batches.removeAll { $0.ticket == 0 } }

  /// The next request, unless one is under way, or there is nothing to ask for.
  ///
  /// - Parameters:
  ///   - now: of the monotonic clock, in nanoseconds.
  ///   - inHand: leases that are not settled on record.
  ///   - isStopping: nothing is to wait for more.
  ///   - deleted: the paths of objects that are gone, to be asked for once.
  ///   - questions: what is asked about contents.
  ///   - wanted: which leases are wanted of each lane, with the settlements that go along.
  mutating func next(
    now: UInt64, inHand: Int, isStopping: Bool, deleted: () -> [String],
    questions: () -> [(serial: UInt64, question: ContentQuestion)],
    wanted: ([PendingSettlement]) -> [Want]
  ) -> LedgerRequest? {
    if underway != nil { return again(now) }
    request = Exchange(number: lastNumber + 1)
    request.turns = turns
    let gathered = gather(now, inHand: inHand, isStopping: isStopping)
    request.settlements = gathered.map { Settlement($0.flight.lease, $0.ending) }
    request.wanted = wanted(gathered)
    let batch = batches.isEmpty ? nil : batches.removeFirst()
    request.commands = (batch?.commands ?? []) + commands
    request.checkpoints = checkpoints.values.sorted { $0.job < $1.job }
    request.deletedObjects = deleted()
    let questions = questions()
    request.contents = questions.map(\.question)
    if request.isEmpty { return nil }
    underway = Sent(
      settlements: gathered, questions: questions, batch: batch.map { ($0.commands, $0.ticket) })
    commands.removeAll()
    checkpoints.removeAll()
    return .exchange(request)
  }

  /// What was sent, or the question what became of it, once it is time to try again.
  private mutating func again(_ now: UInt64) -> LedgerRequest? {
    guard let next = trouble?.next, next <= now else { return nil }
    trouble?.next = .max
    return isIndeterminate ? .fate(request) : .exchange(request)
  }

  /// Takes the settlements that are to go now. A transaction costs much the same for one as for many, so that they gather as
  /// long as workers have enough to do.
  private mutating func gather(_ now: UInt64, inHand: Int, isStopping: Bool) -> [PendingSettlement] {
    guard let first = settlements.first else { return [] }
    let isWorthwhile = settlements.count >= tuning.worthwhile || first.since + tuning.gathering <= now
    let isIdle = inHand - settlements.count < tuning.worthwhile
    if !isWorthwhile && !isIdle && !isStopping { return [] }
    defer { settlements.removeAll(keepingCapacity: true) }
    return settlements
  }

  /// The reply is here: what it answers. The next request may go.
  mutating func answered() -> Sent? {
    if request.takesNumber { lastNumber = request.number }
    (trouble, isIndeterminate, isOutOfRoom) = (nil, false, false)
    defer { underway = nil }
    return underway
  }

  // MARK: Trouble

  /// The first and the longest wait before another try, in nanoseconds.
  private static let waits: (first: UInt64, longest: UInt64) = (50_000_000, 1_000_000_000)

  /// The exchange was not done: it is to be sent again at once.
  mutating func notDone() {
    isIndeterminate = false
    trouble?.next = 0
  }

  /// The ledger failed. What is under way is kept.
  ///
  /// - Parameters:
  ///   - patience: how long to go on trying, in nanoseconds.
  ///   - waitsForRoom: whether a full disk is waited for.
  /// - Returns: whether it is tried again; and whether that is news.
  mutating func failed(
    _ error: LedgerError, now: UInt64, patience: UInt64, waitsForRoom: Bool = false
  ) -> (again: Bool, isNew: Bool) {
    isOutOfRoom = false
    switch error.code {
    case .unavailable: break
    // Nothing was written, as where the ledger is busy.
    case .full where waitsForRoom: isOutOfRoom = true
    case .indeterminate: isIndeterminate = true
    default: return (false, false)
    }
    let (since, times) = trouble.map { ($0.since, $0.times + 1) } ?? (now, 0)
    if now - since >= patience { return (false, false) }
    trouble = (since, times, now + min(Self.waits.first << UInt64(min(times, 10)), Self.waits.longest))
    return (true, times == 0)
  }

  /// Takes out what clients wait for, where there is no room for it: the rest is tried again.
  ///
  /// - Returns: the tickets of those that are to be told.
  mutating func takeOutBatches() -> [UInt64] {
    var tickets: [UInt64] = []
    // Files that were found are not found again: their batch has no ticket, and stays.
    if let batch = underway?.batch, batch.ticket != 0 {
      tickets.append(batch.ticket)
      request.commands.removeFirst(batch.commands.count)
      underway?.batch = nil
      if request.isEmpty {
        // There is nothing left to try.
        underway = nil
        (trouble, isOutOfRoom) = (nil, false)
      }
    }
    tickets += batches.map(\.ticket).filter { $0 != 0 }
    batches.removeAll { $0.ticket != 0 }
    return tickets
  }

  /// Has a batch that makes room go with what is tried again, at once. False: another goes with it already.
  mutating func addToMakeRoom(_ batch: Intake.Batch) -> Bool {
    guard underway != nil, underway?.batch == nil, trouble?.next != .max else { return false }
    underway?.batch = (batch.commands, batch.ticket)
    request.commands = batch.commands + request.commands
    trouble?.next = 0
    return true
  }

  /// When to try again, in nanoseconds of the monotonic clock; `nil`: there is no trouble.
  var nextTry: UInt64? { trouble?.next }
}

/// What is asked of the ledger's thread.
package enum LedgerRequest: Sendable {
  case exchange(Exchange)
  /// What became of an exchange whose answer was lost.
  case fate(Exchange)

  /// Asks a ledger. `nil`: the exchange was not done.
  package func ask(_ ledger: any LedgerWriter) -> Result<ExchangeReply?, LedgerError> {
    do throws(LedgerError) {
      switch self {
      case .exchange(let exchange): return .success(try ledger.exchange(exchange))
      case .fate(let exchange): return .success(try ledger.fate(of: exchange))
      }
    } catch {
      return .failure(error)
    }
  }
}
