/// The values for all files that a manifest does not override.
public struct IntakeDefaults: Sendable {
  public var conversationId = "default"
  /// `nil`: each is a message of its own.
  public var messageId: String?
  public var senderId = "operator"
  public var participants: [String] = []
  public var priority: Int64 = 0
  /// Of links; `nil`: `download`.
  public var fileName: String?
  /// Of a link: the client's own name for it.
  public var reference: String?
  /// Of links: the name of a credential, the size in bytes, 64 hexadecimal digits, and a time as RFC 3339 writes it.
  public var credential: String?
  public var size: Int64?
  public var sha256: String?
  public var expiresAt: String?

  /// Whether ``senderId`` and ``participants`` hold for mails as well, whatever their headers say.
  public var namesSender = false
  public var namesParticipants = false

  /// Whether participants that a line names must be those on record of its message.
  public var checksParticipants = false

  public init() {}
}
