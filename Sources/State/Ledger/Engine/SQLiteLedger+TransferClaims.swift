import Pipeline
import SQLite

// Claiming transfers.
extension SQLiteLedger {
  /// Leases what is most urgent, then oldest, as many of a host as are wanted at most. Where those at the front have their share,
  /// the other hosts get the rest in turn: a host that does not answer keeps no other waiting.
  func claimTransfers(_ want: Want, _ lane: Int64, _ tally: inout ExchangeTally) throws -> [Lease] {
    guard let sealer else { return [] }
    var claim = TransferClaim(count: want.count, want.hosts)
    if want.hosts.full > 0 {
      try statement(SQL.transfersInHandByHost).rows { claim.hasInHand($0.integer(0), Int($0.integer(1))) }
    }
    try follow(want.prefetch)
    var leases: [Lease] = []
    var broken: [(key: Int64, reason: String)] = []
    func add(_ row: borrowing Row) throws {
      guard !row.isNull(0) else {
        leases.append(try lease(row, 10, tally.token, nil))
        return
      }
      do {
        leases.append(try lease(row, 10, tally.token, try transfer(row, sealer)))
      } catch {
        broken.append((row.integer(0), "\(error)"))
      }
    }
    if want.prefetch > 0 {
      for job in try chooseNewest(want, lane, &claim) {
        try statement(SQL.dueTransfer).rows(.integer(job)) { try add($0) }
      }
    } else {
      try chooseOldest(want, lane, &claim, add)
    }
    // Those that go out with the new link say what counts.
    for index in leases.indices where leases[index].cancellation != nil {
      try statement(SQL.takeNewLink).run(.integer(leases[index].job))
      leases[index].cancellation = nil
    }
    // One that was changed or cannot be opened holds up no other.
    for (key, reason) in broken {
      try statement(SQL.removeJob).run(.integer(key &+ Schema.transferJobs))
      try statement(SQL.endNotFetched).run(
        .integer(key), .integer(tally.now), .text("unreadable"),
        .text("what is on record of the link cannot be opened: \(reason)"), .integer(0))
      try wake(key, &tally)
      try leave(key, &tally)
    }
    return leases
  }

  /// What is most urgent, then oldest.
  private func chooseOldest(
    _ want: Want, _ lane: Int64, _ claim: inout TransferClaim, _ add: (borrowing Row) throws -> Void
  ) throws {
    func take(_ row: borrowing Row) throws {
      if claim.takes(job: row.integer(10), row.integer(7), priority: row.integer(16)) { try add(row) }
    }
    try statement(SQL.dueTransfers).rows(.integer(lane), .integer(Int64(claim.looks))) { try take($0) }
    if want.hosts.full == 0 || claim.isFull { return }
    try lookAtHosts(of: lane) { host in
      try statement(SQL.dueTransfersOfHost).rows(
        .integer(lane), .integer(Int64(want.hosts.full)), .integer(host)
      ) { try take($0) }
      return !claim.isFull
    }
  }

  /// Goes through the hosts of a lane, from the one after that which was looked at last.
  ///
  /// - Parameter look: looks at a host; false: no more are wanted.
  func lookAtHosts(of lane: Int64, _ look: (Int64) throws -> Bool) throws {
    var turn = HostTurn(after: lastHost)
    repeat {
      let host = try turn.next { last in
        try statement(SQL.nextHost).first(.integer(lane), .integer(last)) { $0.optionalInteger(0) } ?? nil
      }
      guard let host else { return }
      lastHost = host
      if try !look(host) { return }
    } while true
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
