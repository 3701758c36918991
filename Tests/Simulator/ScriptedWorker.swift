import CPlatform
import CWorker
import Glibc
import Pipeline
import Platform
import Scheduler
import Wire
import Workers

/// A worker whose stages act as the scenario has it. It speaks as a real one does: one piece of work after the other, or many at
/// once, with a barrier where a stage has one, and a status page.
final class ScriptedWorker: Worker {
  private struct Piece {
    var work: Work
    var content: String
    var output: Output?
    var pieces: ScriptedPieces?
    var result: WorkResult
    /// Stages that it has had.
    var next: Int
  }

  /// Where new content goes, while the piece of work is there.
  private final class Output {
    private let number: Int32

    init(_ descriptor: Int32) {
      number = dup(descriptor)
    }

    deinit {
      close(number)
    }

    func write(_ content: String) {
      _ = content.withCString { pwrite(number, $0, strlen($0), 0) }
    }
  }

  private unowned let simulation: Simulation
  private let slot: UInt32
  private let setup: Setup
  private var shown = sluice_status()
  private(set) var partialResult: WorkResult?
  private var waiting: [Piece] = []
  private var current: Piece?
  private var unflushed: [Piece] = []
  private var isOpen = false
  private var isFlushing = false
  /// Of a stage of the line that turns: what is under way, by serial.
  private var underway: [UInt64: Piece] = [:]
  /// A turn does not return.
  private var isStuck = false
  private var hasEnded = false
  /// Counts what is begun: what was arranged for an earlier turn does not take place.
  private var turn = 0

  var excessThreads: Int? { nil }
  var lastWords: String { "" }
  func resetFlood() {}
  /// The work whose results are not wanted any more.
  private var cancelled: Set<UInt64> = []

  private var world: World { simulation.world }
  private var scenario: Scenario { simulation.scenario }
  private var flushes: Bool { setup.stages.contains { $0.description.flushes } }
  private var turns: Bool { setup.stages.contains { $0.description.turns } }
  private var turnsLine: Bool { turns && setup.stages[0].description.role == .line }

  init(_ simulation: Simulation, slot: UInt32, _ setup: Setup) {
    self.simulation = simulation
    self.slot = slot
    self.setup = setup
    let start = "start of \(setup.stages[0].id) \(world.milliseconds)"
    arrange(microseconds: scenario.chance.integer(2000...25_000, start)) { [self] in
      if scenario.chance.oneIn(25, start, "fails") && simulation.mayFailStart(setup.stages[0].id) {
        return end(.exited(1))
      }
      isOpen = true
      return [
        said(
          .ready(
            Ready(
              sandbox: 63, bases: setup.stages.map { self.scenario.basis($0) },
              lengthLimits: setup.stages.map { self.scenario.lengthLimit($0) })))
      ] + proceed()
    }
  }

  private func arrange(microseconds: Int, _ body: @escaping () -> [Happening]) {
    world.arrange(microseconds: microseconds) { [weak self] in
      guard let self, !self.hasEnded else { return [] }
      return body()
    }
  }

  private func said(_ message: WorkerMessage) -> Happening { .worker(slot: slot, .said(message)) }

  /// While it turns it is never long since one turn has ended and the next has begun.
  var status: sluice_status {
    var status = shown
    if !underway.isEmpty && current == nil && !isStuck { status.since = world.clock.monotonic() }
    return status
  }

  // MARK: The coordinator's side

  func give(_ work: Work, descriptors: [Int32]) -> GiveResult {
    if hasEnded { return .gone }
    if waiting.count >= 200 { return .full }
    simulation.noteGiven(work, setup.stages)
    let content = descriptors.first.map(Self.read) ?? simulation.content(of: work)
    var piece = Piece(work: work, content: content, result: WorkResult(serial: work.serial), next: work.first)
    var rest = descriptors.dropFirst()
    if work.takes.contains(.content) { piece.output = rest.popFirst().map(Output.init) }
    if work.takes.contains(.pieces) { piece.pieces = rest.popFirst().map(ScriptedPieces.init) }
    waiting.append(piece)
    if isOpen && current == nil { arrange(microseconds: 50) { [self] in proceed() } }
    return .given
  }

  func cancel(_ serials: [UInt64]) {
    let new = serials.filter { !cancelled.contains($0) }
    cancelled = Set(serials)
    for serial in new { cancel(serial) }
  }

  private func cancel(_ serial: UInt64) {
    world.trace.note("\(slot) is told that \(serial) is not wanted")
    drop(serial)
    guard let piece = current, piece.work.serial == serial, status.serial == serial else { return }
    let stage = setup.stages[Int(status.stage)].id
    if !scenario.notices(stage) { return }
    let turn = turn
    arrange(microseconds: scenario.chance.integer(50...5000, "notices \(serial)")) { [self] in
      turn == self.turn ? finish() : []
    }
  }

  func kill() {
    if hasEnded { return }
    world.trace.note("kill \(slot)")
    hasEnded = true
    let slot = slot
    world.arrange(microseconds: scenario.chance.integer(200...3000, "end of \(slot)")) {
      [.worker(slot: slot, .ended(.crashed(signal: SIGKILL)))]
    }
  }

