import CPlatform
import CWorker
import LedgerPort
import Pipeline
import Platform
import Wire
import Workers

// What is heard of workers, how they are watched, and how they end.
extension WorkerPool {
  /// Takes what is heard of a worker.
  ///
  /// - Parameter isStopping: what no stage has begun with is not to be begun.
  func take(_ news: WorkerNews, of slot: UInt32, isStopping: Bool) throws(SchedulerError) -> [Outcome] {
    guard let worker = workers.first(where: { $0.slot == slot }) else { return [] }
    let now = environment.clock.monotonic()
    switch news {
    case .said(let message): return try take(message, of: worker, now, isStopping)
    case .writable:
      worker.isFull = false
      environment.awaitWritable(slot, false)
    case .flooded: condemn(worker, .flooded)
    case .closed: worker.close(at: now)
    case .ended(let cause): return try bury(worker, cause, now)
    }
    return []
  }

  private func take(
    _ message: WorkerMessage, of worker: GroupWorker, _ now: UInt64, _ isStopping: Bool
  ) throws(SchedulerError) -> [Outcome] {
    if worker.verdict != nil { return [] }
    switch message {
    case .ready(let ready):
      sandbox = ready.sandbox & (sandbox ?? .max)
      worker.open(ready, pipeline)
      return [.opened]
    case .refusal(let refusal):
      let noun = worker.group.stages.first?.description.role.noun ?? "stage"
      let stage = refusal.stage.map { "\(noun) '\($0)': " } ?? ""
      // It would end by itself. Until then its place counts as taken.
      retire(worker)
      throw SchedulerError(.configuration, stage + refusal.message, of: worker.group.laneWithoutIt)
    case .result(let result):
      if worker.dropWithdrawn(result) { return [] }
      if let flaw = worker.flaw(in: result) {
        condemn(worker, .invalidReply(flaw))
        return []
      }
      return take(result, of: worker, now, isStopping)
    case .invalid(let text): condemn(worker, .invalidReply(text))
    case .fault(let cause): condemn(worker, cause)
    case .description, .trace, .news: condemn(worker, .invalidReply("an answer to no question"))
    }
    return []
  }

  private func take(
    _ result: WorkResult, of worker: GroupWorker, _ now: UInt64, _ isStopping: Bool
  ) -> [Outcome] {
    guard let (flight, dropped) = worker.removeAnswered(by: result) else { return [] }
    worker.group.learn(now - min(worker.headSince, now))
    worker.group.learn(result.report, of: flight)
    worker.headSince = now
    worker.process.resetFlood()
    worker.done += 1
    tellTakenBack(worker)
    if worker.inFlight.isEmpty
      && (worker.isExclusive || worker.group.isFresh || worker.done >= environment.tuning.recycleAfter)
    {
      retire(worker)
    }
    if worker.group.fingerprint != nil && flight.dispatched?.first == 0 {
      flight.fingerprint = worker.fingerprint
    }
    let answered: Outcome
    if flight.takenBack != nil {
      answered = .takenBack(flight)
    } else if let limit = dropped?.limit {
      // Whatever it says: the time for it was over.
      answered = timedOut(flight, limit, worker.group, now)
    } else {
      answered = .answered(flight, result, worker.group)
    }
    return isStopping ? [answered] + letGo(worker) : [answered]
  }

  /// An attachment has passed its own time limit, which says nothing of the others in its worker.
  private func timedOut(_ flight: Flight, _ limit: Int64, _ group: WorkerGroup, _ now: UInt64) -> Outcome {
    endOutput(flight)
    let dispatch = flight.dispatched ?? .init(first: 0, end: 1)
    return .died(
      flight, WorkerDeath(.timedOut(afterMilliseconds: limit), lastWords: ""), group, stage: dispatch.first,
      microseconds: Int64(clamping: (now - min(dispatch.since, now)) / 1000), after: nil)
  }

