import CPlatform
import CWorker
import Pipeline
import Platform
import Wire
import Workers

/// One worker of a group, and what it has been given.
final class GroupWorker {
  enum State {
    /// Opening its stages.
    case starting
    case ready
    /// Killed, or about to end: what it still has is given to others once it has ended.
    case ending
  }

  let process: any Worker
  let slot: UInt32
  let group: WorkerGroup
  var state = State.starting
  /// Given and not answered, in order; a group that turns answers in any order.
  var inFlight: [Flight] = []
  /// When the first of these began to be the first, in nanoseconds; of a group that turns, when it last answered. Or when the worker
  /// was started.
  var headSince: UInt64
  /// Pieces of work answered.
  var done = 0
  /// As its group's, of this worker.
  var fingerprint: String?
  /// Reserved for one flight.
  var isExclusive = false
  /// What its stage was told to drop, by serial.
  private(set) var dropping: [UInt64: Dropping] = [:]
  /// Serials of what it was given and others have now, since what it works on takes long. What it still says of them does not count.
  private var withdrawn: Set<UInt64> = []
  /// Times of the clock and the processor, in nanoseconds, soon after the present work began. `head` is the ``headSince`` of that work.
  private var effort: (head: UInt64, since: UInt64, processor: UInt64)?
  /// Whether the worker was ended for a time limit and kept a processor busy for half of the time.
  private(set) var wasBusy = false
  /// The serial of the last that was noted as slow.
  private var noted: UInt64 = 0
  /// The socket is full.
  var isFull = false
  /// Why it was killed, if it was.
  var verdict: WorkerDeath.Cause?
  /// It was killed because there is nothing more for it to do.
  var isRetired = false
  private(set) var wasReady = false
  /// When its socket was closed, in nanoseconds.
  private(set) var closedAt: UInt64?

  /// A piece of work that a stage was told to drop.
  struct Dropping {
    /// In nanoseconds.
    var since: UInt64
    /// The limit that it has passed, in milliseconds; `nil`: its result is not wanted.
    var limit: Int64?
  }

  /// - Parameter now: in nanoseconds.
  init(_ process: any Worker, slot: UInt32, group: WorkerGroup, at now: UInt64) {
    self.process = process
    self.slot = slot
    self.group = group
    headSince = now
  }

  /// Notes the worker's processor time, once its present work takes longer than most works.
  func noteEffort(at now: UInt64) {
    if effort?.head == headSince || now - min(headSince, now) < Self.shortTurn || inFlight.isEmpty { return }
    effort = (headSince, now, process.processorTime)
  }

  /// Finds out whether the work itself took the time, or the worker waited for a processor.
  func judgeEffort(at now: UInt64) {
    guard let effort, effort.head == headSince, now > effort.since else { return }
    let used = process.processorTime
    wasBusy = used > effort.processor && used - effort.processor >= (now - effort.since) / 2
  }

  /// Nanoseconds.
  private static let shortTurn: UInt64 = 20_000_000

  /// Its stages are open.
  func open(_ ready: Ready, _ pipeline: PipelineDefinition) {
    (state, wasReady) = (.ready, true)
    fingerprint = group.fingerprint(pipeline, ready.bases)
    (group.fingerprint, group.lengthLimits) = (fingerprint, ready.lengthLimits)
    (group.wasReady, group.failedStarts) = (true, 0)
  }

  /// Tells the stage to drop a piece of work, once.
  ///
  /// - Parameter limit: the time limit that it has passed.
  func drop(_ flight: Flight, at now: UInt64, limit: Int64? = nil) {
    if dropping[flight.serial] != nil { return }
    dropping[flight.serial] = Dropping(since: now, limit: limit)
    tellDropped()
  }

  private func tellDropped() { process.cancel(dropping.keys.sorted() + withdrawn.sorted()) }

  /// Notes for its group that the stage it is at takes long for contents of the type that it works on, as far as it shows that.
  func noteSlow() {
    guard let head = inFlight.first, head.serial != noted, process.status.serial == head.serial else {
      return
    }
    noted = head.serial
    let said = process.partialResult
    let type = (said?.serial == head.serial ? said?.report.mediaType : nil) ?? head.run.mediaType
    group.noteSlow(Int(process.status.stage), type)
  }

  /// Takes away what waits behind the piece of work that it is at.
  func withdrawWaiting() -> [Flight] {
    let waiting = Array(inFlight.dropFirst())
    inFlight.removeLast(waiting.count)
    withdrawn.formUnion(waiting.map(\.serial))
    tellDropped()
    return waiting
  }

  /// It has not answered all yet that was taken away from it.
  var hasWithdrawn: Bool { !withdrawn.isEmpty }

  /// Takes a result of what was taken away from it. False: it is of something else.
  func dropWithdrawn(_ result: WorkResult) -> Bool {
    guard withdrawn.remove(result.serial) != nil else { return false }
    tellDropped()
    return true
  }

  /// It takes no more work, and has ended or is about to.
  func close(at now: UInt64) {
    if state == .ending { return }
    (state, closedAt) = (.ending, now)
  }
}

// MARK: - Judging it

