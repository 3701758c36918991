import CPlatform
import Glibc
import Objects
import Pipeline
import Platform
import Testing
import Wire
import Workers

@testable import LedgerPort
@testable import Scheduler

/// Which worker gets what. The simulator found the cases in which nobody got anything any more.
struct WorkerPoolTests {
  /// A worker that answers when the test says so.
  final class FakeWorker: Worker {
    var given: [UInt64] = []
    var isKilled = false
    var status = sluice_status()
    var partialResult: WorkResult? { nil }
    var excessThreads: Int? { nil }
    var lastWords: String { "" }
    func resetFlood() {}
    var cancelled: [UInt64] = []
    func cancel(_ serials: [UInt64]) { cancelled = serials }
    func kill() { isKilled = true }

    func give(_ work: Work, descriptors: [Int32]) -> GiveResult {
      given.append(work.serial)
      return .given
    }
  }

  /// A pool of one group, with one worker at a time.
  final class Bench {
    var started: [(slot: UInt32, worker: FakeWorker)] = []
    var pool: WorkerPool!
    /// Milliseconds.
    var time: UInt64 = 1000

    /// The group of the stage, which may be a channel.
    var group: WorkerGroup { pool.line.first ?? pool.channels[0] }

    init(
      produces: Bool, derives: Bool = false, expands: Bool = false, turns: Bool = false,
      isChannel: Bool = false, workers: Int = 1,
      memory: Int64? = nil
    ) {
      var description = StageDescription(id: "convert", version: "1", summary: "", file: "")
      (description.derives, description.expands) = (derives, expands)
      description.produces = produces
      description.turns = turns
      var stage = StageDefinition(id: "convert", description: description, values: [])
      stage.output = 1000
      let channel = ChannelDefinition(name: "convert", stage: stage)
      let pipeline = PipelineDefinition(
        stages: isChannel ? [] : [stage], channels: isChannel ? [channel] : [], workers: workers,
        memoryTotal: memory)
      nonisolated(unsafe) weak let bench = self
      let environment = SchedulerEnvironment(
        clock: Clock(
          now: { 0 }, steady: { 0 }, monotonic: { (bench?.time ?? 0) * 1_000_000 }, sinceBoot: { 0 }),
        jitter: { 0 },
        store: NoStore(), descriptorLimit: 100,
        startWorker: { [unowned self] slot, setup, _ in
          let worker = FakeWorker()
          if setup.stages[0].id == "convert" { started.append((slot, worker)) }
          return worker
        },
        awaitWritable: { _, _ in }, exchange: { _ in }, open: { _ in }, publish: { _ in }, delete: { _ in },
        nextBatch: { nil },
        lostPlace: { nil },
        wait: { _ throws(SystemError) in [] }, close: { _ in })
      pool = WorkerPool(
        pipeline, RunPlan(pipeline),
        digest: StageDescription(id: "digest", version: "1", summary: "", file: ""),
        processors: 1, environment.pool)
    }

    func dispatch(held: Int64 = 0) throws { _ = try pool.dispatch(held: { held }) }

    /// The latest worker says that its stages are open.
    ///
    /// - Parameter usual: nanoseconds that a piece of work has taken lately; `nil`: it is not known.
    func open(usual: UInt64? = 100_000) throws {
      if let usual { group.learn(usual) }
      let slot = try #require(started.last?.slot)
      _ = try pool.take(
        .said(.ready(Ready(sandbox: 0, bases: [nil], lengthLimits: [nil]))), of: slot, isStopping: false)
    }

    /// What a worker answers counts for these.
    func answer(_ serial: UInt64, from slot: UInt32) throws -> [UInt64] {
      try pool.take(.said(.result(WorkResult(serial: serial))), of: slot, isStopping: false).compactMap {
        if case .answered(let flight, _, _) = $0 { flight.serial } else { nil }
      }
    }

    func end(_ slot: UInt32) throws -> [WorkerPool.Outcome] {
      try pool.take(.ended(.crashed(signal: 11)), of: slot, isStopping: false)
    }
  }

  fileprivate final class NoStore: ObjectStore {
    func digest(ofStaged staged: StagedName) -> [UInt8]? { nil }
    func adopt(_ file: String, open descriptor: Int32, as name: StagedName) -> String? { nil }
    let name = "none"
    var isEmpty: Bool { true }
    func stage(_ sets: [[NewObject]]) -> [Result<[[UInt8]], SystemError>] { [] }
    func publish(_ object: StagedObject) {}
    func discard(_ staged: StagedName) {}
    func isStaged(_ staged: StagedName) -> Bool { false }
    func staged() -> [StagedName] { [] }
    func standing(of path: String) -> ObjectStanding { .free }
    func open(_ path: String) -> Descriptor? { nil }
    func list(after path: String?) -> any ObjectListing { Nothing() }
    func delete(_ paths: [String]) -> [SystemError?] { paths.map { _ in nil } }

    private final class Nothing: ObjectListing {
      func next(_ limit: Int) -> [ListedObject] { [] }
    }
  }

