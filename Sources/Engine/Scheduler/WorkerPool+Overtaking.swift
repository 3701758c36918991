import Pipeline
import Workers

// Works that overtake others whose stages take long.
extension WorkerPool {
  /// Nanoseconds. A worker with one work for longer no longer counts towards the limit of the group.
  private static let heldUpAfter: UInt64 = 500_000_000
  /// Workers that a group may have beyond its limit.
  private static let heldUpLimit = 6

  /// The state of a group whose workers are held up.
  struct HeldUp {
    /// How many workers may take their place.
    var count = 0
    /// The owners of the works that hold them up, once all workers of the group are held up. These owners get no more workers.
    var owners: Set<UInt64> = []
    /// Whether one more worker may do the quick stages of these owners' works.
    var allowsQuick = false
  }

  /// Finds the workers of a group with one work for long. Other workers take their place, and the works behind it go
  /// back to the queue. In the group that hashes every owner may have the other workers: they need next to no memory.
  func heldUp(_ group: WorkerGroup, _ now: UInt64, _ outcomes: inout [Outcome]) -> HeldUp {
    guard group.capability == .content || group.limitsEach else { return HeldUp() }
    func isHeldUp(_ worker: GroupWorker) -> Bool {
      worker.headSince + Self.heldUpAfter < now && worker.state == .ready && !worker.inFlight.isEmpty
        && (!group.limitsEach || worker.inFlight.count >= group.depth)
    }
    if !group.workers.contains(where: isHeldUp) { return HeldUp() }
    let workers = group.workers.filter(isHeldUp)
    if !group.flushes {
      for worker in workers {
        worker.noteSlow()
        if worker.inFlight.count > 1 { withdraw(from: worker, &outcomes) }
      }
    }
    var heldUp = HeldUp(count: min(workers.count, Self.heldUpLimit))
    if group.purpose == .digest || workers.count < group.limit { return heldUp }
    let underway = workers.flatMap { group.limitsEach ? $0.inFlight : Array($0.inFlight.prefix(1)) }
    heldUp.owners = Set(underway.map(\.owner))
    heldUp.allowsQuick = !group.flushes && workers.count == group.limit
    return heldUp
  }

  private func withdraw(from worker: GroupWorker, _ outcomes: inout [Outcome]) {
    for flight in worker.withdrawWaiting().reversed() {
      endOutput(flight)
      if flight.takenBack != nil {
        outcomes.append(.takenBack(flight))
      } else {
        worker.group.queue.prepend(flight)
      }
    }
  }

  /// The next work whose first stages were quick so far for its type, whoever owns it.
  func nextQuick(_ group: WorkerGroup, _ heldUp: HeldUp) -> Flight? {
    heldUp.allowsQuick ? group.queue.first { group.quickEnd(of: $0) != nil } : nil
  }

  /// Gives an idle worker the quick part of a work.
  func dispatchQuick(
    _ group: WorkerGroup, _ heldUp: HeldUp, _ held: () -> Int64, _ now: UInt64, _ outcomes: inout [Outcome]
  ) throws(SchedulerError) {
    guard let flight = nextQuick(group, heldUp), hasRoom(for: flight, in: group, held),
      let worker = group.workers.first(where: {
        $0.state == .ready && !$0.isExclusive && !$0.isFull && $0.inFlight.isEmpty && !$0.hasWithdrawn
      })
    else { return }
    _ = group.queue.remove { $0 === flight }
    if let end = group.quickEnd(of: flight) { flight.dispatched?.end = end }
    if try !give(flight, to: worker, now, &outcomes) { group.queue.prepend(flight) }
  }

  /// Ends an idle worker beyond the limit once the worker whose place it took is held up no more.
  func retireSurplus(of group: WorkerGroup, _ heldUp: HeldUp) {
    if group.workers.count <= group.limit { return }
    let active = group.workers.count { $0.state != .ending }
    guard active > group.limit + heldUp.count,
      let idle = group.workers.last(where: { $0.state == .ready && $0.inFlight.isEmpty && !$0.isExclusive })
    else { return }
    retire(idle)
  }
}
