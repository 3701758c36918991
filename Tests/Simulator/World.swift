import LedgerPort
import MemoryDisk
import ModelLedger
import Platform
import Scheduler

/// The world that coordinators of a simulation live in, one after the other: its time, what is to happen, what is kept.
final class World {
  let scenario: Scenario
  let store: SimulatedStore
  /// Nanoseconds since the simulation began.
  private(set) var time: UInt64 = 0
  /// Of these, the machine was suspended so many.
  private(set) var suspended: UInt64 = 0
  /// Milliseconds by which the wall clock was set forward.
  private(set) var wallOffset: Int64 = 0
  /// The wall clock when the coordinator began, and when that was.
  private var origin: (wall: Int64, time: UInt64) = (0, 0)

  /// What is to happen, by time, then in the order in which it was arranged.
  private var plans: [(time: UInt64, order: Int, body: () -> [Happening])] = []
  private var lastOrder = 0

  /// The coordinator that lives now, and how many effects it has had.
  private(set) var life: Scenario.Life?
  private var effects = 0
  /// The coordinator has ended: nothing that it does has an effect any more.
  private(set) var isDead = false

  let trace: Trace
  /// What is broken. The first is what counts.
  private(set) var flaws: [String] = []

  private var draws = 0
  private var isClear = false
  /// When the coordinator began, in milliseconds; and how long one lives that is still sane.
  private var began = 0
  private static let longestLife = 1_800_000

  /// Milliseconds since 1970 when a simulation begins.
  private static let beginning: Int64 = 1_700_000_000_000

  init(_ scenario: Scenario, _ trace: Trace) {
    self.scenario = scenario
    self.trace = trace
    store = SimulatedStore()
    store.world = self
  }

  func fail(_ text: String) {
    flaws.append(text)
    trace.note("FLAW \(text)")
  }

  // MARK: Clocks

  var milliseconds: Int { Int(time / 1_000_000) }
  /// Without the time in which the machine was suspended.
  var awake: Int { Int((time - suspended) / 1_000_000) }
  private var wall: Int64 { Self.beginning + Int64(milliseconds) + wallOffset }
  var steady: Int64 { origin.wall + Int64((time - origin.time) / 1_000_000) }

  /// The clocks of this world. Unchecked because it is used by one thread.
  var clock: Clock {
    nonisolated(unsafe) let world = self
    return Clock(
      now: { world.wall }, steady: { world.steady },
      monotonic: { 1_000_000_000 + world.time - world.suspended }, sinceBoot: { Int64(world.milliseconds) })
  }

  // MARK: Lives

  /// Another coordinator begins.
  func begin(_ life: Scenario.Life) {
    self.life = life
    (effects, isDead) = (0, false)
    plans.removeAll()
    origin = (wall, time)
    began = milliseconds
    trace.note("life \(life.number) \(life.end)")
    if case .signal(let after) = life.end {
      arrange(after) { [.signal(15)] }
    } else if life.isResident {
      // It is ended when it has long had nothing to do.
      arrange(120_000) { [.signal(15)] }
    }
  }

  /// The coordinator is gone, and some time passes.
  func end() {
    isDead = true
    plans.removeAll()
    pass(UInt64(scenario.chance.integer(1...5000, "between", "\(life?.number ?? 0)")) * 1_000_000)
  }

  /// Whether what fails now and then fails this time.
  func strikes() -> Bool {
    draws += 1
    return scenario.chance.oneIn(3, "strike", "\(draws)")
  }

  /// What befalls an exchange with a ledger that is away.
  func fault() -> ModelFault {
    draws += 1
    return scenario.chance.choice([.unavailable, .lostAnswer, .lostRequest], "fault", "\(draws)")
  }

  /// Something that the coordinator does takes effect, unless it ends just now. False: it ended before.
  func takesEffect(_ what: @autoclosure () -> String) -> Bool {
    if isDead { return false }
    effects += 1
    switch life?.end {
    case .killed(effects), .powerLost(effects):
      isDead = true
      trace.note("dies before \(what())")
      return false
    default: return true
    }
  }

  // MARK: Time

  /// Arranges for something to happen after so many microseconds.
  func arrange(microseconds: Int, _ body: @escaping () -> [Happening]) {
    lastOrder += 1
    let plan = (time: time + UInt64(microseconds) * 1000, order: lastOrder, body: body)
    let place = plans.firstIndex { ($0.time, $0.order) < (plan.time, plan.order) } ?? plans.count
    plans.insert(plan, at: place)  // the next is the last
  }

  func arrange(_ milliseconds: Int, _ body: @escaping () -> [Happening]) {
    arrange(microseconds: milliseconds * 1000, body)
  }

  /// Waits as a scheduler does, and lets happen what is to happen first.
  func wait(_ milliseconds: Int32) throws(SystemError) -> [Happening] {
    if self.milliseconds - began > Self.longestLife { fail("a coordinator does not end") }
    if isDead || !flaws.isEmpty { throw SystemError("living on", code: 0) }
    // To do something takes time, too.
    pass(20_000)
    let end = time + UInt64(max(milliseconds, 0)) * 1_000_000
    guard let next = plans.last, next.time <= end else {
      pass(end - time)
      return []
    }
    if next.time > time { pass(next.time - time) }
    var happenings: [Happening] = []
    while let plan = plans.last, plan.time <= time {
      plans.removeLast()
      happenings += plan.body()
    }
    if isDead { throw SystemError("living on", code: 0) }
    return happenings
  }

  private func pass(_ nanoseconds: UInt64) {
    let before = milliseconds
    time += nanoseconds
    let after = milliseconds
    if before == after { return }
    for spell in scenario.weather where (before + 1...after).contains(spell.begin) {
      switch spell.kind {
      case .clockSet:
        wallOffset += Int64(scenario.chance.integer(-3_600_000...3_600_000, "clock", "\(spell.number)"))
      case .suspended:
        time += UInt64(spell.end - spell.begin) * 1_000_000
        suspended += UInt64(spell.end - spell.begin) * 1_000_000
      default: break
      }
    }
  }

  /// From now on nothing is wrong with the place.
  func clearUp() { isClear = true }

  /// Whether something was wrong with the place at some time since these milliseconds.
  func wasUnder(_ kind: Scenario.Spell.Kind, since begin: Int) -> Bool {
    scenario.weather.contains { $0.kind == kind && $0.begin <= milliseconds && begin < $0.end }
  }

  /// Microseconds until this is over; 0: it is not so.
  func rest(of kind: Scenario.Spell.Kind) -> Int {
    let ends = scenario.weather.lazy.filter { $0.kind == kind && $0.begin <= self.milliseconds }.map(\.end)
    return isClear ? 0 : max((ends.max() ?? 0) - milliseconds, 0) * 1000
  }

  /// Whether something is wrong with the place now.
  func isUnder(_ kind: Scenario.Spell.Kind) -> Bool {
    !isClear
      && scenario.weather.contains { $0.kind == kind && $0.begin <= milliseconds && milliseconds < $0.end }
  }
}

/// What happened, in order: two runs of a seed have the same.
final class Trace {
  private(set) var hash: UInt64 = 0xCBF2_9CE4_8422_2325
  /// Whether the lines are printed as they come.
  let isShown: Bool
  weak var world: World?

  init(isShown: Bool) {
    self.isShown = isShown
  }

  func note(_ line: @autoclosure () -> String) {
    let text = line()
    for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    if isShown { print(world.map { "\($0.time / 1000) " } ?? "", text, separator: "") }
  }
}
