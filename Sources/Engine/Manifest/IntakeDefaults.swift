/// The values for all files that a manifest does not override.
public struct IntakeDefaults: Sendable {
  public var conversationId = "default"
  public var senderId = "operator"
  public var participants: [String] = []
  public var priority: Int64 = 0
  /// Of links; `nil`: `download`.
  public var fileName: String?
  /// Of links: the name of a credential, the size in bytes, and 64 hexadecimal digits.
  public var credential: String?
  public var size: Int64?
  public var sha256: String?

  public init() {}
}
