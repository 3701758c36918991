/// One attempt at an attachment: which stages run next, how their results and the deaths of their workers
/// change it, and how it ends.
///
/// A pure value without clock, files and processes. The scheduler, `sluice test` and `sluice replay` all use
/// it, so they cannot disagree. Stages of role `line` run first, until one does not pass; that decides the
/// outcome. Then each stage at the end runs once. Emitted events are recorded with the outcome if the attempt
/// ends the attachment, and dropped otherwise.
public struct AttachmentRun: Sendable {
  /// What is to be done next.
  public enum Next: Sendable, Equatable {
    /// Hash the content. Then call ``measured(_:)``, ``measuringFailed(_:of:)`` or ``died(_:measuring:)``.
    case measure
    /// Run the stages at these places, in one worker or one by one. Then call ``take(_:of:)`` or
    /// ``died(_:at:remedy:after:of:)``.
    case run(Range<Int>)
    /// What was taken out of the content is to be recorded. Then call ``expanded()``, or ``refuseChildren(_:)``; the stages at the end
    /// run once all of it has ended.
    case expand
    case end(End)
  }

  /// How the attempt ends.
  public enum End: Sendable, Equatable {
    /// The attachment has its ``outcome``.
    case ended
    /// The attachment is tried again later, at the earliest after `notBefore` milliseconds. `crashed`: a
    /// worker died.
    case again(Reason, notBefore: Int64?, crashed: Bool)
    /// The environment failed, such as a full disk: pause the lane. The attempt does not count.
    case lanePaused(Reason)
  }

  private let plan: RunPlan
  /// The number of this attempt, from 1; attempts that do not count are left out.
  private let attempt: Int
  /// The next place; stages before it have run or were skipped.
  @usableFromInline internal private(set) var position: Int
  private var ending: End? { didSet { isOver = true } }
  @usableFromInline internal private(set) var isOver = false
  /// A stage at the end has emitted an event with the outcome, so the outcome cannot change any more.
  private var isTold = false
  private var isSourceChecked = false
  private var isExpanded = false

  /// The content's hash; `nil`: it has to be measured.
  public private(set) var sha256: String?
  public private(set) var mediaType: String?
  public private(set) var metadata: [Metadatum]
  public private(set) var location: String?
  /// What the stages said, in the order in which they ran.
  public private(set) var steps: [Step] = []
  /// The events that stages emitted on existing channels. Empty if the attempt does not end the attachment.
  public private(set) var emissions: [Emission] = []
  /// How many of them are from before the stages at the end; `nil`: none of these has run.
  private var emissionsOfLine: Int?
  /// What stages have written beside the content. It counts if the attachment is completed.
  public private(set) var pieces: [HeldPiece] = []
  /// The same that was recorded with equal content.
  public private(set) var knownDerived: [DerivedObject] = []
  /// ``Status/queued`` until it is decided.
  public private(set) var outcome = Status.queued
  public private(set) var reason: Reason?

  /// Begins an attempt.
  ///
  /// - Parameters:
  ///   - first: the place of the first stage to run.
  ///   - sha256: the content's hash, if it is known.
  ///   - mediaType: the media type that stages before `first` reported.
  ///   - metadata: the metadata that they recorded.
  public init(
    _ plan: RunPlan, attempt: Int, first: Int = 0, sha256: String? = nil, mediaType: String? = nil,
    metadata: [Metadatum] = []
  ) {
    self.plan = plan
    self.attempt = attempt
    position = first
    (self.sha256, self.mediaType, self.metadata) = (sha256, mediaType, metadata)
  }

  /// Goes on with an attachment whose children have ended: only the stages at the end run.
  public init(_ plan: RunPlan, attempt: Int, concluding before: ConcludedExpansion) {
    self.init(
      plan, attempt: attempt,
      first: plan.stages.firstIndex { $0.description.role == .end } ?? plan.stages.count,
      sha256: before.sha256, mediaType: before.mediaType,
      metadata: before.metadata + before.tally)
    (location, knownDerived, steps) = (before.url, before.derived, before.steps)
    (outcome, isSourceChecked, isExpanded) = (.completed, true, true)
  }

  // Inlinable, because a call into another module copies the value if it is stored in a class.

  /// No stage has run, and nothing has been decided.
  @inlinable public var isUntouched: Bool { isInLine && steps.isEmpty }
  /// Nothing has been decided, so the next stage gets content.
  @inlinable public var isInLine: Bool { outcome == .queued && !isOver }
  /// No stage has run or was skipped.
  @inlinable public var isAtStart: Bool { position == 0 }

  // MARK: What is next

