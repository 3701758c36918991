import Pipeline
import Platform
import Testing

/// Rules for every attempt, whatever stages say and however their workers end.
struct AttachmentRunSequenceTests {
  @Test(arguments: 0..<4) func aHundredThousandRandomAttemptsKeepTheRules(quarter: UInt64) throws {
    for number in 0..<25_000 {
      let seed = quarter * 25_000 + UInt64(number)
      var sequence = Sequence(seed: seed)
      if let broken = sequence.drive() {
        Issue.record("seed \(seed): \(broken)\n\(sequence.log.joined(separator: "\n"))")
        return
      }
    }
  }

  /// One attempt of a random pipeline.
  private struct Sequence {
    private var random: SplitMix
    private let plan: RunPlan
    private let attempt: Int
    private var run: AttachmentRun
    /// Places of the stages that ran.
    private var ran: [Int] = []
    /// The outcome that was told, and the events.
    private var told: Status?
    private var emitted: [Emission] = []
    /// The facts exceeded what a worker accepts.
    private var isUntold = false
    private(set) var log: [String] = []

    init(seed: UInt64) {
      random = SplitMix(state: seed)
      plan = Self.plan(&random)
      attempt = Int.random(in: 1...3, using: &random)
      run = AttachmentRun(plan, attempt: attempt)
      log = plan.stages.map {
        "\($0.id): \($0.description.role) \($0.description.capability.name) \($0.conditions)\($0.tells ? " tells" : "")"
      }
    }

    private static func plan(_ random: inout SplitMix) -> RunPlan {
      let lineCount = Int.random(in: 0...5, using: &random)
      let endCount = Int.random(in: 0...4, using: &random)
      let tellers = Int.random(in: 0...endCount, using: &random)
      let stages = (0..<(lineCount + endCount)).map { place in
        var description = StageDescription(id: "x", version: "1", summary: "", file: "")
        description.role = place < lineCount ? .line : .end
        description.capability =
          StageDescription.Capability.allCases.randomElement(using: &random) ?? .content
        description.produces = Int.random(in: 0..<4, using: &random) == 0
        let tells = place >= lineCount + endCount - tellers
        if tells { description.options = [.init(name: "on", kind: .channelName, shapes: .one, help: "")] }
        var stage = StageDefinition(id: "s\(place)", description: description, values: [])
        if tells { stage.values = [OptionValue(name: "on", text: "events")] }
        if Int.random(in: 0..<4, using: &random) == 0 {
          stage.conditions = [MediaTypePattern("image/*")].compactMap(\.self)
        }
        stage.isolation = Int.random(in: 0..<6, using: &random) == 0 ? .fresh : .worker
        stage.onCrash = Remedy.allCases.randomElement(using: &random) ?? .retry
        return stage
      }
      let sink = StageDefinition(
        id: "jsonl", description: StageDescription(id: "jsonl", version: "1", summary: "", file: ""),
        values: [])
      var pipeline = PipelineDefinition(stages: stages, channels: [.init(name: "events", stage: sink)])
      pipeline.retry.attempts = Int.random(in: 1...3, using: &random)
      return RunPlan(pipeline)
    }

    /// Drives the attempt to its end; returns the broken rule, if any.
    mutating func drive() -> String? {
      let isChanged = chance(8)
      if chance(20) { run.takeSourceFault(reason, mayPass: chance(2)) }
      // Two turns per stage are more than any attempt needs.
      for _ in 0..<(plan.stages.count * 2 + 4) {
        let before = run.outcome
        let next = run.next(isSourceChanged: { isChanged })
        log.append("\(before.rawValue) -> \(next)")
        let again = run.next(isSourceChanged: { isChanged })
        if again != next { return "asked twice, it says \(again)" }
        if let told, run.outcome != told, case .run = next { return "told \(told), and now \(run.outcome)" }
        switch next {
        case .measure: measure()
        case .expand: run.expanded()
        case .run(let places): if let broken = turn(places) { return broken }
        case .end(let end): return check(end)
        }
      }
      return "it does not end"
    }

    private mutating func measure() {
      switch Int.random(in: 0..<20, using: &random) {
      case 0: run.measuringFailed(result(0, of: nil), of: plan.stages.first ?? Self.digest)
      case 1: run.died(step("digest"), measuring: Remedy.allCases.randomElement(using: &random) ?? .retry)
      case 2: run.rejectUnread(reason)
      default: run.measured("hash")
      }
    }

    private static let digest = StageDefinition(
      id: "digest", description: StageDescription(id: "digest", version: "1", summary: "", file: ""),
      values: [])