  @Test func aWorkerThatIsReservedForNobodyAnyMoreServesTheOthers() throws {
    let bench = Bench(produces: false)
    let alone = Flight.attachment(serial: 1, isAlone: true)
    bench.pool.enqueue(alone, bench.pool.line[0], 0..<1)
    try bench.dispatch()
    try bench.dispatch()
    // It is given back before its worker is ready.
    #expect(bench.pool.removeQueued { $0 === alone }.count == 1)
    try bench.open()
    bench.pool.enqueue(Flight.attachment(serial: 2), bench.pool.line[0], 0..<1)
    try bench.dispatch()
    #expect(bench.started.map(\.worker.given) == [[2]])
  }

  @Test func nothingWaitsBehindWhatTakesLong() throws {
    let bench = Bench(produces: false, workers: 2)
    for serial in 1...3 as ClosedRange<UInt64> {
      bench.pool.enqueue(Flight.attachment(serial: serial), bench.pool.line[0], 0..<1)
    }
    try bench.dispatch()
    try bench.open(usual: nil)
    try bench.dispatch()
    #expect(bench.started.map(\.worker.given) == [[1]], "how long it takes is not known")
    bench.time += 6
    try bench.dispatch()
    try bench.open(usual: nil)
    try bench.dispatch()
    #expect(bench.started.map(\.worker.given) == [[1], [2]])
    bench.time += 1000
    _ = try bench.pool.take(
      .said(.result(WorkResult(serial: 1))), of: bench.started[0].slot, isStopping: false)
    for serial in 4...5 as ClosedRange<UInt64> {
      bench.pool.enqueue(Flight.attachment(serial: serial), bench.pool.line[0], 0..<1)
    }
    try bench.dispatch()
    #expect(bench.started.map(\.worker.given) == [[1, 3], [2]], "it has taken a second")
    // Until most have been short again.
    for _ in 0..<60 { bench.group.learn(100_000) }
    try bench.dispatch()
    #expect(bench.started.map(\.worker.given) == [[1, 3, 4, 5], [2]])
  }

  @Test func whatHoldsMemoryGoesBeforeWhatWaitsForIt() throws {
    let bench = Bench(produces: true, memory: 1000)
    let holder = Flight.attachment(serial: 2)
    try holder.holdMemory()
    bench.pool.enqueue(Flight.attachment(serial: 1), bench.pool.line[0], 0..<1)
    bench.pool.enqueue(Flight.attachment(serial: 3, isAlone: true), bench.pool.line[0], 0..<1)
    // Behind the others, as after the end of a worker.
    bench.pool.line[0].queue.append(holder)
    holder.dispatched = .init(first: 0, end: 1)
    try bench.dispatch(held: 1)
    try bench.open()
    try bench.dispatch(held: 1)
    #expect(bench.started.map(\.worker.given) == [[2]])
  }

  @Test func oneOfEachTurnIsNext() {
    let queue = FlightQueue()
    for (serial, turn) in [(1, 1), (2, 1), (3, 1), (4, 2), (5, 3), (6, 2)] as [(UInt64, UInt64)] {
      let flight = Flight.attachment(serial: serial)
      flight.turn = turn
      queue.append(flight)
    }
    queue.prepend(Flight.attachment(serial: 7))
    #expect(queue.remove { $0.serial == 5 }.map(\.serial) == [5])
    var taken: [UInt64] = []
    while let first = queue.first(), let flight = queue.popFirst() {
      #expect(first === flight)
      taken.append(flight.serial)
      // It is by itself in its turn, which comes after that of those that wait already.
      if flight.serial == 1 { queue.append(Flight.attachment(serial: 8)) }
      if flight.serial == 4 { queue.moveFirst { $0.serial == 3 } }
    }
    #expect(taken == [7, 1, 4, 3, 2, 8, 6] && queue.isEmpty)
  }

  @Test func whatWorksByItselfAndHoldsMemoryDoesNotWaitForTheQueue() throws {
    let bench = Bench(produces: true, memory: 1000)
    let holder = Flight.attachment(serial: 2, isAlone: true)
    try holder.holdMemory()
    bench.pool.enqueue(Flight.attachment(serial: 1), bench.pool.line[0], 0..<1)
    bench.pool.enqueue(holder, bench.pool.line[0], 0..<1)
    try bench.dispatch(held: 1)
    try bench.open()
    try bench.dispatch(held: 1)
    #expect(bench.started.map(\.worker.given) == [[2]])
  }

