import LedgerPort
import Pipeline
import Platform
import SQLite

// Transfers: what is fetched, for whom, and what became of it.
extension SQLiteLedger {
  // MARK: The key

  /// What the keys of the home follow from. The id is made once, and never changed.
  package func sealedHome() throws(LedgerError) -> SealedHome {
    try transaction {
      try statement("UPDATE ledger SET home_id = randomblob(16) WHERE home_id IS NULL").run()
      return try foundSealedHome()
    }
  }

  /// The same, where the ledger is only read.
  func foundSealedHome() throws(LedgerError) -> SealedHome {
    try reading {
      let id = try statement("SELECT home_id FROM ledger").first { $0.blob(0) } ?? []
      let hasValues = try statement("SELECT EXISTS (SELECT 1 FROM transfers)").first { $0.integer(0) == 1 }
      let sample = try statement(SQL.queuedTransfer).first {
        SealedSample(bytes: $0.blob(1), place: Self.place("request", $0.blob(0)))
      }
      let last = try statement("SELECT request FROM transfers ORDER BY key DESC LIMIT 1").first { $0.blob(0) }
      let indexKey =
        try statement("SELECT index_key FROM ledger").first { $0.isNull(0) ? nil : $0.blob(0) } ?? nil
      return SealedHome(id: id, hasValues: hasValues ?? false, sample: sample, last: last, indexKey: indexKey)
    }
  }

  // MARK: Who waits

  /// The transfer that fetches a link; makes its row where there is none.
  func transfer(for link: Link, identity: [UInt8], _ sealer: any Sealer, at now: Int64) throws -> Int64 {
    if let key = try statement(SQL.transferWithIdentity).first(.blob(identity), make: { $0.integer(0) }) {
      return key
    }
    try statement(SQL.addTransfer).run(
      .blob(identity), .integer(try sealer.host(of: link)),
      .blob(try sealer.seal(link.coded, for: Self.place("request", identity))), .integer(now),
      .integer(try sealer.sender(of: link)))
    return connection.lastInsertedRow
  }

  /// Makes a queued attachment wait for its transfer, and the transfer due where it is not. Where the content is here already,
  /// the attachment is due at once.
  ///
  /// - Parameter earlier: attempts that were made before.
  func await(
    _ transfer: Int64, for attachment: Int64, _ turn: Int64, priority: Int64, earlier: Int64 = 0,
    _ tally: inout ExchangeTally
  ) throws {
    let (isHere, name) =
      try statement(SQL.isFetched).first(.integer(transfer)) { ($0.integer(0) == 1, $0.optionalText(1)) }
      ?? (false, nil)
    if let name { try statement(SQL.nameOne).run(.integer(attachment), .text(name)) }
    try statement(SQL.addLinkedJob).run(
      .integer(attachment), .integer(try laneKey(.attachments)), .integer(priority),
      .text(isHere ? "due" : "waiting"), .integer(tally.time), .integer(earlier), .integer(turn))
    if !isHere {
      try queueTransfer(transfer, priority: priority, tally.time)
      try tellPriority(of: transfer, &tally)
    }
    tally.touch(isHere ? .attachments : .downloads)
  }

  /// A transfer is due. One that is queued already may only become more urgent.
  func queueTransfer(_ key: Int64, priority: Int64, _ time: Int64) throws {
    try statement(SQL.reopenTransfer).run(.integer(key))
    try statement(SQL.addTransferJob).run(
      .integer(key), .integer(try laneKey(.downloads)), .integer(priority), .integer(time))
  }

  /// A person took an attachment back while it waited, and then wanted it after all: it waits again.
  func waitForTransfer(_ attachment: Int64, _ time: Int64) throws {
    guard let transfer = try transfer(of: attachment) else { return }
    try statement(SQL.waitForTransfer).run(.integer(attachment))
    let priority = try statement(SQL.priorityOf).first(.integer(attachment)) { $0.integer(0) } ?? 0
    try queueTransfer(transfer, priority: priority, time)
  }

