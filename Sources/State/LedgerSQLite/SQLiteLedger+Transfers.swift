import LedgerPort
import LedgerRules
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

  // MARK: Rows

  package var hasSealer: Bool { sealer != nil }

  package func identity(of link: Link) throws -> [UInt8]? {
    try sealer.map { try Self.identity(of: link, $0) }
  }

  package func transfer(withIdentity identity: [UInt8]) throws -> Int64? {
    try statement(SQL.transferWithIdentity).first(.blob(identity)) { $0.integer(0) }
  }

  /// Never missing here: without the key a link has no identity.
  private func sealerAtHand() throws -> any Sealer {
    guard let sealer else { throw LedgerError(.other, "\(path): the key that seals links is not at hand") }
    return sealer
  }

  package func transfer(for link: Link, identity: [UInt8], at now: Int64) throws -> Int64 {
    if let key = try transfer(withIdentity: identity) { return key }
    let sealer = try sealerAtHand()
    try statement(SQL.addTransfer).run(
      .blob(identity), .integer(try sealer.host(of: link)),
      .blob(try sealer.seal(link.coded, for: Self.place("request", identity))), .integer(now),
      .integer(try sealer.sender(of: link)))
    return connection.lastInsertedRow
  }

  package func transfer(of attachment: Int64) throws -> Int64? {
    try statement(SQL.transferOf).first(.integer(attachment)) { $0.integer(0) }
  }

  package func addLink(_ attachment: Int64, to transfer: Int64, _ item: IntakeItem) throws {
    try statement(SQL.addLink).run(.integer(attachment), .integer(transfer))
    prefetch.addLink(to: item.messageId, of: item.conversationId)
  }

  package func removeLink(_ attachment: Int64, _ row: AttachmentRow) throws {
    try statement(SQL.removeLink).run(.integer(attachment))
    prefetch.shrink(row.conversationId)
  }

  package func needs(of transfer: Int64) throws -> TransferNeeds {
    try statement(SQL.needsOfTransfer).first(.integer(transfer)) { row in
      TransferNeeds(
        links: row.integer(0), waiting: row.integer(1), working: row.integer(2),
        isLeased: row.integer(3) == 1, isExpired: row.integer(4) == 1)
    } ?? TransferNeeds(links: 0, waiting: 0, working: 0, isLeased: false, isExpired: false)
  }

  package func fetched(_ transfer: Int64) throws -> (isHere: Bool, fileName: String?) {
    try statement(SQL.isFetched).first(.integer(transfer)) { ($0.integer(0) == 1, $0.optionalText(1)) }
      ?? (false, nil)
  }

  package func reopenTransfer(_ key: Int64) throws { try statement(SQL.reopenTransfer).run(.integer(key)) }

  package func endTransfer(_ key: Int64, _ content: FetchedContent, at now: Int64) throws {
    try statement(SQL.endFetched).run(
      .integer(key), .integer(now), .integer(content.size), .blob(content.sha256),
      .optional(content.fileName), .optional(content.contentType))
  }

  package func endTransfer(_ key: Int64, _ reason: Reason, isRejected: Bool, at now: Int64) throws {
    try statement(SQL.endNotFetched).run(
      .integer(key), .integer(now), .text(reason.code), .text(reason.message), .integer(isRejected ? 1 : 0))
  }

  package func setProgress(_ key: Int64, _ state: TransferState) throws {
    var validators: [UInt8]?
    if let coded = state.coded {
      guard let sealer,
        let identity = try statement(SQL.identityOf).first(.integer(key), make: { $0.blob(0) })
      else { return }
      validators = try sealer.seal(coded, for: Self.place("validators", identity))
    }
    try statement(SQL.recordProgress).run(
      .integer(key), .integer(state.bytes), .optional(state.total), .optional(validators))
  }

  package func noteTransfer(_ key: Int64, _ reason: Reason, restarts: Int64) throws {
    try statement(SQL.noteTransfer).run(
      .integer(key), .text(reason.code), .text(reason.message), .integer(restarts))
  }

  package func removeTransfer(_ key: Int64) throws { try statement(SQL.removeTransfer).run(.integer(key)) }

  package func wakeWaiting(for transfer: Int64, name: String?, at time: Int64) throws -> [Int64] {
    if let name { try statement(SQL.nameWaiting).run(.integer(transfer), .text(name)) }
    try statement(SQL.wakeWaiting).run(.integer(transfer), .integer(time))
    return try keys(SQL.someAttachmentsOf, transfer)
  }

  package func highestWaiting(for transfer: Int64) throws -> Int64? {
    try statement(SQL.highestWaiting).first(.integer(transfer)) { $0.optionalInteger(0) } ?? nil
  }

  package func attachments(of transfer: Int64) throws -> [Int64] { try keys(SQL.attachmentsOf, transfer) }

  private func keys(_ sql: StaticString, _ transfer: Int64) throws -> [Int64] {
    var keys: [Int64] = []
    try statement(sql).rows(.integer(transfer)) { keys.append($0.integer(0)) }
    return keys
  }

  package func linkFact(ofAttachment key: Int64?) throws -> LinkFact? {
    guard let key, let sealer else { return nil }
    return try statement(SQL.linkFact).first(.integer(key)) { row in
      let identity = row.blob(2)
      // A damaged or foreign value refuses the command, and changes no row.
      let link = (try? sealer.open(row.blob(3), for: Self.place("request", identity))).flatMap {
        Link(coded: $0)
      }
      var state = TransferState(bytes: row.integer(4), total: row.optionalInteger(5))
      if !row.isNull(6), let bytes = try? sealer.open(row.blob(6), for: Self.place("validators", identity)) {
        state.takeValidators(coded: bytes)
      }
      return LinkFact(
        transfer: row.integer(0), isFetched: row.integer(1) == 1, link: link, state: state)
    }
  }

  package func setLink(_ transfer: Int64, _ link: Link, identity: [UInt8], _ state: TransferState) throws {
    let sealer = try sealerAtHand()
    let validators = try state.coded.map { try sealer.seal($0, for: Self.place("validators", identity)) }
    try statement(SQL.replaceLink).run(
      .integer(transfer), .blob(identity), .integer(try sealer.host(of: link)),
      .blob(try sealer.seal(link.coded, for: Self.place("request", identity))), .integer(state.bytes),
      .optional(state.total), .optional(validators))
    try statement(SQL.moveTurn).run(.integer(transfer), .integer(try sealer.host(of: link)))
  }

  package func moveLinks(of transfer: Int64, to other: Int64) throws {
    try statement(SQL.moveLinks).run(.integer(transfer), .integer(other))
  }

  package func nameSources(of transfer: Int64, _ name: [UInt8]) throws {
    try statement(SQL.nameSources).run(.integer(transfer), .blob(name))
  }

  /// The transfers that this coordinator, or all others, have in hand.
  func transfersInHand(ofOthers: Bool) throws -> [Int64] {
    var keys: [Int64] = []
    try statement(SQL.transfersInHand).rows(.integer(holder), .integer(ofOthers ? 0 : 1)) {
      keys.append($0.integer(0))
    }
    return keys
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
