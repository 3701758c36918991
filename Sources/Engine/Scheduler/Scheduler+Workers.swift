import CPlatform
import CWorker
import Glibc
import Ledger
import Pipeline
import Platform
import Wire
import Workers

// The workers: started, given work, watched, buried.
extension Scheduler {
  /// Pieces of work after which a worker makes room for a new one: libraries leak, and a worker that was taken over is
  /// not kept for ever.
  private static let recycleAfter = 10_000
  /// Nanoseconds that a piece of work may take before nothing more is put behind it: what hangs is to hold up few.
  private static let patience: UInt64 = 50_000_000
  private static let startTimeout: Int64 = 30_000
  /// Bytes in a millisecond that hashing must get through: its time limit grows with the content.
  private static let slowestHashing: Int64 = 8_000
  /// Nanoseconds between two looks at the clock, after which this process was stopped in between.
  private static let longestTurn: UInt64 = 1_000_000_000

  // MARK: Starting

  func startWorker(_ group: WorkerGroup) {
    let folder: Int32 =
      if case .channel = group.purpose { homeFolder } else { group.capability == .store ? storeFolder : -1 }
    do throws(SystemError) {
      let process = try WorkerProcess(
        executable: executable, words: ["run", String(getpid())], folder: folder)
      nextSlot &+= 1
      let worker = GroupWorker(process: process, slot: nextSlot, group: group)
      group.workers.append(worker)
      workers[worker.slot] = worker
      sluice_epoll_add(epoll, process.socket, Tag.worker | UInt64(worker.slot), 1, 0)
      sluice_epoll_add(epoll, process.standardError, Tag.standardError | UInt64(worker.slot), 1, 0)
      let setup = Setup(
        stages: group.stages, sandbox: pipeline.sandbox, capability: group.capability, output: group.output,
        parent: getpid())
      // A worker that is gone by now is found out by its socket.
      switch process.send(setup.frame) {
      case .sent, .gone: break
      case .full: throw SystemError("handing a worker its stages", code: ENOBUFS)
      case .failed(let error): throw error
      }
    } catch {
      failure = SchedulerError(error)
    }
  }

  // MARK: Giving work

  func dispatch(_ group: WorkerGroup) {
    // Whoever took workers down waits until nobody else does: each of them costs the start of another worker or two. Those
    // that wait fill the window, so that they get their turn also where there is always more to do.
    let hasExclusive = group.workers.contains { $0.isExclusive && $0.state != .ending }
    if !group.alone.isEmpty && (group.queue.isEmpty || hasExclusive) { dispatchAlone(group) }
    let now = Clock.monotonic()
    while let next = group.queue.first {
      if !hasRoom(for: next, in: group) { return }
      let free = group.workers.filter {
        $0.state == .ready && !$0.isExclusive && !$0.isFull && $0.inFlight.count < group.depth
          && $0.done + $0.inFlight.count < Self.recycleAfter
          && ($0.inFlight.isEmpty || group.flushes || $0.headSince + Self.patience > now)
      }
      guard let worker = free.min(by: { $0.inFlight.count < $1.inFlight.count }) else { break }
      // Before a queue builds up behind this worker, another one is started.
      guard let flight = group.queue.popFirst() else { break }
      if !give(flight, to: worker) { group.queue.prepend(flight) }
    }
    let isStarting = group.workers.contains { $0.state == .starting }
    let active = group.workers.count(where: { $0.state != .ending })
    // Until each kind has opened its stages nothing is taken in: one that ends before that is started again, or named.
    let isAwaited = !group.wasReady && group !== longDigestGroup
    let isWanted = !group.queue.isEmpty || isAwaited
    if isWanted && !isStarting && active < group.limit + stuck(group, now) {
      startWorker(group)
    }
  }

  /// Nanoseconds of hashing after which a worker no longer counts as one of its group's; and how many may be so.
  private static let stuckAfter: UInt64 = 500_000_000
  private static let stuckLimit = 6

