import LedgerPort
import Pipeline
import Platform
import Wire
import Workers

/// The way of an event to its recipient.
final class DeliveryLine: WorkLine {
  private unowned let loop: Scheduler
  private let pool: WorkerPool
  private let environment: SchedulerEnvironment
  private let schedules: [String: DeliverySchedule]

  /// Workers that a delivery may lose before it is put off.
  private static let redispatchLimit = 3

  init(_ loop: Scheduler) {
    (self.loop, pool, environment) = (loop, loop.pool, loop.environment)
    schedules = Dictionary(
      loop.pipeline.channels.map { ($0.name, $0.schedule) }, uniquingKeysWith: { first, _ in first })
  }

  func begin(_ flight: Flight) {
    guard let delivery = flight.delivery, let group = pool.group(ofChannel: delivery.channel) else {
      return loop.settle(flight, .released)
    }
    enqueue(flight, group)
  }

  private func enqueue(_ flight: Flight, _ group: WorkerGroup) {
    if loop.isGivenBack(flight) { return }
    pool.enqueue(flight, group, 0..<1)
  }

  // It has no file.
  func opened(_ flight: Flight) {}
  func notOpened(_ flight: Flight, _ fault: SourceFault) {}

  func apply(_ report: StageReport, to flight: Flight, from group: WorkerGroup) {
    guard let delivery = flight.delivery else { return }
    guard let said = report.results.first else {
      return workerDied(
        WorkerDeath(.invalidReply("it did nothing"), lastWords: ""), flight, group, 0, microseconds: 0,
        after: nil)
    }
    let reason = Reason(
      stage: delivery.channel, code: said.code ?? "unexplained", message: said.message ?? "no reason given")
    switch said.verdict {
    case .pass: loop.settle(flight, .delivered(key: delivery.key), .delivered(channel: delivery.channel))
    case .reject, .fail:
      loop.settle(
        flight, .deadLetter(key: delivery.key, reason: reason),
        .deliveryPutOff(channel: delivery.channel, reason: reason, at: nil))
    case .retry:
      if said.pausesLane { return loop.pauseLane(of: flight, reason) }
      putOff(flight, delivery, reason, notBefore: said.retryAfter)
    }
  }

  func workerDied(
    _ death: WorkerDeath, _ flight: Flight, _ group: WorkerGroup, _ index: Int, microseconds: Int64,
    after report: StageReport?
  ) {
    guard let delivery = flight.delivery else { return }
    if flight.isGone { return loop.settle(flight, .released) }
    // Its worker's end says nothing of the recipient: once more at once, by itself, before the schedule applies.
    if flight.redispatches < Self.redispatchLimit {
      flight.redispatches += 1
      flight.isAlone = true
      return enqueue(flight, group)
    }
    let reason = Reason(
      stage: delivery.channel, code: death.code, message: death.message(in: group.stages[0]))
    putOff(flight, delivery, reason, notBefore: nil)
  }

  func refuse(_ flight: Flight) {
    guard let delivery = flight.delivery else { return }
    loop.settle(flight, .deadLetter(key: delivery.key, reason: AttachmentRun.tooMuch))
  }

  func settled(_ settlement: PendingSettlement, _ outcome: SettlementOutcome) {
    loop.close(settlement, outcome)
  }

  /// Schedules the next try, or makes the delivery a dead letter.
  private func putOff(_ flight: Flight, _ delivery: LeasedDelivery, _ reason: Reason, notBefore: Int64?) {
    let attempt = max(flight.lease.counted, 1)
    let schedule = schedules[delivery.channel] ?? DeliverySchedule()
    guard let delay = schedule.delay(after: attempt, jitter: environment.jitter()) else {
      return loop.settle(
        flight, .deadLetter(key: delivery.key, reason: reason),
        .deliveryPutOff(channel: delivery.channel, reason: reason, at: nil))
    }
    let after = max(delay, notBefore ?? 0)
    loop.settle(
      flight, .deliveryAgain(key: delivery.key, after: after, reason: reason),
      .deliveryPutOff(channel: delivery.channel, reason: reason, at: environment.clock.now() + after))
  }
}
