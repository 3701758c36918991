import Testing
import Wire

@testable import Scheduler

/// What takes long holds up neither what waits in its worker nor the works of others.
struct OvertakingTests {
  private typealias Bench = WorkerPoolTests.Bench

  /// A worker that is at the first of some flights for more than half a second; of each its owner.
  private func heldUp(by owners: [UInt64], isKnown: Bool = true) throws -> Bench {
    let bench = Bench(produces: false)
    for (index, owner) in owners.enumerated() { enqueue(UInt64(index + 1), of: owner, bench) }
    try bench.dispatch()
    try bench.open()
    try bench.dispatch()
    try #require(bench.started.map(\.worker.given) == [Array(1...UInt64(owners.count))])
    if isKnown { bench.started[0].worker.status.serial = 1 }
    bench.time += 600
    return bench
  }

  private func enqueue(_ serial: UInt64, of owner: UInt64, _ bench: Bench) {
    let flight = Flight.attachment(serial: serial)
    (flight.turn, flight.owner) = (owner, owner)
    bench.pool.enqueue(flight, bench.group, 0..<1)
  }

  @Test func whatWaitsBehindGoesToAnotherWorker() throws {
    let bench = try heldUp(by: [1, 2, 3])
    try bench.dispatch()
    #expect(bench.started.count == 2 && bench.started[0].worker.cancelled == [2, 3])
    try bench.open()
    try bench.dispatch()
    #expect(bench.started[1].worker.given == [2, 3])
    let (first, second) = (bench.started[0].slot, bench.started[1].slot)
    #expect(try bench.answer(2, from: second) == [2] && bench.answer(1, from: first) == [1])
    // It had begun with that before it was told.
    #expect(try bench.answer(2, from: first) == [] && bench.answer(3, from: second) == [3])
    #expect(bench.started[0].worker.cancelled == [3])
    #expect(try bench.answer(3, from: first) == [] && bench.started[0].worker.cancelled == [])
    #expect(!bench.started[0].worker.isKilled)
  }

  @Test func anOwnerGetsNoMoreWorkersThanTheGroupHas() throws {
    let bench = try heldUp(by: [1, 1])
    try bench.dispatch()
    #expect(bench.started.count == 1, "nobody else waits")
    enqueue(3, of: 2, bench)
    try bench.dispatch()
    try bench.open()
    try bench.dispatch()
    #expect(bench.started.count == 2 && bench.started[1].worker.given == [3])
    #expect(try bench.answer(3, from: bench.started[1].slot) == [3])
    try bench.dispatch()
    #expect(bench.started[1].worker.given == [3])
    // What holds it up ends: the owner's next has its turn.
    #expect(try bench.answer(1, from: bench.started[0].slot) == [1])
    try bench.dispatch()
    #expect(bench.started.flatMap(\.worker.given).filter { $0 == 2 }.count == 2)
  }

  @Test func anOwnersQuickWorksGoOn() throws {
    // Nothing is known to be slow of it: it may be quick.
    let bench = try heldUp(by: [1, 1], isKnown: false)
    try bench.dispatch()
    try bench.open()
    try bench.dispatch()
    #expect(bench.started.map(\.worker.given) == [[1, 2], [2]])
    bench.time += 600
    enqueue(3, of: 1, bench)
    try bench.dispatch()
    #expect(bench.started.count == 2, "one more, and not another")
  }

  @Test func aWorkerThatGoesOnWithWhatOthersHaveIsEnded() throws {
    let bench = try heldUp(by: [1, 2])
    try bench.dispatch()
    #expect(try bench.answer(1, from: bench.started[0].slot) == [1])
    _ = bench.pool.checkLimits()
    #expect(!bench.started[0].worker.isKilled)
    bench.time += 2_100
    _ = bench.pool.checkLimits()
    #expect(bench.started[0].worker.isKilled)
  }

  @Test func workersBeyondTheLimitEndOnceNothingHoldsUpOthers() throws {
    let bench = try heldUp(by: [1, 2])
    try bench.dispatch()
    try bench.open()
    try bench.dispatch()
    let (first, second) = (bench.started[0].slot, bench.started[1].slot)
    _ = try (bench.answer(2, from: second), bench.answer(1, from: first), bench.answer(2, from: first))
    try bench.dispatch()
    #expect(bench.started.filter(\.worker.isKilled).count == 1)
  }
}
