import LedgerPort
import Pipeline

/// What commands do to attachments.
package enum AttachmentDecision: Deciding {
  package struct Fact: Equatable {
    package var key: Int64
    package var status: Status
    package var priority: Int64
    /// It is queued, and waits for later.
    package var isWaiting: Bool
    /// It is queued, and a person has taken it back.
    package var isCancelled: Bool
    /// It is completed, and its object is not the content that came: a stage has made it. Only known where that is asked for.
    package var isMade = false
    /// It is the record of a content that was judged and not kept. Only known where it may be tried again.
    package var isCheck = false
    /// A person has deleted it.
    package var isDeleted = false

    package init(
      key: Int64, status: Status, priority: Int64 = 0, isWaiting: Bool = false, isCancelled: Bool = false
    ) {
      (self.key, self.status, self.priority) = (key, status, priority)
      (self.isWaiting, self.isCancelled) = (isWaiting, isCancelled)
    }

    /// Of one that a person has deleted.
    package static let deleted = {
      var fact = Fact(key: 0, status: .queued)
      fact.isDeleted = true
      return fact
    }()
  }

  package enum Write: Equatable {
    /// Queues an attachment that has ended, as if it had just been taken in.
    case queue(key: Int64)
    /// The same for one that is completed, whose object stays.
    case queueCompleted(key: Int64)
    /// Makes it due at once.
    case hasten(key: Int64)
    /// Takes it back, or gives it to the stages again (`nil`).
    case cancel(key: Int64, reason: String?)
    case prioritize(key: Int64, Int64)
    /// - Parameter isForgotten: the same file may be taken in again.
    case delete(key: Int64, by: String, isForgotten: Bool)
  }

  package static func needs(_ requests: [AttachmentCommand]) -> Set<String> {
    Set(requests.map(\.attachmentId))
  }

  package static func decide(
    _ requests: [AttachmentCommand], _ facts: [String: Fact]
  ) -> (results: [CommandResult], writes: [Write]) {
    var facts = facts
    var writes: [Write] = []
    let results = requests.map { request -> CommandResult in
      guard var fact = facts[request.attachmentId] else {
        return .refused("no attachment has the id \(request.attachmentId)")
      }
      if fact.isDeleted {
        if case .delete = request.action { return .done(hasChanged: false) }
        if request.only != nil { return .done(hasChanged: false) }
        return .refused("attachment \(request.attachmentId) was deleted; `sluice show` tells by whom")
      }
      if let only = request.only, !only.contains(fact.status) { return .done(hasChanged: false) }
      let result = decide(request, &fact, &writes)
      facts[request.attachmentId] = fact
      return result
    }
    return (results, writes)
  }

  private static func decide(
    _ request: AttachmentCommand, _ fact: inout Fact, _ writes: inout [Write]
  ) -> CommandResult {
    switch request.action {
    case .retry, .reprocess: return retry(request, &fact, &writes)
    case .cancel(let reason):
      if fact.status.isFinal && fact.status != .cancelled {
        return .refused("attachment \(request.attachmentId) is \(fact.status.rawValue): it has ended")
      }
      if fact.status.isFinal || fact.isCancelled { return .done(hasChanged: false) }
      (fact.isCancelled, fact.isWaiting) = (true, false)
      writes.append(.cancel(key: fact.key, reason: reason))
    case .prioritize(let priority):
      if fact.status.isFinal {
        let next = fact.status == .failed ? "; `sluice retry` has it tried again" : ""
        return .refused(
          "attachment \(request.attachmentId) is \(fact.status.rawValue): it waits for nothing\(next)")
      }
      if fact.priority == priority { return .done(hasChanged: false) }
      fact.priority = priority
      writes.append(.prioritize(key: fact.key, priority))
    case .delete(let person, let isRetention):
      writes.append(
        .delete(key: fact.key, by: person, isForgotten: isRetention && fact.status != .completed))
      fact = .deleted
    }
    return .done(hasChanged: true)
  }

  private static func retry(
    _ request: AttachmentCommand, _ fact: inout Fact, _ writes: inout [Write]
  ) -> CommandResult {
    if fact.isCheck {
      return .refused(
        "attachment \(request.attachmentId) is the record of a check, and its content was not kept; have the content checked anew"
      )
    }
    switch fact.status {
    case .completed where request.action == .reprocess && fact.isMade:
      // The content that came may be gone, and the object has the path of the one that would be made of it.
      return .refused(
        "attachment \(request.attachmentId) stays as it is: a stage has made its object of what came; take the source in anew, "
          + "under another message")
    case .completed where request.action == .reprocess:
      writes.append(.queueCompleted(key: fact.key))
      fact = Fact(key: fact.key, status: .queued)
    case .completed:
      return .refused("attachment \(request.attachmentId) is completed: there is nothing to try again")
    case .queued:
      if !fact.isWaiting && !fact.isCancelled { return .done(hasChanged: false) }
      if fact.isCancelled { writes.append(.cancel(key: fact.key, reason: nil)) }
      if fact.isWaiting { writes.append(.hasten(key: fact.key)) }
      (fact.isWaiting, fact.isCancelled) = (false, false)
    case .rejected, .failed, .quarantined, .cancelled:
      writes.append(.queue(key: fact.key))
      fact = Fact(key: fact.key, status: .queued)
    }
    return .done(hasChanged: true)
  }
}
