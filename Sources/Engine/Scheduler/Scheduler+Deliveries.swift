import LedgerPort
import Pipeline
import Platform
import Wire
import Workers

// The way of an event to its recipient.
extension Scheduler {
  /// Workers that a delivery may lose before it is put off.
  private static let redispatchLimit = 3

  func beginDelivery(_ flight: Flight, _ delivery: LeasedDelivery) {
    guard let group = pool.group(ofChannel: delivery.channel) else { return settle(flight, .released) }
    enqueue(flight, group, 0..<1)
  }

  func applyDelivery(_ result: WorkResult, _ flight: Flight, _ group: WorkerGroup) {
    guard let delivery = flight.delivery else { return }
    guard let said = result.report.results.first else {
      return takeDeliveryDeath(WorkerDeath(.invalidReply("it did nothing"), lastWords: ""), flight, group)
    }
    let reason = Reason(
      stage: delivery.channel, code: said.code ?? "unexplained", message: said.message ?? "no reason given")
    switch said.verdict {
    case .pass: settle(flight, .delivered(key: delivery.key), .delivered(channel: delivery.channel))
    case .reject, .fail:
      settle(
        flight, .deadLetter(key: delivery.key, reason: reason),
        .deliveryPutOff(channel: delivery.channel, reason: reason, at: nil))
    case .retry:
      if said.pausesLane { return pauseLane(of: flight, reason) }
      putOff(flight, delivery, reason, notBefore: said.retryAfter)
    }
  }

  func takeDeliveryDeath(_ death: WorkerDeath, _ flight: Flight, _ group: WorkerGroup) {
    guard let delivery = flight.delivery else { return }
    if flight.isGone { return settle(flight, .released) }
    // Its worker's end says nothing of the recipient: once more at once, by itself, before the schedule applies.
    if flight.redispatches < Self.redispatchLimit {
      flight.redispatches += 1
      flight.isAlone = true
      return enqueue(flight, group, 0..<1)
    }
    let reason = Reason(
      stage: delivery.channel, code: death.code, message: death.message(in: group.stages[0]))
    putOff(flight, delivery, reason, notBefore: nil)
  }

  /// Schedules the next try, or makes the delivery a dead letter.
  private func putOff(_ flight: Flight, _ delivery: LeasedDelivery, _ reason: Reason, notBefore: Int64?) {
    let attempt = max(flight.lease.counted, 1)
    let schedule = pipeline.channels.first { $0.name == delivery.channel }?.schedule ?? DeliverySchedule()
    guard let delay = schedule.delay(after: attempt, jitter: environment.jitter()) else {
      return settle(
        flight, .deadLetter(key: delivery.key, reason: reason),
        .deliveryPutOff(channel: delivery.channel, reason: reason, at: nil))
    }
    let after = max(delay, notBefore ?? 0)
    settle(
      flight, .deliveryAgain(key: delivery.key, after: after, reason: reason),
      .deliveryPutOff(channel: delivery.channel, reason: reason, at: environment.clock.now() + after))
  }
}
