import Configuration
import Pipeline
import Platform
import Wire
import Workers

/// Runs attachments through a pipeline, stage by stage, without ledger, queue or deliveries. Reports what
/// each stage said and how the attachment would end. An ``AttachmentRun`` decides what runs next, as in the
/// scheduler.
public final class Rehearsal {
  /// The result for one attachment.
  public struct Result {
    /// `nil`: it would be tried again later.
    public var outcome: Status?
    public var reason: Reason?
    /// The stages that ran, with what each said.
    public var steps: [(stage: String, result: TrialResult)] = []
    public var mediaType: String?
    public var metadata: [Metadatum] = []
    public var emissions: [Emission] = []
    public var location: String?
    public var content: Content?
    public var sha256: String?
    /// What the stages have left beside the content, where it is completed.
    public var pieces = TrialPieces()
  }

  private let pipeline: PipelineDefinition
  private let plan: RunPlan
  private let benches: [Bench]
  private let measuring: Bench
  private let folder: ScratchFolder

  /// - Parameters:
  ///   - digest: the stage that measures content.
  ///   - folder: where stages that store write.
  public init(
    _ pipeline: PipelineDefinition, digest: StageDefinition, launch: StageRunner.Launch, folder: ScratchFolder
  ) {
    self.pipeline = pipeline
    self.folder = folder
    plan = RunPlan(pipeline)
    let measuring = StageRunner(digest, launch)
    self.measuring = Bench(runner: measuring, digest: measuring)
    benches = pipeline.stages.map { stage in
      var own = launch
      if stage.description.capability == .store { own.folder = folder.descriptor.number }
      return Bench(runner: StageRunner(stage, own), digest: measuring)
    }
  }

  /// Runs one attempt of one attachment.
  ///
  /// - Parameters:
  ///   - trial: the attachment, with the results of the stages before `first`.
  ///   - first: the place of the first stage to run.
  ///   - canned: by stage id, verdicts that replace running the stage.
  public func run(_ trial: Trial, from first: Int = 0, canned: [String: Case.Canned] = [:]) throws -> Result {
    var result = Result()
    result.content = trial.content
    var run = AttachmentRun(
      plan, attempt: max(trial.work.attempt, 1), first: first, mediaType: trial.work.mediaType,
      metadata: trial.work.metadata)
    if first == 0, let size = trial.content?.size, let rejection = try rejection(of: size, canned) {
      var said = TrialResult(verdict: Verdict.reject.name)
      (said.code, said.message) = (rejection.code, rejection.message)
      result.steps.append((rejection.stage, said))
      run.rejectUnread(rejection)
    } else if let sha256 = trial.work.sha256 {
      run.measured(sha256)
    }
    while true {
      switch run.next(isSourceChanged: { false }) {
      case .measure: try measure(&run, &result)
      case .run(let stages): try turn(stages.lowerBound, trial, canned, &run, &result)
      case .expand: run.expanded()
      case .end(let end):
        finish(end, run, &result)
        return result
      }
    }
  }

  private func measure(_ run: inout AttachmentRun, _ result: inout Result) throws {
    do {
      guard let content = result.content else { return run.measured("") }
      run.measured(try measuring.measure(content))
    } catch let error as Content.Problem {
      let said = StageResult(index: 0, verdict: .fail, code: error.code, message: error.message)
      run.measuringFailed(said, of: measuring.runner.stage)
    }
  }

  /// The reason for which a stage rejects content of this length. As in the scheduler, this is checked before
  /// the content is read.
  private func rejection(of size: Int64, _ canned: [String: Case.Canned]) throws -> Reason? {
    var limits: [Int: LengthLimit] = [:]
    for (index, stage) in pipeline.stages.enumerated() where stage.description.role == .line {
      if canned[stage.id] == nil && stage.conditions.isEmpty {
        try benches[index].runner.start()
        limits[index] = benches[index].runner.ready?.lengthLimits.first ?? nil
      }
      if stage.description.produces { break }
    }
    return LengthLimit.rejection(of: size, by: pipeline.stages) { limits[$0] }
  }

  /// Runs one stage and passes its result to the run.
  private func turn(
    _ place: Int, _ trial: Trial, _ canned: [String: Case.Canned], _ run: inout AttachmentRun,
    _ result: inout Result
  ) throws {
    let stage = pipeline.stages[place]
    var turn = trial
    turn.content = stage.description.role == .end ? nil : result.content
    turn.work.mediaType = run.mediaType
    turn.work.metadata = run.metadata
    turn.work.sha256 = run.sha256
    if stage.description.role == .end { (turn.work.outcome, turn.work.reason) = (run.outcome, run.reason) }
    let said = try canned[stage.id].map { Self.result($0) } ?? benches[place].run(turn)
    result.steps.append((stage.id, said))
    if let death = said.death {
      let step = Step(
        stage: stage.id, verdict: said.verdict, code: said.code, message: said.message,
        microseconds: said.microseconds)
      return run.died(step, at: place, remedy: death.remedy(in: stage), of: place..<place + 1)
    }
    let report = try report(said, stage, turn.work.origin.id)
    if report.produced { result.content = said.produced?.content }
    for entry in said.pieces.derived {
      result.pieces.derived.removeAll { $0.piece.name == entry.piece.name }
      result.pieces.derived.append(entry)
    }
    result.pieces.children += said.pieces.children
    result.pieces.isWhole = result.pieces.isWhole && said.pieces.isWhole
    run.take(report, of: place..<place + 1)
  }

  /// A stage's result in the form that a worker reports it. Publishes a staged object to its path.
  private func report(_ said: TrialResult, _ stage: StageDefinition, _ id: String) throws -> StageReport {
    var report = StageReport()
    let verdict = Verdict.allCases.first { $0.name == said.verdict } ?? .fail
    report.results = [
      StageResult(
        index: 0, verdict: verdict, code: said.code, message: said.message, microseconds: said.microseconds,
        retryAfter: said.retryAfter, pausesLane: said.pausesLane)
    ]
    (report.metadata, report.mediaType, report.emissions) = (said.metadata, said.mediaType, said.emissions)
    if verdict != .pass { return report }
    report.produced = said.produced != nil
    if stage.description.capability == .store, let location = said.location {
      try folder.publish(id, to: location)
      report.location = location
    }
    return report
  }

  private func finish(_ end: AttachmentRun.End, _ run: AttachmentRun, _ result: inout Result) {
    (result.mediaType, result.metadata, result.sha256) = (run.mediaType, run.metadata, run.sha256)
    (result.location, result.emissions) = (run.location, run.emissions)
    switch end {
    case .ended: (result.outcome, result.reason) = (run.outcome, run.reason)
    case .again(let reason, _, _), .lanePaused(let reason): result.reason = reason
    }
    if result.outcome != .completed { result.pieces = TrialPieces() }
  }

  private static func result(_ canned: Case.Canned) -> TrialResult {
    var result = TrialResult(verdict: canned.verdict.name)
    let isPass = canned.verdict == .pass
    result.code = canned.code ?? (isPass ? nil : "canned")
    result.message = canned.message ?? (isPass ? nil : "the case says so")
    result.mediaType = canned.mediaType
    result.metadata = canned.metadata
    return result
  }
}