  @Test(arguments: [true, false])
  func onlyOneThatTurnsAnswersInAnyOrder(turns: Bool) throws {
    let bench = Bench(produces: false, turns: turns)
    for serial: UInt64 in 1...3 {
      bench.pool.enqueue(Flight.attachment(serial: serial), bench.pool.line[0], 0..<1)
    }
    try bench.dispatch()
    try bench.open()
    try bench.dispatch()
    let (slot, worker) = try #require(bench.started.first)
    #expect(worker.given == [1, 2, 3])
    func answer(_ serial: UInt64) throws -> [UInt64] { try bench.answer(serial, from: slot) }
    #expect(try answer(2) == (turns ? [2] : []))
    #expect(worker.isKilled == !turns)
    if !turns { return }
    #expect(try answer(3) == [3])
    #expect(try answer(3) == [], "it has answered that")
    #expect(worker.isKilled)
  }

  @Test func oneThatTurnsAnswersSomethingWithinTheTimeForOne() throws {
    let bench = Bench(produces: false, turns: true, isChannel: true)
    for serial: UInt64 in 1...3 {
      bench.pool.enqueue(Flight.attachment(serial: serial), bench.group, 0..<1)
    }
    try bench.dispatch()
    try bench.open()
    try bench.dispatch()
    let (slot, worker) = try #require(bench.started.first)
    /// In steps that are no standstill of the coordinator; the worker turns all the time.
    func pass(seconds: Int) {
      for _ in 0..<seconds {
        bench.time += 1000
        worker.status.since = bench.time * 1_000_000
        _ = bench.pool.checkLimits()
      }
    }
    for serial: UInt64 in 1...2 {
      pass(seconds: 50)
      #expect(!worker.isKilled)
      _ = try bench.pool.take(.said(.result(WorkResult(serial: serial))), of: slot, isStopping: false)
    }
    pass(seconds: 59)
    #expect(!worker.isKilled)
    // The third never ends.
    pass(seconds: 10)
    #expect(worker.isKilled)
  }

  @Test func theOneThatAWorkerShowedAnswersForItsEnd() throws {
    let bench = Bench(produces: false)
    for serial in 1...3 {
      bench.pool.enqueue(Flight.attachment(serial: UInt64(serial)), bench.pool.line[0], 0..<1)
    }
    try bench.dispatch()
    try bench.open()
    try bench.dispatch()
    let first = try #require(bench.started.first)
    #expect(first.worker.given == [1, 2, 3])
    (first.worker.status.serial, first.worker.status.stage) = (1, 0)
    let outcomes = try bench.end(first.slot)
    guard case .died(let flight, _, _, 0, _, nil)? = outcomes.first else {
      Issue.record("\(outcomes)")
      return
    }
    #expect(flight.serial == 1 && outcomes.count == 1)
    try bench.dispatch()
    try bench.open()
    try bench.dispatch()
    #expect(bench.started.last?.worker.given == [2, 3], "the others go to another worker, in their order")
  }

  /// A pool whose one worker has three pieces of work.
  private func busy() throws -> (Bench, FakeWorker, [Flight]) {
    let bench = Bench(produces: false)
    let flights = (1...3).map { Flight.attachment(serial: UInt64($0)) }
    for flight in flights { bench.pool.enqueue(flight, bench.pool.line[0], 0..<1) }
    try bench.dispatch()
    try bench.open()
    try bench.dispatch()
    let worker = try #require(bench.started.first?.worker)
    #expect(worker.given == [1, 2, 3])
    return (bench, worker, flights)
  }

  private func takenBack(_ outcomes: [WorkerPool.Outcome]) -> [UInt64] {
    outcomes.compactMap { if case .takenBack(let flight) = $0 { flight.serial } else { nil } }
  }

  @Test func whatIsQueuedIsTakenBackAtOnce() throws {
    let bench = Bench(produces: false)
    let flight = Flight.attachment(serial: 1)
    bench.pool.enqueue(flight, bench.pool.line[0], 0..<1)
    flight.takenBack = .deleted
    #expect(bench.pool.takeBack(flight))
    #expect(bench.pool.removeQueued { _ in true }.isEmpty)
  }

  @Test func aWorkerIsToldWhenItIsAtWhatIsNotWanted() throws {
    let (bench, worker, flights) = try busy()
    let slot = try #require(bench.started.first?.slot)
    flights[1].takenBack = .deleted
    #expect(!bench.pool.takeBack(flights[1]))
    #expect(worker.cancelled == [], "it is at another")
    func answer(_ serial: UInt64) throws -> [WorkerPool.Outcome] {
      var result = WorkResult(serial: serial)
      result.report.results = [StageResult(index: 0, verdict: .pass)]
      return try bench.pool.take(.said(.result(result)), of: slot, isStopping: false)
    }
    #expect(takenBack(try answer(1)) == [] && worker.cancelled == [2])
    #expect(takenBack(try answer(2)) == [2])
    bench.time += 3000
    #expect(takenBack(bench.pool.checkLimits()) == [] && !worker.isKilled, "it let go")
    #expect(takenBack(try answer(3)) == [])
  }