  /// Lets a worker go whose next pieces of work need not be done.
  private func letGo(_ worker: GroupWorker) -> [Outcome] {
    guard !worker.group.flushes, !worker.inFlight.isEmpty, worker.inFlight.allSatisfy({ $0.run.isInLine })
    else { return [] }
    let rest = worker.inFlight
    worker.inFlight.removeAll()
    retire(worker)
    for flight in rest { endOutput(flight) }
    return rest.map { .untouched($0) }
  }

  // MARK: Watching

  /// Nanoseconds that a stage has to return, once it could know that its result is not wanted.
  private static let lettingGo: UInt64 = 2_000_000_000

  /// Ends a worker whose stage goes on although its result is not wanted. What waits behind it goes to others.
  private func takeFromStubborn(_ worker: GroupWorker, _ now: UInt64) -> [Outcome] {
    if worker.group.limitsEach { return takeFromStubbornTurner(worker, now) }
    if worker.inFlight.isEmpty && worker.hasWithdrawn && !worker.isRetired
      && worker.headSince + Self.lettingGo <= now
    {
      // It is at something that others do.
      retire(worker)
    }
    guard let head = worker.inFlight.first, let asked = worker.dropping[head.serial]?.since,
      asked + Self.lettingGo <= now, !worker.group.flushes, !worker.isRetired
    else { return [] }
    let rest = worker.inFlight.dropFirst()
    worker.inFlight.removeAll()
    retire(worker)
    for flight in rest.reversed() {
      endOutput(flight)
      if flight.takenBack == nil { enqueueFirst(flight, worker.group) }
    }
    return [.takenBack(head)] + rest.filter { $0.takenBack != nil }.map { .takenBack($0) }
  }

  /// The same where many are under way: those that the stage does not drop end, and the others go on elsewhere.
  private func takeFromStubbornTurner(_ worker: GroupWorker, _ now: UInt64) -> [Outcome] {
    let lettingGo = Int64(Self.lettingGo / 1_000_000)
    let stubborn = worker.inFlight.filter { flight in
      worker.dropping[flight.serial].map { milliseconds($0.since, now) >= lettingGo } ?? false
    }
    if stubborn.isEmpty || worker.isRetired { return [] }
    let (all, status) = (worker.inFlight, worker.process.status)
    worker.inFlight.removeAll()
    retire(worker)
    var outcomes: [Outcome] = []
    for flight in all.reversed() {
      endOutput(flight)
      let dropping = worker.dropping[flight.serial]
      let isStubborn = stubborn.contains { $0 === flight }
      // A stage that has not returned since then could not know: any of those in hand may hold it up.
      let couldKnow = dropping.map { status.since >= $0.since } ?? false
      if flight.takenBack != nil {
        outcomes.append(.takenBack(flight))
      } else if isStubborn, couldKnow, let limit = dropping?.limit {
        outcomes.append(timedOut(flight, limit, worker.group, now))
      } else {
        flight.redispatches += 1
        if isStubborn { flight.isAlone = true }
        enqueueFirst(flight, worker.group)
      }
    }
    return outcomes
  }

  private func enqueueFirst(_ flight: Flight, _ group: WorkerGroup) {
    if flight.isAlone { group.alone.prepend(flight) } else { group.queue.prepend(flight) }
  }