  /// Ends by itself: its socket is closed a little before it is gone.
  private func end(_ cause: WorkerDeath.Cause) -> [Happening] {
    world.trace.note("\(slot) ends with \(cause)")
    hasEnded = true
    let slot = slot
    world.arrange(microseconds: 300) { [.worker(slot: slot, .ended(cause))] }
    return [.worker(slot: slot, .closed)]
  }

  private static func read(_ descriptor: Int32) -> String {
    var room = [UInt8](repeating: 0, count: 256)
    let count = pread(descriptor, &room, room.count, 0)
    return String(decoding: room.prefix(max(count, 0)), as: UTF8.self)
  }

  // MARK: Working

  /// Begins with the next piece of work, or with the barrier.
  private func proceed() -> [Happening] {
    if current != nil || isFlushing || isStuck { return [] }
    if waiting.isEmpty || unflushed.count >= 64 {
      if !unflushed.isEmpty { flush() }
      return []
    }
    current = waiting.removeFirst()
    partialResult = nil
    return nextStage()
  }

  /// Takes the current piece to its next stage.
  private func nextStage() -> [Happening] {
    guard let piece = current else { return [] }
    turn += 1
    if cancelled.contains(piece.work.serial) { return finish() }
    let mediaType = piece.result.report.mediaType ?? piece.work.mediaType
    var index = piece.next
    while index < piece.work.end, !setup.stages[index].runs(for: mediaType) { index += 1 }
    guard index < piece.work.end else { return finish() }
    (shown.serial, shown.stage) = (piece.work.serial, UInt32(index))
    shown.since = world.clock.monotonic()
    if !piece.result.report.results.isEmpty {
      partialResult = piece.result
      partialResult?.report.pieceList = piece.pieces?.appendList()
    }
    let stage = setup.stages[index]
    if turnsLine && !scenario.actsAtOnce(stage, piece.content) {
      let turn = turn
      arrange(microseconds: 100) { [self] in turn == self.turn ? beginTurning() : [] }
      return []
    }
    // `process` of a stage that turns does not wait.
    let milliseconds = isDigest || turnsLine ? 1 : scenario.duration(stage.id, piece.content)
    let turn = turn
    arrange(microseconds: milliseconds * 1000) { [self] in turn == self.turn ? act(index) : [] }
    return []
  }

  private var isDigest: Bool { setup.stages[0].id == Simulation.digest.id }

  private func act(_ index: Int) -> [Happening] {
    guard var piece = current else { return [] }
    let stage = setup.stages[index]
    piece.next = index + 1
    if isDigest {
      piece.result.report.metadata = [
        Metadatum(key: "sha256", value: .text(simulation.measure(piece.content)))
      ]
      piece.result.report.results = [StageResult(index: index, verdict: .pass)]
    } else if let event = piece.work.event {
      guard let result = simulation.deliver(event, on: stage.id, index) else {
        return end(.crashed(signal: SIGSEGV))
      }
      piece.result.report.results.append(result)
    } else if stage.description.capability == .store {
      store(&piece, stage, index)
    } else {
      switch simulation.act(stage, piece.content, meets: true) {
      case .crash, .crashOnce: return end(.crashed(signal: SIGSEGV))
      case .exit: return end(.exited(3))
      case .memory: return end(.outOfMemory(asked: 1 << 40))
      case .hang: return []
      case .flood: return [.worker(slot: slot, .flooded)]
      case .lie: return [said(.invalid("a lie"))]
      case .produce:
        let content = "\(piece.content)+\(stage.id)"
        piece.output?.write(content)
        piece.pieces?.add(scenario.parts(stage, piece.content), stage: index)
        piece.result.report.pass(index, stage, piece.content, piece.work.outcome, scenario)
        piece.result.report.produced = true
      case let act:
        piece.result.report.take(act, index, stage, piece.content, piece.work.outcome, scenario)
        // A stage that rejects has left it before.
        piece.pieces?.add(scenario.parts(stage, piece.content), stage: index)
      }
    }
    current = piece
    let isOver = piece.result.report.results.last?.verdict != .pass || piece.result.report.produced
    return isOver ? finish() : nextStage()
  }

  private func store(_ piece: inout Piece, _ stage: StageDefinition, _ index: Int) {
    func say(_ verdict: Verdict, _ code: String, pausesLane: Bool = false) {
      piece.result.report.results.append(
        StageResult(index: index, verdict: verdict, code: code, message: code, pausesLane: pausesLane))
    }
    if world.isUnder(.storeAway) { return say(.retry, "store-unwritable", pausesLane: true) }
    switch simulation.act(stage, piece.content, meets: true) {
    case .retryOnce: return say(.retry, "passing")
    default: break
    }
    let path = simulation.path(of: piece.work, piece.content)
    if let other = world.store.objects[path] {
      if other != piece.content { return say(.reject, "path-taken") }
    } else {
      world.store.stage(piece.work.stagedName ?? piece.work.origin.id, piece.content)
    }
    piece.result.report.location = path
    piece.result.report.results.append(StageResult(index: index, verdict: .pass))
  }

