/// What every file has in common that no manifest says otherwise.
public struct IntakeDefaults: Sendable {
  public var conversationId = "default"
  public var senderId = "operator"
  public var participants: [String] = []
  public var priority: Int64 = 0

  public init() {}
}
