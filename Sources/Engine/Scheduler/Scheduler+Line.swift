import CPlatform
import Glibc
import LedgerPort
import Objects
import Pipeline
import Platform
import Wire
import Workers

// The way of an attachment: opened, measured, taken through its stages group by group, ended. What comes next and what
// becomes of it is its run's to say.
extension Scheduler {
  /// After so many lost coordinators, the last of them with nothing else in hand, an attachment goes to quarantine.
  private static let lossLimit = 20

  func beginLine(_ flight: Flight, _ attachment: LeasedAttachment) {
    if flight.lease.losses >= Self.lossLimit {
      flight.run.hold(
        Reason(
          stage: "source", code: "interrupted",
          message:
            "the machine or the coordinator ended \(flight.lease.losses) times with this in hand, at last with nothing else"
        )
      )
      return route(flight)
    }
    // The stages begin the tree anew, or are done with it.
    if attachment.place.depth == 0 { treeTimes[attachment.key] = nil }
    if let reason = treeProblem(attachment) {
      flight.run.rejectUnread(reason)
      return route(flight)
    }
    if case .link(_, _, .failed(let reason, let isRejected)) = attachment.source {
      if isRejected {
        flight.run.rejectUnread(reason)
      } else {
        flight.run.takeSourceFault(reason, mayPass: false)
      }
      return route(flight)
    }
    sources.add(Source(serial: flight.serial, attachment.source, environment.downloads))
  }

  /// Sends a flight to where it goes next.
  func route(_ flight: Flight) {
    if flight.isSettled || !gate.lets(flight) { return }
    switch flight.run.next(isSourceChanged: { flight.isSourceChanged }) {
    case .measure: measure(flight)
    case .run(let stages): enqueue(flight, stages)
    case .expand: expand(flight)
    case .end(let end): finish(flight, end)
    }
  }

  /// Has the content hashed, unless a stage rejects it for its length alone.
  private func measure(_ flight: Flight) {
    if !flight.isSealed {
      guard pool.areLengthLimitsKnown else { return unmeasured.append(flight) }
      if let reason = LengthLimit.rejection(
        of: flight.file.size, by: pipeline.stages, limit: { pool.lengthLimit($0, plan) })
      {
        flight.run.rejectUnread(reason)
        return route(flight)
      }
    }
    if isGivenBack(flight) { return }
    guard let known = knownDigest(of: flight) else { return pool.measure(flight) }
    flight.run.measured(known)
    route(flight)
  }

  /// The hash of what a link has brought, where it needs not be made once more: the file is as it was when it was hashed, and the worker that
  /// fetched it could not write to it any more then.
  func knownDigest(of flight: Flight) -> String? {
    guard !flight.isSealed, case .link(let transfer, _, .here(_, let sha256))? = flight.attachment?.source,
      transferLine?.isHashed(transfer, as: flight.file) == true
    else { return nil }
    return Hexadecimal.text(sha256)
  }

  /// Those that waited for the limits to be known go on.
  func measureWaiting() {
    if unmeasured.isEmpty || !pool.areLengthLimitsKnown { return }
    let waiting = unmeasured
    unmeasured.removeAll()
    for flight in waiting { measure(flight) }
  }

  private func enqueue(_ flight: Flight, _ stages: Range<Int>) {
    guard let index = plan.groups.group(of: stages.lowerBound) else { return }
    let start = plan.groups.groups[index].stages.lowerBound
    enqueue(flight, pool.line[index], (stages.lowerBound - start)..<(stages.upperBound - start))
  }

  func enqueue(_ flight: Flight, _ group: WorkerGroup, _ stages: Range<Int>) {
    if isGivenBack(flight) || isOutOfTime(flight) { return }
    if group.capability == .store { adopt(flight) }
    pool.enqueue(flight, group, stages)
  }

  /// Gives what a link has brought a name in the store, so that the stage which stores it finds the content there and links it. Only
  /// where the hash is that of the file as it is: nothing could write to it any more when it was hashed.
  private func adopt(_ flight: Flight) {
    guard flight.twin == nil, flight.adopted == nil, knownDigest(of: flight) == flight.run.sha256,
      let transfer = flight.attachment?.source.transfer, let staged = flight.stagedName
    else { return }
    let name = StagedName(attachmentId: staged.attachmentId, staged.token, derived: StagedName.adopted)
    if let path = environment.store.adopt(
      environment.downloads.file(of: transfer), open: flight.content, as: name)
    {
      (flight.adopted, flight.twin) = (name, path)
    }
  }

  /// Settles a flight as released where no more is to be begun.
  private func isGivenBack(_ flight: Flight) -> Bool {
    // In this order: to ask the run costs more.
    guard flight.lane.pause != nil || isStopping, flight.run.isInLine || isStopOverdue,
      flight.lane.pause != nil || flight.run.isUntouched || isStopOverdue
    else { return false }
    settle(flight, .released)
    return true
  }

