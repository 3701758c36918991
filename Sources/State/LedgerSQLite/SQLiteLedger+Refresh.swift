import LedgerPort
import LedgerRules
import Pipeline
import SQLite

// A new link for a transfer whose own is not taken any more: the same bytes, asked for elsewhere.
extension SQLiteLedger {
  /// Those that share a transfer.
  private struct Sharer {
    var key: Int64
    var status: Status
    /// It ended since its link could not be fetched.
    var isUnfetched: Bool
    /// Of its job; `nil`: it has ended.
    var state: String?
    var isCancelled: Bool
    var priority: Int64
  }

  /// What is on record of the transfer of the named attachment.
  private struct Found {
    var attachment: Int64
    var fact: RefreshDecision.Fact
    /// It waits for its transfer.
    var isWaiting: Bool
    var transfer: Int64 = 0
    var state = TransferState()
  }

  /// Replaces the link of an attachment's transfer, for all that share it. Where another transfer has the new link, they join it:
  /// it asks for the same, so that they would have joined it had they been taken in with this link.
  ///
  /// The identities of the attachments stay: a manifest that is given again, with the old links, takes nothing in twice.
  func refresh(_ request: RefreshCommand, _ tally: inout ExchangeTally) throws -> CommandResult {
    guard let sealer else {
      return .refused(
        "links are sealed by a key that the pipeline names: start `sluice run` with a pipeline that has "
          + "'lanes: { downloads: … }', or give one with --config")
    }
    let found = try found(request.attachmentId, sealer)
    let link: Link
    switch RefreshDecision.decide(request, found?.fact) {
    case .refused(let reason): return .refused(reason)
    case .give(let new): link = new
    }
    guard let found, let old = found.fact.transfer?.link else { return .done(hasChanged: false) }
    let identity = try Self.identity(of: link, sealer)
    let known = try statement(SQL.transferWithIdentity).first(.blob(identity), make: { $0.integer(0) })
    // It is as it was asked for.
    if known == found.transfer && found.isWaiting { return .done(hasChanged: false) }
    tally.touch(.downloads)
    tally.touch(.attachments)
    let sharers = try sharers(of: found.transfer)
    let target = known ?? found.transfer
    if known == nil {
      try replace(found, old, by: link, identity, sealer)
    } else if target != found.transfer {
      try statement(SQL.moveLinks).run(.integer(found.transfer), .integer(target))
    }
    try statement(SQL.nameSources).run(.integer(target), .blob(Array(link.name.utf8)))
    for sharer in sharers { try wait(sharer, for: target, isNamed: sharer.key == found.attachment, &tally) }
    if known == nil {
      try statement(SQL.setLinkReplaced).run(.integer(target))
      if connection.changes == 1 { tally.unwanted.append(target) }
    }
    try hasten(JobKey(.transfer, target), tally.time)
    if target != found.transfer { try leave(found.transfer, &tally) }
    return .done(hasChanged: true)
  }

  private func found(_ id: String, _ sealer: any Sealer) throws -> Found? {
    let found = try statement(SQL.attachmentToRefresh).first(.text(id)) { row -> Found? in
      guard let status = Status(rawValue: row.text(1)) else { return nil }
      let job = row.optionalText(2)
      var found = Found(
        attachment: row.integer(0),
        fact: .init(status: status, isWorkedOn: job == "leased", transfer: nil), isWaiting: job == "waiting")
      if row.isNull(4) { return found }
      let identity = row.blob(6)
      // What was changed or cannot be opened is refused, and ends nothing.
      let link = (try? sealer.open(row.blob(7), for: Self.place("request", identity))).flatMap {
        Link(coded: $0)
      }
      found.transfer = row.integer(4)
      found.fact.transfer = .init(isFetched: row.integer(5) == 1, link: link)
      found.state = TransferState(bytes: row.integer(8), total: row.optionalInteger(9))
      if !row.isNull(10), let bytes = try? sealer.open(row.blob(10), for: Self.place("validators", identity))
      {
        found.state.takeValidators(coded: bytes)
      }
      return found
    }
    if let found { return found }
    let isDeleted = try statement(SQL.isDeleted).first(.text(id)) { $0.integer(0) } == 1
    return isDeleted ? Found(attachment: 0, fact: .deleted, isWaiting: false) : nil
  }

  private func sharers(of transfer: Int64) throws -> [Sharer] {
    var sharers: [Sharer] = []
    try statement(SQL.sharers).rows(.integer(transfer)) { row in
      guard let status = Status(rawValue: row.text(1)) else { return }
      sharers.append(
        Sharer(
          key: row.integer(0), status: status, isUnfetched: row.integer(2) == 1, state: row.optionalText(3),
          isCancelled: row.integer(4) == 1, priority: row.optionalInteger(5) ?? 0))
    }
    return sharers
  }

  /// What is sealed belongs to the transfer's identity, and is sealed anew for the new one.
  private func replace(
    _ found: Found, _ old: Link, by link: Link, _ identity: [UInt8], _ sealer: any Sealer
  ) throws {
    let state = RefreshDecision.state(found.state, from: old, to: link)
    let validators = try state.coded.map { try sealer.seal($0, for: Self.place("validators", identity)) }
    try statement(SQL.replaceLink).run(
      .integer(found.transfer), .blob(identity), .integer(try sealer.host(of: link)),
      .blob(try sealer.seal(link.coded, for: Self.place("request", identity))), .integer(state.bytes),
      .optional(state.total), .optional(validators))
    try statement(SQL.moveToHost).run(.integer(found.transfer))
  }

  /// An attachment waits for its transfer again, if it is still without its content: the one that a person named, and those that
  /// are queued or ended since the link could not be fetched.
  private func wait(
    _ sharer: Sharer, for transfer: Int64, isNamed: Bool, _ tally: inout ExchangeTally
  ) throws {
    guard let state = sharer.state else {
      if sharer.isUnfetched || (isNamed && sharer.status != .completed) { try queueAgain(sharer.key, &tally) }
      return
    }
    // What is worked on ends with what it was given, and what a person took back stays so.
    if state == "leased" || (sharer.isCancelled && !isNamed) { return }
    if sharer.isCancelled {
      try statement(SQL.cancelJob).run(.integer(sharer.key), .null, .integer(tally.time))
    }
    if try statement(SQL.isFetched).first(.integer(transfer), make: { $0.integer(0) }) == 1 {
      try statement(SQL.wakeOne).run(.integer(sharer.key), .integer(tally.time))
    } else {
      try statement(SQL.waitForTransfer).run(.integer(sharer.key))
      try queueTransfer(transfer, priority: sharer.priority, tally.time)
    }
    tally.changed.add(.attachment, sharer.key)
  }

  /// Whether the link of a lease was replaced since: what became of the old one says nothing of the new one, unless all is here.
  func isOfReplacedLink(_ settlement: Settlement) throws -> Bool {
    if settlement.job.kind != .transfer { return false }
    if case .fetched = settlement.ending { return false }
    return try statement(SQL.isLinkReplaced).first(fence(settlement)) { $0.integer(0) } == 1
  }
}
