import Pipeline
import Platform
import Testing

@testable import LedgerPort
@testable import LedgerRules
@testable import LedgerSQLite

/// Thousands of random steps, compared with a model that is as simple as possible.
struct RandomSequenceTests {
  private struct Model {
    struct Job: Equatable {
      enum State: Equatable { case due, scheduled(isPast: Bool), leased(Token), ended(Status) }
      var priority: Int64 = 0
      var attempts = 0, uncounted = 0, crashes = 0, losses = 0
      var state = State.due
    }

    /// By name, in order of intake.
    var names: [String] = []
    var jobs: [String: Job] = [:]
    var pauses: Set<Pause.Cause> = []
    var events = 0

    mutating func claim(_ count: Int) -> [String] {
      for name in names where jobs[name]?.state == .scheduled(isPast: true) { jobs[name]?.state = .due }
      if !pauses.isEmpty { return [] }
      let due = names.enumerated().filter { jobs[$0.element]?.state == .due }
      let first = due.sorted {
        let (left, right) = (jobs[$0.element]?.priority ?? 0, jobs[$1.element]?.priority ?? 0)
        return left == right ? $0.offset < $1.offset : left > right
      }
      let names = first.prefix(count).map(\.element)
      // One that may be what ends coordinators is the last that is given.
      guard let alone = names.firstIndex(where: { (jobs[$0]?.losses ?? 0) >= 3 }) else { return names }
      return Array(names[...alone])
    }

    func count(_ status: Status) -> Int {
      jobs.values.count {
        if case .ended(let ended) = $0.state { ended == status } else { status == .queued }
      }
    }
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func theLedgerDoesAsTheModel(seed: UInt64) throws {
    var random = SplitMix(state: seed)
    let desk = try Desk(inFolder: ())
    try desk.execute("PRAGMA synchronous = OFF")
    var model = Model()
    /// Every lease ever given; most of them are stale.
    var leases: [Lease] = []
    var (refused, taken, solitary) = (0, 0, 0)
    for step in 0..<1500 {
      var request = Exchange()
      var (items, added): ([IntakeItem], Int) = ([], 0)
      for _ in 0..<Int.random(in: 0...2, using: &random) {
        let name = "\(Int.random(in: 0..<600, using: &random))"
        let priority = Int64.random(in: -1...1, using: &random)
        items.append(Desk.item(name, message: "m", priority: priority))
        if model.jobs[name] == nil {
          model.names.append(name)
          model.jobs[name] = Model.Job(priority: priority)
          added += 1
        }
      }
      request.commands = [.takeIn(items)]
      var expected: [Bool] = []
      for _ in 0..<Int.random(in: 0...3, using: &random) where !leases.isEmpty {
        let recent = leases.suffix(12)
        guard
          let lease = Bool.random(using: &random)
            ? leases.randomElement(using: &random) : recent.randomElement(using: &random)
        else { continue }
        let (ending, counts) = settle(lease, &model, &random)
        request.settlements.append(Settlement(lease, ending))
        expected.append(counts)
      }
      if Int.random(in: 0..<30, using: &random) == 0 {
        let cause: Pause.Cause = Bool.random(using: &random) ? .person : .fault
        request.commands.append(
          .lane(LaneCommand(.attachments, .pause(Pause(cause, code: "x", reason: "y")))))
        model.pauses.insert(cause)
      }
      let wanted = Int.random(in: 0...3, using: &random)
      request.wanted = [Want(.attachments, wanted)]
      let names = model.claim(wanted)
      let reply = try desk.send(request)
      guard case .takenIn(let report) = reply.results.first else {
        Issue.record("step \(step): the intake is not answered")
        return
      }
      #expect(report.added == added && report.added + report.known == items.count)
      #expect(reply.settled == expected.map { $0 ? .counted : .leaseLost }, "step \(step)")
      refused += expected.count { !$0 }
      taken += expected.count { $0 }
      guard reply.leases.map(Desk.name) == names else {
        Issue.record("step \(step): \(reply.leases.map(Desk.name)) are leased, not \(names)")
        return
      }
      for lease in reply.leases { model.jobs[Desk.name(lease)]?.attempts += 1 }
      for lease in reply.leases {
        model.jobs[Desk.name(lease)]?.state = .leased(lease.token)
        let job = try #require(model.jobs[Desk.name(lease)])
        #expect(lease.attempt == job.attempts && lease.counted == job.attempts - job.uncounted)
        #expect(lease.crashes == job.crashes && lease.losses == job.losses)
        solitary += lease.isSolitary ? 1 : 0
      }
      leases += reply.leases
      if !model.pauses.isEmpty && Int.random(in: 0..<5, using: &random) == 0 {
        try desk.resume()
        model.pauses = []
      }
      if Int.random(in: 0..<100, using: &random) == 0 {
        try desk.reopen()
        try desk.execute("PRAGMA synchronous = OFF")
        model.pauses.remove(.fault)
        for name in model.names {
          guard case .leased = model.jobs[name]?.state else { continue }
          model.jobs[name]?.state = .due
          model.jobs[name]?.uncounted += 1
          model.jobs[name]?.losses += 1
        }
      }
      if step % 50 == 0 { try check(desk, model) }
    }
    try check(desk, model)
    #expect(refused > 200 && taken > 200, "both are tried: \(refused) refused, \(taken) taken")
    #expect(solitary > 0, "some were lost often")
    #expect(try desk.number("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'") == 0)
    #expect(try desk.number("SELECT count(*) FROM pragma_foreign_key_check") == 0)
  }

