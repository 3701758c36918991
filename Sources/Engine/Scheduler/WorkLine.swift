import LedgerPort
import Pipeline
import Wire
import Workers

/// The work on the leases of one kind. The loop has the leases, lanes, workers and the time; a line has the state of its work. All
/// functions are called on the scheduler's thread.
protocol WorkLine: AnyObject {
  /// A lease was granted.
  func begin(_ flight: Flight)
  /// Its file is open, and the flight has it.
  func opened(_ flight: Flight)
  func notOpened(_ flight: Flight, _ fault: SourceFault)
  /// Stages of a group have answered.
  func apply(_ report: StageReport, to flight: Flight, from group: WorkerGroup)
  /// A worker ended with it in hand.
  ///
  /// - Parameters:
  ///   - index: of the stage that it was in, in its group.
  ///   - report: the results of the stages before it.
  func workerDied(
    _ death: WorkerDeath, _ flight: Flight, _ group: WorkerGroup, _ index: Int, microseconds: Int64,
    after report: StageReport?)
  /// More is known of it than fits into a frame, so that no worker can have it.
  func refuse(_ flight: Flight)
  /// The ledger has answered: whether the end of a lease counts.
  func settled(_ settlement: PendingSettlement, _ outcome: SettlementOutcome)
  /// It is not in hand any more.
  func left(_ flight: Flight)
}

extension WorkLine {
  func left(_ flight: Flight) {}
}

extension Scheduler {
  /// `nil`: its kind is no longer configured.
  func line(of flight: Flight) -> (any WorkLine)? {
    switch flight.lease.work {
    case .attachment: attachments
    case .delivery: deliveries
    case .transfer: transfers
    }
  }
}
