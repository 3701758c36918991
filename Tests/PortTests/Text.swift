import LedgerPort
import Pipeline

/// A reply in words, without what engines number for themselves.
func text(_ reply: ExchangeReply, withTokens: Bool = false) -> String {
  var reply = reply
  if !withTokens {
    for index in reply.leases.indices {
      (reply.leases[index].job, reply.leases[index].token) = (
        JobKey(.attachment, 0), Token(holder: 0, number: 0)
      )
    }
    reply.position?.history = 0
  }
  // In which order lanes were met means nothing.
  reply.lanes.sort { $0.name.description < $1.name.description }
  return String(describing: reply)
}

/// All that a ledger answers, in lines, without what engines number for themselves.
func everything(_ ledger: some LedgerQueries, pageLimit: Int = 7) throws -> [String] {
  try ledger.snapshot {
    var status = try ledger.status()
    status.attachments.sort { $0.status.rawValue < $1.status.rawValue }
    var lines = [
      "\(status)", "position \(try ledger.position().number)", "objects \(try ledger.hasObjects())",
      "tokens \(try ledger.tokens())",
      "users \(try pages(pageLimit) { try ledger.users(after: $0, limit: pageLimit) })",
      "sessions \(try ["ann", "ben"].map { try ledger.sessions(of: $0) })",
      "open uploads \(try ledger.openUploads(of: UploadOwner("ann", .user), at: 0))",
      "of all \(try ledger.openUploads(of: nil, at: 0))",
      "of all \(try pages(pageLimit) { try ledger.openUploads(of: nil, at: 0, after: $0, limit: pageLimit) })",
      "uploads \(try pages(pageLimit) { try ledger.uploads(after: $0, limit: pageLimit) })",
    ]
    try ledger.attachments { record in
      lines.append("\(record), parent \(record.origin.parentId ?? "none")")
      lines.append("children \(try ledger.childCount(of: record.key))")
      lines += try pages(pageLimit) { try ledger.children(of: record.key, after: $0, limit: pageLimit) }
        .map { "of \(record.key): \($0)" }
      lines += try ledger.attempts(of: record.key).map { "\(record.key) \($0)" }
      lines += try ledger.deliveries(of: record.key).map { "\(record.key) \($0)" }
      lines.append("\(try ledger.place(of: record.key).map { "\($0)" } ?? "nowhere")")
      lines.append("\(try ledger.participants(of: record.key))")
      let (message, conversation) = (record.origin.messageId, record.origin.conversationId)
      lines.append("\(try ledger.message(message, of: conversation).map { "\($0)" } ?? "no message")")
      lines.append("\(try record.outcome.sha256.map { try ledger.paths(ofContent: $0) } ?? [])")
      lines.append("\(try ledger.path(ofCompleted: record.origin.id) ?? "none")")
      lines.append("\(try ledger.object(ofAttachment: record.origin.id).map { "\($0)" } ?? "none")")
      return true
    }
    for status in Status.allCases {
      let keys = try pages(pageLimit) {
        try ledger.attachments(AttachmentFilter(statuses: [status]), after: $0, limit: pageLimit)
      }
      lines.append("\(status) \(keys.map(\.key))")
    }
    let matches = try pages(pageLimit) { try ledger.matches(AttachmentFilter(), after: $0, limit: pageLimit) }
    lines += matches.map { "\($0)" }
    let records = try pages(pageLimit) { try ledger.records(AttachmentFilter(), after: $0, limit: pageLimit) }
    lines += records.map { "\($0)" }
    for record in records {
      if let transfer = try ledger.transfer(ofAttachment: record.key) {
        lines.append("of \(record.key): \(transfer)")
      }
    }
    let metadata = try pages(pageLimit) {
      try ledger.metadata(AttachmentFilter(), after: $0, limit: pageLimit)
    }
    lines += metadata
    let deliveries = try pages(pageLimit) {
      try ledger.deliveries(DeliveryFilter(), after: $0, limit: pageLimit)
    }
    lines += deliveries.map { "\($0)" }
    for transfer in try pages(pageLimit, { try ledger.transfers(after: $0, limit: pageLimit) }) {
      lines.append("\(transfer)")
      lines.append("\(try ledger.transfer(transfer.key).map { "\($0)" } ?? "gone")")
      lines.append("shared by \(try ledger.sharers(ofTransfer: transfer.key, limit: 2))")
    }
    lines.append("\(try ledger.transfer(0).map { "\($0)" } ?? "none")")
    lines.append("files of \(try ledger.transfersWithFiles().sorted())")
    lines.append("tombstones \(try ledger.tombstoneCount()) \(try ledger.tombstones(idPrefix: ""))")
    lines.append("to delete \(try ledger.objectsToDelete(limit: 1000))")
    let objects = try pages(pageLimit) { try ledger.objects(after: $0, limit: pageLimit) }
    for object in objects {
      lines.append("\(object)")
      lines.append("named \(try ledger.hasName(object.url))")
      lines.append("there \(try ledger.hasObject(at: object.url, sha256: object.sha256))")
    }
    for object in try pages(pageLimit, { try ledger.derivedObjects(after: $0, limit: pageLimit) }) {
      lines.append("derived \(object)")
      lines.append("there \(try ledger.hasObject(at: object.url, sha256: object.sha256))")
      let same = try ledger.object(object.derived ?? "", besideAttachment: object.id)
      lines.append("again \(same.map { "\($0)" } ?? "none")")
      lines.append("\(try ledger.paths(ofContent: object.sha256))")
    }
    lines += try talk(ledger, pageLimit)
    return lines + (try changes(ledger, pageLimit))
  }
}

