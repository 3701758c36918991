import LedgerPort
import Pipeline
import Platform

// How an attempt at an attachment ends: what is recorded of it, and who is told.
extension AttachmentLine {
  /// Milliseconds until one is tried again that was disturbed by others with the same content.
  private static let beforeAnotherLook: Int64 = 100

  func finish(_ flight: Flight, _ end: AttachmentRun.End) {
    guard let attachment = flight.attachment else { return }
    switch end {
    case .lanePaused(let reason): loop.pauseLane(of: flight, reason)
    case .again(let reason, _, _)
    where attachment.source.isShared && reason.code == "source-changed":
      // Another with the same content has got its path meanwhile, or lost one.
      loop.settle(
        flight,
        .putOff(key: attachment.key, after: Self.beforeAnotherLook, attempt: flight.lease.attempt, steps: []))
    case .again(let reason, let notBefore, let crashed):
      let delay = pipeline.retry.wait(before: flight.lease.counted + 1, jitter: environment.jitter())
      let after = max(delay, min(notBefore ?? 0, pipeline.retry.max))
      loop.settle(
        flight,
        .again(
          key: attachment.key, after: after, crashed: crashed, attempt: flight.lease.attempt,
          steps: flight.run.steps),
        .triedAgain(id: attachment.origin.id, reason: reason, at: environment.clock.now() + after))
    case .ended:
      if flight.run.outcome == .completed && !keepPieces(of: flight) { return }
      let outcome = outcome(of: flight)
      let steps = flight.run.steps
      let ended = ended(flight, attachment, outcome, events(flight, attachment, outcome))
      let record = AttachmentRecord(
        key: attachment.key, attachment.origin, source: attachment.source.path, outcome, createdAt: 0,
        finishedAt: environment.clock.now(), steps: steps)
      loop.settle(flight, .attachment(ended), .ended(record))
    }
  }

  func ended(
    _ flight: Flight, _ attachment: LeasedAttachment, _ outcome: AttachmentOutcome, _ events: [OutgoingEvent]
  ) -> EndedAttachment {
    var ended = EndedAttachment(
      attachment, outcome, attempt: flight.lease.attempt, steps: flight.run.steps, events: events,
      priority: flight.lease.priority, fingerprint: outcome.status == .completed ? flight.fingerprint : nil,
      stagedDerived: Set(flight.stagedDerived.compactMap(\.derived)))
    if outcome.status == .completed { (ended.children, ended.texts) = (flight.children, flight.texts) }
    ended.limits = pipeline.expand
    return ended
  }

  func outcome(of flight: Flight) -> AttachmentOutcome {
    var outcome = AttachmentOutcome(
      flight.run.outcome, reason: flight.run.reason, mediaType: flight.run.mediaType,
      sizeBytes: flight.content >= 0 ? flight.file.size : attachmentSize(flight),
      sha256: flight.run.sha256.flatMap { Hexadecimal.bytes($0) },
      metadata: JSONWriter.object(of: flight.run.metadata),
      url: flight.run.outcome == .completed ? flight.run.location : nil)
    if outcome.status == .completed { outcome.derived = flight.derived ?? [] }
    return outcome
  }

  /// Of one that goes on after its children have ended.
  private func attachmentSize(_ flight: Flight) -> Int64? { flight.attachment?.concluded?.sizeBytes }

  private func events(
    _ flight: Flight, _ attachment: LeasedAttachment, _ outcome: AttachmentOutcome
  ) -> [OutgoingEvent] {
    if flight.run.emissions.isEmpty { return [] }
    let participants = JSONStrings.read(attachment.participants) ?? []
    let sender = attachment.origin.senderId
    var events: [OutgoingEvent] = []
    for emission in flight.run.emissions {
      var recipients: [String]
      switch emission.audience {
      case .participants:
        recipients = participants.filter { !$0.utf8.elementsEqual(sender.utf8) }
      case .sender: recipients = [sender]
      case .everyone: recipients = participants + [sender]
      }
      // By their bytes, as the ledger tells ids apart.
      if recipients.count > 1 {
        var seen: Set<[UInt8]> = []
        recipients = recipients.filter { seen.insert(Array($0.utf8)).inserted }
      }
      let names = recipients.map(ByteText.init)
      if let index = events.firstIndex(where: {
        $0.type == emission.type && $0.recipients.map(ByteText.init) == names
      }) {
        if !events[index].channels.contains(emission.channel) {
          events[index].channels.append(emission.channel)
        }
      } else {
        events.append(
          OutgoingEvent(
            type: emission.type, data: EventData.text(attachment.origin, outcome),
            channels: [emission.channel],
            recipients: recipients))
      }
    }
    return events
  }
}
