import CPlatform
import CWorker
import LedgerPort
import Pipeline
import Platform
import Wire
import Workers

/// Starts workers, gives them work, watches their limits, and finds out who answers for the end of one.
///
/// What becomes of work is returned as an ``Outcome``; the pool decides nothing about attachments. It never waits: a worker
/// that is killed is in the pool until its end is reported.
final class WorkerPool {
  /// What became of something in hand.
  enum Outcome {
    /// A worker's stages are open, so that what its group says of itself is known.
    case opened
    indirect case answered(Flight, WorkResult, WorkerGroup)
    /// The worker ended with this in hand, at this stage of its group, after so long. What it may have written is to be taken over or
    /// ended with ``WorkerPool/endOutput(_:)``.
    case died(
      Flight, WorkerDeath, WorkerGroup, stage: Int, microseconds: Int64, after: StageReport?)
    /// More is known of it than a worker takes.
    case tooLong(Flight)
    /// It was handed over, and is in no worker's hands any more before its stages had begun.
    case untouched(Flight)
    /// A person has taken it back, and no worker has it any more.
    case takenBack(Flight)
    /// A worker was started with a program that is not the one of before; in words.
    case changed(String)
  }

  let pipeline: PipelineDefinition
  let environment: PoolEnvironment
  private var memory: MemoryBudget

  let digest: WorkerGroup
  /// For contents that take long to hash. Started when there is one.
  let longDigest: WorkerGroup
  let line: [WorkerGroup]
  let channels: [WorkerGroup]
  let groups: [WorkerGroup]
  var workers: [GroupWorker] = []
  private var lastSlot: UInt32 = 0
  /// When the limits were last looked at, and the last time that this process was stopped; in nanoseconds.
  var lastCheck: UInt64 = 0
  var lastThreadCheck: UInt64 = 0
  var standstill: Range<UInt64> = 0..<0
  /// The parts of the sandbox that every worker had.
  var sandbox: UInt32?
  private var programs: ProgramChanges
  /// Programs that were found changed and are not told of yet.
  private var changes: [String] = []

  /// Descriptors of each worker: its socket, its standard error, its process, and while it is started its status page and the
  /// other ends.
  static let descriptorsOfWorker = 5
  /// Nanoseconds that a piece of work may take before nothing more is put behind it: what hangs is to hold up few.
  private static let shortWork: UInt64 = 50_000_000
  /// Nanoseconds between two looks at the clock, after which this process was stopped in between.
  static let longestTurn: UInt64 = 1_000_000_000
  /// Nanoseconds between two counts of threads.
  static let threadCheckInterval: UInt64 = 20_000_000
  /// Bytes that take so long to hash that they go to workers of their own, and do not hold up others.
  private static let longContent: Int64 = 16 << 20

  /// - Parameters:
  ///   - stage: what measures content.
  ///   - processors: how many workers may be at work side by side, unless the pipeline says.
  init(
    _ pipeline: PipelineDefinition, _ plan: RunPlan, digest stage: StageDescription, processors: Int,
    _ environment: PoolEnvironment
  ) {
    self.pipeline = pipeline
    self.environment = environment
    programs = ProgramChanges(pipeline.stages, environment.programFiles)
    memory = MemoryBudget(total: pipeline.memoryTotal ?? MachineMemory.available() / 4)
    let width = pipeline.workers ?? processors
    let measuring = [StageDefinition(id: stage.id, description: stage, values: [])]
    digest = WorkerGroup(
      purpose: .digest, stages: measuring, capability: .content, isFresh: false, limit: max(width / 2, 1))
    longDigest = WorkerGroup(
      purpose: .digest, stages: measuring, capability: .content, isFresh: false, limit: max(width / 2, 2),
      depth: 1)
    line = plan.groups.groups.map { group in
      WorkerGroup(
        purpose: .line(group.stages), stages: Array(pipeline.stages[group.stages]),
        capability: group.capability, isFresh: group.isFresh,
        limit: group.capability == .content ? width : max(width / 2, 1))
    }
    channels = pipeline.channels.map { channel in
      WorkerGroup(
        purpose: .channel(channel.name), stages: [channel.stage],
        capability: channel.stage.description.capability, isFresh: false, limit: 1)
    }
    groups = [longDigest, digest] + line + channels
  }