    /// Runs the stages at these places, until one does not pass or the worker dies.
    private mutating func turn(_ places: Range<Int>) -> String? {
      let role = plan.stages[places.lowerBound].description.role
      guard let index = plan.groups.group(of: places.lowerBound) else { return "no group has \(places)" }
      let group = plan.groups.groups[index].stages
      if places.upperBound != group.upperBound { return "\(places) do not end with their group \(group)" }
      if chance(50) {
        run.endUntold()
        isUntold = true
        return nil
      }
      var report = StageReport()
      for place in places {
        let stage = plan.stages[place]
        if stage.description.role != role { return "\(places) are of two roles" }
        if (stage.description.role == .end) == (run.outcome == .queued) {
          return "\(stage.id) runs while the outcome is \(run.outcome)"
        }
        if !stage.runs(for: report.mediaType ?? run.mediaType) { continue }
        if ran.contains(place) { return "\(stage.id) has its turn twice" }
        if let last = ran.last, last > place {
          return "\(stage.id) has its turn after \(plan.stages[last].id)"
        }
        ran.append(place)
        if chance(15) {
          log.append("  \(stage.id) dies, \(stage.onCrash)")
          run.died(
            step(stage.id), at: place, remedy: stage.onCrash, after: report.results.isEmpty ? nil : report,
            of: group)
          return nil
        }
        let result = result(place - group.lowerBound, of: stage)
        report.results.append(result)
        log.append("  \(stage.id) \(result.verdict.name)\(result.pausesLane ? " pauses" : "")")
        if chance(4) {
          let emission = Emission(
            type: "t\(ran.count)", channel: chance(4) ? "nowhere" : "events", audience: .everyone)
          // Only a stage with a channel among its options can name one.
          if stage.tells || stage.description.role == .line {
            report.emissions.append(emission)
            if emission.channel == "events" { emitted.append(emission) }
          }
        }
        if chance(6) { report.mediaType = chance(2) ? "image/png" : "text/plain" }
        if result.verdict != .pass { break }
        if stage.description.produces && stage.description.role == .line && chance(2) {
          report.produced = true
          break
        }
      }
      if plan.stages[places.lowerBound].description.capability == .store && chance(2) {
        report.location = "a/b"
      }
      let isTelling = role == .end && report.emissions.contains { $0.channel == "events" }
      if isTelling && told == nil { told = run.outcome }
      run.take(report, of: group)
      return nil
    }

    private func check(_ end: AttachmentRun.End) -> String? {
      switch end {
      case .ended:
        if !run.outcome.isFinal { return "it ended as \(run.outcome)" }
        if (run.outcome == .completed) != (run.reason == nil) {
          return "\(run.outcome) because of \(run.reason as Any)"
        }
        if let told, run.outcome != told { return "told \(told), ended as \(run.outcome)" }
        // Only a change of the source drops events emitted before.
        if run.reason?.code != "source-changed" && run.emissions != emitted {
          return "\(run.emissions) are told, and \(emitted) were emitted"
        }
        if !isUntold {
          let missing = plan.stages.indices.filter {
            plan.stages[$0].description.role == .end && plan.stages[$0].runs(for: run.mediaType)
              && !ran.contains($0)
          }
          // A stage that makes its own condition true ran too early to see it.
          if !missing.isEmpty && plan.stages[missing[0]].conditions.isEmpty {
            return "\(plan.stages[missing[0]].id) had no turn"
          }
        }
      case .again(_, _, let crashed):
        if attempt >= plan.attempts { return "there is no further attempt" }
        if crashed && !log.contains(where: { $0.contains("dies") || $0.contains("measure") }) {
          return "nothing crashed"
        }
        if !run.emissions.isEmpty { return "what does not count is told" }
        if run.outcome == .queued && ran.contains(where: { plan.stages[$0].description.role == .end }) {
          return "a stage at the end ran before the outcome"
        }
      case .lanePaused:
        if !run.emissions.isEmpty { return "what does not count is told" }
      }
      let names = ran.map { plan.stages[$0].id }
      let steps = run.steps.map(\.stage).filter { $0.hasPrefix("s") && $0 != "source" }
      if end != .ended || run.reason?.code != "too-much" {
        if !names.allSatisfy(steps.contains) { return "\(names) ran, and \(steps) are recorded" }
      }
      if Set(steps).count != steps.count { return "a stage is recorded twice: \(steps)" }
      return nil
    }

    private var reason: Reason { Reason(stage: "source", code: "missing", message: "gone") }

    private func step(_ stage: String) -> Step {
      Step(stage: stage, verdict: "crashed", code: "crashed", message: "crashed", microseconds: 1)
    }

    private mutating func result(_ index: Int, of stage: StageDefinition?) -> StageResult {
      let verdicts: [Verdict] = [.pass, .pass, .pass, .pass, .pass, .pass, .reject, .retry, .fail]
      var verdict = verdicts.randomElement(using: &random) ?? .pass
      if stage == nil && verdict == .pass { verdict = .fail }
      return StageResult(
        index: index, verdict: verdict, code: verdict == .pass ? nil : "code",
        message: verdict == .pass ? nil : "message", pausesLane: verdict == .retry && chance(2))
    }

    private mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }
  }
}