  /// The current piece is done, but for the barrier.
  private func finish() -> [Happening] {
    guard var piece = current else { return [] }
    turn += 1
    current = nil
    piece.result.report.pieceList = piece.pieces?.appendList()
    shown.serial = 0
    shown.since = world.clock.monotonic()
    if flushes {
      unflushed.append(piece)
      return proceed()
    }
    if turnsLine { return [said(.result(piece.result))] + proceed() }
    if turns {
      // Answered when it has ended, in any order.
      shown.stage = SLUICE_FLUSHING
      let time = scenario.chance.integer(500...400_000, "turn \(piece.work.serial) \(world.milliseconds)")
      arrange(microseconds: time) { [self] in
        if current == nil { shown.since = world.clock.monotonic() }
        return [said(.result(piece.result))]
      }
      return proceed()
    }
    return [said(.result(piece.result))] + proceed()
  }

  // MARK: Many at once

  /// A stage of the line that turns has taken the current piece, and works on it beside the others.
  private func beginTurning() -> [Happening] {
    guard let piece = current else { return [] }
    turn += 1
    current = nil
    underway[piece.work.serial] = piece
    (shown.serial, shown.stage) = (0, SLUICE_FLUSHING)
    shown.since = world.clock.monotonic()
    let serial = piece.work.serial
    arrange(microseconds: scenario.duration(setup.stages[0].id, piece.content) * 1000) { [self] in
      settle(serial)
    }
    return proceed()
  }

  private func settle(_ serial: UInt64) -> [Happening] {
    guard var piece = underway[serial], !isStuck else { return [] }
    if isInProcess(then: { [self] in settle(serial) }) { return [] }
    let stage = setup.stages[0]
    switch simulation.act(stage, piece.content, meets: true) {
    case .crash, .crashOnce: return end(.crashed(signal: SIGSEGV))
    case .exit: return end(.exited(3))
    case .memory: return end(.outOfMemory(asked: 1 << 40))
    case .flood: return [.worker(slot: slot, .flooded)]
    case .lie: return [said(.invalid("a lie"))]
    case .hang:
      // The whole stage, or this one alone.
      isStuck = scenario.chance.oneIn(2, stage.id, piece.content, "stuck")
      if isStuck { shown.since = world.clock.monotonic() }
      return []
    case .produce:
      piece.output?.write("\(piece.content)+\(stage.id)")
      piece.result.report.pass(0, stage, piece.content, piece.work.outcome, scenario)
      piece.result.report.produced = true
    case let act: piece.result.report.take(act, 0, stage, piece.content, piece.work.outcome, scenario)
    }
    underway[serial] = nil
    return [said(.result(piece.result))]
  }

  /// A worker has one thread: while it is in `process`, no turn goes on. What was to happen in one happens later.
  private func isInProcess(then body: @escaping () -> [Happening]) -> Bool {
    if current != nil { arrange(microseconds: 5000, body) }
    return current != nil
  }

  /// It is told that one is not wanted any more.
  private func drop(_ serial: UInt64) {
    if underway[serial] == nil || !scenario.notices(setup.stages[0].id) { return }
    arrange(microseconds: scenario.chance.integer(50...300_000, "drops \(serial)")) { [self] in
      settleDropped(serial)
    }
  }

  private func settleDropped(_ serial: UInt64) -> [Happening] {
    if isStuck || isInProcess(then: { [self] in settleDropped(serial) }) { return [] }
    guard var piece = underway.removeValue(forKey: serial) else { return [] }
    piece.result.report.results.append(
      StageResult(index: 0, verdict: .retry, code: "dropped", message: "not wanted"))
    return [said(.result(piece.result))]
  }

  // MARK: The barrier

  private func flush() {
    isFlushing = true
    shown.stage = SLUICE_FLUSHING
    shown.since = world.clock.monotonic()
    arrange(microseconds: scenario.chance.integer(500...6000, "flush \(unflushed[0].content)")) { [self] in
      if setup.capability == .store { world.store.sync() }
      shown.stage = 0
      isFlushing = false
      let answers = unflushed.map { said(.result($0.result)) }
      unflushed.removeAll()
      return answers + proceed()
    }
  }
}

extension StageReport {
  /// Adds what a stage says that ends well enough to speak.
  mutating func take(
    _ act: Act, _ index: Int, _ stage: StageDefinition, _ content: String, _ outcome: Status,
    _ scenario: Scenario
  ) {
    switch act {
    case .reject: results.append(StageResult(index: index, verdict: .reject, code: "rejected", message: "no"))
    case .fail: results.append(StageResult(index: index, verdict: .fail, code: "failed", message: "no"))
    case .retryOnce(let after):
      results.append(
        StageResult(index: index, verdict: .retry, code: "passing", message: "not now", retryAfter: after))
    default: pass(index, stage, content, outcome, scenario)
    }
  }
}
