import CPlatform
import Glibc
import Ledger
import Objects
import Pipeline
import Platform
import Wire
import Workers

// The way of an attachment: opened, measured, taken through the line group by group, ended.
extension Scheduler {
  /// What weighs against an attachment before it goes to quarantine: five ends of the kernel, or twenty of a coordinator.
  private static let suspicionLimit = 20

  func beginLine(_ flight: Flight, _ attachment: LeasedAttachment) {
    if flight.lease.suspicions >= Self.suspicionLimit {
      let reason = Reason(
        stage: "source", code: "interrupted",
        message:
          "time and again the machine or the coordinator ended while this was worked on, and others got on")
      return decide(flight, .quarantined, reason)
    }
    if let fault = flight.open(attachment) { return take(fault, flight) }
    route(flight)
  }

  /// Sends a flight to where it goes next.
  func route(_ flight: Flight) {
    if flight.outcome == .queued {
      if flight.sha256 == nil { return measure(flight) }
      if !passGate(flight) { return }
      if let next = nextStage(flight, isAtEnd: false) { return enqueue(flight, stage: next) }
      flight.outcome = .completed
    }
    if let next = nextStage(flight, isAtEnd: true) { return enqueue(flight, stage: next) }
    finish(flight)
  }

  /// Has the content hashed, unless a stage rejects it for its length alone.
  private func measure(_ flight: Flight) {
    if !flight.isSealed {
      guard areLengthLimitsKnown else { return unmeasured.append(flight) }
      if let reason = LengthLimit.rejection(of: flight.size, by: pipeline.stages, limit: lengthLimit) {
        flight.steps.append(
          .init(
            stage: reason.stage, verdict: Verdict.reject.name, code: reason.code, message: reason.message,
            microseconds: 0))
        return decide(flight, .rejected, reason)
      }
    }
    enqueue(flight, flight.size > Self.longContent ? longDigestGroup : digestGroup, 0..<1)
  }

  /// Bytes that take so long to hash that they go to workers of their own, and hold nobody up.
  private static let longContent: Int64 = 16 << 20

  /// Whether the workers have told what their stages reject for its length.
  private var areLengthLimitsKnown: Bool { lineGroups.allSatisfy(\.wasReady) }

  private func lengthLimit(_ stage: Int) -> LengthLimit? {
    guard let index = plan.group(of: stage) else { return nil }
    let place = stage - plan.groups[index].stages.lowerBound
    let limits = lineGroups[index].lengthLimits
    return limits.indices.contains(place) ? limits[place] : nil
  }

  /// Those that waited for the limits to be known go on.
  func measureWaiting() {
    if unmeasured.isEmpty || !areLengthLimitsKnown { return }
    let waiting = unmeasured
    unmeasured.removeAll()
    for flight in waiting { measure(flight) }
  }

  private func nextStage(_ flight: Flight, isAtEnd: Bool) -> Int? {
    pipeline.stages.indices.dropFirst(flight.position).first { index in
      let stage = pipeline.stages[index]
      return (stage.description.role == .end) == isAtEnd && stage.runs(for: flight.mediaType)
    }
  }

  private func enqueue(_ flight: Flight, stage: Int) {
    guard let index = plan.group(of: stage) else { return finish(flight) }
    let group = lineGroups[index]
    let range = plan.groups[index].stages
    enqueue(flight, group, (stage - range.lowerBound)..<range.count)
  }

  func enqueue(_ flight: Flight, _ group: WorkerGroup, _ stages: Range<Int>) {
    if flight.outcome == .queued && (flight.lane.pause != nil || (isStopping && flight.steps.isEmpty)) {
      return settle(flight, .released)
    }
    flight.dispatched = .init(first: stages.lowerBound, end: stages.upperBound)
    let queue = flight.isAlone ? \WorkerGroup.alone : \.queue
    // What holds memory goes first: its end gives that back, and others wait for it.
    if flight.memoryInUse > 0 {
      group[keyPath: queue].prepend(flight)
    } else {
      group[keyPath: queue].append(flight)
    }
  }

  // MARK: What a worker said

  func apply(_ result: WorkResult, to flight: Flight, from group: WorkerGroup) {
    switch group.purpose {
    case .digest: applyDigest(result, flight, group)
    case .line(let range): applyLine(result, flight, group, range)
    case .channel: applyDelivery(result, flight, group)
    }
  }

