import Ledger
import Pipeline
import Platform

// Which links are fetched by themselves: those of the newest messages of each conversation.
extension ModelRows {
  /// The newest messages with links of a conversation.
  private func window(of conversation: String, _ messages: Int) -> Set<String> {
    var window: [String] = []
    for (_, attachment) in attachments.sorted(by: { $0.key > $1.key }) {
      let origin = attachment.origin
      guard attachment.transfer != nil, !attachment.ownMessage, origin.conversationId == conversation else {
        continue
      }
      if !window.contains(origin.messageId) { window.append(origin.messageId) }
    }
    return Set(window.prefix(messages))
  }

  private func isWanted(_ transfer: Int64, _ messages: Int) -> Bool {
    let waiting = attachments(of: transfer).compactMap { attachments[$0] }
      .filter { $0.job.flatMap { jobs[$0] }?.isWaiting == true }
    return waiting.isEmpty
      || waiting.contains {
        $0.ownMessage || window(of: $0.origin.conversationId, messages).contains($0.origin.messageId)
      }
  }

  private func isWanted(_ job: Job, _ messages: Int) -> Bool {
    guard case .transfer(let key) = job.subject else { return true }
    return messages == 0 || isWanted(key, messages)
  }

  /// What was put aside under another rule is looked at again.
  mutating func follow(_ messages: Int, _ holder: Int64) {
    if prefetches[holder] == messages { return }
    prefetches[holder] = messages
    for job in jobs.values where job.lane == .downloads && job.isWaiting {
      if isWanted(job, messages) { jobs[job.key]?.isWaiting = false }
    }
  }

  /// Where messages were deleted, older ones have moved up.
  mutating func refillWindows(_ tally: inout ModelTally) {
    guard let messages = prefetches[tally.token.holder], messages > 0 else { return }
    for conversation in tally.shrunk {
      let window = window(of: conversation, messages)
      for attachment in attachments.values where attachment.origin.conversationId == conversation {
        guard window.contains(attachment.origin.messageId),
          let job = attachment.transfer.flatMap({ transfers[$0]?.job }), jobs[job]?.isWaiting == true
        else { continue }
        jobs[job]?.isWaiting = false
        tally.touch(.downloads)
      }
    }
  }

  /// What somebody asked for, then what is wanted, the newest first. What is not wanted is put aside.
  mutating func chooseNewest(_ want: Want, _ holder: Int64, _ claim: inout TransferClaim) -> [Job] {
    var chosen: [Job] = []
    func due() -> [Job] { jobs.values.filter { $0.isDue && $0.lane == .downloads } }
    func look(_ looks: Int, of host: Int64?) {
      let mine = due().filter { host == nil || self.host(of: $0) == host }
      let asked = mine.filter { $0.priority > 0 }
        .sorted { ($1.priority, $0.key) < ($0.priority, $1.key) }.prefix(looks)
      for job in asked
      where claim.takes(job: job.key, self.host(of: job) ?? 0, priority: job.priority) { chosen.append(job) }
      var looks = looks - asked.count
      for job in mine.filter({ $0.priority <= 0 }).sorted(by: {
        ($0.priority, $0.key) > ($1.priority, $1.key)
      }) {
        if looks <= 0 || claim.isFull { return }
        if isWanted(job, want.prefetch) {
          looks -= 1
          if claim.takes(job: job.key, self.host(of: job) ?? 0, priority: job.priority) { chosen.append(job) }
        } else {
          jobs[job.key]?.isWaiting = true
        }
      }
    }
    look(claim.looks, of: nil)
    var turn = HostTurn(after: lastHosts[holder] ?? .min)
    while want.hosts.full > 0, !claim.isFull {
      guard let host = turn.next({ last in due().compactMap(self.host).filter { $0 > last }.min() }) else {
        break
      }
      lastHosts[holder] = host
      look(want.hosts.full, of: host)
    }
    return chosen
  }
}
