import LedgerPort
import LedgerRules
import Pipeline
import Platform
import SQLite

// Attachments that were taken out of others, and those that wait for them.
extension SQLiteLedger {
  private enum Text {
    static let addChild = SQLText(insertInto: "attachments", IntakeItem.columns + ["parent"])
    static let addUpload: StaticString =
      "INSERT INTO uploads VALUES (?1, ?2, 'service', ?3, '', NULL, ?4, ?4, ?5)"
    static let parent: StaticString = "SELECT parent FROM attachments WHERE key = ?1"
    static let adopt: StaticString = "UPDATE attachments SET parent = ?2 WHERE parent = ?1"
    static let queuedChildren: StaticString =
      "SELECT count(*) FROM attachments WHERE parent = ?1 AND status = 'queued'"
    static let remove: StaticString = "DELETE FROM expansions WHERE attachment_key = ?1"
    static let size: StaticString = "SELECT coalesce(source_size, 0) FROM attachments WHERE key = ?1"
    static let totals: StaticString =
      "SELECT contents, bytes, microseconds FROM expansions WHERE attachment_key = ?1"
    static let add: StaticString = """
      INSERT INTO expansions (attachment_key, contents, bytes, open, waits) VALUES (?1, ?2, ?3, 0, 0)
      ON CONFLICT DO UPDATE SET contents = contents + ?2, bytes = bytes + ?3
      """
    /// How many children an attachment has, and their bytes.
    static let own: StaticString =
      "SELECT count(*), coalesce(sum(source_size), 0) FROM attachments WHERE parent = ?1"
    static let addTime: StaticString = """
      UPDATE expansions SET microseconds = min(microseconds + ?2, 1125899906842624) WHERE attachment_key = ?1
      """
    static let resetTime: StaticString = "UPDATE expansions SET microseconds = 0 WHERE attachment_key = ?1"
    static let uncount: StaticString = """
      UPDATE expansions SET contents = max(contents - ?2, 0), bytes = max(bytes - ?3, 0) WHERE attachment_key = ?1
      """
    static let wait: StaticString = """
      UPDATE expansions SET open = ?2, waits = 1, media_type = ?3, size_bytes = ?4, sha256 = ?5, metadata = ?6, said = ?7
      WHERE attachment_key = ?1
      """
    static let conclude: StaticString = """
      UPDATE expansions SET open = 0, waits = 0, media_type = NULL, size_bytes = NULL, sha256 = NULL, metadata = '{}', said = '[]'
      WHERE attachment_key = ?1
      """
    static let waiting: StaticString = """
      SELECT media_type, size_bytes, sha256, metadata, said FROM expansions WHERE attachment_key = ?1 AND waits = 1
      """
    static let children: StaticString = """
      SELECT status, count(*) FROM attachments WHERE parent = ?1 GROUP BY status
      """
    static let count: StaticString = """
      UPDATE expansions SET open = open + ?2 WHERE attachment_key = ?1 AND waits = 1 AND open + ?2 >= 0 RETURNING open
      """
    static let isLeased: StaticString =
      "SELECT 1 FROM jobs WHERE kind = ?1 AND subject = ?2 AND holder = ?3 AND token = ?4"
    static let waitJob: StaticString = """
      UPDATE jobs SET state = CASE WHEN cancelled IS NULL THEN 'expanded' ELSE 'due' END, holder = NULL, token = NULL, uncounted = uncounted + 1
      WHERE kind = ?1 AND subject = ?2 AND holder = ?3 AND token = ?4
      """
    static let hasUnfinished: StaticString = """
      WITH RECURSIVE tree (key, status) AS (
        SELECT key, status FROM attachments WHERE parent = ?1
        UNION SELECT attachments.key, attachments.status FROM attachments JOIN tree ON parent = tree.key
      ) SELECT 1 FROM tree WHERE status NOT IN ('queued', 'completed') LIMIT 1
      """
    static let contents: StaticString = """
      WITH RECURSIVE tree (key, id) AS (
        SELECT key, id FROM attachments WHERE parent = ?1
        UNION SELECT attachments.key, attachments.id FROM attachments JOIN tree ON parent = tree.key
      ) SELECT id FROM tree
      """
    static let hasOpen: StaticString =
      "SELECT 1 FROM expansions WHERE attachment_key = ?1 AND waits = 1 AND open > 0"
    static let waitAgain: StaticString = """
      UPDATE jobs SET state = 'expanded' WHERE kind = 'attachment' AND subject = ?1
        AND EXISTS (SELECT 1 FROM expansions WHERE attachment_key = ?1 AND waits = 1 AND open > 0)
      """
    static let wakeJob: StaticString =
      "UPDATE jobs SET state = 'due' WHERE kind = 'attachment' AND subject = ?1 AND state = 'expanded'"
  }

