import Glibc
import HomeFolder
import LedgerPort
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
  let environment: SchedulerEnvironment
  let pool: WorkerPool
  // The work on the leases of each kind.
  private(set) lazy var attachments = AttachmentLine(self)
  private(set) lazy var deliveries = DeliveryLine(self)
  /// What fetches links; `nil`: they are not fetched.
  private(set) var transfers: TransferLine?
  var exchange: LedgerExchange
  private let ledger: any LedgerQueries
  private let home: String

  // Work.
  var flights: [UInt64: Flight] = [:]
  var nextSerial: UInt64 = 1
  var lanes: Lanes
  var sources = SourceOpenings()

  var isIntakeOver: Bool
  /// A signal came before all that was to be taken in was.
  var isIntakeCut = false

  private(set) var isResident = false
  /// Whether it tells of each stage.
  private(set) var tellsSteps = false
  /// When this turn of the loop began, in milliseconds of the steady clock. One reading for each turn: what is due is the same for
  /// all that looks.
  private(set) var time: Int64 = 0
  /// How long to wait for deliveries that are scheduled, in milliseconds, once nothing else is left to do; and until when.
  private var deliveryPatience: Int64 = 0
  private var deliveryDeadline: Int64?
  var isStopping = false
  /// It stops so that another scheduler goes on.
  var isHandingOver = false
  var stopNoteAt: UInt64 = 0
  var isStopTold = false
  /// Until when what is in hand may go on after a signal, in nanoseconds of the monotonic clock; and whether that is over.
  var stopUntil: UInt64?
  var isStopOverdue = false
  private var placesCheckedAt: UInt64 = 0
  var observe: (SchedulerEvent) -> Void = { _ in }

  /// - Parameters:
  ///   - digest: the stage that measures content, run before the first of the pipeline's.
  ///   - lock: the right to work on the home.
  ///   - executable: the worker's.
  ///   - signals: a descriptor from `sluice_signalfd`, or `nil`.
  ///   - intake: where new files come from; `nil`: only what is queued is worked on.
  ///   - early: workers of this pipeline that are there already.
  public convenience init(
    _ pipeline: PipelineDefinition, digest: StageDescription, home: Home, lock: HomeLock,
    ledger: any LedgerWriter & LedgerQueries,
    executable: String, signals: Int32?, intake: Intake?, early: EarlyWorkers? = nil
  ) throws(SchedulerError) {
    do throws(SystemError) {
      let machine = try Machine(home, ledger, executable: executable, signals: signals, intake, early: early)
      self.init(
        pipeline, digest: digest, ledger: ledger, home: home.path, processors: machine.processors,
        isIntakeOver: intake == nil, machine.environment(lock))
    } catch {
      throw SchedulerError(error)
    }
  }

  /// - Parameters:
  ///   - home: its path, for messages.
  ///   - processors: how many workers of a kind may be at work, unless the pipeline says.
  ///   - isIntakeOver: nothing new is to be taken in.
  package init(
    _ pipeline: PipelineDefinition, digest: StageDescription, ledger: any LedgerQueries, home: String,
    processors: Int,
    isIntakeOver: Bool, _ environment: SchedulerEnvironment
  ) {
    self.pipeline = pipeline
    self.ledger = ledger
    self.home = home
    self.environment = environment
    self.isIntakeOver = isIntakeOver
    plan = RunPlan(pipeline)
    pool = WorkerPool(pipeline, plan, digest: digest, processors: processors, environment.pool)
    exchange = LedgerExchange(environment.tuning, turns: pipeline.turns)
    lanes = Lanes(
      channels: pipeline.channels.map(\.name), connections: pipeline.downloads?.connections ?? 0,
      perHost: pipeline.downloads?.perHost ?? 0, prefetch: pipeline.downloads?.prefetch ?? 0,
      window: environment.tuning.window)
    transfers = pipeline.downloads.map { TransferLine($0, self) }
  }

  /// Works until the queue is empty and the intake is finished. Attachments whose source stays out of reach, and deliveries that
  /// are scheduled for later, are left. Called once.
  ///
  /// - Parameters:
  ///   - isResident: whether to wait for more, until a signal comes. Scheduled deliveries are made when they are due, and
  ///     paused lanes are tried again.
  ///   - deliveryPatience: how long to wait for deliveries that are scheduled, in milliseconds, once nothing else is left.
  ///   - tellsSteps: whether to tell of each stage, and not only of the end.
  public func run(
    isResident: Bool = false, deliveryPatience: Int64 = 0, tellsSteps: Bool = false,
    observe: @escaping (SchedulerEvent) -> Void
  ) throws(SchedulerError) -> SchedulerSummary {
    self.observe = observe
    (self.isResident, self.tellsSteps) = (isResident, tellsSteps)
    self.deliveryPatience = deliveryPatience
    defer { environment.close(false) }
    do throws(SchedulerError) {
      try begin()
      try work()
    } catch {
      // What went wrong may follow from that.
      try checkPlaces()
      throw error
    }
    return SchedulerSummary(
      pausedLanes: lanes.all.compactMap { lane in
        lane.pause.map { (lane.name.description, $0.reason, $0.cause) }
      },
      awaitedPlaces: attachments.awaitedPlaces, wasStopped: isStopping && !isHandingOver,
      wasHandedOver: isHandingOver, isIntakeCut: isIntakeCut, sandbox: pool.sandbox)
  }

  private func work() throws(SchedulerError) {
    while true {
      // A batch at a time: the thread that finds files waits while the ledger is behind.
      if exchange.takesBatches && pool.isOpen { readIntake() }
      exchangeWithLedger()
      askForFiles()
      if isDone { return try checkPlaces() }
      attachments.beginSuspect()
      try transfers?.dispatch()
      transfers?.tell()
      take(try pool.dispatch(held: { self.flights.values.reduce(0) { $0 + $1.memoryInUse } }))
      let happenings = try wait()
      time = environment.clock.steady()
      for happening in happenings { try take(happening) }
      take(pool.checkLimits())
      transfers?.checkLimits()
      try checkPlaces(every: Self.placeCheckInterval)
      tellSlowSource()
      tellStopping()
      endOverdue()
      if environment.isAsked() {
        var atWork = pool.atWork
        atWork.downloads = transfers?.worker.atWork()
        observe(.atWork(atWork))
      }
      transfers?.followConditions()
      observe(.tick)
    }
  }

  private func take(_ happening: Happening) throws(SchedulerError) {
    switch happening {
    case .replied(.success(let reply?)): take(reply)
    case .replied(.success(nil)): exchange.notDone()
    case .replied(.failure(let error)): try take(error)
    case .worker(let slot, let news):
      if let transfers, transfers.worker.slot == slot {
        transfers.take(try transfers.worker.take(news))
      } else {
        try hear(news, of: slot)
      }
    case .opened(let serial, let opening): take(opening, of: serial)
    case .published(let results): try attachments.takePublished(results)
    case .staged(let results): attachments.takeStaged(results)
    case .deleted(let results): attachments.takeDeleted(results)
    case .networkChanged: transfers?.networkChanged()
    case .signal(let number): takeSignal(number)
    }
  }

  private var isDone: Bool {
    guard flights.isEmpty, exchange.isSettled, attachments.isSettled else { return false }
    if isStopping { return !exchange.hasBatch }
    if isResident { return false }
    guard isIntakeOver, !exchange.hasBatch, !sources.isRemoving else { return false }
    guard lanes.all.allSatisfy(isDone) else { return false }
    return !waitsForDeliveries
  }

  private func isDone(_ lane: Lane) -> Bool {
    if lane.pause != nil { return transfers?.triesOtherHosts(lane) != true }
    if lane.mayHaveMore { return false }
    if lane === lanes.downloads { return lane.nextDue == nil }
    return lane !== lanes.attachments || lane.nextDue == nil || attachments.isOnlyAwaitingSources(lane)
  }

  /// Whether a delivery is due within the time that the user wants to wait.
  private var waitsForDeliveries: Bool {
    guard deliveryPatience > 0 else { return false }
    let now = time
    let deadline = deliveryDeadline ?? now + deliveryPatience
    deliveryDeadline = deadline
    let next = lanes.channels.lazy.filter { $0.pause == nil }.compactMap(\.nextDue).min()
    return now < deadline && next.map { $0 <= deadline } ?? false
  }

  private func hear(_ news: WorkerNews, of slot: UInt32) throws(SchedulerError) {
    do throws(SchedulerError) {
      take(try pool.take(news, of: slot, isStopping: isStopping))
    } catch {
      guard let name = error.lane, let lane = lanes[name] else { throw error }
      let message = "\(error.description); mend it, then `sluice resume \(lane.name)`"
      pause(lane, Reason(stage: "", code: "stage-not-opened", message: message))
    }
  }

  // MARK: Beginning

  private func begin() throws(SchedulerError) {
    time = environment.clock.steady()
    var unpublished: [(object: StagedObject, error: SystemError)] = []
    do {
      unpublished = try attachments.recover(ledger)
      if transfers != nil { environment.downloads.sweep(keeping: try ledger.transfersWithFiles()) }
    } catch let error as LedgerError {
      throw SchedulerError(error)
    } catch let error as SystemError {
      throw SchedulerError(error)
    } catch {
      throw SchedulerError(.store, "\(error)")
    }
    // Each lease holds up to three descriptors, and the workers theirs.
    let descriptors = environment.descriptorLimit
    let needed = Self.ownDescriptors + (pool.groupCount + 1) * WorkerPool.descriptorsOfWorker
    if descriptors < needed {
      throw SchedulerError(
        .configuration,
        "this process may have \(descriptors) files open, and needs \(needed) for this pipeline; raise the limit, with "
          + "`ulimit -n 1024` or LimitNOFILE= in systemd")
    }
    lanes.bound((descriptors - needed) / 3)
    try pool.open()
    for (object, error) in unpublished { attachments.waitForPath(object, error) }
  }

  /// Descriptors that the coordinator has open besides: the ledger with its log and a journal, the home, the socket with its
  /// clients, folders that are walked.
  private static let ownDescriptors = 48

  // MARK: Waiting

  private func wait() throws(SchedulerError) -> [Happening] {
    do throws(SystemError) {
      return try environment.wait(longestWait)
    } catch {
      throw SchedulerError(error)
    }
  }

  /// Nanoseconds between two looks at whether home and store are still there.
  private static let placeCheckInterval: UInt64 = 1_000_000_000

  func checkPlaces(every interval: UInt64 = 0) throws(SchedulerError) {
    let now = environment.clock.monotonic()
    if now - placesCheckedAt < interval { return }
    placesCheckedAt = now
    switch environment.lostPlace() {
    case .home:
      throw SchedulerError(
        .home,
        "\(home) was deleted, moved or replaced while it was worked on, so that what is recorded from now on would be "
          + "lost; put it back, or run the same command again to begin a new one")
    case .store:
      throw SchedulerError(
        .store,
        "\(environment.store.name) was deleted, moved or replaced while it was worked on; the objects of what is on "
          + "record are in the one that was there: put it back, then run the same command again")
    case nil: return
    }
  }

  private func tellSlowSource() {
    guard let source = sources.slow(at: environment.clock.monotonic()) else { return }
    observe(
      .problem(
        "opening \(String(decoding: source.path, as: UTF8.self)) takes long: its file system may hang; what is to be opened "
          + "after it waits, and goes on once it answers"))
  }

  /// How long to wait for something to happen, in milliseconds: while workers are at work, their time limits are watched.
  private var longestWait: Int32 {
    if !flights.isEmpty || exchange.isUnderway || !attachments.isSettled || pool.isChanging {
      return 20
    }
    let now = time
    let dueTimes = lanes.all.filter { $0.pause == nil }.compactMap(\.nextDue) + attachments.dueTimes
    let next = dueTimes.min().map { $0 - now } ?? 1000
    return Int32(clamping: min(max(next, 1), 1000))
  }

  private func readIntake() {
    // Clients that never stop sending must not keep it from ending.
    if isHandingOver || isStopping && flights.isEmpty { return }
    guard let batch = environment.nextBatch() else { return }
    if isStopping && batch.ticket == 0 {
      if !batch.commands.isEmpty { isIntakeCut = true }
      return
    }
    if batch.isHandover { return handOver() }
    if batch.commands.isEmpty {
      isIntakeOver = true
    } else if exchange.isOutOfRoom && batch.ticket != 0 {
      takeWithoutRoom(batch)
    } else {
      exchange.takeIn(batch)
    }
  }
}