  private func applyDigest(_ result: WorkResult, _ flight: Flight, _ group: WorkerGroup) {
    guard let said = result.stages.first else { return invalid(flight, group, 0, "it measured nothing") }
    if said.verdict == .retry, said.code == "unreadable" {
      // The process that measures content parses none of it: what it cannot read is the disk's fault, or the network's.
      let place = flight.attachment.map { String(decoding: $0.source, as: UTF8.self) } ?? ""
      let message = "\(place): \(said.message ?? "the content cannot be read"); \(SourceFault.toWait)"
      return waitForSource(
        flight, Reason(stage: "source", code: "source-away", message: message), place, SourceFault.takeAway)
    }
    if said.verdict != .pass { return take(said, flight, group.stages[0]) }
    guard case .text(let text)? = result.metadata.first(where: { $0.key == "sha256" })?.value,
      text.utf8.count == 64,
      Hexadecimal.bytes(text) != nil
    else { return invalid(flight, group, 0, "it gave no SHA-256") }
    flight.sha256 = text
    route(flight)
  }

  private func applyLine(_ result: WorkResult, _ flight: Flight, _ group: WorkerGroup, _ range: Range<Int>) {
    gather(result, flight, group)
    for said in result.stages {
      let stage = group.stages[said.index]
      flight.steps.append(step(said, stage))
      flight.position = range.lowerBound + said.index + 1
      // It ran since every stage of the line had passed.
      if stage.description.role == .end && flight.outcome == .queued { flight.outcome = .completed }
      if stage.tells && flight.outcome != .queued && !flight.emissions.isEmpty { flight.isTold = true }
      if said.verdict != .pass { return take(said, flight, stage) }
    }
    if result.produced {
      if let problem = takeNewContent(flight) {
        return invalid(flight, group, result.stages.last?.index ?? 0, problem)
      }
      return route(flight)
    }
    flight.position = range.upperBound
    if group.capability == .store, let path = flight.location, let publisher {
      let standing = publisher.standing(of: path)
      if standing == .taken && storeAgain(flight, group, range) { return }
      if let taken = reserve(path, flight, range, isBlocked: standing == .blocked) {
        flight.emissions = []
        return decide(flight, .rejected, taken)
      }
    }
    if flight.outcome == .queued && pipeline.stages[range].last?.description.role == .end {
      flight.outcome = .completed
    }
    route(flight)
  }

  /// The path has been taken since the stage looked. It looks again, and compares.
  private func storeAgain(_ flight: Flight, _ group: WorkerGroup, _ range: Range<Int>) -> Bool {
    guard let publisher, let id = flight.attachment?.id, publisher.hasIncoming(id),
      let first = flight.dispatched?.first
    else { return false }
    publisher.discard(id)
    flight.location = nil
    flight.emissions = []
    flight.steps.removeLast(min(flight.steps.count, range.count - first))
    flight.position = range.lowerBound + first
    enqueue(flight, group, first..<range.count)
    return true
  }

  /// Two attachments in hand may be on their way to the same path, or one to a path below the other's.
  private func reserve(_ path: String, _ flight: Flight, _ range: Range<Int>, isBlocked: Bool) -> Reason? {
    let isTaken =
      isBlocked
      || reserved.conflicts(path) { $0.allSatisfy { flights[$0]?.sha256 == flight.sha256 } }
    guard isTaken else {
      reserved.insert(path, flight.serial)
      return nil
    }
    flight.location = nil
    let stage = pipeline.stages[range].first { $0.description.capability == .store }?.id ?? "store"
    return Reason(
      stage: stage, code: "path-taken",
      message: "another object goes to \(path), or to a part of it; let the template tell the two apart")
  }

  /// What stages said before a later one took the worker down.
  func applyPartial(_ result: WorkResult, to flight: Flight, from group: WorkerGroup) {
    gather(result, flight, group)
    for said in result.stages {
      let stage = group.stages[said.index]
      flight.steps.append(step(said, stage))
      if stage.description.role == .end && stage.tells && !flight.emissions.isEmpty { flight.isTold = true }
    }
  }