  /// Workers that are held up by one content, on a slow disk: others take their place, so that it does not hold up its
  /// neighbours. They hash, and need next to no memory.
  private func stuck(_ group: WorkerGroup, _ now: UInt64) -> Int {
    guard group.purpose == .digest else { return 0 }
    let count = group.workers.count { !$0.inFlight.isEmpty && $0.headSince + Self.stuckAfter < now }
    return min(count, Self.stuckLimit)
  }

  // MARK: Memory of new content

  private func hasRoom(for flight: Flight, in group: WorkerGroup) -> Bool {
    if !mayProduce(flight, group) { return true }
    let held = flights.values.reduce(0) { $0 + $1.memoryInUse }
    return memory.hasRoom(for: group.output, held: held, own: flight.memoryInUse)
  }

  private func mayProduce(_ flight: Flight, _ group: WorkerGroup) -> Bool {
    group.produces && flight.isInLine
  }

  /// A worker has answered, or ended: what it wrote is taken over by now, or is nobody's.
  func endOutput(_ flight: Flight) {
    flight.discardOutput()
    memory.end(flight.serial)
  }

  /// An attachment that took a worker down gets a new one to itself, and takes nobody with it this time.
  private func dispatchAlone(_ group: WorkerGroup) {
    guard let worker = group.workers.first(where: { $0.isExclusive && $0.state != .ending }) else {
      let candidates = group.workers.filter { $0.state != .ending }
      if let least = candidates.min(by: { ($0.inFlight.count, $0.done) < ($1.inFlight.count, $1.done) }) {
        least.isExclusive = true
      } else {
        startWorker(group)
        group.workers.last?.isExclusive = true
      }
      return
    }
    guard worker.state == .ready, worker.inFlight.isEmpty else { return }
    if worker.done > 0 {
      retire(worker)
      startWorker(group)
      group.workers.last?.isExclusive = true
    } else if let next = group.alone.first, hasRoom(for: next, in: group),
      let flight = group.alone.popFirst(), !give(flight, to: worker)
    {
      group.alone.prepend(flight)
    }
  }

  private func give(_ flight: Flight, to worker: GroupWorker) -> Bool {
    guard let dispatch = flight.dispatched else { return true }
    var descriptors: [Int32] = []
    if flight.isInLine {
      descriptors.append(flight.content)
      if mayProduce(flight, worker.group) {
        do throws(SystemError) {
          try flight.makeOutput()
        } catch {
          failure = SchedulerError(error)
          return true
        }
        memory.begin(flight.serial, worker.group.output)
        descriptors.append(flight.output)
      }
    }
    let frame = work(flight, dispatch).frame
    if frame.count > Frame.limit {
      refuse(flight)
      return true
    }
    if worker.group.capability == .store { flight.isStoreTouched = true }
    let sent = worker.process.send(frame, descriptors: descriptors)
    if case .sent = sent {} else { endOutput(flight) }
    switch sent {
    case .sent:
      if worker.inFlight.isEmpty {
        worker.headSince = Clock.monotonic()
        worker.process.resetFlood()
      }
      worker.inFlight.append(flight)
      return true
    case .full:
      worker.isFull = true
      sluice_epoll_change(epoll, worker.process.socket, Tag.worker | UInt64(worker.slot), 1, 1)
      return false
    case .failed(let error):
      failure = SchedulerError(error)
      return true
    case .gone:
      // Its socket is readable, and tells the rest; or the system refused to send, and then it must end all the same.
      worker.state = .ending
      worker.process.kill()
      return false
    }
  }

  /// More is known of it than fits into a frame.
  private func refuse(_ flight: Flight) {
    if let delivery = flight.delivery {
      settle(flight, .deadLetter(key: delivery.key, reason: AttachmentRun.tooMuch))
    } else {
      flight.run.endUntold()
      route(flight)
    }
  }

  func unblock(_ worker: GroupWorker) {
    worker.isFull = false
    sluice_epoll_change(epoll, worker.process.socket, Tag.worker | UInt64(worker.slot), 1, 0)
  }

