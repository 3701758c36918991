import LedgerPort
import Pipeline

// When links are fetched: at some times of the week only, or while a client attends.
extension TransferLine {
  /// Codes of pauses that follow the conditions, and end with them.
  static let conditionCodes: Set<String> = ["schedule", "not-attended"]

  /// Milliseconds for which a client attends that said so. It says so each second.
  private static let attendance: Int64 = 1900

  /// Stops the lane of downloads where it is not to work now, and lets it go on where it is.
  func followConditions() {
    guard let lane = loop.lanes.downloads, !loop.isStopping else { return }
    if environment.isAttended() { attendedUntil = loop.time + Self.attendance }
    let reason = reasonToStand
    if let reason {
      loop.pause(lane, reason)
    } else if let pause = lane.pause, Self.conditionCodes.contains(pause.code) {
      loop.resume(lane)
    }
  }

  private var reasonToStand: Reason? {
    if let schedule = definition.schedule {
      let minute = environment.minuteOfWeek()
      if !schedule.contains(minute) {
        return Reason(
          stage: TransferRun.stage, code: "schedule",
          message: "links are fetched at other times; it goes on \(schedule.next(after: minute))")
      }
    }
    // A run that ends by itself is one that a client waits for.
    if definition.onlyWhile == .attended, loop.isResident, loop.time >= attendedUntil {
      return Reason(
        stage: TransferRun.stage, code: "not-attended",
        message: "links are fetched while a client waits for one, or watches the queue: `sluice watch`")
    }
    return nil
  }
}
