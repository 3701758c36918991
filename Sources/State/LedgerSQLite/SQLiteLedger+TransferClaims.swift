import LedgerPort
import LedgerRules
import Pipeline
import SQLite

// Claiming transfers.
extension SQLiteLedger {
  /// Leases what ``TransferClaim`` chooses.
  func claimTransfers(_ want: Want, _ lane: Int64, _ tally: inout ExchangeTally) throws -> [Lease] {
    guard let sealer else { return [] }
    var claim = TransferClaim(want)
    try statement(SQL.hostsInHand).rows { claim.hasInHand(host: $0.integer(0), sender: $0.integer(1)) }
    try follow(want.prefetch)
    var leases: [Lease] = []
    var broken: [(key: Int64, reason: String)] = []
    var queue = DueTransfers(ledger: self, lane: lane, prefetch: want.prefetch)
    for transfer in try claim.choose(from: &queue, &turns) {
      try statement(SQL.dueTransfer).rows(.integer(transfer)) { row in
        guard !row.isNull(0) else {
          leases.append(try lease(.transfer, row, 10, tally.token, nil))
          return
        }
        do {
          leases.append(try lease(.transfer, row, 10, tally.token, try self.transfer(row, sealer)))
        } catch {
          broken.append((row.integer(0), "\(error)"))
        }
      }
    }
    // Those that go out with the new link say what counts.
    for index in leases.indices where leases[index].cancellation != nil {
      try statement(SQL.takeNewLink).run(.integer(leases[index].job.subject))
      leases[index].cancellation = nil
    }
    // One that was changed or cannot be opened holds up no other.
    var rows = self
    for (key, fault) in broken {
      let reason = Reason(
        stage: TransferRun.stage, code: "unreadable",
        message:
          "what is on record of the link cannot be opened: \(fault). Where nothing opens it, `sluice delete` the attachment and fetch "
          + "its link anew")
      try rows.end(transfer: key, reason, isRejected: false, &tally)
    }
    return leases
  }

  private struct NoLink: Error, CustomStringConvertible {
    var description: String { "it is no link" }
  }

  private func transfer(_ row: borrowing Row, _ sealer: any Sealer) throws -> LeasedWork {
    let (key, identity) = (row.integer(0), row.blob(1))
    guard let link = Link(coded: try sealer.open(row.blob(2), for: Self.place("request", identity))) else {
      throw NoLink()
    }
    var state = TransferState(bytes: row.integer(3), total: row.optionalInteger(4))
    if !row.isNull(5) {
      state.takeValidators(coded: try sealer.open(row.blob(5), for: Self.place("validators", identity)))
    }
    return .transfer(
      LeasedTransfer(
        key: key, link: link, state: state, host: row.integer(7), restarts: Int(row.integer(6)),
        fileName: row.optionalText(8) ?? "", attachmentId: row.optionalText(9) ?? ""))
  }
}
