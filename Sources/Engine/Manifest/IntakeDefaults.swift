/// The values for all files that a manifest does not override.
public struct IntakeDefaults: Sendable {
  public var conversationId = "default"
  public var senderId = "operator"
  public var participants: [String] = []
  public var priority: Int64 = 0

  public init() {}
}
