import Configuration
import Pipeline
import Platform
import Wire
import Workers

/// Takes attachments through a pipeline, stage by stage, without ledger, queue or deliveries: what each stage says, and how
/// the attachment would end.
public final class Rehearsal {
  /// How an attachment came through.
  public struct Result {
    /// `nil`: it would be tried again later.
    public var outcome: Status?
    public var reason: Reason?
    /// The stages that ran, with what each said.
    public var steps: [(stage: String, result: TrialResult)] = []
    public var mediaType: String?
    public var metadata: [Metadatum] = []
    public var emissions: [WorkResult.Emission] = []
    public var location: String?
    public var content: Content?
    public var sha256: String?
  }

  private let pipeline: PipelineDefinition
  private let benches: [Bench]
  private let folder: ScratchFolder

  /// - Parameters:
  ///   - digest: the stage that measures content.
  ///   - folder: where stages that store write.
  public init(
    _ pipeline: PipelineDefinition, digest: StageDefinition, launch: StageRunner.Launch, folder: ScratchFolder
  ) {
    self.pipeline = pipeline
    self.folder = folder
    let measuring = StageRunner(digest, launch)
    benches = pipeline.stages.map { stage in
      var own = launch
      if stage.description.capability == .store { own.folder = folder.descriptor.number }
      return Bench(runner: StageRunner(stage, own), digest: measuring)
    }
  }

  /// Takes one attachment through.
  ///
  /// - Parameters:
  ///   - trial: the attachment, with what stages before `first` said of it.
  ///   - first: the place of the first stage to run.
  ///   - canned: by stage id, verdicts that stand for its work.
  public func run(_ trial: Trial, from first: Int = 0, canned: [String: Case.Canned] = [:]) throws -> Result {
    var result = Result()
    /// A stage at the end has told the outcome: it stands.
    var isTold = false
    (result.mediaType, result.metadata) = (trial.work.mediaType, trial.work.metadata)
    (result.content, result.sha256) = (trial.content, trial.work.sha256)
    try runLine(trial, first, canned, &result)
    guard let outcome = result.outcome else { return result }
    for (index, stage) in pipeline.stages.enumerated() where stage.description.role == .end {
      guard stage.runs(for: result.mediaType) else { continue }
      var last = trial
      last.content = nil
      last.work.outcome = result.outcome ?? outcome
      last.work.reason = result.reason
      let said = try say(index, last, canned, &result)
      if stage.tells && !said.emissions.isEmpty { isTold = true }
      if !said.isPassed, result.outcome == .completed, !isTold {
        let emissions = result.emissions
        decide(said, stage, &result)
        result.emissions = emissions
      }
    }
    return result
  }

  private func runLine(
    _ trial: Trial, _ first: Int, _ canned: [String: Case.Canned], _ result: inout Result
  ) throws {
    if first == 0, let size = trial.content?.size, try rejectForLength(size, canned, &result) { return }
    for (index, stage) in pipeline.stages.enumerated().dropFirst(first) where stage.description.role == .line
    {
      guard stage.runs(for: result.mediaType) else { continue }
      let said = try say(index, trial, canned, &result)
      if said.isPassed || said.death?.remedy(in: stage) == .pass { continue }
      return decide(said, stage, &result)
    }
    result.outcome = .completed
  }

  /// Whether a stage rejects the content for its length alone, as the scheduler asks before it has content read.
  private func rejectForLength(
    _ size: Int64, _ canned: [String: Case.Canned], _ result: inout Result
  ) throws -> Bool {
    var limits: [Int: LengthLimit] = [:]
    for (index, stage) in pipeline.stages.enumerated() where stage.description.role == .line {
      if canned[stage.id] == nil && stage.conditions.isEmpty {
        try benches[index].runner.start()
        limits[index] = benches[index].runner.ready?.lengthLimits.first ?? nil
      }
      if stage.description.produces { break }
    }
    let rejection = LengthLimit.rejection(of: size, by: pipeline.stages) { limits[$0] }
    guard let rejection, let stage = pipeline.stages.first(where: { $0.id == rejection.stage }) else {
      return false
    }
    var said = TrialResult(verdict: Verdict.reject.name)
    (said.code, said.message) = (rejection.code, rejection.message)
    result.steps.append((rejection.stage, said))
    decide(said, stage, &result)
    return true
  }

  /// One stage's turn. What it said is gathered.
  private func say(
    _ index: Int, _ trial: Trial, _ canned: [String: Case.Canned], _ result: inout Result
  ) throws -> TrialResult {
    let stage = pipeline.stages[index]
    var turn = trial
    if trial.content != nil { turn.content = result.content }
    turn.work.mediaType = result.mediaType
    turn.work.metadata = result.metadata
    turn.work.sha256 = result.sha256
    let said = try canned[stage.id].map { Self.result($0) } ?? benches[index].run(turn)
    result.steps.append((stage.id, said))
    for datum in said.metadata {
      if let known = result.metadata.firstIndex(where: { $0.key == datum.key }) {
        result.metadata[known] = datum
      } else {
        result.metadata.append(datum)
      }
    }
    if let mediaType = said.mediaType { result.mediaType = mediaType }
    result.emissions += said.emissions
    if said.isPassed, let produced = said.produced {
      (result.content, result.sha256) = (produced.content, produced.sha256)
    }
    if stage.description.capability == .store, said.isPassed, let location = said.location {
      try folder.publish(turn.work.id, to: location)
      result.location = location
    }
    return said
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

  /// Any verdict but pass ends the line.
  private func decide(_ said: TrialResult, _ stage: StageDefinition, _ result: inout Result) {
    result.reason = Reason(
      stage: stage.id, code: said.code ?? "unexplained", message: said.message ?? "no reason given")
    let remedy = said.death?.remedy(in: stage)
    switch said.verdict {
    case Verdict.reject.name: result.outcome = .rejected
    case Verdict.fail.name: result.outcome = .failed
    default: result.outcome = remedy == .reject ? .rejected : remedy == .hold ? .quarantined : nil
    }
    result.emissions = []
  }
}