  /// Levels of a tree that are looked at, at most: a ledger that another program has written may have a ring.
  static let mostLevels: Int64 = 100

  func parent(of key: Int64) throws -> Int64? {
    try statement(Text.parent).first(.integer(key)) { $0.optionalInteger(0) } ?? nil
  }

  /// Where an attachment stands in its tree, and which its root is.
  private func place(of key: Int64) throws -> (place: TreePlace, root: Int64) {
    var place = TreePlace()
    var root = key
    while place.depth < Self.mostLevels, let parent = try parent(of: root) {
      root = parent
      place.depth += 1
    }
    let totals = try statement(Text.totals).first(.integer(root)) {
      ($0.integer(0), $0.integer(1), $0.integer(2))
    }
    if let totals { (place.contents, place.bytes, place.microseconds) = totals }
    return (place, root)
  }

  /// What a claim has to know beside the row: where it stands in a tree, and what was said of it before it waited for its children.
  func addExpansion(to attachment: inout LeasedAttachment) throws {
    guard hasExpansions else { return }
    (attachment.place, attachment.root) = try place(of: attachment.key)
    attachment.concluded = try concluded(attachment)
    if attachment.concluded != nil { return }
    // Its children come out of it again, and have room for that.
    let own = try statement(Text.own).first(.integer(attachment.key)) { ($0.integer(0), $0.integer(1)) }
    guard let own else { return }
    attachment.place.contents = max(attachment.place.contents - own.0, 0)
    attachment.place.bytes = max(attachment.place.bytes - own.1, 0)
  }

  private func concluded(_ attachment: LeasedAttachment) throws -> ConcludedExpansion? {
    let key = Statement.Value.integer(attachment.key)
    let isWaiting = try statement(Text.waiting).first(key) { _ in true } ?? false
    if !isWaiting { return nil }
    let (derived, children) = (try derived(of: attachment.key), try children(of: attachment.key))
    return try statement(Text.waiting).first(key) { row in
      ConcludedExpansion(
        mediaType: row.optionalText(0), sizeBytes: row.optionalInteger(1),
        sha256: row.isNull(2) ? nil : Hexadecimal.text(row.blob(2)),
        metadata: Metadatum.read(row.text(3)) ?? [],
        url: attachment.source.keptObject, derived: derived, steps: Step.read(said: row.text(4)) ?? [],
        children: children)
    }
  }

  private func queuedChildren(of key: Int64) throws -> Int64 {
    try statement(Text.queuedChildren).first(.integer(key)) { $0.integer(0) } ?? 0
  }

  private func children(of key: Int64) throws -> [Status: Int64] {
    var children: [Status: Int64] = [:]
    try statement(Text.children).rows(.integer(key)) { row in
      if let status = Status(rawValue: row.text(0)) { children[status] = row.integer(1) }
    }
    return children
  }

  // MARK: Taking in

  /// Why an attachment cannot have its children; `nil`: it can.
  func problem(with attachment: EndedAttachment, _ settlement: Settlement) throws -> SettlementOutcome? {
    let isLeased = try statement(Text.isLeased).first(fence(settlement)) { _ in true }
    if isLeased != true { return .leaseLost }
    let children = try newChildren(of: attachment)
    let wanted = ChildRoom(contents: Int64(children.count), bytes: children.reduce(0) { $0 + $1.sizeBytes })
    let place = hasExpansions ? try place(of: attachment.key).place : TreePlace()
    return attachment.limits.problem(with: wanted, at: place).map {
      .tooManyChildren(code: $0.code, message: $0.message)
    }
  }

  /// The children without a record. A tree counts the other children already, or a person has deleted them.
  private func newChildren(of attachment: EndedAttachment) throws -> [NewChild] {
    guard hasExpansions, try hasTotals(attachment.key) else { return attachment.children }
    let identities = NewChild.identities(of: attachment.children, parent: attachment.origin, hash)
    return try zip(attachment.children, identities).compactMap { child, identity in
      let isKnown = try statement(SQL.knownAttachment).first(.blob(identity)) { _ in true } ?? false
      return try isKnown || deleted(identity) != nil ? nil : child
    }
  }

