import LedgerPort
import ModelLedger
import Pipeline

/// Checks the rows of a ledger after an exchange against the invariants that no rule may break.
struct Oracle {
  private(set) var faults: [String] = []
  private(set) var before = RowImage()

  mutating func expect(_ isRight: Bool, _ fault: @autoclosure () -> String) {
    if !isRight && faults.count < 5 { faults.append(fault()) }
  }

  mutating func judge(_ rows: RowImage) {
    counts(rows)
    jobs(rows)
    names(rows)
    trees(rows)
    transfers(rows)
    conversations(rows)
    before = rows
  }

  /// The counts equal a recount.
  private mutating func counts(_ rows: RowImage) {
    var counted: [Status: (attachments: Int64, bytes: Int64)] = [:]
    for (key, attachment) in rows.attachments {
      expect(attachment.hasMessage, "the message of attachment \(key) is not there")
    }
    for attachment in rows.attachments.values {
      counted[attachment.status, default: (0, 0)].attachments += 1
      let size = attachment.status == .queued ? 0 : min(max(attachment.size, 0), 1 << 50)
      counted[attachment.status, default: (0, 0)].bytes += size
    }
    for status in Status.allCases {
      let (now, right) = (rows.counts[status] ?? (0, 0), counted[status] ?? (0, 0))
      expect(now == right, "\(now) are counted as \(status), and \(right) are there")
    }
  }

  /// Each queued attachment and each pending delivery has a job, and no ended one does.
  private mutating func jobs(_ rows: RowImage) {
    for (key, attachment) in rows.attachments {
      expect(
        (attachment.status == .queued) == (rows.jobs[JobKey(.attachment, key)] != nil),
        "attachment \(key) is \(attachment.status), and its job is there or not")
    }
    for (key, isPending) in rows.deliveries {
      expect(
        isPending == (rows.jobs[JobKey(.delivery, key)] != nil),
        "delivery \(key) is pending: \(isPending), and its job is there or not")
    }
    for (key, job) in rows.jobs {
      let isThere =
        switch key.kind {
        case .attachment: rows.attachments[key.subject] != nil
        case .delivery: rows.deliveries[key.subject] != nil
        case .transfer: rows.transfers[key.subject] != nil
        }
      expect(isThere, "the job of \(key) is for nothing")
      expect((job.state == "leased") == (job.holder != nil), "\(key) is \(job.state), and held or not")
      if let holder = job.holder {
        expect(
          job.number ?? .max <= rows.holders[holder] ?? -1,
          "\(key) is leased to \(holder), which is not there")
      }
      expect((0...job.attempts).contains(job.uncounted), "\(key): \(job.uncounted) of \(job.attempts)")
      if let earlier = before.jobs[key], earlier.holder != nil, job.holder == nil {
        expect(job.attempts == earlier.attempts, "\(key): an attempt is forgotten")
      }
    }
  }

  /// Each use of a path is counted, and belongs to one content.
  private mutating func names(_ rows: RowImage) {
    var uses: [String: Int64] = [:]
    for (key, attachment) in rows.attachments {
      for path in [attachment.url, attachment.kept] { if let path { uses[path, default: 0] += 1 } }
      if let url = attachment.url {
        expect(
          rows.names[url]?.sha256 == attachment.sha256, "attachment \(key) has the path of another content")
      }
    }
    for path in rows.derived { uses[path, default: 0] += 1 }
    for path in Set(uses.keys).union(rows.names.keys).sorted() {
      let counted = rows.names[path]?.uses
      expect(counted ?? 0 == uses[path] ?? 0, "\(path): \(counted ?? 0) uses count of \(uses[path] ?? 0)")
    }
    // Only the deletion in the store frees a path without uses.
    for (path, name) in rows.names where before.names[path]?.uses == 0 {
      expect(name.uses == 0, "\(path) was to be deleted, and is taken")
    }
  }

  /// A waiting attachment counts its queued children, and ends after them.
  private mutating func trees(_ rows: RowImage) {
    var children: [Int64: [Int64]] = [:]
    for (key, attachment) in rows.attachments {
      guard let parent = attachment.parent else { continue }
      expect(rows.attachments[parent] != nil, "the parent of attachment \(key) is not there")
      children[parent, default: []].append(key)
    }
    func queued(_ key: Int64) -> Int64 {
      Int64((children[key] ?? []).count { rows.attachments[$0]?.status == .queued })
    }
    func below(_ key: Int64) -> Int64 { (children[key] ?? []).reduce(0) { $0 + 1 + below($1) } }
    for (key, attachment) in rows.attachments {
      let (job, row) = (rows.jobs[JobKey(.attachment, key)], rows.expansions[key])
      let isOpen = row.map { $0.isWaiting && $0.open > 0 } ?? false
      if job?.state == "expanded" { expect(isOpen, "attachment \(key) waits for no child") }
      if let row, row.isWaiting {
        expect(attachment.status == .queued, "attachment \(key) has ended, and waits")
        expect(
          row.open == queued(key), "attachment \(key) waits for \(row.open), and \(queued(key)) are queued")
      }
      // The key of one that was deleted may be another's now.
      if let earlier = before.expansions[key], earlier.isWaiting, before.attachments[key]?.status == .queued,
        before.attachments[key]?.id == attachment.id,
        [.completed, .rejected, .failed, .quarantined].contains(attachment.status)
      {
        expect(queued(key) == 0, "attachment \(key) has ended before its children")
      }
      guard attachment.parent == nil else { continue }
      if children[key] != nil && rows.tombstones == 0 {
        expect(row?.contents == below(key), "tree \(key) counts \(row?.contents ?? 0) of \(below(key))")
      }
      if let row { expect(row.contents <= below(key), "tree \(key) counts \(row.contents) of \(below(key))") }
    }
  }

  /// Each waiting attachment has a queued transfer, and each queued transfer has a waiting attachment.
  private mutating func transfers(_ rows: RowImage) {
    var linked: [Int64: [RowImage.Job?]] = [:]
    for (key, attachment) in rows.attachments {
      let job = rows.jobs[JobKey(.attachment, key)]
      if let transfer = attachment.transfer {
        expect(rows.transfers[transfer] != nil, "the transfer of attachment \(key) is not there")
        linked[transfer, default: []].append(job)
        guard job?.state == "waiting" else { continue }
        expect(
          rows.jobs[JobKey(.transfer, transfer)] != nil, "attachment \(key) waits for what is not fetched")
      } else {
        expect(job?.state != "waiting", "attachment \(key) waits for no transfer")
      }
    }
    for (key, transfer) in rows.transfers {
      let job = rows.jobs[JobKey(.transfer, key)]
      expect(!transfer.isFetched || transfer.hasEnded, "transfer \(key) is here, and has not ended")
      guard let job else { continue }
      expect(!transfer.hasEnded, "transfer \(key) has ended, and is fetched again")
      if job.state == "leased" { continue }
      let waiting = (linked[key] ?? []).compactMap(\.self).filter { $0.state == "waiting" }
      expect(!waiting.isEmpty, "transfer \(key) is fetched for nobody")
      let highest = waiting.map(\.priority).max() ?? 0
      if job.priority < highest { expect(false, "transfer \(key) is less urgent than what waits for it") }
    }
  }
}