  /// Those with the same content as a flight that has ended go on.
  func leaveGate(_ flight: Flight) {
    for next in gate.leave(flight, among: flights) { route(next) }
  }

  // MARK: What became of work

  func take(_ outcomes: [WorkerPool.Outcome]) {
    for outcome in outcomes {
      switch outcome {
      case .opened: measureWaiting()
      case .answered(let flight, let result, let group):
        for remark in result.report.remarks { tell(remark, of: flight, group) }
        apply(result, to: flight, from: group)
        pool.endOutput(flight)
      case .died(let flight, let death, let group, let stage, let microseconds, var report):
        // Torn, or a lie: then there is nothing.
        if var said = report { report = flight.takePieces(of: &said, group) == nil ? said : nil }
        takeDeath(death, flight, group, stage, microseconds: microseconds, after: report)
        pool.endOutput(flight)
      case .tooLong(let flight): refuse(flight)
      case .untouched(let flight): settle(flight, .released)
      case .takenBack(let flight):
        pool.endOutput(flight)
        endTakenBack(flight)
      case .changed(let text): observe(.problem(text))
      }
    }
  }

  private func tell(_ remark: Remark, of flight: Flight, _ group: WorkerGroup) {
    observe(
      .remark(
        remark.level, stage: group.stages[remark.index].id, id: flight.delivery?.id ?? flight.attachmentId,
        attachmentId: flight.attachmentId, text: remark.text))
  }

  /// More is known of it than fits into a frame.
  private func refuse(_ flight: Flight) {
    if let delivery = flight.delivery {
      settle(flight, .deadLetter(key: delivery.key, reason: AttachmentRun.tooMuch))
    } else {
      flight.run.endUntold()
      route(flight)
    }
  }

  private func apply(_ result: WorkResult, to flight: Flight, from group: WorkerGroup) {
    switch group.purpose {
    case .digest:
      if let transfer = flight.transfer {
        transferLine?.applyDigest(result.report, to: flight, transfer)
        return
      }
      applyDigest(result.report, flight, group)
    case .line(let range): applyLine(result.report, flight, group, range)
    case .channel: applyDelivery(result, flight, group)
    }
  }

  private func applyDigest(_ report: StageReport, _ flight: Flight, _ group: WorkerGroup) {
    guard let said = report.results.first else { return invalid(flight, group, 0, "it measured nothing") }
    if said.verdict == .retry, said.code == "unreadable" {
      // The process that measures content parses none of it: what it cannot read is the disk's fault, or the network's.
      let place = flight.attachment?.source.name ?? ""
      let message = "\(place): \(said.message ?? "the content cannot be read"); \(SourceFault.toWait)"
      return waitForSource(
        flight, Reason(stage: "source", code: "source-away", message: message), place, SourceFault.takeAway)
    }
    if said.verdict != .pass {
      flight.run.measuringFailed(said, of: group.stages[0])
      return route(flight)
    }
    guard let text = report.measuredDigest else { return invalid(flight, group, 0, "it gave no SHA-256") }
    if case .link(let transfer, _, .here(_, let fetched))? = flight.attachment?.source, !flight.isSealed,
      fetched != Hexadecimal.bytes(text)
    {
      // What lies there was changed since it was fetched.
      return fetchAgain(flight, transfer)
    }
    if case .object(let path, let stored, _)? = flight.attachment?.source, !flight.isSealed,
      stored != Hexadecimal.bytes(text)
    {
      let message = "store/\(path) is not what was stored; bring it back from a backup and retry"
      flight.run.takeSourceFault(
        Reason(stage: "source", code: "object-damaged", message: message), mayPass: false)
      return route(flight)
    }
    flight.run.measured(text)
    route(flight)
  }

  private func applyLine(
    _ report: StageReport, _ flight: Flight, _ group: WorkerGroup, _ range: Range<Int>
  ) {
    var report = report
    if report.produced, let problem = takeNewContent(flight) {
      let index = report.results.last?.index ?? 0
      report.results.removeLast(min(report.results.count, 1))
      report.produced = false
      return invalid(flight, group, index, problem, after: report)
    }
    if let problem = flight.takePieces(of: &report, group) {
      let index = report.results.last?.index ?? 0
      report.results.removeLast(min(report.results.count, 1))
      return invalid(flight, group, index, problem, after: report)
    }
    if group.capability == .store, report.results.last?.verdict == .pass, let path = report.location,
      let name = flight.stagedName
    {
      if deletions.includes(path), !environment.store.isStaged(name) {
        // The stage has met an object that is to be deleted. This attempt does not hold that up.
        flight.twin = nil
        return enqueue(flight, group, (flight.dispatched?.first ?? 0)..<(flight.dispatched?.end ?? 0))
      }
      switch publishing.claim(path, for: name, flight.run.sha256) {
      case .lookAgain:
        return enqueue(flight, group, (flight.dispatched?.first ?? 0)..<(flight.dispatched?.end ?? 0))
      case .refused:
        refuse(
          "another object goes to \(path), or to a part of it; let the template tell the two apart, such as with {attachmentId}",
          &report)
      case .refusedByRecord:
        refuse(
          "\(path) is on record as another attachment's object, which is lost; `sluice verify` tells more",
          &report)
      case .granted: break
      }
    }
    let before = flight.run.steps.count
    flight.run.take(report, of: flight.given(of: range))
    if tellsSteps, let attachment = flight.attachment, flight.run.steps.count > before {
      observe(.steps(attachment, Array(flight.run.steps[before...])))
    }
    countTreeTime(flight, flight.run.steps[before...])
    route(flight)
  }

