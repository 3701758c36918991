import Platform

/// The result of taking in a batch.
public struct IntakeReport: Sendable, Equatable {
  public var added = 0
  /// Files that were known already: the same file under the same message.
  public var known = 0
  /// Of the known ones, how many have ended and were not completed.
  public var knownNotCompleted = 0
  /// Of the known ones, how many a person has deleted since: they are not taken in again.
  public var knownDeleted = 0
  /// The items that were refused, with reasons.
  public var problems: [IntakeProblem] = []
  /// What became of each item, in the order of the items.
  public var outcomes: [IntakeOutcome] = []

  public init() {}

  /// Adds another batch's.
  public mutating func add(_ other: IntakeReport) {
    added += other.added
    known += other.known
    knownNotCompleted += other.knownNotCompleted
    knownDeleted += other.knownDeleted
    problems += other.problems
    outcomes += other.outcomes
  }

  /// Takes note of a refused item, the next in order.
  public mutating func refuse(_ problem: IntakeProblem) {
    problems.append(problem)
    outcomes.append(.refused)
  }
}

/// What became of one item of a batch.
public enum IntakeOutcome: Sendable, Equatable {
  /// It is a new attachment with this id.
  case added(id: String)
  /// It is the attachment with this id, which was there before.
  case known(id: String)
  /// It is the attachment with this id, which a person has deleted since.
  case deleted(id: String)
  /// The reason is among the problems of the report.
  case refused

  /// Of the attachment; `nil`: there is none.
  public var id: String? {
    switch self {
    case .added(let id), .known(let id), .deleted(let id): id
    case .refused: nil
    }
  }
}

/// Why a file that was named is not taken in.
public struct IntakeProblem: Error, Sendable, Equatable {
  /// Where it was named: `manifest.jsonl:17`, or the path where it was found by that.
  public var origin: String
  /// The file, where a manifest names it; `nil`: the problem is not about a file, or the place says which.
  public var path: String?
  /// The reason, and what to do.
  public var message: String
  /// What problems of the same kind have in common, where their messages differ by more than numbers; `nil`: the message.
  public var kind: String?

  public init(_ origin: String, path: String? = nil, _ message: String, kind: String? = nil) {
    (self.origin, self.path, self.message, self.kind) = (origin, path, message, kind)
  }

  /// One line for people: place, file, reason.
  public var text: String {
    [origin, path].compactMap(\.self).map { ($0.isEmpty ? "''" : $0) + ": " }.joined() + message
  }
}

extension IntakeItem {
  /// Its sender is no member of its conversation, or there is none.
  package var noMember: IntakeProblem {
    IntakeProblem(
      origin, "'\(senderId)' is no member of conversation '\(conversationId)'; add it first",
      kind: IntakeProblem.noMember)
  }

  /// The item breaks a rule.
  package func problem(_ fault: String) -> IntakeProblem { IntakeProblem(origin, "\(fault); not taken in") }

  /// Why the item can neither join an existing message nor take its id over; `nil`: it can.
  package func problem(joining message: MessageRecord) -> IntakeProblem? {
    takesOver(message) ? nil : problem(sharing: message)
  }

  /// Whether the item takes over the id of an existing message, which gets another id. Services choose the ids of messages: no user can
  /// block the message of a service by taking its id first.
  package func takesOver(_ message: MessageRecord) -> Bool {
    message.isOfUser && !isOfUser && problem(sharing: message) != nil
  }

  private func problem(sharing message: MessageRecord) -> IntakeProblem? {
    let name = "message '\(messageId ?? "")' of conversation '\(conversationId)'"
    if ByteText(message.senderId) != ByteText(senderId) {
      return IntakeProblem(
        origin,
        "\(name) is from '\(message.senderId)', not from '\(senderId)'; \(IntakeProblem.anotherMessage)",
        kind: IntakeProblem.otherSender)
    }
    // In any order: those on record have theirs.
    let isSame = Set(message.participants.map(ByteText.init)) == Set(participants.map(ByteText.init))
    if !checksParticipants || isSame { return nil }
    return IntakeProblem(
      origin, "\(name) has other participants; name none, or give it another messageId",
      kind: IntakeProblem.otherParticipants)
  }
}

extension IntakeProblem {
  fileprivate static let anotherMessage =
    "give it another messageId, or delete the attachments of that one first"

  // The kinds of conflicts with a message or a conversation on record.
  public static let noMember = "the sender is no member of the conversation"
  public static let goneMessage = "the message was deleted"
  public static let otherSender = "the message is from another sender; \(anotherMessage)"
  public static let otherParticipants =
    "the message has other participants; name none, or give it another messageId"
}

/// A message on record.
public struct MessageRecord: Sendable, Equatable {
  public var senderId: String
  /// In the order of its first attachment.
  public var participants: [String]
  /// Whether a user's own request began it. A service may take its id over.
  public var isOfUser: Bool

  public init(senderId: String, participants: [String], isOfUser: Bool = false) {
    (self.senderId, self.participants, self.isOfUser) = (senderId, participants, isOfUser)
  }
}
