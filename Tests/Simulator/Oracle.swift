import Pipeline

/// What becomes of an attachment if only its content and the stages decide: faults of the place, crashes and power losses change
/// nothing about it.
struct Oracle {
  struct Verdict: Hashable {
    var status: Status
    var stage: String?
    var code: String?
    var emissions: Int
    /// What stages have left that counts: the names of children, and derived objects.
    var children: [String] = []
    var derived: Set<Scenario.Part> = []
  }

  let scenario: Scenario
  let plan: RunPlan

  init(_ scenario: Scenario) {
    self.scenario = scenario
    plan = RunPlan(scenario.pipeline)
  }

  /// - Parameter meets: whether the stages have yet to meet the content, so that those that fail once do.
  func verdict(_ item: Scenario.Item, meets: Bool) -> Verdict {
    verdict(scenario.content(of: item), isLink: scenario.isLink(item), meets: meets)
  }

  /// - Parameter isLink: its content is fetched. False: it lies in a file, or was taken out of another.
  func verdict(_ original: String, isLink: Bool, meets: Bool) -> Verdict {
    var met: Set<String> = meets ? [] : Set(plan.stages.map(\.id))
    // What is recorded while it waits for its children stays, whatever a stage at the end says.
    var recorded: [String]?
    for attempt in 1... {
      var run = AttachmentRun(plan, attempt: attempt)
      var content = original
      if isLink, let (code, isRejected) = scenario.linkFault(content) {
        let reason = Reason(stage: TransferRun.stage, code: code, message: "")
        if isRejected { run.rejectUnread(reason) } else { run.takeSourceFault(reason, mayPass: false) }
      }
      while true {
        switch run.next(isSourceChanged: { false }) {
        case .measure: run.measured(Chance.digest(of: content))
        case .run(let stages): self.run(&run, stages, &content, &met)
        case .expand:
          recorded = children(run)
          run.expanded()
        case .end(.ended):
          return Verdict(
            status: run.outcome, stage: run.reason?.stage, code: run.reason?.code,
            emissions: run.emissions.count, children: recorded ?? children(run), derived: derived(run))
        case .end: break
        }
        if case .end = run.next(isSourceChanged: { false }) {
          if case .end(.ended) = run.next(isSourceChanged: { false }) { continue }
          break
        }
      }
    }
    fatalError("attempts end")
  }

  private func children(_ run: AttachmentRun) -> [String] {
    run.outcome == .completed ? run.pieces.filter { $0.piece.kind == .child }.map(\.piece.name).sorted() : []
  }

  private func derived(_ run: AttachmentRun) -> Set<Scenario.Part> {
    if run.outcome != .completed { return [] }
    return Set(
      run.pieces.filter { $0.piece.kind == .derived }.map { held in
        Scenario.Part(kind: .derived, name: held.piece.name, content: held.piece.mediaType ?? "")
      })
  }

  /// What a stage leaves. The oracle keeps the content in the place of the media type.
  private func pieces(_ stage: StageDefinition, _ index: Int, _ content: String) -> [Piece] {
    scenario.parts(stage, content).map { part in
      Piece(part.kind, name: part.name, mediaType: part.content, range: 0..<0, stage: index)
    }
  }

  /// How much the stages at the end may tell of one that a person took back, whatever its content was by then.
  func emissionsOfCancelled(_ item: Scenario.Item) -> Set<Int> {
    let content = scenario.content(of: item)
    let contents = [content] + plan.stages.filter(\.description.produces).map { "\(content)+\($0.id)" }
    return Set(
      contents.flatMap { content in
        [true, false].map { emissionsOfCancelled(content, meets: $0) }
      })
  }

  private func emissionsOfCancelled(_ content: String, meets: Bool) -> Int {
    var met: Set<String> = meets ? [] : Set(plan.stages.map(\.id))
    for attempt in 1... {
      var (run, content) = (AttachmentRun(plan, attempt: attempt), content)
      run.cancel(Reason(stage: "sluice", code: "cancelled", message: ""))
      while case .run(let stages) = run.next(isSourceChanged: { false }) {
        self.run(&run, stages, &content, &met)
      }
      if case .end(.ended) = run.next(isSourceChanged: { false }) { return run.emissions.count }
    }
    fatalError("attempts end")
  }

  /// Takes a run through stages of one group, as a worker does.
  private func run(
    _ run: inout AttachmentRun, _ stages: Range<Int>, _ content: inout String, _ met: inout Set<String>
  ) {
    guard let number = plan.groups.group(of: stages.lowerBound) else { return }
    let group = plan.groups.groups[number].stages
    var report = StageReport()
    for place in stages {
      let stage = plan.stages[place]
      let index = place - group.lowerBound
      if !stage.runs(for: report.mediaType ?? run.mediaType) { continue }
      var act = scenario.act(stage, content)
      if [.crashOnce].contains(act) || act.isRetry,
        !met.insert(stage.id + content).inserted || met.contains(stage.id)
      {
        act = .pass
      }
      if let limit = scenario.lengthLimit(stage), content.utf8.count > limit.bytes { act = .reject }
      let before = content
      func died(_ verdict: String, _ code: String, _ remedy: Remedy) {
        let step = Step(stage: stage.id, verdict: verdict, code: code, message: "", microseconds: 0)
        run.died(step, at: place, remedy: remedy, after: report.results.isEmpty ? nil : report, of: group)
      }
      switch act {
      case .crash, .crashOnce, .exit: return died("crashed", "crashed", stage.onCrash)
      case .lie: return died("crashed", "invalid-reply", stage.onCrash)
      case .hang: return died("timed-out", "timed-out", stage.onTimeout)
      case .memory: return died("over-limit", "out-of-memory", stage.onLimit)
      case .flood: return died("over-limit", "flooded", stage.onLimit)
      case .produce:
        report.pass(index, stage, content, run.outcome, scenario)
        report.produced = true
        content += "+\(stage.id)"
      default: report.take(act, index, stage, content, run.outcome, scenario)
      }
      report.pieces += pieces(stage, index, before)
      if report.results.last?.verdict != .pass || report.produced { break }
      if stage.description.capability == .store { report.location = "a path" }
    }
    run.take(report, of: group)
  }
}

extension Act {
  var isRetry: Bool { if case .retryOnce = self { true } else { false } }
}