  private func step(_ said: WorkResult.Stage, _ stage: StageDefinition) -> Settlement.Step {
    .init(
      stage: stage.id, verdict: said.verdict.name, code: said.code, message: said.message,
      microseconds: said.microseconds)
  }

  /// The most metadata an attachment gathers, in bytes: with it a frame stays within its limit.
  private static let metadataLimit = 40 << 10

  private func gather(_ result: WorkResult, _ flight: Flight, _ group: WorkerGroup) {
    var bytes = flight.metadata.reduce(0) { $0 + $1.key.utf8.count + $1.value.text.utf8.count + 16 }
    for datum in result.metadata {
      if let index = flight.metadata.firstIndex(where: { $0.key == datum.key }) {
        let more = datum.value.text.utf8.count - flight.metadata[index].value.text.utf8.count
        if bytes + more > Self.metadataLimit { continue }
        bytes += more
        flight.metadata[index] = datum
        continue
      }
      bytes += datum.key.utf8.count + datum.value.text.utf8.count + 16
      if bytes <= Self.metadataLimit { flight.metadata.append(datum) }
    }
    if let mediaType = result.mediaType { flight.mediaType = mediaType }
    // Only a worker that can write to the store can say where an object lies.
    if group.capability == .store, let location = result.location {
      flight.location = location
    }
    flight.emissions += result.emissions.filter { channelGroups[$0.channel] != nil }
  }

  /// Takes new content over, so that not even the worker that wrote it can change it now. It is measured again.
  private func takeNewContent(_ flight: Flight) -> String? {
    guard flight.output >= 0 else { return "it says it wrote new content, and had nowhere to" }
    leaveGate(flight)
    flight.holdsGate = false
    return flight.replaceContent().map { "\($0)" }
  }

  /// A verdict other than pass.
  private func take(_ said: WorkResult.Stage, _ flight: Flight, _ stage: StageDefinition) {
    let reason = Reason(
      stage: stage.id, code: said.code ?? "unexplained", message: said.message ?? "no reason given")
    switch said.verdict {
    case .pass: route(flight)
    case .reject: decide(flight, .rejected, reason)
    case .fail: decide(flight, .failed, reason)
    case .retry:
      // Whoever has parsed content may speak for that content, and not for the whole lane.
      if said.pausesLane && stage.description.capability != .content { return pauseLane(of: flight, reason) }
      tryAgain(flight, reason, notBefore: said.retryAfter, orElse: .failed)
    }
  }

  private func invalid(_ flight: Flight, _ group: WorkerGroup, _ stage: Int, _ text: String) {
    takeDeath(WorkerDeath(.invalidReply(text), lastWords: ""), flight, group, stage)
  }

  // MARK: What became of a worker

  /// The worker ended while it worked on this attachment.
  func takeDeath(
    _ death: WorkerDeath, _ flight: Flight, _ group: WorkerGroup, _ index: Int, microseconds: Int64 = 0
  ) {
    if case .channel = group.purpose { return takeDeliveryDeath(death, flight, group) }
    let stage = group.stages[index]
    let reason = Reason(stage: stage.id, code: death.code, message: death.message(in: stage))
    flight.steps.append(
      .init(
        stage: stage.id, verdict: death.verdict, code: death.code, message: reason.message,
        microseconds: microseconds))
    if case .line(let range) = group.purpose {
      flight.position = range.lowerBound + index + 1
      if stage.description.role == .end && flight.outcome == .queued { flight.outcome = .completed }
    }
    switch death.remedy(in: stage) {
    case .reject: decide(flight, .rejected, reason)
    case .hold: decide(flight, .quarantined, reason)
    case .retry: tryAgain(flight, reason, crashed: true, orElse: .quarantined)
    case .pass:
      guard case .line = group.purpose else { return decide(flight, .failed, reason) }
      route(flight)
    }
  }

  /// Puts the attachment back into the queue, or ends it where that was its last attempt.
  func tryAgain(
    _ flight: Flight, _ reason: Reason, notBefore: Int64? = nil, crashed: Bool = false, orElse status: Status
  ) {
    guard let attachment = flight.attachment else { return }
    let attempt = flight.lease.counted
    guard let delay = pipeline.retry.delay(after: attempt, jitter: .random(in: 0...1)) else {
      let message = attempt > 1 ? "\(reason.message) (attempt \(attempt), the last)" : reason.message
      return decide(flight, status, Reason(stage: reason.stage, code: reason.code, message: message))
    }
    let dueAt = Clock.steady() + max(delay, min(notBefore ?? 0, pipeline.retry.max))
    settle(
      flight,
      .again(
        key: attachment.key, dueAt: dueAt, crashed: crashed, attempt: flight.lease.attempt,
        steps: flight.steps),
      .triedAgain(id: attachment.id, reason: reason, at: dueAt))
  }

