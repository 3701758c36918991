import CPlatform
import Glibc
import LedgerPort
import Pipeline
import Platform
import Wire
import Workers

/// The thread of a ``Checker``: the way of a content through the line, without a ledger around it.
final class CheckLoop {
  /// A check under way.
  final class Pending {
    let asked: Checker.Asked
    var flight: Flight
    /// In nanoseconds of the monotonic clock.
    let deadline: UInt64

    init(_ asked: Checker.Asked, _ flight: Flight, deadline: UInt64) {
      (self.asked, self.flight, self.deadline) = (asked, flight, deadline)
    }
  }

  let pipeline: PipelineDefinition
  private let plan: RunPlan
  private let digest: StageDescription
  private let executable: String
  let inbox: Checker.Inbox
  private let say: (String) -> Void
  private let lane = Lane(.attachments)
  private var ids = UUIDv7Generator()

  private var host: WorkerHost?
  var pool: WorkerPool?
  /// Until when a pipeline that could not be used is not tried again, and why; in nanoseconds.
  private var fault: (until: UInt64, text: String)?
  private var toldFault: String?

  /// In order; those that are not in hand yet, since as many are.
  private var waiting: [(asked: Checker.Asked, deadline: UInt64)] = []
  var pending: [UInt64: Pending] = [:]
  /// Contents whose children are being checked, by the serial of their flight; the children that are not begun, by the root of
  /// their tree; and the answers.
  var expanding: [UInt64: Expanding] = [:]
  var children: [UInt64: [Child]] = [:]
  let answers = Answers()
  /// Where those that were taken out of others stand, by the serial of their flight.
  var parents: [UInt64: (tree: Tree, depth: Int64)] = [:]
  /// Until it is known what the stages reject for its length alone.
  private var unmeasured: [Pending] = []
  private var nextSerial: UInt64 = 1
  var known: [Known: KnownContent.Said] = [:]

  /// Checks in hand: each holds a descriptor, and some have a worker.
  static let window = 256
  static let mostKnown = 10_000
  /// Nanoseconds before a pipeline that could not be used is tried again.
  private static let faultTime: UInt64 = 1_000_000_000

  init(
    _ pipeline: PipelineDefinition, digest: StageDescription, executable: String, inbox: Checker.Inbox,
    say: @escaping (String) -> Void
  ) {
    (self.pipeline, self.digest, self.executable) = (pipeline, digest, executable)
    (self.inbox, self.say) = (inbox, say)
    plan = RunPlan(pipeline)
  }

  func run(isWarm: Bool) {
    if isWarm { attempt { () throws(SchedulerError) in try open() } }
    while true {
      let (asked, isLast) = inbox.take()
      let now = Clock.monotonic()
      for one in asked {
        waiting.append((one, now + UInt64(max(one.check.patience, 0)) * 1_000_000))
      }
      if isLast || pending.isEmpty && expanding.isEmpty && waiting.isEmpty && inbox.closeIfRetired() { break }
      attempt { () throws(SchedulerError) in
        if !waiting.isEmpty || !children.isEmpty { try begin(now) }
        try turn()
        takeAnswers()
      }
    }
    fail(.unknown("stopped", "the server was stopped; ask again"))
    host?.close()
  }

  /// Does a part of the loop; where the pipeline cannot be used, all that is in hand is answered so.
  private func attempt(_ body: () throws(SchedulerError) -> Void) {
    do throws(SchedulerError) {
      try body()
    } catch {
      fault = (Clock.monotonic() + Self.faultTime, error.description)
      if toldFault != error.description { say("contents cannot be checked: \(error)") }
      toldFault = error.description
      fail(.unknown("pipeline", "contents cannot be checked: \(error)"))
      host?.close()
      (host, pool) = (nil, nil)
    }
  }

  private func fail(_ result: CheckResult) {
    let all = pending.values.map(\.asked) + expanding.values.map(\.one.asked) + waiting.map(\.asked)
    (pending, expanding, waiting, unmeasured) = ([:], [:], [], [])
    (children, parents) = ([:], [:])
    for asked in all { asked.answer(result) }
  }

  // MARK: Workers