  private func hasTotals(_ key: Int64) throws -> Bool {
    try statement(Text.totals).first(.integer(key)) { _ in true } ?? false
  }

  /// Takes in what was taken out of an attachment.
  func addChildren(of attachment: EndedAttachment, _ tally: inout ExchangeTally) throws {
    if attachment.children.isEmpty { return }
    let root = hasExpansions ? try place(of: attachment.key).root : attachment.key
    hasExpansions = true
    var (added, bytes): (Int64, Int64) = (0, 0)
    let identities = NewChild.identities(of: attachment.children, parent: attachment.origin, hash)
    for (child, identity) in zip(attachment.children, identities) {
      let known = try statement(SQL.knownAttachment).first(.blob(identity)) {
        ($0.text(0), $0.text(1), $0.integer(2))
      }
      if let (id, status, key) = known {
        // It came out of it before.
        let lacksContent = try lacksContent(key)
        if lacksContent {
          try give(child, to: key, id, status, &tally)
        } else {
          tally.uploadsToDelete.append(child.uploadId)
        }
      } else if try deleted(identity) != nil {
        tally.uploadsToDelete.append(child.uploadId)
      } else {
        try add(child, identity, of: attachment, &tally)
        (added, bytes) = (added + 1, bytes + child.sizeBytes)
      }
    }
    try statement(SQL.addToCount).run(.text(Status.queued.rawValue), .integer(added), .integer(0))
    for key in Set([attachment.key, root]).sorted() {
      try statement(Text.add).run(.integer(key), .integer(added), .integer(bytes))
    }
    tally.touch(.attachments)
  }

  private func add(
    _ child: NewChild, _ identity: [UInt8], of parent: EndedAttachment, _ tally: inout ExchangeTally
  ) throws {
    let origin = parent.origin
    let id = ids.next()
    var item = IntakeItem(
      conversationId: origin.conversationId, messageId: origin.messageId, fileName: child.fileName,
      declaredType: child.declaredType, source: child.source, sourceSize: child.sizeBytes,
      sourceModified: child.modified)
    item.traceparent = origin.traceparent
    try statement(Text.addChild).run(
      item.values(id: id, identity: identity, messageId: origin.messageId, at: tally.now) + [
        .integer(parent.key)
      ])
    let key = connection.lastInsertedRow
    try statement(SQL.addAttachmentJob).run(
      .integer(key), .integer(try laneKey(.attachments)), .integer(parent.priority), .integer(tally.time),
      .integer(try turn(of: origin.senderId)))
    try addUpload(child, id, sender: origin.senderId, tally.now)
    tally.changed.add(.attachment, key)
  }

  func addUpload(_ child: NewChild, _ id: String, sender: String, _ now: Int64) throws {
    try statement(Text.addUpload).run(
      .text(child.uploadId), .text(sender), .integer(child.sizeBytes), .integer(now), .text(id))
  }

  // MARK: Waiting

  /// Lets an attachment wait for its children.
  func settleExpanded(_ settlement: Settlement, _ attachment: EndedAttachment, _ tally: inout ExchangeTally)
    throws
    -> SettlementOutcome
  {
    if try !canTakeNames(ofDerived: attachment) {
      return try change(SQL.releaseJob, settlement) ? .conflict : .leaseLost
    }
    let outcome = attachment.outcome
    if let url = outcome.url, let sha256 = outcome.sha256, url != attachment.keptObject {
      try statement(SQL.takeName).run(.text(url), .blob(sha256))
      if connection.changes == 0 {
        let isOther = try statement(SQL.isInUse).first(.text(url), make: { $0.integer(0) == 1 }) ?? false
        guard try change(SQL.releaseJob, settlement) else { return .leaseLost }
        return isOther ? .pathTaken : .conflict
      }
    }
    guard try change(Text.waitJob, settlement) else {
      if let url = outcome.url, url != attachment.keptObject { try leaveName(url) }
      return .leaseLost
    }
    if let url = outcome.url, url != attachment.keptObject {
      try statement(SQL.keepObject).run(.integer(attachment.key), .text(url))
      if let replaced = attachment.keptObject { try giveUpName(replaced, &tally) }
    }
    hasExpansions = true
    try replaceDerived(attachment, &tally)
    try statement(Text.add).run(.integer(attachment.key), .integer(0), .integer(0))
    try addChildren(of: attachment, &tally)
    // Also those that came out of it before its stages were changed: as these end, they are taken off.
    let open = try queuedChildren(of: attachment.key)
    try statement(Text.wait).run(
      .integer(attachment.key), .integer(open), .optional(outcome.mediaType), .optional(outcome.sizeBytes),
      .optional(outcome.sha256), .text(outcome.metadata), .text(Step.said(attachment.steps)))
    if open == 0 { try statement(Text.wakeJob).run(.integer(attachment.key)) }
    if let transfer = attachment.transfer { try leave(transfer, &tally) }
    tally.changed.add(.attachment, attachment.key)
    return .counted
  }