  // MARK: The end

  /// Fixes the outcome and lets the stages at the end run, each once.
  ///
  /// A stage at the end can turn `completed` into something else as long as nothing has been told: one attachment has one
  /// outcome for everybody. After that, and after another outcome, what it says is on record and changes nothing.
  func decide(_ flight: Flight, _ status: Status, _ reason: Reason) {
    let isAtEnd = flight.outcome != .queued
    if !isAtEnd {
      flight.position = 0
      // What stages of the line told is told with the outcome that it has now.
      (flight.outcome, flight.reason) = (status, reason)
    } else if flight.outcome == .completed && !flight.isTold {
      (flight.outcome, flight.reason) = (status, reason)
    }
    route(flight)
  }

  private func finish(_ flight: Flight) {
    guard let attachment = flight.attachment else { return }
    if flight.location == nil && flight.reason?.code != "source-changed" && flight.isSourceChanged {
      let stage = flight.steps.last?.stage ?? "source"
      let reason = Reason(
        stage: stage, code: "source-changed", message: "the file was changed while it was worked on")
      // What was said of it so far was said of something else.
      (flight.outcome, flight.isTold) = (.queued, false)
      flight.emissions = []
      return tryAgain(flight, reason, orElse: .failed)
    }
    let record = record(flight, attachment)
    let ended = EndedAttachment(
      attachment, status: record.status, reason: record.reason, mediaType: record.mediaType,
      sizeBytes: record.sizeBytes, sha256: record.sha256, metadata: record.metadata, url: record.url,
      attempt: flight.lease.attempt, steps: record.steps, events: events(flight, attachment, record),
      priority: flight.lease.priority, line: flight.outcome == .completed ? flight.line : nil)
    settle(flight, .attachment(ended), .ended(record))
  }

  private func record(_ flight: Flight, _ attachment: LeasedAttachment) -> AttachmentRecord {
    let isOpen = flight.content >= 0
    return AttachmentRecord(
      key: attachment.key, id: attachment.id, conversationId: attachment.conversationId,
      messageId: attachment.messageId,
      senderId: attachment.senderId, fileName: attachment.fileName, source: attachment.source,
      status: flight.outcome,
      mediaType: flight.mediaType, sizeBytes: isOpen ? flight.size : nil,
      sha256: flight.sha256.flatMap { Hexadecimal.bytes($0) },
      metadata: JSONWriter.object(of: flight.metadata),
      url: flight.outcome == .completed ? flight.location : nil, reason: flight.reason, createdAt: 0,
      finishedAt: Clock.now(), steps: flight.steps)
  }

  private func events(
    _ flight: Flight, _ attachment: LeasedAttachment, _ record: AttachmentRecord
  ) -> [OutgoingEvent] {
    if flight.emissions.isEmpty { return [] }
    let participants = JSONStrings.read(attachment.participants) ?? []
    var events: [OutgoingEvent] = []
    for emission in flight.emissions {
      var recipients: [String]
      switch emission.audience {
      case .participants:
        recipients = participants.filter { !$0.utf8.elementsEqual(attachment.senderId.utf8) }
      case .sender: recipients = [attachment.senderId]
      case .everyone: recipients = participants + [attachment.senderId]
      }
      // By their bytes, as the ledger tells ids apart.
      var seen: Set<[UInt8]> = []
      recipients = recipients.filter { seen.insert(Array($0.utf8)).inserted }
      if let index = events.firstIndex(where: { $0.type == emission.type && $0.recipients == recipients }) {
        if !events[index].channels.contains(emission.channel) {
          events[index].channels.append(emission.channel)
        }
      } else {
        events.append(
          OutgoingEvent(
            type: emission.type, data: EventBody.data(record), channels: [emission.channel],
            recipients: recipients))
      }
    }
    return events
  }
}
