/// One attempt at an attachment: which stages have its turn next, what their results and their workers' ends make of it, and
/// how it ends.
///
/// A value without clock, files and processes, so that whoever drives it (the scheduler, a rehearsal, a test) cannot disagree
/// with another. The stages of the line come first, until one does not pass; that decides the outcome. Then the stages at the
/// end run, each once. What is emitted is told with the outcome, where the attempt ends the attachment.
public struct AttachmentRun: Sendable {
  /// What is to be done next.
  public enum Next: Sendable, Equatable {
    /// To hash the content: ``measured(_:)``, ``measuringFailed(_:of:)`` or ``died(_:measuring:)``.
    case measure
    /// To let the stages of these places have their turn, in one worker or one by one: ``take(_:of:)`` or
    /// ``died(_:at:remedy:)``.
    case run(Range<Int>)
    case end(End)
  }

  /// How the attempt ends.
  public enum End: Sendable, Equatable {
    /// The attachment has its ``outcome``.
    case ended
    /// It is tried again later, not before so many milliseconds.
    case again(Reason, notBefore: Int64?, crashed: Bool)
    /// The place is at fault: its lane stops, and the attempt does not count.
    case lanePaused(Reason)
  }

  private let plan: RunPlan
  /// The number of this attempt among those that count, from 1.
  private let attempt: Int
  /// Stages of places before this one have had their turn.
  @usableFromInline internal private(set) var position: Int
  private var ending: End? { didSet { isOver = true } }
  @usableFromInline internal private(set) var isOver = false
  /// A stage at the end has emitted an event that tells the outcome: it stands.
  private var isTold = false
  private var isSourceChecked = false

  /// The content's hash; `nil`: it has to be measured.
  public private(set) var sha256: String?
  public private(set) var mediaType: String?
  public private(set) var metadata: [Metadatum]
  public private(set) var location: String?
  /// What the stages said, in the order in which they ran.
  public private(set) var steps: [Step] = []
  /// What they emitted on channels that there are. Empty where the attempt does not end the attachment.
  public private(set) var emissions: [Emission] = []
  /// ``Status/queued`` until it is decided.
  public private(set) var outcome = Status.queued
  public private(set) var reason: Reason?

  /// Begins an attempt.
  ///
  /// - Parameters:
  ///   - first: the place of the first stage to run.
  ///   - sha256: the content's hash, where it is known.
  ///   - mediaType: what stages before `first` said it is.
  ///   - metadata: what they recorded.
  public init(
    _ plan: RunPlan, attempt: Int, first: Int = 0, sha256: String? = nil, mediaType: String? = nil,
    metadata: [Metadatum] = []
  ) {
    self.plan = plan
    self.attempt = attempt
    position = first
    (self.sha256, self.mediaType, self.metadata) = (sha256, mediaType, metadata)
  }

  // Inlinable: who asks a value in a class for what is computed elsewhere gets a copy of the value made.

  /// No stage has said anything of it, nor has anything been decided.
  @inlinable public var isUntouched: Bool { isInLine && steps.isEmpty }
  /// Its stages have content to work on: nothing is decided yet.
  @inlinable public var isInLine: Bool { outcome == .queued && !isOver }
  /// No stage has had its turn or been passed over.
  @inlinable public var isAtStart: Bool { position == 0 }

  // MARK: What is next

  /// What is to be done next. Asked again before anything was done, it is the same.
  ///
  /// - Parameter isSourceChanged: whether the file was changed since it was opened. Asked once, when no stage is going to read
  ///   the content any more: what was said of a file that changed meanwhile was said of something else.
  public mutating func next(isSourceChanged: () -> Bool) -> Next {
    if let ending { return .end(ending) }
    if outcome == .queued {
      if sha256 == nil { return .measure }
      if let turn = turn(of: .line) { return .run(turn) }
      outcome = .completed
    }
    if !isSourceChecked {
      isSourceChecked = true
      if location == nil && isSourceChanged() { takeSourceChange() }
      if let ending { return .end(ending) }
    }
    if let turn = turn(of: .end) { return .run(turn) }
    ending = .ended
    return .end(.ended)
  }

  /// The next stage of a role that is to run, with those behind it in its group.
  private func turn(of role: StageDescription.Role) -> Range<Int>? {
    var place = position
    while place < plan.stages.count {
      if plan.stages[place].description.role == role && plan.stages[place].runs(for: mediaType) {
        return plan.groups.group(of: place).map { place..<plan.groups.groups[$0].stages.upperBound }
      }
      place += 1
    }
    return nil
  }

