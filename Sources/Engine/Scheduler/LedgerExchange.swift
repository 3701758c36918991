import Ledger

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
    case .released, .delivered, .deadLetter: (isEnd, emits, isPutOff) = (false, false, false)
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
    /// Of the files taken in, if there are any.
    var ticket: UInt64?
  }

  private let tuning: Tuning
  private var settlements: [PendingSettlement] = []
  private var pauses: [(lane: String, code: String, reason: String)] = []
  private var resumed: [String] = []
  private var batch: Intake.Batch?
  private var underway: Sent?

  init(_ tuning: Tuning) {
    self.tuning = tuning
  }

  /// All that was settled is on record, and nothing is under way.
  var isSettled: Bool { underway == nil && settlements.isEmpty }
  var isUnderway: Bool { underway != nil }
  var hasBatch: Bool { batch != nil }

  /// Ends a lease, once the ledger has it.
  mutating func settle(_ settlement: PendingSettlement) { settlements.append(settlement) }

  mutating func pause(_ lane: String, code: String, reason: String) { pauses.append((lane, code, reason)) }

  mutating func resume(_ lane: String) { resumed.append(lane) }

  /// Files to be taken in: one batch at a time.
  mutating func takeIn(_ batch: Intake.Batch) { self.batch = batch }

  mutating func dropBatch() { batch = nil }

  /// The next request, unless one is under way, or there is nothing to ask for.
  ///
  /// - Parameters:
  ///   - time: of the steady clock, in milliseconds.
  ///   - now: of the monotonic clock, in nanoseconds.
  ///   - inHand: leases that are not settled on record.
  ///   - isStopping: nothing is to wait for more.
  ///   - questions: what is asked about contents.
  ///   - wanted: which leases are wanted of each lane, with the settlements that go along.
  mutating func next(
    at time: Int64, now: UInt64, inHand: Int, isStopping: Bool,
    questions: () -> [(serial: UInt64, question: ContentQuestion)],
    wanted: ([PendingSettlement]) -> [(lane: String, count: Int)]
  ) -> ExchangeRequest? {
    if underway != nil { return nil }
    var request = ExchangeRequest(time: time)
    let gathered = gather(now, inHand: inHand, isStopping: isStopping)
    request.settlements = gathered.map { Settlement($0.flight.lease, $0.ending) }
    request.wanted = wanted(gathered)
    (request.pauses, request.resumed) = (pauses, resumed)
    request.intake = batch?.items ?? []
    let questions = questions()
    request.contents = questions.map(\.question)
    if request.isEmpty { return nil }
    underway = Sent(settlements: gathered, questions: questions, ticket: batch?.ticket)
    batch = nil
    pauses.removeAll()
    resumed.removeAll()
    return request
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
    defer { underway = nil }
    return underway
  }
}