  /// Starts a worker of each kind.
  private func open() throws(SchedulerError) {
    if pool != nil { return }
    do throws(SystemError) {
      let host = try WorkerHost(executable: executable)
      host.watch(inbox.readable, as: 0)
      let environment = PoolEnvironment(
        clock: .machine,
        startWorker: { slot, setup, _ throws(SystemError) in try host.start(slot, setup) },
        awaitWritable: host.awaitWritable, programFiles: ProgramFile.files)
      let processors = max(Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))), 1)
      self.host = host
      let pool = WorkerPool(pipeline, plan, digest: digest, processors: processors, environment)
      pool.goesFirst = { [unowned self] in goesFirst($0) }
      self.pool = pool
    } catch {
      throw SchedulerError(error)
    }
    try pool?.open()
  }

  /// Gives work, waits until something happens, and takes what has.
  private func turn() throws(SchedulerError) {
    guard let pool, let host else { return waitWithoutWorkers() }
    take(try pool.dispatch(held: { self.memoryInUse }))
    var heard: [(UInt32, WorkerNews)] = []
    do throws(SystemError) {
      let isQuiet = pending.isEmpty && !pool.isChanging
      try host.wait(isQuiet ? 1000 : 20) {
        heard.append(($0, $1))
      } other: { _ in
      }
    } catch {
      throw SchedulerError(error)
    }
    for (slot, news) in heard { take(try pool.take(news, of: slot, isStopping: false)) }
    take(pool.checkLimits())
    if pool.isOpen { toldFault = nil }
    giveUpLate(Clock.monotonic())
  }

  private var memoryInUse: Int64 {
    let inHand = pending.values.reduce(0) { $0 + $1.flight.memoryInUse }
    return expanding.values.reduce(inHand) { $0 + $1.one.flight.memoryInUse }
  }

  private func waitWithoutWorkers() {
    var one = pollfd(fd: inbox.readable, events: Int16(POLLIN), revents: 0)
    poll(&one, 1, 1000)
  }

  private func giveUpLate(_ now: UInt64) {
    let isLate = { (deadline: UInt64) in deadline <= now }
    let late = pending.values.filter { isLate($0.deadline) }
    for one in late {
      one.flight.takenBack = .cancelled("it took too long")
      _ = pool?.takeBack(one.flight)
      unmeasured.removeAll { $0 === one }
      finish(one, .unknown("too-late", "it was not decided in the time that it was given"))
    }
    for parent in expanding.values.filter({ isLate($0.one.deadline) }) {
      expanding[parent.one.flight.serial] = nil
      finish(parent.one, .unknown("too-late", "it was not decided in the time that it was given"))
    }
    guard let first = waiting.firstIndex(where: { isLate($0.deadline) }) else { return }
    let overdue = waiting[first...].filter { isLate($0.deadline) }
    waiting.removeAll { isLate($0.deadline) }
    for one in overdue {
      one.asked.answer(.unknown("too-late", "others were checked before it for as long as it was given"))
    }
  }

  // MARK: The way of a content

  private func begin(_ now: UInt64) throws(SchedulerError) {
    if let fault, fault.until > now {
      return fail(.unknown("pipeline", "contents cannot be checked: \(fault.text)"))
    }
    fault = nil
    try open()
    beginChildren()
    let count = min(max(Self.window - pending.count, 0), waiting.count)
    let next = waiting.prefix(count)
    waiting.removeFirst(count)
    for (asked, deadline) in next { begin(asked, deadline: deadline) }
  }

  /// - Parameter note: is told the serial of its flight.
  func begin(_ asked: Checker.Asked, deadline: UInt64, _ note: (UInt64) -> Void = { _ in }) {
    guard let flight = flight(asked, attempt: 1) else {
      return asked.answer(.unknown("unreadable", "\(SystemError("opening the content"))"))
    }
    let one = Pending(asked, flight, deadline: deadline)
    pending[flight.serial] = one
    note(flight.serial)
    flight.turn = root(of: flight.serial)
    flight.owner = asked.check.owner.map { UInt64(truncatingIfNeeded: ByteText($0).hashValue) } ?? flight.turn
    measure(one)
  }

  /// - Returns: `nil`: the content cannot be had; see errno.
  private func flight(_ asked: Checker.Asked, attempt: Int) -> Flight? {
    var facts = stat()
    let descriptor = fcntl(asked.check.content.number, F_DUPFD_CLOEXEC, 0)
    if descriptor < 0 { return nil }
    if fstat(descriptor, &facts) != 0 {
      close(descriptor)
      return nil
    }
    let serial = nextSerial
    nextSerial += 1
    let attachment = LeasedAttachment(
      key: 0,
      origin: AttachmentOrigin(
        id: ids.next(), conversationId: "", messageId: "", senderId: "", fileName: asked.check.fileName,
        declaredType: asked.check.declaredType),
      participants: "[]", source: .file(host: nil, path: [], size: 0, modified: 0, folderDevice: nil))
    let lease = Lease(
      job: JobKey(.attachment, 0), token: Token(holder: 0, number: 0), attempt: attempt, counted: attempt,
      crashes: attempt - 1, work: .attachment(attachment))
    let flight = Flight(serial: serial, lease: lease, lane: lane, plan)
    flight.take(descriptor, FileState(facts))
    return flight
  }

  private func measure(_ one: Pending) {
    guard let pool else { return }
    if !one.flight.isSealed {
      guard pool.areLengthLimitsKnown else { return unmeasured.append(one) }
      if let reason = LengthLimit.rejection(
        of: one.flight.file.size, by: pipeline.stages, limit: { pool.lengthLimit($0, plan) })
      {
        one.flight.run.rejectUnread(reason)
        return route(one)
      }
    }
    pool.measure(one.flight)
  }

  func route(_ one: Pending) {
    let flight = one.flight
    switch flight.run.next(isSourceChanged: { flight.isSourceChanged }) {
    case .measure: measure(one)
    case .run(let stages):
      guard let pool, let index = plan.groups.group(of: stages.lowerBound) else { return }
      let start = plan.groups.groups[index].stages.lowerBound
      pool.enqueue(flight, pool.line[index], (stages.lowerBound - start)..<(stages.upperBound - start))
    case .expand: expand(one)
    case .end(let end): take(end, one)
    }
  }

  private func take(_ outcomes: [WorkerPool.Outcome]) {
    for outcome in outcomes {
      switch outcome {
      case .opened:
        if pool?.areLengthLimitsKnown != true { continue }
        let all = unmeasured
        unmeasured = []
        for one in all { measure(one) }
      case .answered(let flight, let result, let group):
        if let one = pending[flight.serial] { apply(result.report, one, group) }
        pool?.endOutput(flight)
      case .died(let flight, let death, let group, let stage, let microseconds, let report):
        guard let one = pending[flight.serial] else {
          pool?.endOutput(flight)
          continue
        }
        died(death, one, group, stage, microseconds, after: report)
      case .tooLong(let flight):
        guard let one = pending[flight.serial] else { continue }
        flight.run.endUntold()
        route(one)
      case .takenBack(let flight), .untouched(let flight): pool?.endOutput(flight)
      case .changed(let text): say(text)
      }
    }
  }

  private func apply(_ report: StageReport, _ one: Pending, _ group: WorkerGroup) {
    let flight = one.flight
    guard case .line(let range) = group.purpose else {
      guard let said = report.results.first else { return invalid("it measured nothing", one, group, 0) }
      if said.verdict != .pass {
        flight.run.measuringFailed(said, of: group.stages[0])
        return route(one)
      }
      guard let text = report.measuredDigest else {
        return invalid("it gave no SHA-256", one, group, 0)
      }
      flight.run.measured(text)
      repeatWords(one)
      return route(one)
    }
    var report = report
    if report.produced, let problem = takeNewContent(flight) {
      let index = report.results.last?.index ?? 0
      report.results.removeLast(min(report.results.count, 1))
      report.produced = false
      return invalid(problem, one, group, index, after: report)
    }
    if let problem = flight.takePieces(of: &report, group) {
      let index = report.results.last?.index ?? 0
      report.results.removeLast(min(report.results.count, 1))
      return invalid(problem, one, group, index, after: report)
    }
    flight.run.take(report, of: flight.given(of: range))
    route(one)
  }

  private func takeNewContent(_ flight: Flight) -> String? {
    guard flight.output >= 0 else { return "it says it wrote new content, and had nowhere to" }
    return flight.replaceContent().map { "\($0)" }
  }

  private func invalid(
    _ text: String, _ one: Pending, _ group: WorkerGroup, _ stage: Int, after report: StageReport? = nil
  ) {
    died(WorkerDeath(.invalidReply(text), lastWords: ""), one, group, stage, 0, after: report)
  }

  private func died(
    _ death: WorkerDeath, _ one: Pending, _ group: WorkerGroup, _ stage: Int, _ microseconds: Int64,
    after report: StageReport?
  ) {
    // Torn, or a lie: then there is nothing.
    var said = report
    if var report { said = one.flight.takePieces(of: &report, group) == nil ? report : nil }
    one.flight.run.died(death, group, stage, microseconds: microseconds, after: said)
    pool?.endOutput(one.flight)
    route(one)
  }

  // MARK: The end

  private func take(_ end: AttachmentRun.End, _ one: Pending) {
    let flight = one.flight
    switch end {
    case .ended:
      remember(one)
      finish(one, result(one, CheckVerdict(flight.run.outcome), flight.run.reason))
    case .again(let reason, _, crashed: true) where reason.code != "timed-out":
      // It may have been the doing of another. The next attempt has a worker to itself.
      let attempt = flight.lease.attempt + 1
      guard let next = self.flight(one.asked, attempt: attempt) else {
        return finish(one, .unknown("unreadable", "\(SystemError("opening the content"))"))
      }
      pending[flight.serial] = nil
      parents[next.serial] = parents.removeValue(forKey: flight.serial)
      (next.turn, next.owner) = (flight.turn, flight.owner)
      one.flight = next
      pending[next.serial] = one
      measure(one)
    case .again(let reason, _, _), .lanePaused(let reason): finish(one, result(one, .unknown, reason))
    }
  }

  func result(_ one: Pending, _ verdict: CheckVerdict, _ reason: Reason?) -> CheckResult {
    let flight = one.flight
    var result = CheckResult(verdict, reason)
    if flight.run.outcome == .quarantined { result.outcome = .quarantined }
    (result.mediaType, result.sizeBytes) = (flight.run.mediaType, flight.file.size)
    (result.sha256, result.metadata) = (flight.run.sha256, flight.run.metadata)
    result.steps = flight.run.steps
    return result
  }

  func finish(_ one: Pending, _ result: CheckResult) {
    pending[one.flight.serial] = nil
    parents[one.flight.serial] = nil
    one.asked.answer(result)
    // Others wait for its place.
    if !waiting.isEmpty || !children.isEmpty { sluice_eventfd_raise(inbox.readable) }
  }
}