  /// What is to be done next. Calling it twice in a row gives the same answer.
  ///
  /// - Parameter isSourceChanged: whether the file was changed since it was opened. Called once, when no
  ///   stage will read the content any more. If the file changed, the results are about other content and do
  ///   not count.
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
    if plan.waitsForChildren && outcome == .completed && !isExpanded && hasChildren { return .expand }
    if let turn = turn(of: .end) { return .run(turn) }
    ending = .ended
    return .end(.ended)
  }

  /// Contents were taken out of the content.
  public var hasChildren: Bool { pieces.contains { $0.piece.kind == .child } }

  /// They are recorded, or need not be waited for.
  public mutating func expanded() { isExpanded = true }

  /// They are more than is allowed: the attachment is rejected, and none is recorded. Stages at the end that have run with another
  /// outcome run again: nothing of what they said is on record.
  public mutating func refuseChildren(_ code: String, _ message: String) {
    let stage = pieces.first { $0.piece.kind == .child }?.stage ?? "sluice"
    pieces.removeAll()
    (ending, isOver, isTold) = (nil, false, false)
    emissions = Array(emissions.prefix(emissionsOfLine ?? emissions.count))
    let end = plan.stages.firstIndex { $0.description.role == .end } ?? plan.stages.count
    steps.removeAll { step in plan.stages[end...].contains { $0.id == step.stage } }
    position = min(position, end)
    decide(.rejected, Reason(stage: stage, code: code, message: message))
  }

  /// The next stage of a role to run, with those after it in its group.
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

  /// The stage that hashes returned a verdict other than pass.
  public mutating func measuringFailed(_ result: StageResult, of stage: StageDefinition) {
    decide(result, stage)
  }

  /// The worker that hashes died while it worked on this content.
  public mutating func died(_ step: Step, measuring remedy: Remedy) {
    steps.append(step)
    let reason = Reason(stage: step.stage, code: step.code ?? "", message: step.message ?? "")
    take(remedy, reason)
    if remedy == .pass { decide(.failed, reason) }
  }

  /// The content is rejected without being read: a stage rejects it for its length alone, or the time for its tree is over.
  public mutating func rejectUnread(_ reason: Reason) {
    steps.append(
      Step(
        stage: reason.stage, verdict: Verdict.reject.name, code: reason.code, message: reason.message,
        microseconds: 0))
    decide(.rejected, reason)
  }

  // MARK: What stages said

  /// Takes the results of a group's stages, up to the first that did not pass or made new content.
  ///
  /// - Parameter group: the places of the stages of the group, to which the results' indices belong.
  public mutating func take(_ report: StageReport, of group: Range<Int>) {
    gather(report, of: group)
    for result in report.results {
      let place = group.lowerBound + result.index
      steps.append(
        Step(
          stage: plan.stages[place].id, verdict: result.verdict.name, code: result.code,
          message: result.message,
          microseconds: result.microseconds))
      position = place + 1
      if !report.emissions.isEmpty, plan.stages[place].description.role == .end, plan.stages[place].tells {
        isTold = true
      }
      if result.verdict != .pass { return decide(result, plan.stages[place]) }
    }
    if report.produced { return replaceContent() }
    position = group.upperBound
  }

  /// The worker died while the stage at this place worked on the attachment.
  ///
  /// - Parameters:
  ///   - step: how the worker died, as the stage's result.
  ///   - isInVain: another attempt would cost as much, and end as this one did. There is one more all the same, alone in its worker.
  ///   - report: the results of the stages before it in its group.
  public mutating func died(
    _ step: Step, at place: Int, remedy: Remedy, isInVain: Bool = false, after report: StageReport? = nil,
    of group: Range<Int>
  ) {
    if let report { take(report, of: group) }
    steps.append(step)
    position = place + 1
    let reason = Reason(stage: step.stage, code: step.code ?? "", message: step.message ?? "")
    take(remedy, reason, isInVain: isInVain)
  }

  /// Uses the results that the first group's stages gave for equal content, in place of running them. Only
  /// the metadata keys that those stages declare are taken over. Returns whether the results could be used.
  public mutating func repeatReport(
    mediaType: String?, metadata: [Metadatum], derived: [DerivedObject] = [], of group: Range<Int>
  ) -> Bool {
    guard position == 0, group.lowerBound == 0, isUntouched else { return false }
    let stages = plan.stages[group]
    let keys = stages.flatMap { $0.description.keys.map(\.name) }
    self.mediaType = mediaType
    knownDerived = derived.filter { object in stages.contains { $0.id == object.stage } }
    self.metadata = metadata.filter { datum in
      keys.contains { $0.hasSuffix("*") ? datum.key.hasPrefix($0.dropLast()) : $0 == datum.key }
    }
    steps = stages.filter { $0.runs(for: mediaType) }.map {
      Step(
        stage: $0.id, verdict: Verdict.pass.name, code: nil, message: Step.repeated, microseconds: 0)
    }
    position = group.upperBound
    return true
  }

  /// The most metadata of an attachment, in bytes. It keeps frames within their limit.
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
    for piece in report.pieces {
      let stage = plan.stages[group.lowerBound + piece.stage]
      add(HeldPiece(piece, stage: stage.id, file: report.pieceFile))
    }
    // Only a stage that can write to the store can report an object's location. If it did not pass, there is
    // none.
    if let location = report.location, plan.stages[group].first?.description.capability == .store,
      report.results.last?.verdict == .pass
    {
      self.location = location
    }
    if emissionsOfLine == nil, plan.stages[group].first?.description.role == .end {
      emissionsOfLine = emissions.count
    }
    emissions += report.emissions.filter { plan.channels.contains($0.channel) }
  }

  /// Takes a piece. A derived object takes the place of one with the same name.
  private mutating func add(_ held: HeldPiece) {
    if held.piece.kind == .derived {
      pieces.removeAll { $0.piece.kind == .derived && $0.piece.name == held.piece.name }
      knownDerived.removeAll { $0.name == held.piece.name }
      let count = pieces.count { $0.piece.kind == .derived } + knownDerived.count
      if count >= Piece.mostDerived { return }
    }
    pieces.append(held)
  }

  /// New content has to be measured. The first hash is kept.
  private mutating func replaceContent() {
    if let sha256, !metadata.contains(where: { $0.key == "original.sha256" }) {
      metadata.append(Metadatum(key: "original.sha256", value: .text(sha256)))
    }
    sha256 = nil
  }

  // MARK: The outcome

  /// The source cannot be read: for now if `mayPass`, else permanently.
  public mutating func takeSourceFault(_ reason: Reason, mayPass: Bool) {
    let verdict = mayPass ? Verdict.retry : .fail
    steps.append(
      Step(
        stage: reason.stage, verdict: verdict.name, code: reason.code, message: reason.message,
        microseconds: 0)
    )
    if mayPass { tryAgain(reason, orElse: .failed) } else { decide(.failed, reason) }
  }

  /// Quarantines the attachment before any stage runs.
  public mutating func hold(_ reason: Reason) {
    decide(.quarantined, reason)
  }

  /// A person does not want it any more: no other stage gets its content, and those at the end are told. Without effect once the
  /// outcome is decided.
  public mutating func cancel(_ reason: Reason) {
    guard outcome == .queued else { return }
    (ending, isOver) = (nil, false)
    isSourceChecked = true  // what it was does not matter
    decide(.cancelled, reason)
  }

  /// A temporary fault ends the attempt. If it was the last attempt, the attachment ends with `status`.
  private mutating func tryAgain(
    _ reason: Reason, notBefore: Int64? = nil, crashed: Bool = false, orElse status: Status,
    atMost attempts: Int = .max
  ) {
    if attempt < min(plan.attempts, attempts) {
      ending = .again(reason, notBefore: notBefore, crashed: crashed)
      emissions = []
      return
    }
    let message = attempt > 1 ? "\(reason.message) (attempt \(attempt), the last)" : reason.message
    decide(status, Reason(stage: reason.stage, code: reason.code, message: message))
  }

  public static let tooMuch = Reason(
    stage: "source", code: "too-much", message: "its metadata and names are larger than a worker takes")

  /// The facts about it exceed what a worker accepts: they are dropped, the attachment fails, and no stage is
  /// told.
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
      // A worker that has parsed content may decide about that content only, and not pause the whole lane.
      if result.pausesLane && stage.description.capability != .content {
        ending = .lanePaused(reason)
        emissions = []
      } else {
        tryAgain(reason, notBefore: result.retryAfter, orElse: .failed)
      }
    }
  }

  private static let attemptsInVain = 2

  private mutating func take(_ remedy: Remedy, _ reason: Reason, isInVain: Bool = false) {
    switch remedy {
    case .reject: decide(.rejected, reason)
    case .hold: decide(.quarantined, reason)
    case .retry:
      tryAgain(
        reason, crashed: true, orElse: .quarantined, atMost: isInVain ? Self.attemptsInVain : plan.attempts)
    case .pass: break
    }
  }

  /// Fixes the outcome.
  ///
  /// A stage at the end can change `completed` as long as no event with the outcome was emitted, since each
  /// attachment has one outcome for all recipients. Later verdicts are recorded as steps and change nothing.
  private mutating func decide(_ status: Status, _ reason: Reason) {
    if outcome == .queued || outcome == .completed && !isTold { (outcome, self.reason) = (status, reason) }
  }
}
