import CPlatform
import Glibc
import Ledger
import Objects
import Pipeline
import Platform
import Wire
import Workers

/// Moves attachments through the line and events to their recipients: claims a batch, hands descriptors to workers,
/// collects what they say, commits as a group.
///
/// One thread runs it; a second owns the ledger, so that work goes on while a transaction is synced. What is on record
/// is exact whenever the process is killed: a claim is durable before a stage runs, and a result counts once its
/// transaction is.
public final class Scheduler {
  let pipeline: PipelineDefinition
  let plan: RunPlan
  let home: Home
  private let lock: HomeLock
  let executable: String
  private let ledger: Ledger
  private let signals: Int32?

  // Workers.
  let digestGroup: WorkerGroup
  /// For contents that take long to hash. Started when there is one.
  let longDigestGroup: WorkerGroup
  let lineGroups: [WorkerGroup]
  let channelGroups: [String: WorkerGroup]
  var workers: [UInt32: GroupWorker] = [:]
  var nextSlot: UInt32 = 0
  var epoll: Int32 = -1
  let room = UnsafeMutableRawBufferPointer.allocate(byteCount: Frame.limit, alignment: 16)
  /// The parts of the sandbox that every worker had.
  var sandbox: UInt32?
  /// When the deadlines were last looked at, and the last time that this process was stopped; in nanoseconds.
  var lastCheck: UInt64 = 0
  var lastThreadCheck: UInt64 = 0
  var pause: Range<UInt64> = 0..<0
  var storeFolder: Int32 = -1
  var homeFolder: Int32 = -1

  // Work.
  var flights: [UInt64: Flight] = [:]
  var nextSerial: UInt64 = 1
  /// An attachment that is to be worked on while no other is in hand.
  var suspect: Flight?
  var isSuspectUnderway = false
  var gate = ObjectGate()
  var publishing: Publishing?
  var lanes: [String: Lane] = [:]
  /// Opened, and not yet hashed: until it is known what the stages reject for its length alone.
  var unmeasured: [Flight] = []
  /// By job.
  var awaitedSources: [Int64: AwaitedSource] = [:]
  /// Places that are out of reach, each told once.
  var toldPlaces: Set<String> = []
  var memory: MemoryBudget

  // The ledger.
  var ledgerThread: LedgerThread?
  var settlements: [PendingSettlement] = []
  var lookups: [UInt64] = []
  var pauses: [(lane: String, code: String, reason: String)] = []
  var resumed: [String] = []
  var underway: Underway?
  var intakeBatches: [Intake.Batch] = []
  var isIntakeOver = true
  /// A signal came before all that was to be taken in was.
  private var isIntakeCut = false

  private(set) var isResident = false
  /// How long to wait for deliveries that are scheduled, in milliseconds, once nothing else is left to do; and until when.
  private var deliveryPatience: Int64 = 0
  private var deliveryDeadline: Int64?
  var isStopping = false
  private var stopNoteAt: UInt64 = 0
  private var homeCheckAt: UInt64 = 0
  var failure: SchedulerError?
  var observe: (SchedulerEvent) -> Void = { _ in }

  /// Leases in hand of one lane, at most: enough to keep all workers busy while a transaction is synced. After coordinators
  /// that got nothing done, one at a time, until it is known which attachment ends them.
  var window = 256
  private(set) var fullWindow = 256
  private static let stallLimit = 3