  /// A transfer is as urgent as the most urgent that waits for it. The next claim sees whether it is wanted.
  func prioritize(_ transfer: Int64, _ tally: inout ExchangeTally) throws {
    try statement(SQL.prioritizeTransfer).run(.integer(transfer))
    try statement(SQL.wantUrgent).run(.integer(transfer), .integer(tally.time))
    tally.touch(.downloads)
    try tellPriority(of: transfer, &tally)
  }

  /// Where it is under way, others may have to stand still for it, or may go on.
  private func tellPriority(of transfer: Int64, _ tally: inout ExchangeTally) throws {
    let priority = try statement(SQL.priorityUnderway).first(.integer(transfer)) { $0.integer(0) }
    if let priority { tally.priorities.append(TransferPriority(key: transfer, priority: priority)) }
  }

  /// The transfer of an attachment; `nil`: its content is a file.
  func transfer(of attachment: Int64) throws -> Int64? {
    try statement(SQL.transferOf).first(.integer(attachment)) { $0.integer(0) }
  }

  /// The transfers that this coordinator, or all others, have in hand.
  func transfersInHand(ofOthers: Bool) throws -> [Int64] {
    var keys: [Int64] = []
    try statement(SQL.transfersInHand).rows(.integer(holder), .integer(ofOthers ? 0 : 1)) {
      keys.append($0.integer(0))
    }
    return keys
  }

  /// An attachment has ended, or does not wait any more: what is no longer needed of its transfer goes.
  func leave(_ transfer: Int64, _ tally: inout ExchangeTally) throws {
    switch try leave(transfer) {
    case .keepsFile: break
    case .isUnwanted: tally.unwanted.append(transfer)
    case .dropsFile: tally.filesToDelete.append(transfer)
    }
  }

  enum Left { case keepsFile, isUnwanted, dropsFile }

  func leave(_ transfer: Int64) throws -> Left {
    let needs = try statement(SQL.needsOfTransfer).first(.integer(transfer)) { row in
      (
        links: row.integer(0), waiting: row.integer(1), working: row.integer(2),
        isLeased: row.integer(3) == 1,
        isExpired: row.integer(4) == 1
      )
    }
    guard let needs, needs.waiting == 0 else { return .keepsFile }
    // One under way goes with the end of its lease.
    if needs.isLeased { return .isUnwanted }
    try remove(JobKey(.transfer, transfer))
    if needs.working > 0 { return .keepsFile }
    if needs.links == 0 {
      try statement(SQL.removeTransfer).run(.integer(transfer))
    } else if needs.isExpired {
      // What came is there for a new link.
      return .keepsFile
    } else {
      try statement(SQL.forgetProgress).run(.integer(transfer))
    }
    return .dropsFile
  }

  /// Those that wait for a transfer are due.
  func wake(_ transfer: Int64, _ tally: inout ExchangeTally) throws {
    try statement(SQL.wakeWaiting).run(.integer(transfer), .integer(tally.time))
    tally.touch(.attachments)
    try statement(SQL.attachmentsOf).rows(.integer(transfer)) {
      tally.changed.add(.attachment, $0.integer(0))
    }
  }

  // MARK: Results

