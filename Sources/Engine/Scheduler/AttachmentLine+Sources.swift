import Glibc
import LedgerPort
import Pipeline
import Platform

/// An attachment that waits for its source to come back.
struct AwaitedSource {
  var attachmentId: String
  /// The folder or the file to put right.
  var place: String
  var message: String
  /// What lets it fail where its source never comes back.
  var giveUp: String
  /// How often it was tried in this run.
  var tries = 0
}

// Sources: opened elsewhere, since a file system may hang; and waited for, where they are out of reach through the host's fault.
extension AttachmentLine {
  /// The attachment waits until its link is fetched once more.
  func fetchAgain(_ flight: Flight, _ transfer: Int64) {
    guard let attachment = flight.attachment else { return }
    loop.lanes.downloads?.addDue()
    loop.settle(flight, .fetchAgain(key: attachment.key, transfer: transfer))
  }

  func opened(_ flight: Flight) { route(flight) }

  func notOpened(_ flight: Flight, _ fault: SourceFault) {
    switch fault.remedy {
    case .fail: flight.run.takeSourceFault(fault.reason, mayPass: false)
    case .retry: flight.run.takeSourceFault(fault.reason, mayPass: true)
    case .wait(let place, let giveUp): return waitForSource(flight, fault.reason, place, giveUp)
    case .fetchAgain:
      guard let transfer = flight.attachment?.source.transfer else { return }
      return fetchAgain(flight, transfer)
    case .pause: flight.run.takeSourceFault(fault.reason, mayPass: true)
    }
    route(flight)
  }

  /// Puts an attachment off without counting the attempt. The waits begin afresh with each run, so that a user who has put the
  /// source right and runs the command again is not kept waiting.
  func waitForSource(_ flight: Flight, _ reason: Reason, _ place: String, _ giveUp: String) {
    guard let attachment = flight.attachment else { return }
    var awaited =
      awaitedSources[flight.lease.job]
      ?? AwaitedSource(
        attachmentId: attachment.origin.id, place: place, message: reason.message, giveUp: giveUp)
    if toldPlaces.insert(place).inserted { loop.observe(.sourceAway(reason: reason)) }
    (awaited.place, awaited.message, awaited.giveUp) = (place, reason.message, giveUp)
    awaited.tries += 1
    awaitedSources[flight.lease.job] = awaited
    // Told once, on record: the next attempts do not count.
    let step = Step(
      stage: reason.stage, verdict: Verdict.retry.name, code: reason.code, message: reason.message,
      microseconds: 0)
    let isNew = flight.lease.attempt == flight.lease.counted
    let wait = pipeline.retry.wait(before: awaited.tries + 1, jitter: environment.jitter())
    loop.settle(
      flight,
      .putOff(
        key: attachment.key, after: wait, attempt: flight.lease.attempt,
        steps: isNew ? flight.run.steps + [step] : []))
  }

  /// Whether all that is scheduled in the lane of attachments waits for sources that were tried often enough.
  func isOnlyAwaitingSources(_ lane: Lane) -> Bool {
    guard lane.waiting > 0, lane.waiting == awaitedSources.count else { return false }
    return awaitedSources.values.allSatisfy { $0.tries >= pipeline.retry.attempts }
  }

  /// What is waited for, by place, the most frequent first.
  var awaitedPlaces: [SchedulerSummary.AwaitedPlace] {
    var places: [String: SchedulerSummary.AwaitedPlace] = [:]
    for awaited in awaitedSources.values {
      places[
        awaited.place, default: .init(place: awaited.place, message: awaited.message, giveUp: awaited.giveUp)
      ].attachments += 1
    }
    return places.values.sorted { ($1.attachments, $0.place) < ($0.attachments, $1.place) }
  }
}
