/// A conversation of people. The membership alone decides who reads its messages and attachments.
public struct Conversation: Sendable, Equatable {
  public enum Kind: String, Sendable, CaseIterable {
    /// Of two people; each pair has at most one.
    case direct
    case group
  }

  /// The earlier messages that a new member sees.
  public enum History: String, Sendable, CaseIterable {
    case all
    /// None: a new member sees the messages after its joining.
    case joined
  }

  /// Its place in the ledger.
  public var key: Int64
  public var id: String
  public var kind: Kind
  public var name: String?
  public var history: History
  /// The number of its last message; 0: none.
  public var lastNumber: Int64
  /// How long new messages stay, in milliseconds; `nil`: for ever.
  public var expireAfter: Int64?
  /// In milliseconds since 1970.
  public var createdAt: Int64
  /// The numbers of the exchanges with the last change of its name or its expiry, and with the last change of anything in it: see ``Position/number``.
  public var described: Int64
  public var changed: Int64

  package init(
    key: Int64 = 0, id: String, _ kind: Kind, name: String?, history: History, lastNumber: Int64 = 0,
    expireAfter: Int64? = nil, createdAt: Int64, described: Int64 = 0, changed: Int64 = 0
  ) {
    (self.key, self.id, self.kind, self.name, self.history) = (key, id, kind, name, history)
    (self.lastNumber, self.expireAfter, self.createdAt) = (lastNumber, expireAfter, createdAt)
    (self.described, self.changed) = (described, changed)
  }

  /// The bounds of ``expireAfter``, in milliseconds: five seconds to a hundred years.
  public static let expiries: ClosedRange<Int64> = 5000...3_155_760_000_000

  /// The limit of members.
  public static let mostMembers = 1000
  /// The limits of a name and of an id, in bytes.
  public static let longestName = 200
  public static let longestId = 256
}

/// A member or a former member of a conversation.
public struct Member: Sendable, Equatable {
  public enum Role: String, Sendable, CaseIterable {
    /// May add, remove and rename.
    case admin
    case member
  }

  public var user: String
  /// The name in the record of the user; `nil`: no record. Writing a member does not change it.
  public var name: String?
  public var role: Role
  /// The first visible message.
  public var firstNumber: Int64
  /// The last message before its joining. Earlier messages never count as unread.
  public var joinedNumber: Int64
  /// The exchange of its joining: see ``Conversation/changed``.
  public var joinedChange: Int64
  /// Its leaving; `nil`: a present member. A former member sees the conversation as of then.
  public var left: Leaving?
  /// The last delivered and the last read message. Both only rise.
  public var deliveredNumber: Int64
  public var readNumber: Int64
  /// The end of the muting, in milliseconds since 1970; `nil`: not muted.
  public var mutedUntil: Int64?
  /// Urgent messages notify the member all the same.
  public var urgentBreaksMute: Bool
  /// The exchanges with the last change of the columns for all members, and of the settings for the member alone: see
  /// ``Conversation/changed``.
  public var changed: Int64
  public var configured: Int64

  public struct Leaving: Sendable, Equatable {
    /// The last visible message.
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

  /// Whether it is a recipient of a message.
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
  /// The id of the client, unique for the sender; `nil`: the message came with an attachment.
  public var clientId: String?
  /// `nil`: attachments alone, or deleted.
  public var text: String?
  /// The number of the answered message.
  public var replyTo: Int64?
  public var isUrgent: Bool
  /// In milliseconds since 1970, as the others.
  public var createdAt: Int64
  public var editedAt: Int64?
  public var deletedAt: Int64?
  /// When the server deletes it; `nil`: never.
  public var expiresAt: Int64?
  /// See ``Conversation/changed``.
  public var changed: Int64

  package init(
    in conversationId: String, id: String, number: Int64, from senderId: String, clientId: String?,
    text: String?, replyTo: Int64? = nil, isUrgent: Bool = false, createdAt: Int64, editedAt: Int64? = nil,
    deletedAt: Int64? = nil, expiresAt: Int64? = nil, changed: Int64 = 0
  ) {
    self.expiresAt = expiresAt
    (self.conversationId, self.id, self.number, self.senderId) = (conversationId, id, number, senderId)
    (self.clientId, self.text, self.replyTo, self.isUrgent) = (clientId, text, replyTo, isUrgent)
    (self.createdAt, self.editedAt, self.deletedAt, self.changed) = (createdAt, editedAt, deletedAt, changed)
  }