  /// Ends workers that take longer than their stages may. Which stage is at work, and since when, the worker shows; that
  /// it cannot gain time by showing something else is what the bound on the whole is for.
  func checkLimits() -> [Outcome] {
    var outcomes: [Outcome] = []
    let now = environment.clock.monotonic()
    if lastCheck > 0 && now - lastCheck > Self.longestTurn { standstill = lastCheck..<now }
    lastCheck = now
    let countsThreads = now - lastThreadCheck > Self.threadCheckInterval
    if countsThreads { lastThreadCheck = now }
    for worker in workers where worker.verdict == nil {
      for (flight, limit) in worker.overdue(elapsed: { milliseconds($0, now) }) {
        worker.drop(flight, at: now, limit: limit)
      }
      outcomes += takeFromStubborn(worker, now)
      if worker.isRetired { continue }
      worker.noteEffort(at: now)
      if countsThreads && worker.group.capability == .network, let count = worker.process.excessThreads {
        condemn(worker, .tooManyThreads(count))
      } else if let since = worker.closedAt {
        if milliseconds(since, now) > WorkerProcess.closingTimeout {
          condemn(worker, .invalidReply(WorkerProcess.pretence))
        }
      } else if let limit = worker.overrun(elapsed: { milliseconds($0, now) }) {
        worker.judgeEffort(at: now)
        condemn(worker, .timedOut(afterMilliseconds: limit))
      }
    }
    return outcomes
  }

  /// Leaves out the time in which this process was stopped: the workers may have been stopped with it.
  private func milliseconds(_ since: UInt64, _ now: UInt64) -> Int64 {
    if now <= since { return 0 }
    let excused = standstill.clamped(to: since..<now)
    return Int64(clamping: (now - since - UInt64(excused.count)) / 1_000_000)
  }

  // MARK: The end of a worker

  /// Ends a worker that has nothing to do.
  func retire(_ worker: GroupWorker) {
    worker.state = .ending
    worker.isRetired = true
    worker.process.kill()
  }

  private func condemn(_ worker: GroupWorker, _ cause: WorkerDeath.Cause) {
    if worker.isRetired || worker.verdict != nil { return }
    worker.verdict = cause
    worker.state = .ending
    worker.process.kill()
  }

  /// A worker has ended: one attachment answers for it, the others go to other workers.
  private func bury(
    _ worker: GroupWorker, _ cause: WorkerDeath.Cause, _ now: UInt64
  ) throws(SchedulerError) -> [Outcome] {
    let group = worker.group
    workers.removeAll { $0 === worker }
    group.workers.removeAll { $0 === worker }
    if worker.isRetired { return [] }
    if worker.wasReady && !worker.inFlight.isEmpty { group.learn(now - min(worker.headSince, now)) }
    var death = WorkerDeath(worker.verdict ?? cause, lastWords: worker.process.lastWords)
    death.isInVain = worker.wasBusy && group.capability == .content
    if !worker.wasReady || (worker.inFlight.isEmpty && worker.done == 0) {
      try group.countFailedStart(death, wasReady: worker.wasReady)
    }
    let status = worker.process.status
    let culprit = worker.culprit(status)
    // What stages before the culprit's have left beside the content may count.
    for flight in worker.inFlight where flight !== culprit || flight.takenBack != nil { endOutput(flight) }
    let takenBack = worker.inFlight.filter { $0.takenBack != nil }.map { Outcome.takenBack($0) }
    for flight in worker.inFlight.reversed() where flight !== culprit && flight.takenBack == nil {
      flight.redispatches += 1
      // None can be named: each is tried by itself, so that the next time one can.
      if culprit == nil { flight.isAlone = true }
      enqueueFirst(flight, group)
    }
    guard let culprit, culprit.takenBack == nil, let dispatch = culprit.dispatched else { return takenBack }
    // With serial 0 it has left the stage, and still shows which that was.
    let isShown =
      (status.serial == culprit.serial || status.serial == 0)
      && (dispatch.first..<dispatch.end).contains(Int(status.stage))
    let index = isShown ? Int(status.stage) : dispatch.first
    let report = isShown && index > dispatch.first ? worker.salvage(culprit, before: index) : nil
    let since = isShown ? max(status.since, worker.headSince) : worker.headSince
    let elapsed = Int64(clamping: now > since ? (now - since) / 1000 : 0)
    return takenBack + [.died(culprit, death, group, stage: index, microseconds: elapsed, after: report)]
  }
}
