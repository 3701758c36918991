import LedgerPort
import Pipeline

// Settlements of leases. A settlement counts only while its lease holds.
extension LedgerRows {
  package mutating func settle(_ settlements: [Settlement], _ tally: inout ExchangeTally) throws(Failure)
    -> [SettlementOutcome]
  {
    var outcomes: [SettlementOutcome] = []
    outcomes.reserveCapacity(settlements.count)
    for settlement in settlements { outcomes.append(try settle(settlement, &tally)) }
    for (status, attachments, bytes) in tally.takeEnded() {
      try count(status, attachments, bytes: bytes)
      try count(.queued, -attachments, bytes: 0)
    }
    return outcomes
  }

  private mutating func settle(_ settlement: Settlement, _ tally: inout ExchangeTally) throws(Failure)
    -> SettlementOutcome
  {
    switch settlement.ending {
    case .attachment(let ended): return try settle(settlement, try current(ended), &tally)
    case .expanded(let ended): return try settle(settlement, expanded: try current(ended), &tally)
    case .again(let key, let after, let crashed, let attempt, let steps):
      guard try tryAgain(settlement, after, tally, crashes: crashed ? 1 : 0) else { return .leaseLost }
      try record(steps, attempt, of: key, tally)
    case .putOff(let key, let after, let attempt, let steps):
      guard try tryAgain(settlement, after, tally, uncounted: 1) else { return .leaseLost }
      try record(steps, attempt, of: key, tally)
    case .released:
      guard try giveBack(settlement) else { return .leaseLost }
      if settlement.job.kind == .transfer { try leave(transfer: settlement.job.subject, &tally) }
    case .delivered(let key):
      guard try endJob(settlement.job, settlement.token) else { return .leaseLost }
      try endDelivery(key, .delivered, nil, at: tally.now)
      tally.changed.add(delivery: key)
    case .deliveryAgain(let key, let after, let reason):
      guard try tryAgain(settlement, after, tally) else { return .leaseLost }
      try noteDelivery(key, reason)
    case .deadLetter(let key, let reason):
      guard try endJob(settlement.job, settlement.token) else { return .leaseLost }
      try endDelivery(key, .dead, reason, at: tally.now)
      tally.changed.add(delivery: key)
    case .fetched, .transferAgain, .transferRestarts, .notFetched, .fetchAgain:
      return try settle(settlement, transfer: settlement.ending, &tally)
    }
    return .counted
  }

  /// An ended attachment with the message that it belongs to now: it may have moved since its lease.
  private func current(_ ended: EndedAttachment) throws(Failure) -> EndedAttachment {
    guard hasConversations || !ended.children.isEmpty, let row = try attachment(ended.key),
      !Self.isSame(row.messageId, ended.origin.messageId)
        || !Self.isSame(row.conversationId, ended.origin.conversationId)
    else { return ended }
    var ended = ended
    ended.origin = ended.origin.replacing(conversationId: row.conversationId, messageId: row.messageId)
    return ended
  }

  // MARK: Leases

  /// The job of a settlement; `nil`: its lease was lost.
  func held(_ settlement: Settlement) throws(Failure) -> JobRow? {
    guard let job = try job(settlement.job), job.state == .leased(settlement.token) else { return nil }
    return job
  }

  /// A job is due again, and the attempt does not count. False: its lease was lost.
  mutating func giveBack(_ settlement: Settlement) throws(Failure) -> Bool {
    guard try held(settlement) != nil else { return false }
    try setJob(settlement.job, .due, uncounted: 1, crashes: 0)
    return true
  }

  /// False: its lease was lost.
  mutating func tryAgain(
    _ settlement: Settlement, _ after: Int64, _ tally: ExchangeTally, uncounted: Int64 = 0, crashes: Int64 = 0
  ) throws(Failure) -> Bool {
    guard let job = try held(settlement) else { return false }
    // The longest wait is some thirty thousand years, so no sum overflows. A cancelled job does not wait.
    let time = tally.time + min(after, 1 << 50)
    let dueAt = job.cancellation == nil ? time : min(time, tally.time)
    try setJob(settlement.job, .scheduled(at: dueAt), uncounted: uncounted, crashes: crashes)
    return true
  }

  // MARK: Attachments

  private mutating func settle(
    _ settlement: Settlement, _ ended: EndedAttachment, _ tally: inout ExchangeTally
  ) throws(Failure) -> SettlementOutcome {
    let outcome = ended.outcome
    // A person may have lifted the cancellation meanwhile.
    if outcome.status == .cancelled, let job = try held(settlement), job.cancellation == nil {
      try setJob(settlement.job, .due, uncounted: 1, crashes: 0)
      return .conflict
    }
    if !ended.children.isEmpty {
      guard try held(settlement) != nil else { return .leaseLost }
      if let problem = try problem(with: ended) { return problem }
    }
    if let refusal = try takeNames(of: ended, outcome.url) {
      return try giveBack(settlement) ? refusal : .leaseLost
    }
    guard try endJob(settlement.job, settlement.token) else {
      if let url = outcome.url { try leaveName(url) }
      return .leaseLost
    }
    let replaced = outcome.url == nil ? nil : ended.keptObject
    if replaced != nil { try setKept(ended.key, nil) }
    guard try end(ended, &tally) else {
      // The attachment has ended before: another program gave it a job.
      if let url = outcome.url { try leaveName(url) }
      return .counted
    }
    // An attachment that waited for its children may have been read from its object.
    var transfer = ended.transfer
    if transfer == nil, hasExpansions, try expansion(of: ended.key) != nil {
      transfer = try self.transfer(of: ended.key)
    }
    if let transfer { try leave(transfer: transfer, &tally) }
    if let replaced {
      // If the object is the same again, `takeNames` has counted its path a second time.
      if outcome.url == replaced { try leaveName(replaced) } else { try giveUp(replaced, &tally) }
    }
    tally.changed.add(attachment: ended.key)
    try addChildren(of: ended, &tally)
    try tellParent(of: ended.key, change: -1, &tally)
    tally.addEnded(outcome)
    return .counted
  }