  // MARK: The time of a tree

  /// The reason to reject an attachment because its tree has used up its time; `nil`: there is time left.
  private func treeProblem(_ attachment: LeasedAttachment) -> Reason? {
    var place = attachment.place
    place.microseconds = max(place.microseconds, treeTimes[attachment.root] ?? 0)
    return pipeline.expand.problem(at: place)
  }

  /// Rejects an attachment whose tree has used up its time.
  private func isOutOfTime(_ flight: Flight) -> Bool {
    guard let attachment = flight.attachment, attachment.place.depth > 0, flight.run.isInLine,
      let reason = treeProblem(attachment)
    else { return false }
    flight.run.rejectUnread(reason)
    route(flight)
    return true
  }

  /// The ledger counts the time of an attachment when it ends. Other attachments of the tree are in hand by then.
  private func countTreeTime(_ flight: Flight, _ steps: ArraySlice<Step>) {
    guard let attachment = flight.attachment, attachment.place.depth > 0 else { return }
    let root = attachment.root
    if treeTimes.count >= 10_000 { treeTimes.removeAll() }
    treeTimes[root] =
      max(treeTimes[root] ?? 0, attachment.place.microseconds) + TreePlace.time(of: Array(steps))
    guard treeProblem(attachment) != nil else { return }
    for flight in pool.removeQueued(where: { $0.attachment?.root == root && $0.run.isInLine }) {
      _ = isOutOfTime(flight)
    }
  }

  /// Lets the stage that stores reject what it has stored, since its path is another's.
  private func refuse(_ message: String, _ report: inout StageReport) {
    report.location = nil
    report.emissions = []
    guard let last = report.results.indices.last else { return }
    report.results[last].verdict = .reject
    report.results[last].code = "path-taken"
    report.results[last].message = message
  }

  /// Takes new content over, so that not even the worker that wrote it can change it now. It is measured again.
  private func takeNewContent(_ flight: Flight) -> String? {
    guard flight.output >= 0 else { return "it says it wrote new content, and had nowhere to" }
    leaveGate(flight)
    return flight.replaceContent().map { "\($0)" }
  }

  private func invalid(
    _ flight: Flight, _ group: WorkerGroup, _ stage: Int, _ text: String, after report: StageReport? = nil
  ) {
    takeDeath(WorkerDeath(.invalidReply(text), lastWords: ""), flight, group, stage, after: report)
  }

  // MARK: What became of a worker

  /// The worker ended while it worked on this attachment.
  ///
  /// - Parameter report: what the stages before that one in its group have said.
  func takeDeath(
    _ death: WorkerDeath, _ flight: Flight, _ group: WorkerGroup, _ index: Int, microseconds: Int64 = 0,
    after report: StageReport? = nil
  ) {
    if case .channel = group.purpose { return takeDeliveryDeath(death, flight, group) }
    if flight.transfer != nil {
      transferLine?.hashingDied(death, flight)
      return
    }
    flight.run.died(death, group, index, microseconds: microseconds, after: report)
    route(flight)
  }
}

extension StageReport {
  /// The SHA-256 that the stage which measures content has said, in hexadecimal digits; `nil`: it has said none.
  var measuredDigest: String? {
    guard case .text(let text)? = metadata.first(where: { $0.key == "sha256" })?.value,
      text.utf8.count == 64, Hexadecimal.bytes(text) != nil
    else { return nil }
    return text
  }
}

extension AttachmentRun {
  /// A worker ended while a stage of its group worked on the attachment.
  ///
  /// - Parameters:
  ///   - index: of the stage, in the group.
  ///   - report: what the stages before it in the group have said.
  mutating func died(
    _ death: WorkerDeath, _ group: WorkerGroup, _ index: Int, microseconds: Int64, after report: StageReport?
  ) {
    let stage = group.stages[index]
    let step = Step(
      stage: stage.id, verdict: death.verdict, code: death.code, message: death.message(in: stage),
      microseconds: microseconds)
    if case .line(let range) = group.purpose {
      died(
        step, at: range.lowerBound + index, remedy: death.remedy(in: stage), isInVain: death.isInVain,
        after: report, of: range)
    } else {
      died(step, measuring: death.remedy(in: stage))
    }
  }
}
