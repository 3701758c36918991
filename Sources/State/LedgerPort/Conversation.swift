/// People who write to each other. Who reads an attachment or a message of a conversation is decided by its members, and by nothing
/// else.
public struct Conversation: Sendable, Equatable {
  public enum Kind: String, Sendable, CaseIterable {
    /// Of two people; each pair has one.
    case direct
    case group
  }

  /// What a new member sees of what was written before.
  public enum History: String, Sendable, CaseIterable {
    case all
    /// What is written from now on.
    case joined
  }

  /// Its place in the ledger.
  public var key: Int64
  public var id: String
  public var kind: Kind
  public var name: String?
  public var history: History
  /// The number of its last message; 0: it has none.
  public var lastNumber: Int64
  /// In milliseconds since 1970.
  public var createdAt: Int64
  /// The number of the exchange that last changed its name, and of the one that last changed anything in it: see ``Position/number``.
  public var described: Int64
  public var changed: Int64

  package init(
    key: Int64 = 0, id: String, _ kind: Kind, name: String?, history: History, lastNumber: Int64 = 0,
    createdAt: Int64, described: Int64 = 0, changed: Int64 = 0
  ) {
    (self.key, self.id, self.kind, self.name, self.history) = (key, id, kind, name, history)
    (self.lastNumber, self.createdAt) = (lastNumber, createdAt)
    (self.described, self.changed) = (described, changed)
  }

  /// Members of one, at most.
  public static let mostMembers = 1000
  /// Bytes of a name, and of an id.
  public static let longestName = 200
  public static let longestId = 256
}

/// Somebody who takes part in a conversation, or has done so.
public struct Member: Sendable, Equatable {
  public enum Role: String, Sendable, CaseIterable {
    /// Adds, removes and renames.
    case admin
    case member
  }

  public var user: String
  public var role: Role
  /// The first message that it sees.
  public var firstNumber: Int64
  /// The last message before it came; what was written before is not counted as unread, nor as unread by it.
  public var joinedNumber: Int64
  /// The exchange in which it came: see ``Conversation/changed``.
  public var joinedChange: Int64
  /// When it left; `nil`: it is still there. It sees what was there then.
  public var left: Leaving?
  /// Up to which message it was told, and has read. They only rise.
  public var deliveredNumber: Int64
  public var readNumber: Int64
  /// Until when it is told nothing but what is urgent, in milliseconds since 1970; `nil`: all.
  public var mutedUntil: Int64?
  /// What is urgent is told all the same.
  public var urgentBreaksMute: Bool
  /// See ``Conversation/changed``: of all but how it has muted the conversation, which only it is told; and of that.
  public var changed: Int64
  public var configured: Int64

  public struct Leaving: Sendable, Equatable {
    /// The last message that it sees.
    public var number: Int64
    /// The last exchange before: see ``Conversation/changed``.
    public var change: Int64
    /// In milliseconds since 1970.
    public var time: Int64

    package init(number: Int64, change: Int64, time: Int64) {
      (self.number, self.change, self.time) = (number, change, time)
    }
  }

  package init(
    _ user: String, _ role: Role, firstNumber: Int64, joinedNumber: Int64, joinedChange: Int64 = 0,
    left: Leaving? = nil, deliveredNumber: Int64, readNumber: Int64, mutedUntil: Int64? = nil,
    urgentBreaksMute: Bool = true,
    changed: Int64 = 0, configured: Int64 = 0
  ) {
    (self.configured, self.joinedChange) = (configured, joinedChange)
    (self.user, self.role, self.firstNumber, self.joinedNumber) = (user, role, firstNumber, joinedNumber)
    (self.left, self.deliveredNumber, self.readNumber) = (left, deliveredNumber, readNumber)
    (self.mutedUntil, self.urgentBreaksMute, self.changed) = (mutedUntil, urgentBreaksMute, changed)
  }

  public var isPresent: Bool { left == nil }
  public var leftNumber: Int64? { left?.number }

  /// Whether it may read a message.
  public func sees(_ number: Int64) -> Bool {
    number >= firstNumber && number <= leftNumber ?? .max
  }

  /// Whether a message is for it: the sender is told how many have read it.
  public func isAddressed(by message: Message) -> Bool {
    message.number > joinedNumber && sees(message.number)
      && !user.utf8.elementsEqual(message.senderId.utf8)
  }
}