/// What people have written, as each of them sees it.
private func talk(_ ledger: some LedgerQueries, _ limit: Int) throws -> [String] {
  var lines: [String] = []
  let last = try ledger.position().number
  for user in [nil, "ann", "ben", "cat", "nobody"] as [String?] {
    let views = try pages(limit) { try ledger.conversations(of: user, after: $0, limit: limit) }
    for view in views {
      lines.append("\(user ?? "all"): \(view)")
      let own = view.members.first { $0.user == user }
      var before: Int64?
      while true {
        let page = try ledger.messages(in: view.conversation, seenBy: own, before: before, limit: limit)
        lines += page.map { "\($0)" }
        guard let next = page.last?.number else { break }
        before = next
      }
      let ids = try ledger.messages(in: view.conversation, seenBy: own, before: nil, limit: 3).map(\.id)
      let attachments = try ledger.attachments(ofMessages: ids, in: view.conversation.id, seenBy: own)
      lines += attachments.sorted { $0.key < $1.key }.map { "\($0)" }
    }
    for typed in ["text", "te", "pdf in:c", "from:ann file", "has:pdf", "found in 2", "x before:2h"] {
      let query = try SearchQuery(typed, now: 10_000_000)
      let hits = try pages(limit) { try ledger.search(query, for: user, after: $0, limit: limit) }
      lines.append("\(user ?? "all") finds '\(typed)' in \(hits.map { "\($0.conversationId) \($0.number)" })")
    }
    var place: Int64 = 0
    while place < last {
      let (changes, upTo) = try ledger.changes(of: user, after: place, upTo: last, limit: limit)
      lines.append("\(user ?? "all") from \(place) to \(upTo): \(changes)")
      place = upTo
    }
  }
  return lines
}

/// The rows of all pages.
private func pages<Row>(_ limit: Int, _ read: (PageMark?) throws -> Page<Row>) throws -> [Row] {
  var rows: [Row] = []
  var mark: PageMark?
  repeat {
    let page = try read(mark)
    rows += page.rows
    mark = page.next
  } while mark != nil
  return rows
}

/// What a reader sees that follows the changes from their begin.
private func changes(_ ledger: some LedgerQueries, _ limit: Int) throws -> [String] {
  var lines: [String] = []
  var place = Position(history: try ledger.position().history, number: 0)
  while let page = try ledger.changes(since: place, limit: limit) {
    lines.append("changes to \(page.next.number), more \(page.hasMore): \(page.changes)")
    if !page.hasMore { return lines }
    place = page.next
  }
  return lines + ["the changes from \(place.number) are gone"]
}