extension GroupWorker {
  /// Milliseconds.
  private static let startTimeout: Int64 = 30_000
  /// Milliseconds that a turn of a stage with a shorter time limit may take: several of the worker's own.
  private static let longestTurn: Int64 = 1000
  /// Bytes in a millisecond that hashing must get through: its time limit grows with the content.
  private static let slowestHashing: Int64 = 8_000

  /// Why a result cannot be one of the work that the worker was given; `nil`: it can.
  func flaw(in result: WorkResult) -> String? {
    guard let flight = answered(by: result), let dispatch = flight.dispatched else {
      return "a result for work it was not given, or not in order"
    }
    var last = dispatch.first - 1
    for stage in result.report.results {
      guard stage.index > last, stage.index < dispatch.end else {
        return "a result of a stage it was not given"
      }
      last = stage.index
    }
    // The stage that replaced the content must be the last with a result, or it would get the new content for ever.
    if result.report.pieceList != nil && !group.leavesPieces {
      return "something beside the content, which none of its stages declares"
    }
    guard result.report.produced else { return nil }
    let producer = result.report.results.last.map { group.stages[$0.index].description }
    return producer?.produces == true ? nil : "new content from no stage that makes any"
  }

  /// What a result is of; `nil`: it can be of nothing that the worker was given.
  private func answered(by result: WorkResult) -> Flight? {
    if group.turns { return inFlight.first { $0.serial == result.serial } }
    return inFlight.first.flatMap { $0.serial == result.serial ? $0 : nil }
  }

  /// Takes out what a result is of, which ``flaw(in:)`` has found to be there.
  func removeAnswered(by result: WorkResult) -> (flight: Flight, dropped: Dropping?)? {
    guard let flight = answered(by: result) else { return nil }
    inFlight.removeAll { $0 === flight }
    return (flight, dropping.removeValue(forKey: flight.serial))
  }

  /// What has passed a time limit of its own, and was not told so yet.
  func overdue(elapsed: (UInt64) -> Int64) -> [(flight: Flight, limit: Int64)] {
    guard group.limitsEach, state == .ready else { return [] }
    return inFlight.compactMap { flight in
      guard let dispatch = flight.dispatched, dropping[flight.serial] == nil else { return nil }
      let limit = group.stages[dispatch.first].timeout
      return elapsed(dispatch.since) > limit ? (flight, limit) : nil
    }
  }

  /// The limit that it has passed, in milliseconds; `nil`: none.
  ///
  /// - Parameter elapsed: the milliseconds since a time of the monotonic clock, in nanoseconds.
  func overrun(elapsed: (UInt64) -> Int64) -> Int64? {
    if state == .ending { return nil }
    guard let head = inFlight.first, let dispatch = head.dispatched else {
      let isLate = state == .starting && elapsed(headSince) > Self.startTimeout
      return isLate ? Self.startTimeout : nil
    }
    let stages = group.stages
    let status = process.status
    let allowance = group.purpose == .digest ? head.file.size / Self.slowestHashing : 0
    var limit = stages[dispatch.first..<dispatch.end].reduce(0) { $0 + $1.timeout } + allowance
    // One that turns answers one at least within the time for one.
    if group.flushes && !group.turns { limit *= Int64(inFlight.count) }
    // Those that take too long are looked at one by one. The worker itself must go on turning.
    if group.limitsEach {
      return elapsed(max(status.since, headSince)) > max(limit, Self.longestTurn) ? limit : nil
    }
    if elapsed(headSince) > limit { return limit }
    if status.stage == SLUICE_FLUSHING {
      limit = stages.filter { $0.description.flushes || $0.description.turns }.map(\.timeout).max() ?? limit
    } else if status.serial != 0, Int(status.stage) < stages.count {
      limit = stages[Int(status.stage)].timeout + allowance
    } else {
      // It is between two stages, or two pieces of work: a process that stays there is stopped.
      limit = (stages[dispatch.first..<dispatch.end].map(\.timeout).max() ?? limit) + allowance
    }
    return elapsed(max(status.since, headSince)) > limit ? limit : nil
  }

  /// What earlier stages said of the attachment that a later one died on.
  func salvage(_ flight: Flight, before index: Int) -> StageReport? {
    guard let said = process.partialResult, said.serial == flight.serial, !said.report.produced,
      said.report.results.allSatisfy({ $0.verdict == .pass && $0.index < index })
    else { return nil }
    return said.report
  }

  /// The flight that the worker died on; `nil`: none can be named.
  ///
  /// Without a barrier, answers come one by one. It is the first flight without an answer, if the worker shows that it had
  /// begun with it: memory that an earlier one damaged may end the worker after that one's answer. With a barrier, it is the
  /// one that the worker shows, and none while the worker is in the barrier. A flight that had the worker to itself is it in
  /// any case.
  func culprit(_ status: sluice_status) -> Flight? {
    let flights = inFlight
    // A program may have done it after its verdict on another: one that is tried alone, with a new program, can be named.
    if group.isProgram && done > 0 { return nil }
    if flights.count == 1 && (done == 0 || group.flushes) { return flights.first }
    if !group.flushes { return flights.first.flatMap { $0.serial == status.serial ? $0 : nil } }
    return status.stage == SLUICE_FLUSHING ? nil : flights.first { $0.serial == status.serial }
  }
}
