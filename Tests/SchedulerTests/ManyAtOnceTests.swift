import Pipeline
import Testing
import Wire

@testable import Scheduler

/// A stage of the line that works on many attachments at once: what becomes of one that takes too long, and of its neighbours.
struct ManyAtOnceTests {
  private typealias Bench = WorkerPoolTests.Bench

  /// A pool whose one worker was given the first a while before the two others.
  private final class Busy {
    let bench = Bench(produces: false, turns: true)
    let worker: WorkerPoolTests.FakeWorker
    let slot: UInt32
    let flights = (1...3).map { Flight.attachment(serial: UInt64($0)) }

    init() throws {
      bench.pool.enqueue(flights[0], bench.group, 0..<1)
      try bench.dispatch()
      try bench.open()
      try bench.dispatch()
      (slot, worker) = try #require(bench.started.first)
      _ = try pass(seconds: 50)
      for flight in flights.dropFirst() { bench.pool.enqueue(flight, bench.group, 0..<1) }
      try bench.dispatch()
      #expect(worker.given == [1, 2, 3])
    }

    /// In steps that are no standstill of the coordinator.
    func pass(seconds: Int, turning: Bool = true) throws -> [WorkerPool.Outcome] {
      var outcomes: [WorkerPool.Outcome] = []
      for _ in 0..<seconds {
        bench.time += 1000
        if turning { worker.status.since = bench.time * 1_000_000 }
        outcomes += bench.pool.checkLimits()
      }
      return outcomes
    }

    func answer(_ serial: UInt64) throws -> [WorkerPool.Outcome] {
      var result = WorkResult(serial: serial)
      result.report.results = [StageResult(index: 0, verdict: .pass)]
      return try bench.pool.take(.said(.result(result)), of: slot, isStopping: false)
    }

    /// What another worker is given then.
    func given() throws -> [UInt64] {
      try bench.dispatch()
      try bench.open()
      try bench.dispatch()
      return bench.started.last?.worker.given ?? []
    }
  }

  private func died(_ outcomes: [WorkerPool.Outcome]) -> [UInt64] {
    outcomes.compactMap {
      guard case .died(let flight, let death, _, 0, _, nil) = $0, case .timedOut = death.cause else {
        return nil
      }
      return flight.serial
    }
  }

  private func takenBack(_ outcomes: [WorkerPool.Outcome]) -> [UInt64] {
    outcomes.compactMap { if case .takenBack(let flight) = $0 { flight.serial } else { nil } }
  }

  private func answered(_ outcomes: [WorkerPool.Outcome]) -> [UInt64] {
    outcomes.compactMap { if case .answered(let flight, _, _) = $0 { flight.serial } else { nil } }
  }

  private func isEmpty(_ outcomes: [WorkerPool.Outcome]) -> Bool { outcomes.isEmpty }

  @Test func sixteenAreInHandAtOnce() throws {
    let bench = Bench(produces: false, turns: true)
    for serial: UInt64 in 1...20 {
      bench.pool.enqueue(Flight.attachment(serial: serial), bench.group, 0..<1)
    }
    try bench.dispatch()
    try bench.open()
    try bench.dispatch()
    #expect(bench.started.map(\.worker.given) == [Array(1...16)])
  }

  @Test func oneThatTakesTooLongIsToldSoAndItsNeighboursGoOn() throws {
    let busy = try Busy()
    #expect(isEmpty(try busy.pass(seconds: 10)))
    #expect(busy.worker.cancelled == [], "a minute is what it may take")
    #expect(isEmpty(try busy.pass(seconds: 1)))
    #expect(busy.worker.cancelled == [1])
    // The stage drops it, with any verdict: it has taken too long.
    #expect(died(try busy.answer(1)) == [1])
    #expect(isEmpty(try busy.pass(seconds: 5)))
    #expect(!busy.worker.isKilled)
    #expect(answered(try busy.answer(3)) == [3])
    #expect(answered(try busy.answer(2)) == [2])
  }

  @Test func oneThatIsNotDroppedEndsTheWorkerAndItsNeighboursGoOnElsewhere() throws {
    let busy = try Busy()
    #expect(isEmpty(try busy.pass(seconds: 12)))
    #expect(!busy.worker.isKilled)
    #expect(died(try busy.pass(seconds: 1)) == [1])
    #expect(busy.worker.isKilled)
    #expect(try busy.given() == [2, 3])
    #expect(!busy.flights[1].isAlone && busy.flights[1].redispatches == 1)
    let outcomes = try busy.bench.end(busy.slot)
    #expect(outcomes.isEmpty, "its end is no news")
  }

  /// A stage that does not return cannot drop anything, whichever of those in hand it is that holds it up.
  @Test func whereTheStageHangsNoneIsNamed() throws {
    let busy = try Busy()
    _ = try busy.pass(seconds: 9)
    let outcomes = try busy.pass(seconds: 4, turning: false)
    #expect(outcomes.isEmpty && busy.worker.isKilled)
    #expect(busy.flights.map(\.isAlone) == [true, false, false])
    #expect(try busy.given() == [2, 3])
  }

  @Test func eachThatIsNotWantedIsToldAndTheOthersGoOn() throws {
    let busy = try Busy()
    for flight in [busy.flights[1], busy.flights[2]] {
      flight.takenBack = .cancelled("why")
      #expect(!busy.bench.pool.takeBack(flight))
    }
    #expect(busy.worker.cancelled == [2, 3])
    #expect(takenBack(try busy.answer(3)) == [3])
    #expect(takenBack(try busy.pass(seconds: 1)) == [])
    #expect(!busy.worker.isKilled)
    // The other is not dropped.
    #expect(takenBack(try busy.pass(seconds: 1)) == [2])
    #expect(busy.worker.isKilled)
    #expect(try busy.given() == [1])
    #expect(!busy.flights[0].isAlone)
  }

  @Test func eachIsTriedAloneWhereTheWorkerEndsInATurn() throws {
    let busy = try Busy()
    busy.worker.status.stage = .max
    let outcomes = try busy.bench.end(busy.slot)
    #expect(outcomes.isEmpty)
    #expect(busy.flights.map(\.isAlone) == [true, true, true])
  }
}
