/// How long attachments are kept once they have ended. What is not named is kept.
public struct KeepRules: Sendable, Equatable {
  /// In milliseconds, by status.
  public var ages: [Status: Int64] = [:]
  /// Bytes of completed attachments, in all; the oldest go first.
  public var bytes: Int64?

  public init() {}

  /// Everything is kept.
  public var isEmpty: Bool { ages.isEmpty && bytes == nil }
}
