import CWorker
import Glibc
import Ledger
import Pipeline
import Platform
import Wire
import Workers

// How workers end, and who answers for it.
extension Scheduler {
  /// Starts in a row that may fail before the pipeline is held to be broken.
  private static let startLimit = 3

  /// Ends a worker that has nothing to do.
  func retire(_ worker: GroupWorker) {
    forget(worker)
    worker.process.kill()
    worker.process.reap()
  }

  private func forget(_ worker: GroupWorker) {
    worker.state = .ending
    sluice_epoll_remove(epoll, worker.process.socket)
    sluice_epoll_remove(epoll, worker.process.standardError)
    workers[worker.slot] = nil
    worker.group.workers.removeAll { $0 === worker }
  }

  /// A worker has ended, or was killed: one attachment answers for it, the others go to other workers.
  func bury(_ worker: GroupWorker) {
    let group = worker.group
    let wasStarting = worker.state == .starting
    let status = worker.process.status
    forget(worker)
    let cause = causeOfDeath(worker)
    let death = WorkerDeath(cause, lastWords: worker.process.lastWords)
    if wasStarting || (worker.inFlight.isEmpty && worker.done == 0) {
      // To wait for the same again would take as long again.
      let isLate = if case .timedOut = cause { wasStarting } else { false }
      group.failedStarts += isLate ? Self.startLimit : 1
      if group.failedStarts >= Self.startLimit {
        let stages = group.stages.map(\.id).joined(separator: ", ")
        let files = group.stages.map(\.description.file).joined(separator: " ")
        failure = SchedulerError(
          .configuration,
          "the worker for \(stages) does not start: \(death.message(in: group.stages[0])); `sluice stages doctor \(files)` "
            + "may tell why")
      }
    }
    for flight in worker.inFlight { endOutput(flight) }
    let culprit = culprit(of: worker, status)
    for flight in worker.inFlight.reversed() where flight !== culprit {
      flight.redispatches += 1
      // Nobody can be named: each is tried by itself, so that the next time somebody can.
      if culprit == nil { flight.isAlone = true }
      if flight.isAlone { group.alone.prepend(flight) } else { group.queue.prepend(flight) }
    }
    if let culprit, let dispatch = culprit.dispatched {
      // With serial 0 it has left the stage, and still shows which that was.
      let isShown =
        (status.serial == culprit.serial || status.serial == 0)
        && (dispatch.first..<dispatch.end).contains(Int(status.stage))
      let index = isShown ? Int(status.stage) : dispatch.first
      let report = isShown && index > dispatch.first ? salvage(worker, culprit, before: index) : nil
      let since = isShown ? max(status.since, worker.headSince) : worker.headSince
      let now = Clock.monotonic()
      let elapsed = Int64(clamping: now > since ? (now - since) / 1000 : 0)
      takeDeath(death, culprit, group, index, microseconds: elapsed, after: report)
    }
  }

  /// What earlier stages said of the attachment that a later one died on.
  private func salvage(_ worker: GroupWorker, _ flight: Flight, before index: Int) -> StageReport? {
    guard let said = worker.process.partialResult(stageCount: worker.group.stages.count),
      said.serial == flight.serial, !said.report.produced,
      said.report.results.allSatisfy({ $0.verdict == .pass && $0.index < index })
    else { return nil }
    return said.report
  }

  /// Who was being worked on. Without a barrier, answers come one by one and it is the first that has none, if the worker
  /// shows that it had begun: memory that an earlier one damaged may end the worker after that one's answer. With a
  /// barrier, the worker shows who; while it is in the barrier it is all of them. One that had the worker to itself it is
  /// in any case.
  private func culprit(of worker: GroupWorker, _ status: sluice_status) -> Flight? {
    let flights = worker.inFlight
    if flights.count == 1 && (worker.done == 0 || worker.group.flushes) { return flights.first }
    if !worker.group.flushes { return flights.first.flatMap { $0.serial == status.serial ? $0 : nil } }
    return status.stage == SLUICE_FLUSHING ? nil : flights.first { $0.serial == status.serial }
  }

  private func causeOfDeath(_ worker: GroupWorker) -> WorkerDeath.Cause {
    if let verdict = worker.verdict {
      worker.process.reap()
      return verdict
    }
    // It closed its socket by ending, or else it only pretends to.
    for _ in 0..<250 {
      if let cause = worker.process.ended() { return cause }
      usleep(200)
    }
    worker.process.kill()
    worker.process.reap()
    return .invalidReply("it closed its socket and went on")
  }
}
