import LedgerPort
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
}