  private mutating func takeSourceChange() {
    let stage = steps.last?.stage ?? "source"
    (outcome, reason, emissions) = (.queued, nil, [])
    tryAgain(
      Reason(stage: stage, code: "source-changed", message: "the file was changed while it was worked on"),
      orElse: .failed)
  }

  // MARK: The content

  public mutating func measured(_ sha256: String) {
    self.sha256 = sha256
  }

  /// The stage that hashes did not pass.
  public mutating func measuringFailed(_ result: StageResult, of stage: StageDefinition) {
    decide(result, stage)
  }

  /// The worker that hashes ended over this content.
  public mutating func died(_ step: Step, measuring remedy: Remedy) {
    steps.append(step)
    let reason = Reason(stage: step.stage, code: step.code ?? "", message: step.message ?? "")
    take(remedy, reason)
    if remedy == .pass { decide(.failed, reason) }
  }

  /// A stage rejects the content for its length alone, and has not read it.
  public mutating func rejectForLength(_ reason: Reason) {
    steps.append(
      Step(
        stage: reason.stage, verdict: Verdict.reject.name, code: reason.code, message: reason.message,
        microseconds: 0))
    decide(.rejected, reason)
  }

  // MARK: What stages said

  /// What the stages of a group said, or the first of them, up to one that did not pass or made new content.
  ///
  /// - Parameter group: the places of the stages of the group, to which the results' indices belong.
  public mutating func take(_ report: StageReport, of group: Range<Int>) {
    gather(report, of: group)
    for result in report.results {
      let place = group.lowerBound + result.index
      let stage = plan.stages[place]
      steps.append(
        Step(
          stage: stage.id, verdict: result.verdict.name, code: result.code, message: result.message,
          microseconds: result.microseconds))
      position = place + 1
      if stage.description.role == .end && stage.tells && !report.emissions.isEmpty { isTold = true }
      if result.verdict != .pass { return decide(result, stage) }
    }
    if report.produced { return replaceContent() }
    position = group.upperBound
  }

  /// A worker ended while the stage of this place worked on it.
  ///
  /// - Parameters:
  ///   - step: how, in the stage's name.
  ///   - report: what the stages before it in its group have said.
  public mutating func died(
    _ step: Step, at place: Int, remedy: Remedy, after report: StageReport? = nil, of group: Range<Int>
  ) {
    if let report { take(report, of: group) }
    steps.append(step)
    position = place + 1
    take(remedy, Reason(stage: step.stage, code: step.code ?? "", message: step.message ?? ""))
  }

  /// Lets what stages said of equal content stand in for running the first stages again. Only what they declare is theirs:
  /// later ones run, and speak for themselves. True: it does.
  public mutating func repeatReport(
    mediaType: String?, metadata: [Metadatum], of group: Range<Int>
  ) -> Bool {
    guard position == 0, group.lowerBound == 0, isUntouched else { return false }
    let stages = plan.stages[group]
    let keys = stages.flatMap { $0.description.keys.map(\.name) }
    self.mediaType = mediaType
    self.metadata = metadata.filter { datum in
      keys.contains { $0.hasSuffix("*") ? datum.key.hasPrefix($0.dropLast()) : $0 == datum.key }
    }
    steps = stages.filter { $0.runs(for: mediaType) }.map {
      Step(
        stage: $0.id, verdict: Verdict.pass.name, code: nil, message: "as for equal content", microseconds: 0)
    }
    position = group.upperBound
    return true
  }

  /// The most metadata an attachment gathers, in bytes: with it a frame stays within its limit.
  private static let metadataLimit = 40 << 10

  private mutating func gather(_ report: StageReport, of group: Range<Int>) {
    var bytes = metadata.reduce(0) { $0 + $1.key.utf8.count + $1.value.text.utf8.count + 16 }
    for datum in report.metadata {
      if let index = metadata.firstIndex(where: { $0.key == datum.key }) {
        let more = datum.value.text.utf8.count - metadata[index].value.text.utf8.count
        if bytes + more > Self.metadataLimit { continue }
        bytes += more
        metadata[index] = datum
        continue
      }
      bytes += datum.key.utf8.count + datum.value.text.utf8.count + 16
      if bytes <= Self.metadataLimit { metadata.append(datum) }
    }
    if let mediaType = report.mediaType { self.mediaType = mediaType }
    // Only a stage that can write to the store can say where an object lies; where it did not pass, there is none.
    if let location = report.location, plan.stages[group].first?.description.capability == .store,
      report.results.last?.verdict == .pass
    {
      self.location = location
    }
    emissions += report.emissions.filter { plan.channels.contains($0.channel) }
  }