  /// The limit of its text, in bytes.
  public static let longestText = 64 << 10
}

/// Begins or changes a conversation. The rules check the rights in the same transaction.
public struct ConversationCommand: Sendable, Equatable {
  /// The author of a command.
  public enum Author: Sendable, Equatable {
    /// A user, with the rights of its membership.
    case user(String)
    /// The product, by the name of its token, with all rights. It can write and read in the place of a member.
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
    /// Begins a conversation; a user becomes a member. The result is the existing conversation if the pair has a direct one already, or
    /// if a service names an existing id.
    case begin(Conversation.Kind, name: String?, Conversation.History, members: [String])
    case rename(String?)
    /// Has new messages deleted so many milliseconds after they were written; `nil`: never.
    case expire(after: Int64?)
    /// Adds a member, or changes its role; `nil`: a known member keeps its role, and a new one gets `member`.
    case add(String, Member.Role?)
    /// Removes a member, or leaves.
    case remove(String)
    /// Writes a message. A repetition with the same client's id changes nothing.
    case write(
      id: String, clientId: String, text: String?, replyTo: Int64? = nil, isUrgent: Bool = false,
      expiresAt: Int64? = nil, NamedAttachments = NamedAttachments())
    case edit(Int64, text: String)
    /// Erases the text, the versions and the attachments of a message.
    case delete(Int64)
    /// Raises the numbers of the last delivered and the last read message.
    case reach(delivered: Int64, read: Int64)
    /// Changes the given settings.
    case mute(until: Int64??, urgentBreaksMute: Bool?)
  }

  public var conversationId: String
  public var author: Author
  public var action: Action

  public init(_ conversationId: String, _ author: Author, _ action: Action) {
    (self.conversationId, self.author, self.action) = (conversationId, author, action)
  }
}

/// The attachments that a new message names.
public struct NamedAttachments: Sendable, Equatable {
  /// Attachments. The server has checked that the author may read them. The author's own attachment without a conversation moves into
  /// the message; other attachments are forwarded: the message gets a copy of the record, with the same object.
  public var ids: [String]
  /// Uploads of the author, finished or not. With its last byte, an upload becomes an attachment of the message.
  public var uploads: [String]
  /// Links, which are fetched.
  public var links: [IntakeItem]
  /// The reason of the server against a named attachment. A repeated message gets its answer nevertheless.
  public var refusal: ConversationResult.Refusal?

  /// The most attachments in one request.
  public static let most = 100

  public init(
    ids: [String] = [], uploads: [String] = [], links: [IntakeItem] = [],
    refusal: ConversationResult.Refusal? = nil
  ) {
    (self.ids, self.uploads, self.links, self.refusal) = (ids, uploads, links, refusal)
  }

  public var count: Int { ids.count + uploads.count + links.count }
}

/// The result of a ``ConversationCommand``.
public enum ConversationResult: Sendable, Equatable {
  /// The conversation with this id is there.
  case begun(id: String, isNew: Bool)
  case written(Message, isNew: Bool)
  case done(hasChanged: Bool)
  case refused(Refusal)

  public enum Refusal: Sendable, Equatable {
    /// Missing, or not visible to the author.
    case notFound
    /// Visible, but the author lacks the right: a sentence without its full stop.
    case forbidden(String)
    /// A conflict with the record: a sentence without its full stop.
    case conflict(String)
    /// A wrong value: its name, and a sentence without its full stop.
    case invalid(String, String)

    /// For operators of the server: a sentence without its full stop.
    public var sentence: String {
      switch self {
      case .notFound: "there is no such conversation or message"
      case .forbidden(let reason), .conflict(let reason): reason
      case .invalid(let name, let reason): "'\(name)' \(reason)"
      }
    }
  }
}

/// A conversation as a member sees it.
public struct ConversationView: Sendable, Equatable {
  public var conversation: Conversation
  public var members: [Member]
  /// The number of unread messages of others; 0 without a reader.
  public var unread: Int64
  /// The last visible message; `nil`: none.
  public var last: Message?

  /// The member or former member with this name.
  public func member(_ user: String?) -> Member? {
    user.flatMap { user in members.first { $0.user.utf8.elementsEqual(user.utf8) } }
  }

  package init(_ conversation: Conversation, members: [Member], unread: Int64, last: Message?) {
    (self.conversation, self.members, self.unread, self.last) = (conversation, members, unread, last)
  }
}

/// The changes in a conversation.
public struct ConversationChange: Sendable, Equatable {
  public var view: ConversationView
  /// The changed members.
  public var members: [Member]
  public var messages: [Message]

  package init(_ view: ConversationView, members: [Member], messages: [Message]) {
    (self.view, self.members, self.messages) = (view, members, messages)
  }
}
