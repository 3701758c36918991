import LedgerPort
import Pipeline
import Platform

// What a person cancels or deletes while it is in hand.
extension Scheduler {
  /// Follows commands that are on record, as far as they are about something in hand.
  ///
  /// - Parameter deleted: the ids of the attachments that they have deleted, also as parts of a message.
  func follow(_ commands: [Command], _ results: [CommandResult], deleted: Set<String>) {
    var takenBack: [String: Flight.TakenBack] = [:]
    var dropped: Set<Int64> = []
    for (command, result) in zip(commands, results) where result == .done(hasChanged: true) {
      switch command {
      case .attachment(let command):
        switch command.action {
        case .cancel(let reason): takenBack[command.attachmentId] = .cancelled(reason)
        case .retry, .reprocess: takenBack[command.attachmentId] = .retried
        case .delete, .prioritize: break
        }
      case .delivery(let command) where command.action == .drop: dropped.insert(command.key)
      case .lane(let command): if case .resume = command.action { followResume(command.lane) }
      case .delivery, .takeIn, .refresh, .token, .upload, .record, .conversation, .user: break
      }
    }
    for id in deleted { takenBack[id] = .deleted }
    if takenBack.isEmpty && dropped.isEmpty { return }
    for flight in flights.values.sorted(by: { $0.serial < $1.serial }) {
      if let delivery = flight.delivery {
        if dropped.contains(delivery.key) || deleted.contains(delivery.attachmentId) { giveUp(flight) }
      } else if let id = flight.attachment?.origin.id, let what = takenBack[id] {
        attachments.takeBack(flight, what)
      }
    }
    attachments.forget(deleted)
  }

  /// A person lets a lane go on that a fault had stopped: it is tried at once.
  private func followResume(_ name: LaneName) {
    guard let lane = lanes[name], lane.pause?.cause == .fault,
      lane !== lanes.attachments || !attachments.publishing.isBehind
    else { return }
    lane.resume()
    observe(.laneResumed(lane: name.description))
  }

  /// Takes a delivery out of its queue. One that a channel has goes to its end, and its result is dropped.
  private func giveUp(_ flight: Flight) {
    flight.isGone = true
    if !flight.isSettled, !pool.removeQueued(where: { $0 === flight }).isEmpty { settle(flight, .released) }
  }
}
