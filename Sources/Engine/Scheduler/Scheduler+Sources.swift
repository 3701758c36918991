import Glibc
import LedgerPort
import Pipeline
import Platform

/// An attachment that waits for its source to come back.
struct AwaitedSource {
  var attachmentId: String
  /// What has to be put right: a folder, or the file.
  var place: String
  var message: String
  /// What lets it fail where its source never comes back.
  var giveUp: String
  /// How often it was tried in this run.
  var tries = 0
}

/// Sources that are being opened, one after the other.
struct SourceOpenings {
  private var next: [Source] = []
  /// Those that were asked for, in their order. The first is being opened.
  private var underway: [Source] = []
  /// Whose answer is still wanted.
  private var wanted: Set<UInt64> = []
  /// When the opening of the first began, in nanoseconds of the monotonic clock; `nil`: it was told as slow.
  private var since: UInt64? = 0

  /// Nanoseconds after which a user is to know what is waited for.
  private static let slowAfter: UInt64 = 10_000_000_000

  mutating func add(_ source: Source) {
    next.append(source)
    wanted.insert(source.serial)
  }

  /// Those that are to be opened now.
  mutating func nextBatch(at now: UInt64) -> [Source] {
    defer { next.removeAll(keepingCapacity: true) }
    if underway.isEmpty { since = now }
    underway += next
    return next
  }

  /// Takes note of an answer. Returns whether it is still wanted.
  mutating func answered(_ serial: UInt64, at now: UInt64) -> Bool {
    if let index = underway.firstIndex(where: { $0.serial == serial }) { underway.remove(at: index) }
    since = now
    return wanted.remove(serial) != nil
  }

  /// The source whose opening has taken long; once for each.
  mutating func slow(at now: UInt64) -> Source? {
    guard let first = underway.first, let since, now >= since + Self.slowAfter else { return nil }
    self.since = nil
    return first
  }

  /// Files are still to be deleted.
  var isRemoving: Bool { next.contains(where: \.isRemoval) || underway.contains(where: \.isRemoval) }

  /// The answer is not wanted any more.
  mutating func drop(_ serial: UInt64) {
    next.removeAll { $0.serial == serial }
    wanted.remove(serial)
  }

  /// No answer is wanted any more. Returns whose they would have been.
  mutating func dropAll() -> [UInt64] {
    defer { wanted.removeAll() }
    next.removeAll()
    return wanted.sorted()
  }
}

// Sources: opened elsewhere, since a file system may hang; and waited for, where they are out of reach through the host's fault.
extension Scheduler {
  func take(_ opening: Source.Opening, of serial: UInt64) {
    let isWanted = sources.answered(serial, at: environment.clock.monotonic())
    let flight = isWanted ? flights[serial] : nil
    switch opening {
    case .opened(let descriptor, let file):
      guard let flight else {
        close(descriptor)
        return
      }
      flight.take(descriptor, file)
      if let transfer = flight.transfer { transferLine?.opened(flight, transfer) } else { route(flight) }
    case .copied(let copy, let file):
      guard let flight else { return copy.close() }
      flight.take(copy, file)
      route(flight)
    case .failed(let fault):
      guard let flight else { return }
      if flight.transfer != nil { transferLine?.notOpened(flight, fault) } else { take(fault, flight) }
    case .removed: break
    }
  }

  /// The attachment waits until its link is fetched once more.
  func fetchAgain(_ flight: Flight, _ transfer: Int64) {
    guard let attachment = flight.attachment else { return }
    lanes.downloads?.addDue()
    settle(flight, .fetchAgain(key: attachment.key, transfer: transfer))
  }

  func dropFiles(_ paths: [String]) {
    if !paths.isEmpty { sources.add(Source(serial: 0, .removal(paths))) }
  }

  /// Has the file of an upload deleted whose attachment is completed. It has its object now.
  func dropUpload(_ source: [UInt8]) {
    guard UploadRecord.isId(source.suffix(32)), source.dropLast(32).last == UInt8(ascii: "/") else { return }
    sources.add(Source(serial: 0, .upload(source, in: environment.uploads)))
  }

  func take(_ fault: SourceFault, _ flight: Flight) {
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
    if toldPlaces.insert(place).inserted { observe(.sourceAway(reason: reason)) }
    (awaited.place, awaited.message, awaited.giveUp) = (place, reason.message, giveUp)
    awaited.tries += 1
    awaitedSources[flight.lease.job] = awaited
    // Told once, on record: the next attempts do not count.
    let step = Step(
      stage: reason.stage, verdict: Verdict.retry.name, code: reason.code, message: reason.message,
      microseconds: 0)
    let isNew = flight.lease.attempt == flight.lease.counted
    let wait = pipeline.retry.wait(before: awaited.tries + 1, jitter: environment.jitter())
    settle(
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