  @Test func aWorkerThatDoesNotLetGoIsKilledAfterTwoSeconds() throws {
    let (bench, worker, flights) = try busy()
    for flight in [flights[0], flights[2]] {
      flight.takenBack = .cancelled("why")
      #expect(!bench.pool.takeBack(flight))
    }
    #expect(worker.cancelled == [1])
    bench.time += 1999
    #expect(takenBack(bench.pool.checkLimits()) == [] && !worker.isKilled)
    bench.time += 1
    #expect(takenBack(bench.pool.checkLimits()) == [1, 3] && worker.isKilled)
    // What waited behind it goes to another, and answers for nothing.
    try bench.dispatch()
    try bench.open()
    try bench.dispatch()
    #expect(bench.started.last?.worker.given == [2])
    #expect(!flights[1].isAlone && flights[1].redispatches == 0)
    #expect(takenBack(try bench.end(try #require(bench.started.first?.slot))) == [], "its end is no news")
  }

  @Test func whatIsNotWantedAnswersForNoCrash() throws {
    let (bench, worker, flights) = try busy()
    flights[0].takenBack = .cancelled("why")
    _ = bench.pool.takeBack(flights[0])
    worker.status.serial = 1
    let outcomes = try bench.end(try #require(bench.started.first?.slot))
    #expect(takenBack(outcomes) == [1] && outcomes.count == 1)
  }

  /// As when it is stopped with SIGSTOP.
  @Test func aWorkerThatStaysBetweenTwoPiecesOfWorkIsKilled() throws {
    let bench = Bench(produces: false)
    for serial in 1...3 {
      bench.pool.enqueue(Flight.attachment(serial: UInt64(serial)), bench.pool.line[0], 0..<1)
    }
    try bench.dispatch()
    try bench.open()
    try bench.dispatch()
    let worker = try #require(bench.started.first?.worker)
    bench.time += 59_000
    _ = bench.pool.checkLimits()
    bench.time += 900
    _ = bench.pool.checkLimits()
    #expect(!worker.isKilled)
    bench.time += 200
    _ = bench.pool.checkLimits()
    #expect(worker.isKilled, "a minute is what the stage may take")
  }

  @Test func aWorkerThatOnlyPretendsToEndIsKilled() throws {
    let bench = Bench(produces: false)
    bench.pool.enqueue(Flight.attachment(serial: 1), bench.pool.line[0], 0..<1)
    try bench.dispatch()
    let first = try #require(bench.started.first)
    try bench.open()
    _ = try bench.pool.take(.closed, of: first.slot, isStopping: false)
    #expect(!first.worker.isKilled)
    _ = try bench.pool.take(.said(.invalid("nonsense")), of: first.slot, isStopping: false)
    #expect(first.worker.isKilled)
  }
}

extension Flight {
  static func attachment(serial: UInt64, isAlone: Bool = false) -> Flight {
    let attachment = LeasedAttachment(
      key: Int64(serial),
      origin: AttachmentOrigin(
        id: "id-\(serial)", conversationId: "c", messageId: "m", senderId: "s", fileName: "f"),
      participants: "[]",
      source: .file(host: nil, path: Array("/f".utf8), size: 0, modified: 0, folderDevice: nil))
    return Flight(serial, .attachment(attachment), .attachments, isAlone: isAlone)
  }

  static func delivery(job: Int64) -> Flight {
    let delivery = LeasedDelivery(
      key: job, id: "e-\(job)", channel: "a", recipient: "r", type: "t", data: "{}", createdAt: 0,
      attachmentId: "i",
      conversationId: "c", messageId: "m")
    return Flight(UInt64(job), .delivery(delivery), .channel("a"), isAlone: false)
  }

  private convenience init(_ serial: UInt64, _ work: LeasedWork, _ lane: LaneName, isAlone: Bool) {
    let lease = Lease(
      job: JobKey(.attachment, Int64(serial)), token: Token(holder: 1, number: 1), attempt: 1, counted: 1,
      crashes: isAlone ? 1 : 0,
      priority: 0,
      work: work)
    let plan = RunPlan(PipelineDefinition(stages: [], channels: []))
    self.init(serial: serial, lease: lease, lane: Lane(lane), plan)
  }

  /// Gives it new content, which takes memory.
  fileprivate func holdMemory() throws {
    try makeOutput()
    write(output, "x", 1)
    if let error = replaceContent() { throw error }
  }
}
