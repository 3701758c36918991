import LedgerPort
import LedgerRules
import Pipeline
import Platform

// Which links are fetched by themselves: those of the newest messages of each conversation.
extension ModelRows {
  /// The newest messages with links of a conversation.
  func window(of conversation: String, _ messages: Int) -> Set<String> {
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
    let waiting = attachments(of: transfer).filter { jobs[JobKey(.attachment, $0)]?.isWaiting == true }
      .compactMap { attachments[$0] }
    return waiting.isEmpty
      || waiting.contains {
        $0.ownMessage || window(of: $0.origin.conversationId, messages).contains($0.origin.messageId)
      }
  }

  func isWanted(_ job: Job, _ messages: Int) -> Bool {
    guard job.key.kind == .transfer else { return true }
    return messages == 0 || isWanted(job.key.subject, messages)
  }

  /// What was put aside under another rule is looked at again.
  mutating func follow(_ messages: Int, _ holder: Int64) {
    if prefetches[holder] == messages { return }
    prefetches[holder] = messages
    for job in jobs.values where job.lane == .downloads && job.isWaiting {
      if isWanted(job, messages) { jobs[job.key]?.isWaiting = false }
    }
  }
}

extension ModelTransaction {
  /// Where messages were deleted, older ones have moved up.
  mutating func refillWindows(_ tally: inout ExchangeTally) {
    guard let messages = rows.prefetches[tally.token.holder], messages > 0 else { return }
    for conversation in shrunk {
      let window = rows.window(of: conversation, messages)
      for attachment in rows.attachments.values where attachment.origin.conversationId == conversation {
        guard window.contains(attachment.origin.messageId), let transfer = attachment.transfer,
          rows.jobs[JobKey(.transfer, transfer)]?.isWaiting == true
        else { continue }
        rows.jobs[JobKey(.transfer, transfer)]?.isWaiting = false
        tally.touch(.downloads)
      }
    }
  }
}