  func settleTransfer(_ settlement: Settlement, _ tally: inout ExchangeTally) throws -> SettlementOutcome {
    if try isOfReplacedLink(settlement) {
      guard try change(SQL.releaseJob, settlement) else { return .leaseLost }
      try leave(settlement.job.subject, &tally)
      return .conflict
    }
    switch settlement.ending {
    case .fetched(let key, let content):
      guard try change(SQL.endJob, settlement) else { return .leaseLost }
      try statement(SQL.endFetched).run(
        .integer(key), .integer(tally.now), .integer(content.size), .blob(content.sha256),
        .optional(content.fileName), .optional(content.contentType))
      if let name = content.fileName { try statement(SQL.nameWaiting).run(.integer(key), .text(name)) }
      try wake(key, &tally)
      try leave(key, &tally)
    case .transferAgain(let key, let after, let isCounted, let state, let reason):
      guard try schedule(settlement, tally.time, after, isCounted: isCounted) else { return .leaseLost }
      try record(state, of: key)
      try statement(SQL.noteTransfer).run(.integer(key), .text(reason.code), .text(reason.message))
      try leave(key, &tally)
    case .transferRestarts(let key, let reason):
      guard try schedule(settlement, tally.time, 0) else { return .leaseLost }
      try statement(SQL.restartTransfer).run(.integer(key), .text(reason.code), .text(reason.message))
      try leave(key, &tally)
    case .notFetched(let key, let reason, let isRejected):
      guard try change(SQL.endJob, settlement) else { return .leaseLost }
      try statement(SQL.endNotFetched).run(
        .integer(key), .integer(tally.now), .text(reason.code), .text(reason.message),
        .integer(isRejected ? 1 : 0))
      try wake(key, &tally)
      try leave(key, &tally)
    case .fetchAgain(let key, let transfer):
      guard try change(SQL.waitAgain, settlement) else { return .leaseLost }
      let queued = try statement(SQL.queuedJob).first(.integer(key)) { ($0.text(0), $0.integer(1)) }
      // One that a person does not want any more waits for nothing.
      guard let (state, priority) = queued, state == "waiting" else { break }
      try queueTransfer(transfer, priority: priority, tally.time)
      tally.touch(.downloads)
    default: break
    }
    return .counted
  }

  /// How far a transfer is, where its lease holds.
  func take(_ checkpoint: TransferCheckpoint) throws {
    let holds = try statement(SQL.isHeld).first(fence(checkpoint.job, checkpoint.token)) { $0.integer(0) }
    if holds == 1 { try record(checkpoint.state, of: checkpoint.key) }
  }

  private func record(_ state: TransferState, of key: Int64) throws {
    guard let sealer, let identity = try statement(SQL.identityOf).first(.integer(key), make: { $0.blob(0) })
    else { return }
    let validators = state.coded
    try statement(SQL.recordProgress).run(
      .integer(key), .integer(state.bytes), .optional(state.total),
      .optional(
        try validators.map { try sealer.seal($0, for: Self.place("validators", identity)) }))
  }

  // MARK: Who is worked on

  /// What became of the link of an attachment; `nil`: nothing has yet. One that was cancelled before is not fetched.
  func link(of key: Int64, name: String, isCancelled: Bool) throws -> AttachmentSource? {
    let found = try statement(SQL.fetchedOf).first(.integer(key)) { row -> AttachmentSource? in
      if row.isNull(6) && !isCancelled { return nil }
      let fetched: Fetched =
        row.isNull(1)
        ? .failed(
          Reason(
            stage: "downloads", code: row.optionalText(3) ?? "not-fetched",
            message: row.optionalText(4) ?? "it was not fetched"), isRejected: row.integer(2) == 1)
        : .here(object: row.optionalText(5), sha256: row.blob(1))
      return AttachmentSource.link(transfer: row.integer(0), name: name, fetched)
    }
    guard let found else {
      throw LedgerError(
        .damaged, "\(path): attachment \(key) has a link and no transfer; \(LedgerError.restore)")
    }
    return found
  }

  static func place(_ column: String, _ identity: [UInt8]) -> SealedPlace {
    SealedPlace(table: "transfers", column: column, row: identity)
  }

