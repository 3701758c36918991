import LedgerPort
import Objects
import Pipeline
import Platform
import Wire
import Workers

// Results of stages and ends of workers.
extension AttachmentLine {
  func apply(_ report: StageReport, to flight: Flight, from group: WorkerGroup) {
    switch group.purpose {
    case .digest: applyDigest(report, flight, group)
    case .line(let range): applyLine(report, flight, group, range)
    case .channel: break
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
    if loop.tellsSteps, let attachment = flight.attachment, flight.run.steps.count > before {
      loop.observe(.steps(attachment, Array(flight.run.steps[before...])))
    }
    countTreeTime(flight, flight.run.steps[before...])
    route(flight)
  }

  // MARK: The time of a tree

  /// The reason to reject an attachment because its tree has used up its time; `nil`: there is time left.
  func treeProblem(_ attachment: LeasedAttachment) -> Reason? {
    var place = attachment.place
    place.microseconds = max(place.microseconds, treeTimes[attachment.root] ?? 0)
    return pipeline.expand.problem(at: place)
  }

  /// Rejects an attachment whose tree has used up its time.
  func isOutOfTime(_ flight: Flight) -> Bool {
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
    workerDied(
      WorkerDeath(.invalidReply(text), lastWords: ""), flight, group, stage, microseconds: 0, after: report)
  }

  func workerDied(
    _ death: WorkerDeath, _ flight: Flight, _ group: WorkerGroup, _ index: Int, microseconds: Int64,
    after report: StageReport?
  ) {
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
