import LedgerPort
import Pipeline
import Platform

/// Deliveries on record that have not been made yet.
struct OwedDeliveries {
  /// On the channels of the pipeline.
  var count = 0
  /// When the next is due, in milliseconds since 1970; `nil`: none waits for a time.
  var nextAt: Int64?
  /// On channels that the pipeline does not have, by name.
  var elsewhere: [(channel: String, count: Int)] = []

  init(_ status: LedgerStatus, _ pipeline: PipelineDefinition) {
    let now = Clock.now()
    for lane in status.lanes where lane.name.kind == .channel {
      let channel = lane.name.name
      let owed = lane.due + lane.scheduled + lane.leased
      if owed == 0 { continue }
      if pipeline.channels.contains(where: { $0.name == channel }) {
        count += owed
        if let due = lane.nextDue { nextAt = min(nextAt ?? .max, now + due) }
      } else {
        elsewhere.append((channel, owed))
      }
    }
  }
}