  /// What is the same for the same request.
  static func identity(of link: Link, _ sealer: any Sealer) throws -> [UInt8] {
    var parts: [UInt8] = []
    // With what was announced: who announces something else does not decide for others.
    let announced = [link.size.map(String.init) ?? "", link.sha256.map(Hexadecimal.text) ?? ""]
    let scope = link.scope.map { [$0] } ?? []
    for part in [link.method, link.url, link.body ?? "", link.credential ?? ""] + announced + scope {
      parts += Array(part.utf8) + [0]
    }
    return try sealer.blindIndex(parts, purpose: "transfer")
  }

  // MARK: What is shown

  public func transfers(after mark: PageMark?, limit: Int) throws(LedgerError) -> Page<TransferRecord> {
    let now = clock.steady()
    return try page(after: mark, limit) { after in
      var rows: [TransferRecord] = []
      let hasUrgent = try statement(SQL.hasUrgent).first { $0.integer(0) == 1 } ?? false
      try statement(SQL.pageOfTransfers).rows(.integer(after), .integer(Int64(limit))) { row in
        rows.append(record(row, now, hasUrgent: hasUrgent))
      }
      return (rows, rows.last?.key)
    }
  }

  public func transfer(ofAttachment key: Int64) throws(LedgerError) -> TransferRecord? {
    try reading { try transfer(of: key).flatMap { try record(ofTransfer: $0) } }
  }

  public func transfer(_ key: Int64) throws(LedgerError) -> TransferRecord? {
    try reading { try record(ofTransfer: key) }
  }

  private func record(ofTransfer key: Int64) throws -> TransferRecord? {
    let now = clock.steady()
    let hasUrgent = try statement(SQL.hasUrgent).first { $0.integer(0) == 1 } ?? false
    let found = try statement(SQL.pageOfTransfers).first(.integer(key - 1), .integer(1)) {
      record($0, now, hasUrgent: hasUrgent)
    }
    // The page begins with the next one where that is gone.
    return found?.key == key ? found : nil
  }

  public func sharers(ofTransfer key: Int64, limit: Int) throws(LedgerError) -> [TransferSharer] {
    try reading {
      var sharers: [TransferSharer] = []
      try statement(SQL.sharersWithUsers).rows(.integer(key), .integer(Int64(limit))) {
        let users = [$0.text(1)] + (JSONStrings.read($0.text(2)) ?? [])
        sharers.append(TransferSharer(attachmentId: $0.text(0), users: users))
      }
      return sharers
    }
  }

  private func record(_ row: borrowing Row, _ now: Int64, hasUrgent: Bool) -> TransferRecord {
    let isWanted = row.optionalText(8) != "waiting"
    let state: TransferRecord.State =
      switch row.optionalText(8) {
      case "due", "waiting": .waiting
      case "scheduled": row.integer(9) > now ? .scheduled : .waiting
      case "leased": .running
      default:
        row.integer(4) == 1 ? .fetched : row.optionalText(6) == nil || row.isNull(5) ? .stopped : .failed
      }
    return TransferRecord(
      key: row.integer(0), name: String(decoding: row.blob(1), as: UTF8.self), state: state,
      bytes: row.integer(2), total: row.optionalInteger(3), attachments: Int(row.integer(12)),
      attachmentId: row.optionalText(13), fileName: row.optionalText(14), contentType: row.optionalText(15),
      isHeld: hasUrgent && state == .running && row.integer(11) < TransferPriority.urgent,
      attempts: Int(row.integer(10)), priority: row.integer(11),
      nextDue: state == .scheduled ? max(row.integer(9) - now, 0) : 0,
      code: isWanted ? row.optionalText(6) : TransferRecord.notPrefetched,
      reason: isWanted ? row.optionalText(7) : TransferRecord.whyNotPrefetched)
  }

  // MARK: Files

  /// The transfers whose files are needed: those that are not finished, and those that attachments are worked on from.
  public func transfersWithFiles() throws(LedgerError) -> Set<Int64> {
    try reading {
      var keys: Set<Int64> = []
      try statement(SQL.transfersWithFiles).rows { keys.insert($0.integer(0)) }
      return keys
    }
  }
}