/// A message of a conversation.
public struct Message: Sendable, Equatable {
  public var conversationId: String
  /// The ``IntakeItem/messageId`` of its attachments.
  public var id: String
  /// From 1, without a gap.
  public var number: Int64
  public var senderId: String
  /// What its client calls it, so that the same message is written once; `nil`: it came with an attachment.
  public var clientId: String?
  /// `nil`: it has attachments alone, or was deleted.
  public var text: String?
  /// The number of the message that it answers.
  public var replyTo: Int64?
  public var isUrgent: Bool
  /// In milliseconds since 1970, as the others.
  public var createdAt: Int64
  public var editedAt: Int64?
  public var deletedAt: Int64?
  /// See ``Conversation/changed``.
  public var changed: Int64

  package init(
    in conversationId: String, id: String, number: Int64, from senderId: String, clientId: String?,
    text: String?, replyTo: Int64? = nil, isUrgent: Bool = false, createdAt: Int64, editedAt: Int64? = nil,
    deletedAt: Int64? = nil, changed: Int64 = 0
  ) {
    (self.conversationId, self.id, self.number, self.senderId) = (conversationId, id, number, senderId)
    (self.clientId, self.text, self.replyTo, self.isUrgent) = (clientId, text, replyTo, isUrgent)
    (self.createdAt, self.editedAt, self.deletedAt, self.changed) = (createdAt, editedAt, deletedAt, changed)
  }

  /// Bytes of its text, at most.
  public static let longestText = 64 << 10
}

/// Changes a conversation, or begins one. Its rights are looked at in the transaction that changes it.
public struct ConversationCommand: Sendable, Equatable {
  /// On whose behalf it is done.
  public enum Author: Sendable, Equatable {
    /// A person, who has the rights of its membership.
    case user(String)
    /// The product itself, by the name of its token, which may do all; where it writes or reads, in the place of this person.
    case service(String, for: String? = nil)

    public var user: String {
      switch self {
      case .user(let user): user
      case .service(let name, let person): person ?? name
      }
    }

    package var isService: Bool { if case .service = self { true } else { false } }
  }

  public enum Action: Sendable, Equatable {
    /// Begins a conversation; a user is one of its members. Two people have one direct conversation, and a service's id one conversation:
    /// that which is there is the answer.
    case begin(Conversation.Kind, name: String?, Conversation.History, members: [String])
    case rename(String?)
    /// Adds somebody, or changes its role; `nil`: it keeps the role that it has, and a new one is a member.
    case add(String, Member.Role?)
    /// Takes somebody out, or leaves.
    case remove(String)
    /// Writes a message. Repeated with the same client's id, it is the same message.
    case write(id: String, clientId: String, text: String?, replyTo: Int64? = nil, isUrgent: Bool = false)
    case edit(Int64, text: String)
    /// Takes away text, versions and attachments of a message, for good.
    case delete(Int64)
    /// Has been told, and has read, up to these messages.
    case reach(delivered: Int64, read: Int64)
    /// Sets what is given.
    case mute(until: Int64??, urgentBreaksMute: Bool?)
  }

  public var conversationId: String
  public var author: Author
  public var action: Action

  public init(_ conversationId: String, _ author: Author, _ action: Action) {
    (self.conversationId, self.author, self.action) = (conversationId, author, action)
  }
}

/// What became of a ``ConversationCommand``.
public enum ConversationResult: Sendable, Equatable {
  /// The conversation with this id is there.
  case begun(id: String, isNew: Bool)
  case written(Message, isNew: Bool)
  case done(hasChanged: Bool)
  case refused(Refusal)

  public enum Refusal: Sendable, Equatable {
    /// There is no such conversation or message, or the author does not see it.
    case notFound
    /// The author sees it, and may not change it so: a sentence without its full stop.
    case forbidden(String)
    /// What is there does not go with it: a sentence without its full stop.
    case conflict(String)
    /// A value cannot be: its name, and a sentence without its full stop.
    case invalid(String, String)
  }
}

/// A conversation as a member sees it.
public struct ConversationView: Sendable, Equatable {
  public var conversation: Conversation
  public var members: [Member]
  /// Messages of others that the member has not read; 0: nobody asks as a member.
  public var unread: Int64
  /// The last message that the member sees; `nil`: there is none.
  public var last: Message?

  /// A member, or former member; `nil`: nobody in particular is asked for.
  public func member(_ user: String?) -> Member? {
    user.flatMap { user in members.first { $0.user.utf8.elementsEqual(user.utf8) } }
  }

  package init(_ conversation: Conversation, members: [Member], unread: Int64, last: Message?) {
    (self.conversation, self.members, self.unread, self.last) = (conversation, members, unread, last)
  }
}

/// What has changed in a conversation.
public struct ConversationChange: Sendable, Equatable {
  public var view: ConversationView
  /// The members that have changed.
  public var members: [Member]
  public var messages: [Message]

  package init(_ view: ConversationView, members: [Member], messages: [Message]) {
    (self.view, self.members, self.messages) = (view, members, messages)
  }
}
