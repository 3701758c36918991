import Pipeline

/// What it means to try an attachment again.
package enum RetryDecision: Deciding {
  package struct Fact: Equatable {
    var key: Int64
    var status: Status
    /// It is queued, and waits for later.
    var isWaiting = false

    package init(key: Int64, status: Status, isWaiting: Bool = false) {
      (self.key, self.status, self.isWaiting) = (key, status, isWaiting)
    }
  }

  package enum Write: Equatable {
    /// Queues an attachment that has ended, as if it had just been taken in.
    case queue(key: Int64)
    /// Makes it due at once.
    case hasten(key: Int64)
  }

  package static func needs(_ requests: [RetryCommand]) -> Set<String> { Set(requests.map(\.attachmentId)) }

  package static func decide(
    _ requests: [RetryCommand], _ facts: [String: Fact]
  ) -> (results: [CommandResult], writes: [Write]) {
    var facts = facts
    var writes: [Write] = []
    let results = requests.map { request -> CommandResult in
      guard let fact = facts[request.attachmentId] else {
        return .refused("no attachment has the id \(request.attachmentId)")
      }
      switch fact.status {
      case .completed:
        return .refused("attachment \(request.attachmentId) is completed: there is nothing to try again")
      case .queued where !fact.isWaiting: return .done(hasChanged: false)
      case .queued: writes.append(.hasten(key: fact.key))
      case .rejected, .failed, .quarantined: writes.append(.queue(key: fact.key))
      }
      facts[request.attachmentId] = Fact(key: fact.key, status: .queued)
      return .done(hasChanged: true)
    }
    return (results, writes)
  }
}