  private func work(_ flight: Flight, _ dispatch: Flight.Dispatch) -> Work {
    // What an interrupted attempt did, or a worker that ended, may have taken effect: the stage is to know.
    let attempt = flight.lease.attempt + flight.redispatches
    switch flight.lease.work {
    case .attachment(let attachment):
      return Work(
        serial: flight.serial, first: dispatch.first, end: dispatch.end, attempt: attempt, id: attachment.id,
        conversationId: attachment.conversationId, messageId: attachment.messageId,
        senderId: attachment.senderId,
        fileName: attachment.fileName, declaredType: attachment.declaredType, mediaType: flight.run.mediaType,
        sha256: flight.run.sha256, twin: flight.twin, size: flight.size, modified: flight.modified,
        changed: flight.changed, outcome: flight.run.outcome, reason: flight.run.reason,
        metadata: flight.run.metadata)
    case .delivery(let delivery):
      return Work(
        serial: flight.serial, first: dispatch.first, end: dispatch.end, attempt: attempt,
        id: delivery.attachmentId,
        conversationId: delivery.conversationId, messageId: delivery.messageId, senderId: "", fileName: "",
        event: .init(
          id: delivery.id, type: delivery.type, recipient: delivery.recipient, body: EventBody.body(delivery))
      )
    }
  }

  // MARK: Hearing

  func receive(from worker: GroupWorker) {
    while workers[worker.slot] != nil && failure == nil {
      switch worker.process.receive(into: room) {
      case .nothing: return
      case .frame(let count): take(UnsafeRawBufferPointer(rebasing: room[..<count]), from: worker)
      case .tooLong: condemn(worker, .invalidReply("a frame of more than \(Frame.limit) bytes"))
      case .gone: return bury(worker)
      }
      if worker.verdict != nil { return bury(worker) }
      // Nothing more is to come: to look again would be one system call for nothing.
      if worker.inFlight.isEmpty && worker.state == .ready { return }
    }
  }

  private func take(_ frame: UnsafeRawBufferPointer, from worker: GroupWorker) {
    do throws(FrameError) {
      var reader = FrameReader(frame)
      switch try reader.kind() {
      case .ready where worker.state == .starting:
        let ready = try Ready(&reader)
        sandbox = ready.sandbox & (sandbox ?? .max)
        worker.state = .ready
        worker.line = line(of: worker.group, ready.bases)
        worker.group.line = worker.line
        worker.group.lengthLimits = ready.lengthLimits
        worker.group.wasReady = true
        worker.group.failedStarts = 0
        measureWaiting()
      case .refusal where worker.state == .starting:
        let refusal = try Refusal(&reader)
        let stage = refusal.stage.map { "stage '\($0)': " } ?? ""
        failure = SchedulerError(.configuration, stage + refusal.message)
      case .result where worker.state != .starting:
        try take(try WorkResult(&reader, stageCount: worker.group.stages.count), from: worker)
      default: throw FrameError("a frame that has no place here")
      }
    } catch {
      condemn(worker, .invalidReply(error.description))
    }
  }

  private func take(_ result: WorkResult, from worker: GroupWorker) throws(FrameError) {
    guard let flight = worker.inFlight.first, flight.serial == result.serial, let dispatch = flight.dispatched
    else {
      throw FrameError("a result for work it was not given, or not in order")
    }
    var last = dispatch.first - 1
    for stage in result.report.results {
      guard stage.index > last, stage.index < dispatch.end else {
        throw FrameError("a result of a stage it was not given")
      }
      last = stage.index
    }
    // Whoever replaced the content must have had its turn, or the same stage would get the new content for ever.
    if result.report.produced
      && result.report.results.last.map({ worker.group.stages[$0.index].description.produces }) != true
    {
      throw FrameError("new content from no stage that makes any")
    }
    worker.inFlight.removeFirst()
    worker.headSince = Clock.monotonic()
    worker.process.resetFlood()
    worker.done += 1
    if worker.inFlight.isEmpty
      && (worker.isExclusive || worker.group.isFresh || worker.done >= Self.recycleAfter)
    {
      retire(worker)
    }
    if worker.group.line != nil && dispatch.first == 0 { flight.line = worker.line }
    apply(result, to: flight, from: worker.group)
    endOutput(flight)
    if isStopping { releaseBegun(by: worker) }
  }