  deinit {
    // A group and its workers hold each other.
    for group in groups { group.workers.removeAll() }
  }

  /// Groups, each of which may have a worker at once.
  var groupCount: Int { groups.count }

  func group(ofChannel name: String) -> WorkerGroup? { channels.first { $0.purpose == .channel(name) } }

  /// Whether a worker of each kind has opened its stages: nothing is queued for a pipeline that turns out to be unusable.
  var isOpen: Bool { groups.allSatisfy { $0.wasReady || $0 === longDigest } }

  /// Whether the workers have told what their stages reject for its length.
  var areLengthLimitsKnown: Bool { line.allSatisfy(\.wasReady) }

  /// Workers are on their way in or out.
  var isChanging: Bool { workers.contains { $0.state != .ready } }

  /// What the stage at this place in the pipeline rejects for its length alone; `nil`: nothing, or it is not known yet.
  func lengthLimit(_ stage: Int, _ plan: RunPlan) -> LengthLimit? {
    guard let index = plan.groups.group(of: stage) else { return nil }
    let place = stage - plan.groups.groups[index].stages.lowerBound
    let limits = line[index].lengthLimits
    return limits.indices.contains(place) ? limits[place] : nil
  }

  /// The stages and channels that have work in hand.
  var busyStages: [String] {
    groups.filter { $0.workers.contains { !$0.inFlight.isEmpty } }.flatMap { $0.stages.map(\.id) }
  }

  /// Whether memory of new content comes back by the going on of a flight: where there is no room, it has some all the same.
  var goesFirst: (Flight) -> Bool = { $0.memoryInUse > 0 }

  // MARK: Queues

  /// Queues a flight for some stages of a group.
  func enqueue(_ flight: Flight, _ group: WorkerGroup, _ stages: Range<Int>) {
    flight.dispatched = .init(first: stages.lowerBound, end: stages.upperBound)
    let queue = flight.isAlone ? group.alone : group.queue
    // What holds memory goes first: its end gives that back, and others wait for it.
    if flight.memoryInUse > 0 { queue.prepend(flight) } else { queue.append(flight) }
  }

  /// Queues a flight to have its content hashed.
  func measure(_ flight: Flight) {
    enqueue(flight, flight.file.size > Self.longContent ? longDigest : digest, 0..<1)
  }

  /// Takes out of the queues what answers to a description.
  func removeQueued(where condition: (Flight) -> Bool) -> [Flight] {
    groups.flatMap { $0.removeQueued(where: condition) }
  }

  /// Takes a flight out of the queues. Where a worker has it, that is told, and ``Outcome/takenBack(_:)`` follows: false.
  func takeBack(_ flight: Flight) -> Bool {
    guard let worker = workers.first(where: { $0.inFlight.contains { $0 === flight } }) else {
      _ = removeQueued { $0 === flight }
      return true
    }
    tellTakenBack(worker)
    return false
  }

  /// Ends all busy workers, and returns their works.
  func abandon() -> [Flight] {
    var abandoned: [Flight] = []
    for worker in workers where !worker.inFlight.isEmpty {
      abandoned += worker.inFlight
      worker.inFlight.removeAll()
      retire(worker)
    }
    for flight in abandoned { endOutput(flight) }
    return abandoned
  }

  /// Tells a worker where the result of what it works on is not wanted any more.
  func tellTakenBack(_ worker: GroupWorker) {
    let underway = worker.inFlight.prefix(worker.group.limitsEach ? worker.inFlight.count : 1)
    for flight in underway where flight.takenBack != nil {
      worker.drop(flight, at: environment.clock.monotonic())
    }
  }

  // MARK: Starting

  /// Starts a worker of each kind.
  func open() throws(SchedulerError) {
    for group in groups where group !== longDigest { _ = try start(group) }
  }

  /// The next that names a worker.
  func nextSlot() -> UInt32 {
    lastSlot &+= 1
    return lastSlot
  }

  func start(_ group: WorkerGroup) throws(SchedulerError) -> GroupWorker {
    let folder: WorkerFolder? =
      if case .channel = group.purpose { .home } else { group.capability == .store ? .store : nil }
    let setup = group.setup(pipeline)
    if let excess = setup.excess { throw SchedulerError(.configuration, excess) }
    let slot = nextSlot()
    changes.append(contentsOf: programs.look(at: group.stages))
    do throws(SystemError) {
      let worker = GroupWorker(
        try environment.startWorker(slot, setup, folder), slot: slot, group: group,
        at: environment.clock.monotonic())
      group.workers.append(worker)
      workers.append(worker)
      return worker
    } catch {
      throw SchedulerError(error)
    }
  }