  /// A random ending, its effect on the model, and whether it counts.
  private func settle(_ lease: Lease, _ model: inout Model, _ random: inout SplitMix)
    -> (Settlement.Ending, Bool)
  {
    let name = Desk.name(lease)
    guard var job = model.jobs[name] else { return (.released, false) }
    let counts = job.state == .leased(lease.token)
    let ending: Settlement.Ending
    switch Int.random(in: 0..<5, using: &random) {
    case 0:
      ending = .released
      job.state = .due
      job.uncounted += 1
    case 1, 2:
      let isPast = Bool.random(using: &random)
      let crashed = Bool.random(using: &random)
      ending = Desk.again(lease, after: isPast ? 0 : .max, crashed: crashed)
      job.state = .scheduled(isPast: isPast)
      job.crashes += crashed ? 1 : 0
    default:
      let status =
        Status.allCases.filter { $0.isFinal && $0 != .cancelled }.randomElement(using: &random) ?? .completed
      let size = Int64.random(in: 0...9, using: &random)
      ending = Desk.completed(lease) {
        $0.outcome.status = status
        $0.outcome.sizeBytes = size
        if status != .completed {
          $0.outcome.url = nil
          $0.outcome.reason = Reason(stage: "s", code: "c", message: "m")
        }
        $0.events = [Desk.event()]
      }
      job.state = .ended(status)
      model.events += counts ? 1 : 0
    }
    if counts { model.jobs[name] = job }
    return (ending, counts)
  }

  private func check(_ desk: Desk, _ model: Model) throws {
    try desk.checkCounts()
    for status in Status.allCases { #expect(try desk.count(status) == Int64(model.count(status))) }
    #expect(try desk.number("SELECT count(*) FROM events") == Int64(model.events))
    #expect(try desk.number("SELECT count(*) FROM deliveries") == Int64(model.events * 2))
    let queued = "SELECT count(*) FROM jobs WHERE kind = 'attachment'"
    #expect(try desk.number(queued) == Int64(model.count(.queued)))
    let leased = model.jobs.values.count { if case .leased = $0.state { true } else { false } }
    #expect(try desk.number(queued + " AND state = 'leased'") == Int64(leased))
    let lost = """
      SELECT count(*) FROM attachments a WHERE (status = 'queued') <>
        EXISTS (SELECT 1 FROM jobs WHERE kind = 'attachment' AND subject = a.key)
      """
    #expect(try desk.number(lost) == 0, "whatever is queued has a job, and nothing else")
  }
}