  /// Lets a worker go whose next pieces of work need not be done: a signal asked for the end.
  private func releaseBegun(by worker: GroupWorker) {
    guard !worker.group.flushes, !worker.inFlight.isEmpty, workers[worker.slot] != nil,
      worker.inFlight.allSatisfy({ $0.run.isUntouched })
    else { return }
    let rest = worker.inFlight
    worker.inFlight.removeAll()
    retire(worker)
    for flight in rest {
      endOutput(flight)
      settle(flight, .released)
    }
  }

  func drain(_ worker: GroupWorker) {
    let isFlooded = worker.process.drainStandardError()
    if worker.process.isStandardErrorClosed { sluice_epoll_remove(epoll, worker.process.standardError) }
    if isFlooded {
      condemn(worker, .flooded)
      bury(worker)
    }
  }

  // MARK: Watching

  /// Ends workers that take longer than their stages may. Which stage is at work, and since when, the worker shows; that
  /// it cannot gain time by showing something else is what the bound on the whole is for.
  func checkDeadlines() {
    let now = Clock.monotonic()
    if lastCheck > 0 && now - lastCheck > Self.longestTurn { pause = lastCheck..<now }
    lastCheck = now
    if now - lastThreadCheck > Self.threadCheckInterval {
      lastThreadCheck = now
      checkThreads()
    }
    for worker in Array(workers.values) where overrun(worker, now) != nil {
      // After a pause of this process, what a worker has said by now may not have been heard yet.
      receive(from: worker)
      guard workers[worker.slot] != nil, let limit = overrun(worker, now) else { continue }
      condemn(worker, .timedOut(afterMilliseconds: limit))
      bury(worker)
    }
  }

  /// Nanoseconds between two counts of threads.
  private static let threadCheckInterval: UInt64 = 20_000_000

  private func checkThreads() {
    for worker in Array(workers.values) where worker.group.capability == .network && worker.state != .ending {
      guard let count = worker.process.excessThreads else { continue }
      condemn(worker, .tooManyThreads(count))
      bury(worker)
    }
  }

  /// The limit that a worker has passed, in milliseconds.
  private func overrun(_ worker: GroupWorker, _ now: UInt64) -> Int64? {
    if worker.state == .ending { return nil }
    guard let head = worker.inFlight.first, let dispatch = head.dispatched else {
      let isLate = worker.state == .starting && milliseconds(worker.headSince, now) > Self.startTimeout
      return isLate ? Self.startTimeout : nil
    }
    let stages = worker.group.stages
    let status = worker.process.status
    let allowance = worker.group.purpose == .digest ? head.size / Self.slowestHashing : 0
    var limit = stages[dispatch.first..<dispatch.end].reduce(0) { $0 + $1.timeout } + allowance
    if worker.group.flushes { limit *= Int64(worker.inFlight.count) }
    if milliseconds(worker.headSince, now) > limit { return limit }
    if status.stage == SLUICE_FLUSHING {
      limit = stages.filter(\.description.flushes).map(\.timeout).max() ?? limit
    } else if status.serial != 0, Int(status.stage) < stages.count {
      limit = stages[Int(status.stage)].timeout + allowance
    } else {
      return nil
    }
    return milliseconds(max(status.since, worker.headSince), now) > limit ? limit : nil
  }

  /// Without the time in which this process was stopped: whoever stops it may have stopped the workers with it.
  private func milliseconds(_ since: UInt64, _ now: UInt64) -> Int64 {
    if now <= since { return 0 }
    let excused = pause.clamped(to: since..<now)
    return Int64(clamping: (now - since - UInt64(excused.count)) / 1_000_000)
  }

  private func condemn(_ worker: GroupWorker, _ cause: WorkerDeath.Cause) {
    worker.verdict = cause
    worker.state = .ending
    worker.process.kill()
  }
}