  // MARK: Giving work

  /// Gives queued work to workers, and starts some where there are too few.
  ///
  /// - Parameter held: bytes of new content that exist.
  func dispatch(held: () -> Int64) throws(SchedulerError) -> [Outcome] {
    var outcomes: [Outcome] = []
    let now = environment.clock.monotonic()
    for group in groups { try dispatch(group, now, held, &outcomes) }
    outcomes += changes.map { .changed($0) }
    changes = []
    return outcomes
  }

  private func dispatch(
    _ group: WorkerGroup, _ now: UInt64, _ held: () -> Int64, _ outcomes: inout [Outcome]
  ) throws(SchedulerError) {
    let heldUp = heldUp(group, now, &outcomes)
    let hasWork = !group.queue.isEmpty || !group.alone.isEmpty
    if !hasWork && (group.wasReady || group === longDigest) { return retireSurplus(of: group, heldUp) }
    let isQueueReady = hasRoomForFirst(group.queue, of: group, except: heldUp.owners, held)
    let isAloneReady = hasRoomForFirst(group.alone, of: group, held)
    // A worker that is reserved for an attachment that is gone or cannot begin serves the others.
    if !isAloneReady {
      for worker in group.workers where worker.isExclusive && worker.inFlight.isEmpty {
        worker.isExclusive = false
      }
    }
    // An attachment that took a worker down waits until no other waits: each costs the start of another worker or two. Those
    // that wait fill the window, so that they get their turn also where there is always more to do.
    let hasExclusive = group.workers.contains { $0.isExclusive && $0.state != .ending }
    if isAloneReady && (!isQueueReady || hasExclusive) { try dispatchAlone(group, &outcomes) }
    while let next = group.queue.first(except: heldUp.owners) {
      if !hasRoom(for: next, in: group, held) { return }
      let free = group.workers.filter {
        $0.state == .ready && !$0.isExclusive && !$0.isFull && $0.inFlight.count < group.depth
          && !$0.hasWithdrawn && $0.done + $0.inFlight.count < environment.tuning.recycleAfter
          && ($0.inFlight.isEmpty || group.flushes || $0.headSince + Self.shortWork > now)
      }
      guard let worker = free.min(by: { $0.inFlight.count < $1.inFlight.count }) else { break }
      guard let flight = group.queue.popFirst(except: heldUp.owners) else { break }
      if try !give(flight, to: worker, now, &outcomes) { group.queue.prepend(flight) }
    }
    try dispatchQuick(group, heldUp, held, now, &outcomes)
    // Before a queue builds up behind the workers, another one is started.
    let isStarting = group.workers.contains { $0.state == .starting }
    let active = group.workers.count(where: { $0.state != .ending })
    // Until each kind has opened its stages nothing is taken in: one that ends before that is started again, or named.
    let isAwaited = !group.wasReady && group !== longDigest
    let isWanted = isAwaited || isBehind(group, now)
    // Beyond its limit, only for those whose works hold up none.
    let isInNeed =
      active < group.limit || group.queue.first(except: heldUp.owners) != nil
      || nextQuick(group, heldUp) != nil
    if isWanted && !isStarting && isInNeed && active < group.limit + heldUp.count { _ = try start(group) }
  }

  /// Nanoseconds that all workers are with one piece of work while others wait: then another worker is worth its start.
  private static let worthAnother: UInt64 = 5_000_000

  private func isBehind(_ group: WorkerGroup, _ now: UInt64) -> Bool {
    group.queue.count > Self.few
      || !group.queue.isEmpty && group.workers.allSatisfy { $0.headSince + Self.worthAnother < now }
  }

  /// Pieces of work that one worker may have done before another has started.
  private static let few = 5

