import CPlatform
import Glibc
import LedgerPort
import Objects
import Pipeline
import Platform
import Wire
import Workers

/// The way of an attachment: opened, measured, taken through its stages group by group, ended. What comes next and what becomes of it
/// is its run's to say.
final class AttachmentLine: WorkLine {
  unowned let loop: Scheduler
  let pipeline: PipelineDefinition
  let plan: RunPlan
  let environment: SchedulerEnvironment
  let pool: WorkerPool
  let gate: ContentGate

  // The store.
  var publishing: Publishing
  var staging = Staging()
  var deletions = Deletions()

  // Sources.
  /// By job.
  var awaitedSources: [JobKey: AwaitedSource] = [:]
  /// Places that are out of reach, each told once.
  var toldPlaces: Set<String> = []

  /// An attachment that is to be worked on while no other is in hand.
  private var suspect: Flight?
  private var isSuspectUnderway = false
  /// Opened, and not yet hashed: until it is known what the stages reject for its length alone.
  private var unmeasured: [Flight] = []
  /// Time that stages have spent on the contents of each tree, by the key of its root, in microseconds. Attachments in hand count.
  var treeTimes: [Int64: Int64] = [:]

  init(_ loop: Scheduler) {
    self.loop = loop
    (pipeline, plan, environment, pool) = (loop.pipeline, loop.plan, loop.environment, loop.pool)
    gate = ContentGate(pool, pipeline.reuse)
    publishing = Publishing(environment.store)
  }

  /// Nothing is on its way to the store, or out of it.
  var isSettled: Bool { publishing.isSettled && deletions.isSettled }
  /// When the store is to be tried again, in milliseconds of the steady clock.
  var dueTimes: [Int64] { [publishing.nextTry, deletions.nextTry].compactMap(\.self) }
  /// No attachment is to be claimed: one is to be worked on alone.
  var isBlocked: Bool { suspect != nil }

  // MARK: Beginning

  /// After so many lost coordinators, the last of them with nothing else in hand, an attachment goes to quarantine.
  private static let lossLimit = 20

  func begin(_ flight: Flight) {
    guard let attachment = flight.attachment else { return }
    if let cancellation = flight.lease.cancellation {
      // A person has taken it back before it was begun: only the stages at the end are told.
      flight.run.cancel(Self.cancellation(cancellation))
      route(flight)
    } else if let before = attachment.concluded {
      conclude(flight, before)
    } else if flight.lease.isSolitary {
      // It may be what ends coordinators, and waits until it is the only one in hand.
      if suspect == nil { suspect = flight } else { loop.settle(flight, .released) }
    } else {
      begin(flight, attachment)
    }
  }

  /// Begins the suspect once everything else that was in hand is on record.
  func beginSuspect() {
    guard let flight = suspect, !isSuspectUnderway, let attachment = flight.attachment,
      !loop.exchange.isUnderway,
      !loop.flights.values.contains(where: { $0 !== flight && $0.attachment != nil })
    else { return }
    isSuspectUnderway = true
    begin(flight, attachment)
  }

  private func begin(_ flight: Flight, _ attachment: LeasedAttachment) {
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
    loop.sources.add(Source(serial: flight.serial, attachment.source, environment.downloads))
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
    if loop.isGivenBack(flight) { return }
    guard let known = knownDigest(of: flight) else { return pool.measure(flight) }
    flight.run.measured(known)
    route(flight)
  }

  /// The hash of what a link has brought, where it needs not be made once more: the file is as it was when it was hashed, and the worker that
  /// fetched it could not write to it any more then.
  func knownDigest(of flight: Flight) -> String? {
    guard !flight.isSealed, case .link(let transfer, _, .here(_, let sha256))? = flight.attachment?.source,
      loop.transfers?.isHashed(transfer, as: flight.file) == true
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
    if loop.isGivenBack(flight) || isOutOfTime(flight) { return }
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

  /// The ledger has said what is known of its content.
  func learn(_ flight: Flight, _ question: ContentQuestion, _ known: KnownContent) {
    gate.learn(flight, question, known)
    route(flight)
  }

  // MARK: Leaving

  func refuse(_ flight: Flight) {
    flight.run.endUntold()
    route(flight)
  }

  func left(_ flight: Flight) {
    if flight === suspect {
      suspect = nil
      isSuspectUnderway = false
      loop.lanes.attachments.addDue()
    }
    leaveGate(flight)
  }

  /// Gives back what no stage has begun with.
  func releaseWaiting() {
    for flight in unmeasured { loop.settle(flight, .released) }
    unmeasured.removeAll()
    if let suspect, !isSuspectUnderway { loop.settle(suspect, .released) }
  }

  /// A person has taken it back while no worker has it.
  func forgetWaiting(_ flight: Flight) {
    unmeasured.removeAll { $0 === flight }
    loop.sources.drop(flight.serial)
    if flight === suspect { isSuspectUnderway = true }
  }

  /// Those with the same content as a flight that has ended go on.
  func leaveGate(_ flight: Flight) {
    for next in gate.leave(flight, among: loop.flights) { route(next) }
  }
}