  /// Takes the path of its object, if all paths are free. Returns the outcome of the settlement if not.
  ///
  /// - Parameter url: `nil`: the attachment has its object already, or gets no object.
  mutating func takeNames(of ended: EndedAttachment, _ url: String?) throws(Failure) -> SettlementOutcome? {
    // An object that was not staged must exist; and a path stays blocked while the store deletes its object.
    for object in ended.outcome.derived {
      let uses = try uses(ofName: object.url)
      guard uses.map({ $0 > 0 }) ?? ended.stagedDerived.contains(object.name) else { return .conflict }
    }
    guard let url, let sha256 = ended.outcome.sha256 else { return nil }
    switch try takeName(url, sha256) {
    case .taken: return nil
    case .othersContent: return .pathTaken
    case .objectGoes: return .conflict
    }
  }

  /// An attachment gives an object up. The store deletes the object after the last attachment.
  mutating func giveUp(_ path: String, _ tally: inout ExchangeTally) throws(Failure) {
    try giveUpName(path)
    tally.hasUnused = true
  }

  /// Gives an attachment its final state, and adds its events. False: the attachment has ended before.
  mutating func end(_ ended: EndedAttachment, _ tally: inout ExchangeTally) throws(Failure) -> Bool {
    guard try endAttachment(ended.key, ended.outcome, fingerprint: ended.fingerprint, at: tally.now) else {
      return false
    }
    if hasExpansions { try conclude(ended.key) }
    try replaceDerived(of: ended, &tally)
    try record(ended.steps, ended.attempt, of: ended.key, tally)
    if ended.events.isEmpty { return true }
    // Before a first attempt there are no events.
    let told = ended.attempt > 1 ? try toldTypes(of: ended.key) : []
    var ids = DeliveryIds(ended.origin.id, told: told)
    let turn = try turn(of: ended.origin.senderId, in: ended.origin.conversationId, tally)
    for event in ToldEvents(told).news(ended.events) {
      let key = try addEvent(event, of: ended.key, at: tally.now)
      let ordinal = ids.next(event.type)
      for recipient in event.recipients {
        let id = ids.id(event.type, ordinal, for: recipient, hash)
        for channel in event.channels {
          let delivery = LeasedDelivery(
            key: 0, id: id, channel: channel, recipient: recipient, type: event.type, data: event.data,
            createdAt: tally.now, attachmentId: ended.origin.id, conversationId: ended.origin.conversationId,
            messageId: ended.origin.messageId)
          // An earlier attempt may have sent the same event before the ledger was restored from a copy: the channel has to check.
          try addDelivery(
            delivery, ofEvent: key, priority: ended.priority, earlier: ended.attempt > 1 ? 1 : 0, turn: turn,
            tally)
        }
      }
    }
    return true
  }

  /// Sets the derived objects of an ending attachment. They replace its objects from the time of waiting.
  mutating func replaceDerived(of ended: EndedAttachment, _ tally: inout ExchangeTally) throws(Failure) {
    let objects = ended.outcome.derived
    if objects.isEmpty && !hasExpansions { return }
    let before = hasExpansions ? try derived(of: ended.key) : []
    if before == objects { return }
    // No path is refused: `takeNames` has checked all of them.
    for object in objects where !before.contains(object) { _ = try takeName(object.url, object.sha256) }
    try setDerived(ended.key, objects)
    try keepTexts(of: ended)
    for object in before where !objects.contains(object) { try giveUp(object.url, &tally) }
  }

  /// Keeps the texts of an attachment, also outside of conversations: it may move into a message. Others with the same objects are found
  /// by them, too.
  private mutating func keepTexts(of ended: EndedAttachment) throws(Failure) {
    if !hasConversations { return }
    for text in ended.texts where try keepText(text) {
      for message in try messages(withDerived: text.sha256) { try makeFindable(message) }
    }
  }

  /// Records an attempt, and adds its time to the tree, unless the attachment is the root.
  private mutating func record(_ steps: [Step], _ attempt: Int, of key: Int64, _ tally: ExchangeTally)
    throws(Failure)
  {
    if steps.isEmpty { return }
    guard try addAttempt(attempt, of: key, steps, at: tally.now), hasExpansions else { return }
    let root = try place(of: key).root
    guard root != key, var tree = try expansion(of: root) else { return }
    tree.microseconds = min(tree.microseconds + TreePlace.time(of: steps), TreePlace.longest)
    try setExpansion(root, tree)
  }
}