  /// New content has to be measured. The hash of the first is kept.
  private mutating func replaceContent() {
    if let sha256, !metadata.contains(where: { $0.key == "original.sha256" }) {
      metadata.append(Metadatum(key: "original.sha256", value: .text(sha256)))
    }
    sha256 = nil
  }

  // MARK: What becomes of it

  /// Its source cannot be read, for good or, where the fault may pass, in this attempt.
  public mutating func takeSourceFault(_ reason: Reason, mayPass: Bool) {
    let verdict = mayPass ? Verdict.retry : .fail
    steps.append(
      Step(
        stage: reason.stage, verdict: verdict.name, code: reason.code, message: reason.message,
        microseconds: 0)
    )
    if mayPass { tryAgain(reason, orElse: .failed) } else { decide(.failed, reason) }
  }

  /// A person is to look at it before any stage does.
  public mutating func hold(_ reason: Reason) {
    decide(.quarantined, reason)
  }

  /// The attempt met a passing fault. Where it was the last, the attachment ends with `status`.
  private mutating func tryAgain(
    _ reason: Reason, notBefore: Int64? = nil, crashed: Bool = false, orElse status: Status
  ) {
    if attempt < plan.attempts {
      ending = .again(reason, notBefore: notBefore, crashed: crashed)
      emissions = []
      return
    }
    let message = attempt > 1 ? "\(reason.message) (attempt \(attempt), the last)" : reason.message
    decide(status, Reason(stage: reason.stage, code: reason.code, message: message))
  }

  public static let tooMuch = Reason(
    stage: "source", code: "too-much", message: "its metadata and names are larger than a worker takes")

  /// More is known of it than a worker takes: what is known is dropped, and it fails. No stage can be told of it.
  public mutating func endUntold() {
    let isAtEnd = outcome != .queued
    metadata = []
    decide(.failed, Self.tooMuch)
    if isAtEnd { position = plan.stages.count }
  }

  private mutating func decide(_ result: StageResult, _ stage: StageDefinition) {
    let reason = Reason(
      stage: stage.id, code: result.code ?? "unexplained", message: result.message ?? "no reason given")
    switch result.verdict {
    case .pass: break
    case .reject: decide(.rejected, reason)
    case .fail: decide(.failed, reason)
    case .retry:
      // Whoever has parsed content may speak for that content, and not for the whole lane.
      if result.pausesLane && stage.description.capability != .content {
        ending = .lanePaused(reason)
        emissions = []
      } else {
        tryAgain(reason, notBefore: result.retryAfter, orElse: .failed)
      }
    }
  }

  private mutating func take(_ remedy: Remedy, _ reason: Reason) {
    switch remedy {
    case .reject: decide(.rejected, reason)
    case .hold: decide(.quarantined, reason)
    case .retry: tryAgain(reason, crashed: true, orElse: .quarantined)
    case .pass: break
    }
  }

  /// Fixes the outcome.
  ///
  /// A stage at the end can turn `completed` into something else as long as nothing has been told: one attachment has one
  /// outcome for everybody. After that, and after another outcome, what it says is on record and changes nothing.
  private mutating func decide(_ status: Status, _ reason: Reason) {
    if outcome == .queued || outcome == .completed && !isTold { (outcome, self.reason) = (status, reason) }
  }
}

/// What the runs of a pipeline have in common.
public struct RunPlan: Sendable {
  /// The stages in order, those that run at the end last.
  public let stages: [StageDefinition]
  public let groups: LinePlan
  /// The names of the channels there are.
  public let channels: Set<String>
  /// Attempts in all.
  public let attempts: Int

  public init(_ pipeline: PipelineDefinition) {
    stages = pipeline.stages
    groups = LinePlan(pipeline.stages)
    channels = Set(pipeline.channels.map(\.name))
    attempts = pipeline.retry.attempts
  }
}