  /// An attachment has ended, or is gone, or (`change` is 1) is worked on again: what waits for it may go on.
  ///
  /// - Parameter parent: of one that is gone.
  func tellParent(of key: Int64, parent known: Int64? = nil, change: Int64, _ tally: inout ExchangeTally)
    throws
  {
    guard hasExpansions, let parent = try known ?? parent(of: key) else { return }
    let open = try statement(Text.count).first(.integer(parent), .integer(change)) { $0.integer(0) }
    guard open == 0 else { return }
    try statement(Text.wakeJob).run(.integer(parent))
    tally.touch(.attachments)
  }

  /// It waits for its children, or they have ended and it has not.
  func isExpanded(_ key: Int64) throws -> Bool {
    try statement(Text.waiting).first(.integer(key)) { _ in true } ?? false
  }

  /// Whether contents at any level below an attachment have ended without being completed.
  func hasUnfinishedContents(_ key: Int64) throws -> Bool {
    try hasExpansions && statement(Text.hasUnfinished).first(.integer(key)) { _ in true } ?? false
  }

  /// The ids of the contents at all levels below an attachment, in no order.
  func contents(of key: Int64) throws -> [String] {
    guard hasExpansions else { return [] }
    var ids: [String] = []
    try statement(Text.contents).rows(.integer(key)) { ids.append($0.text(0)) }
    return ids
  }

  func hasOpenChildren(_ key: Int64) throws -> Bool {
    try statement(Text.hasOpen).first(.integer(key)) { _ in true } ?? false
  }

  /// A person took it back while it waited for its children, and then wanted it after all, or wants one of these again: it waits again.
  /// False: it waits for none.
  func waitForChildren(_ key: Int64) throws -> Bool {
    guard hasExpansions else { return false }
    try statement(Text.waitAgain).run(.integer(key))
    return connection.changes == 1
  }

  /// One that waits for its children is worked on from its beginning.
  func beginAgain(_ key: Int64, _ tally: inout ExchangeTally) throws {
    try giveUpDerived(of: key, &tally)
    try forgetExpansion(of: key)
    try statement(Text.wakeJob).run(.integer(key))
    tally.changed.add(.attachment, key)
  }

  /// What fetches the link of one out of which others were taken; `nil`: it is none, or has no link.
  func transfer(ofExpanded key: Int64) throws -> Int64? {
    try hasExpansions && hasTotals(key) ? transfer(of: key) : nil
  }

  /// It no longer waits: it ends.
  func conclude(_ key: Int64) throws {
    if hasExpansions { try statement(Text.conclude).run(.integer(key)) }
  }

  /// An attachment is worked on again from its beginning. Its children stay, and count.
  func forgetExpansion(of key: Int64) throws {
    guard hasExpansions else { return }
    try conclude(key)
    try statement(Text.resetTime).run(.integer(key))
  }

  /// Stages have worked on an attachment: that counts in the time of its tree, unless it is the root.
  func addTime(of steps: [Step], _ key: Int64) throws {
    guard hasExpansions else { return }
    let root = try place(of: key).root
    if root == key { return }
    try statement(Text.addTime).run(.integer(root), .integer(TreePlace.time(of: steps)))
  }

  /// An attachment leaves its tree. Its parent adopts its children.
  func leaveTree(_ key: Int64, _ status: String, _ tally: inout ExchangeTally) throws {
    guard hasExpansions else { return }
    let parent = try parent(of: key)
    let queued = try queuedChildren(of: key)
    try statement(Text.adopt).run(.integer(key), .optional(parent))
    try statement(Text.remove).run(.integer(key))
    guard let parent else { return }
    let size = try statement(Text.size).first(.integer(key)) { $0.integer(0) } ?? 0
    for place in Set([parent, try place(of: parent).root]).sorted() {
      try statement(Text.uncount).run(.integer(place), .integer(1), .integer(size))
    }
    if queued > 0 { try tellParent(of: key, parent: parent, change: queued, &tally) }
    if status == Status.queued.rawValue { try tellParent(of: key, parent: parent, change: -1, &tally) }
  }
}