  /// An attachment that took a worker down gets a new one to itself, so that it takes no other with it this time.
  private func dispatchAlone(
    _ group: WorkerGroup, _ outcomes: inout [Outcome]
  ) throws(SchedulerError) {
    guard let worker = group.workers.first(where: { $0.isExclusive && $0.state != .ending }) else {
      let candidates = group.workers.filter { $0.state != .ending }
      let least = candidates.min(by: { ($0.inFlight.count, $0.done) < ($1.inFlight.count, $1.done) })
      let worker = if let least { least } else { try start(group) }
      return worker.isExclusive = true
    }
    guard worker.state == .ready, worker.inFlight.isEmpty else { return }
    if worker.done > 0 {
      retire(worker)
      try start(group).isExclusive = true
    } else if let flight = group.alone.popFirst(),
      try !give(flight, to: worker, environment.clock.monotonic(), &outcomes)
    {
      group.alone.prepend(flight)
    }
  }

  /// Hands over a piece of work. False: this worker takes none now.
  func give(
    _ flight: Flight, to worker: GroupWorker, _ now: UInt64, _ outcomes: inout [Outcome]
  ) throws(SchedulerError) -> Bool {
    guard let dispatch = flight.dispatched else { return true }
    var descriptors: [Int32] = []
    var takes: Work.Takes = []
    if flight.isInLine || flight.transfer != nil {
      descriptors.append(flight.content)
      if worker.group.produces {
        do throws(SystemError) {
          try flight.makeOutput()
        } catch {
          throw SchedulerError(error)
        }
        descriptors.append(flight.output)
        takes.insert(.content)
      }
      if worker.group.leavesPieces {
        do throws(SystemError) {
          try flight.makePieces()
        } catch {
          throw SchedulerError(error)
        }
        descriptors.append(flight.piecesOutput)
        takes.insert(.pieces)
      }
      if !takes.isEmpty { memory.begin(flight.serial, newContent(of: worker.group)) }
    }
    if worker.group.capability == .store { flight.isStoreTouched = true }
    let result = worker.process.give(
      flight.work(dispatch, takes: takes, room: room(flight, worker.group)), descriptors: descriptors)
    if case .given = result {} else { endOutput(flight) }
    switch result {
    case .given:
      if worker.inFlight.isEmpty {
        worker.headSince = now
        worker.process.resetFlood()
      }
      flight.dispatched?.since = now
      worker.inFlight.append(flight)
    case .tooLong: outcomes.append(.tooLong(flight))
    case .full:
      worker.isFull = true
      environment.awaitWritable(worker.slot, true)
      return false
    case .gone:
      // Its end is reported, or it only pretends to end.
      worker.close(at: now)
      return false
    case .failed(let error): throw SchedulerError(error)
    }
    return true
  }

  // MARK: Memory of new content

  /// Whether there is memory for the first in a queue. Where there is none, those that give some back become the first: they are
  /// what it waits for.
  private func hasRoomForFirst(
    _ queue: FlightQueue, of group: WorkerGroup, except owners: Set<UInt64> = [], _ held: () -> Int64
  ) -> Bool {
    guard let first = queue.first(except: owners) else { return false }
    if hasRoom(for: first, in: group, held) { return true }
    queue.moveFirst(where: goesFirst)
    return queue.first(except: owners).map { hasRoom(for: $0, in: group, held) } ?? false
  }

  func hasRoom(for flight: Flight, in group: WorkerGroup, _ held: () -> Int64) -> Bool {
    let needed = newContent(of: group)
    if needed == 0 || !flight.isInLine { return true }
    let own = goesFirst(flight) ? max(flight.memoryInUse, 1) : 0
    return memory.hasRoom(for: needed, held: held(), own: own)
  }

  /// What of children an attachment may have yet.
  private func room(_ flight: Flight, _ group: WorkerGroup) -> ChildRoom {
    guard let place = flight.attachment?.place, group.leavesPieces else {
      return ChildRoom(contents: 0, bytes: 0)
    }
    return pipeline.expand.room(place)
  }

  /// Bytes that one attachment's stages in a group may write.
  private func newContent(of group: WorkerGroup) -> Int64 {
    let files: Int64 = (group.produces ? 1 : 0) + (group.leavesPieces ? 1 : 0)
    return files == 0 ? 0 : max(group.output, 0) * files
  }

  /// A worker has answered, or ended: what it wrote has been taken over, or is discarded.
  func endOutput(_ flight: Flight) {
    flight.discardOutput()
    flight.discardPieces()
    memory.end(flight.serial)
  }
}
