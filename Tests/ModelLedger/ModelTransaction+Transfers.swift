import LedgerPort
import LedgerRules
import Pipeline
import Platform

extension ModelTransaction {
  var hasSealer: Bool { true }

  func identity(of link: Link) -> [UInt8]? {
    var link = link
    (link.declaredType, link.expiresAt) = (nil, nil)
    var values = HashedValues()
    values.add(String(describing: link))
    return hash.digest(of: values)
  }

  func transfer(withIdentity identity: [UInt8]) -> Int64? {
    rows.transfers.first { $0.value.identity == identity }?.key
  }

  mutating func transfer(for link: Link, identity: [UInt8], at now: Int64) -> Int64 {
    if let known = transfer(withIdentity: identity) { return known }
    let key = ModelRows.next(rows.transfers.keys)
    rows.transfers[key] = .init(
      identity: identity, link: link, host: (try? PlainSealer().host(of: link)) ?? 0,
      sender: (try? PlainSealer().sender(of: link)) ?? 0)
    return key
  }

  func transfer(of attachment: Int64) -> Int64? { rows.attachments[attachment]?.transfer }

  mutating func addLink(_ attachment: Int64, to transfer: Int64, _ item: IntakeItem) {
    rows.attachments[attachment]?.transfer = transfer
    rows.transfers[transfer]?.attachments.insert(attachment)
    if item.messageId != nil { shrunk.insert(item.conversationId) }
  }

  mutating func removeLink(_ attachment: Int64, _ row: AttachmentRow) {
    if let transfer = rows.attachments[attachment]?.transfer {
      rows.transfers[transfer]?.attachments.remove(attachment)
    }
    rows.attachments[attachment]?.transfer = nil
    shrunk.insert(row.conversationId)
  }

  func needs(of transfer: Int64) -> TransferNeeds {
    let keys = rows.attachments(of: transfer)
    let jobs = keys.compactMap { rows.jobs[JobKey(.attachment, $0)] }
    let waiting = jobs.count(where: \.isWaiting)
    return TransferNeeds(
      links: Int64(keys.count), waiting: Int64(waiting), working: Int64(jobs.count - waiting),
      isLeased: rows.jobs[JobKey(.transfer, transfer)]?.token != nil,
      isExpired: rows.transfers[transfer]?.isExpired ?? false)
  }

  func fetched(_ transfer: Int64) -> (isHere: Bool, fileName: String?) {
    let content = rows.transfers[transfer]?.fetched
    return (content != nil, content?.fileName)
  }

  mutating func reopenTransfer(_ key: Int64) {
    guard var transfer = rows.transfers[key], transfer.isFinished else { return }
    if transfer.fetched != nil { transfer.state.bytes = 0 }
    (transfer.isFinished, transfer.isRejected, transfer.restarts) = (false, false, 0)
    (transfer.fetched, transfer.reason) = (nil, nil)
    rows.transfers[key] = transfer
  }

  mutating func endTransfer(_ key: Int64, _ content: FetchedContent, at now: Int64) {
    rows.transfers[key]?.isFinished = true
    rows.transfers[key]?.fetched = content
    rows.transfers[key]?.state.bytes = content.size
    rows.transfers[key]?.state.total = content.size
    rows.transfers[key]?.reason = nil
  }

  mutating func endTransfer(_ key: Int64, _ reason: Reason, isRejected: Bool, at now: Int64) {
    rows.transfers[key]?.isFinished = true
    rows.transfers[key]?.reason = reason
    rows.transfers[key]?.isRejected = isRejected
  }

  mutating func setProgress(_ key: Int64, _ state: TransferState) { rows.transfers[key]?.state = state }

  mutating func noteTransfer(_ key: Int64, _ reason: Reason, restarts: Int64) {
    rows.transfers[key]?.reason = reason
    rows.transfers[key]?.restarts += Int(restarts)
  }

  mutating func removeTransfer(_ key: Int64) { rows.transfers[key] = nil }

  mutating func wakeWaiting(for transfer: Int64, name: String?, at time: Int64) -> [Int64] {
    let keys = rows.attachments(of: transfer)
    for key in keys where rows.jobs[JobKey(.attachment, key)]?.isWaiting == true {
      if let name { nameUnnamed(key, name) }
      rows.jobs[JobKey(.attachment, key)]?.isWaiting = false
    }
    return Array(keys.prefix(1000))
  }

  func highestWaiting(for transfer: Int64) -> Int64? {
    rows.attachments(of: transfer).compactMap { rows.jobs[JobKey(.attachment, $0)] }.filter(\.isWaiting)
      .map(\.priority).max()
  }

  func attachments(of transfer: Int64) -> [Int64] { rows.attachments(of: transfer) }

  func linkFact(ofAttachment key: Int64?) -> LinkFact? {
    guard let key, let own = rows.attachments[key]?.transfer, let transfer = rows.transfers[own] else {
      return nil
    }
    return LinkFact(
      transfer: own, isFetched: transfer.fetched != nil, link: transfer.link, state: transfer.state)
  }

  mutating func setLink(_ transfer: Int64, _ link: Link, identity: [UInt8], _ state: TransferState) {
    rows.transfers[transfer]?.identity = identity
    rows.transfers[transfer]?.host = (try? PlainSealer().host(of: link)) ?? 0
    rows.transfers[transfer]?.link = link
    rows.transfers[transfer]?.state = state
  }

  mutating func moveLinks(of transfer: Int64, to other: Int64) {
    let keys = rows.attachments(of: transfer)
    for key in keys { rows.attachments[key]?.transfer = other }
    rows.transfers[transfer]?.attachments = []
    rows.transfers[other]?.attachments.formUnion(keys)
  }

  mutating func nameSources(of transfer: Int64, _ name: [UInt8]) {
    for key in rows.attachments(of: transfer) { setSource(key, name, modified: nil) }
  }
}