  /// - Parameters:
  ///   - digest: the stage that measures content, run before the first of the pipeline's.
  ///   - lock: the right to work on the home.
  ///   - executable: the worker's.
  ///   - signals: a descriptor from `sluice_signalfd`, or `nil`.
  public init(
    _ pipeline: PipelineDefinition, digest: StageDescription, home: Home, lock: HomeLock, ledger: Ledger,
    executable: String,
    signals: Int32?
  ) {
    self.pipeline = pipeline
    self.home = home
    self.lock = lock
    self.ledger = ledger
    self.executable = executable
    self.signals = signals
    memory = MemoryBudget(total: pipeline.memoryTotal ?? MachineMemory.available() / 4)
    plan = RunPlan(pipeline)
    let processors = pipeline.workers ?? max(Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))), 1)
    let measuring = [StageDefinition(id: digest.id, description: digest, values: [])]
    digestGroup = WorkerGroup(
      purpose: .digest, stages: measuring, capability: .content, isFresh: false, limit: max(processors / 2, 1)
    )
    longDigestGroup = WorkerGroup(
      purpose: .digest, stages: measuring, capability: .content, isFresh: false,
      limit: max(processors / 2, 2),
      depth: 1)
    lineGroups = plan.groups.groups.map { group in
      WorkerGroup(
        purpose: .line(group.stages), stages: Array(pipeline.stages[group.stages]),
        capability: group.capability,
        isFresh: group.isFresh, limit: group.capability == .content ? processors : max(processors / 2, 1))
    }
    channelGroups = Dictionary(
      uniqueKeysWithValues: pipeline.channels.map { channel in
        (
          channel.name,
          WorkerGroup(
            purpose: .channel(channel.name), stages: [channel.stage],
            capability: channel.stage.description.capability,
            isFresh: false, limit: 1)
        )
      })
  }

  deinit {
    room.deallocate()
  }

  var groups: [WorkerGroup] { [longDigestGroup] + firstGroups }

  /// Those that have a worker from the beginning.
  private var firstGroups: [WorkerGroup] { [digestGroup] + lineGroups + Array(channelGroups.values) }

  /// Works until the queue is empty and `intake` is finished. Attachments whose source stays out of reach, and deliveries that
  /// are scheduled for later, are left.
  ///
  /// - Parameters:
  ///   - intake: where new files come from; `nil`: only what is queued.
  ///   - isResident: whether to wait for more, until a signal comes. Scheduled deliveries are made when they are due, and
  ///     paused lanes are tried again.
  ///   - deliveryPatience: how long to wait for deliveries that are scheduled, in milliseconds, once nothing else is left.
  public func run(
    _ intake: Intake?, isResident: Bool = false, deliveryPatience: Int64 = 0,
    observe: @escaping (SchedulerEvent) -> Void
  ) throws(SchedulerError) -> SchedulerSummary {
    self.observe = observe
    self.isResident = isResident
    self.deliveryPatience = deliveryPatience
    isIntakeOver = intake == nil
    try begin(intake)
    defer { end(intake) }
    while failure == nil {
      // A batch at a time: whoever finds files waits while the ledger is behind.
      if intakeBatches.isEmpty && areStagesOpen { takeIntake(intake) }
      publishAgain()
      exchangeWithLedger()
      if isDone { break }
      beginSuspect()
      for group in groups { dispatch(group) }
      wait(intake)
    }
    // Whatever else went wrong then follows from that.
    if failure != nil { checkHome() }
    if let failure { throw failure }
    return SchedulerSummary(
      pausedLanes: lanes.compactMap { name, lane in lane.pause.map { (name, $0.reason) } },
      awaitedPlaces: awaitedPlaces, wasStopped: isStopping, isIntakeCut: isIntakeCut, sandbox: sandbox)
  }

  /// Whether a worker of each kind has opened its stages: nothing is queued for a pipeline that turns out to be unusable.
  private var areStagesOpen: Bool { firstGroups.allSatisfy(\.wasReady) }

  private var isDone: Bool {
    guard flights.isEmpty, underway == nil, settlements.isEmpty else { return false }
    if isStopping { return true }
    if isResident { return false }
    guard isIntakeOver, intakeBatches.isEmpty else { return false }
    guard lanes.values.allSatisfy(isDone) else { return false }
    return !waitsForDeliveries
  }

  private func isDone(_ lane: Lane) -> Bool {
    if lane.pause != nil { return true }
    if lane.mayHaveMore { return false }
    return lane.name != Ledger.attachmentLane || lane.nextDue == nil || isOnlyAwaitingSources(lane)
  }

  /// Whether a delivery is due within the time that the user wants to wait.
  private var waitsForDeliveries: Bool {
    guard deliveryPatience > 0 else { return false }
    let now = Clock.steady()
    let deadline = deliveryDeadline ?? now + deliveryPatience
    deliveryDeadline = deadline
    let next = lanes.values.lazy.filter { $0.name != Ledger.attachmentLane && $0.pause == nil }
      .compactMap(\.nextDue).min()
    return now < deadline && next.map { $0 <= deadline } ?? false
  }

  // MARK: Beginning and end

  private func begin(_ intake: Intake?) throws(SchedulerError) {
    do throws(SystemError) {
      storeFolder = try Descriptor.open(home.storePath, O_RDONLY | O_DIRECTORY).release()
      homeFolder = try Descriptor.open(home.path, O_RDONLY | O_DIRECTORY).release()
      epoll = sluice_epoll()
      if epoll < 0 { throw SystemError("making an epoll") }
      if let intake { sluice_epoll_add(epoll, intake.readable, Tag.intake, 1, 0) }
      if let signals { sluice_epoll_add(epoll, signals, Tag.signal, 1, 0) }
    } catch {
      throw SchedulerError(error)
    }
    let publisher = ObjectPublisher(root: storeFolder, home.storePath)
    publishing = Publishing(publisher)
    do {
      if plan.stages.contains(where: { $0.description.capability == .store }) {
        try publisher.checkStore(ledger)
      }
      for problem in try publisher.recover(ledger) { observe(.problem(problem)) }
    } catch let error as LedgerError {
      throw SchedulerError(.ledger(error.code), error.description)
    } catch let error as SystemError {
      throw SchedulerError(error)
    } catch {
      throw SchedulerError(.store, "\(error)")
    }
    // Each lease holds up to three descriptors, and the workers theirs.
    let descriptors = Int(sluice_raise_descriptor_limit())
    let needed = Self.ownDescriptors + groups.count * Self.descriptorsOfWorker
    if descriptors < needed {
      throw SchedulerError(
        .configuration,
        "this process may have \(descriptors) files open, and needs \(needed) for this pipeline; raise the limit, with "
          + "`ulimit -n 1024` or LimitNOFILE= in systemd")
    }
    fullWindow = max(min(window, (descriptors - needed) / 3), 1)
    window = fullWindow
    if ledger.stalls >= Self.stallLimit { window = 1 }
    do throws(SystemError) {
      let thread = try LedgerThread(ledger)
      ledgerThread = thread
      sluice_epoll_add(epoll, thread.readable, Tag.ledger, 1, 0)
    } catch {
      throw SchedulerError(error)
    }
    for name in [Ledger.attachmentLane] + channelGroups.keys.map(Ledger.lane(ofChannel:)) {
      lanes[name] = Lane(name)
    }
    for group in firstGroups { startWorker(group) }
  }

  /// Descriptors that the coordinator has open besides: the ledger with its log and a journal, the home, the socket with its
  /// clients, folders that are walked.
  private static let ownDescriptors = 48
  /// Of each worker: its socket, its standard error, its process, and while it is started its status page and the other ends.
  private static let descriptorsOfWorker = 4

  private func end(_ intake: Intake?) {
    intake?.close()
    for worker in workers.values { worker.process.kill() }
    for worker in workers.values { worker.process.reap() }
    workers.removeAll()
    ledgerThread?.stop()
    for descriptor in [epoll, storeFolder, homeFolder] where descriptor >= 0 { close(descriptor) }
  }

  // MARK: Waiting

  enum Tag {
    static let ledger: UInt64 = 1 << 32
    static let intake: UInt64 = 2 << 32
    static let signal: UInt64 = 3 << 32
    static let worker: UInt64 = 4 << 32
    static let standardError: UInt64 = 5 << 32
  }

  private func wait(_ intake: Intake?) {
    withUnsafeTemporaryAllocation(of: sluice_ready.self, capacity: 64) { ready in
      let count = sluice_epoll_wait(epoll, ready.baseAddress, 64, patience)
      for index in 0..<Int(max(count, 0)) {
        let event = ready[index]
        switch event.tag & ~0xFFFF_FFFF {
        case Tag.ledger: takeReply()
        case Tag.intake: intake?.clear()
        case Tag.signal: takeSignal()
        case Tag.standardError:
          if let worker = workers[UInt32(truncatingIfNeeded: event.tag)] { drain(worker) }
        default:
          guard let worker = workers[UInt32(truncatingIfNeeded: event.tag)] else { continue }
          if event.writable != 0 { unblock(worker) }
          if event.readable != 0 || event.hangup != 0 { receive(from: worker) }
        }
      }
    }
    checkDeadlines()
    checkHome(every: Self.homeCheckInterval)
    tellStopping()
    observe(.tick)
  }

  /// Nanoseconds between two looks at whether the home is still there.
  private static let homeCheckInterval: UInt64 = 1_000_000_000

  private func checkHome(every interval: UInt64 = 0) {
    let now = Clock.monotonic()
    if now - homeCheckAt < interval { return }
    homeCheckAt = now
    if lock.isInPlace { return }
    failure = SchedulerError(
      .home,
      "\(home.path) was deleted, moved or replaced while it was worked on, so that what is recorded from now on would be "
        + "lost; put it back, or run the same command again to begin a new one")
  }

  /// How long to wait for something to happen, in milliseconds: while workers are at work, their time limits are watched.
  private var patience: Int32 {
    if !flights.isEmpty || underway != nil || workers.values.contains(where: { $0.state == .starting }) {
      return 20
    }
    let now = Clock.steady()
    let dueTimes =
      lanes.values.filter { $0.pause == nil }.compactMap(\.nextDue)
      + [publishing?.nextTry].compactMap(\.self)
    let next = dueTimes.min().map { $0 - now } ?? 1000
    return Int32(clamping: min(max(next, 1), 1000))
  }

  private func takeIntake(_ intake: Intake?) {
    guard let intake, !isIntakeOver, let batch = intake.take() else { return }
    if batch.items.isEmpty { isIntakeOver = true } else { intakeBatches.append(batch) }
  }

  /// The first signal lets what is in hand end; the second ends the process, which loses nothing.
  private func takeSignal() {
    guard let signals else { return }
    while case let number = sluice_signal_take(signals), number != 0 {
      if isStopping {
        for worker in workers.values { worker.process.kill() }
        _exit(128 + number)
      }
      isStopping = true
      isIntakeCut = !isIntakeOver || !intakeBatches.isEmpty
      isIntakeOver = true
      intakeBatches.removeAll()
      releaseWaiting()
    }
  }

  /// What no stage has begun with is due again at once, for whoever comes next; the rest goes on to its end.
  private func releaseWaiting() {
    for group in groups {
      for flight in group.takeQueued(where: { $0.run.isUntouched }) {
        settle(flight, .released)
      }
    }
    for flight in unmeasured { settle(flight, .released) }
    unmeasured.removeAll()
    if let suspect, !isSuspectUnderway { settle(suspect, .released) }
  }

  /// Nanoseconds between two words on what is still in hand.
  private static let stopNoteInterval: UInt64 = 5_000_000_000

  private func tellStopping() {
    let now = Clock.monotonic()
    guard isStopping, !flights.isEmpty, now - stopNoteAt >= Self.stopNoteInterval else { return }
    stopNoteAt = now
    let names = groups.filter { $0.workers.contains { !$0.inFlight.isEmpty } }.flatMap { $0.stages.map(\.id) }
    observe(.stopping(inHand: flights.count, with: names))
  }
}
