/// Something visible that has changed.
public struct Change: Sendable, Equatable {
  public enum Kind: String, Sendable, CaseIterable {
    /// An attachment was taken in, has ended, or is queued again.
    case attachment
    /// An attachment was deleted.
    case deletion
    /// A delivery has ended, or is queued again.
    case delivery
    /// A lane was paused or resumed.
    case lane
    /// Something in a conversation has changed.
    case conversation
  }

  public var kind: Kind
  /// The id of the attachment, the delivery or the conversation; the lane's name.
  public var id: String

  public init(_ kind: Kind, _ id: String) {
    self.kind = kind
    self.id = id
  }
}

/// Changes in the order of their exchanges; those of one exchange by kind, as the kinds are declared.
public struct ChangePage: Sendable, Equatable {
  public var changes: [Change]
  /// Where the next page begins.
  public var next: Position
  /// More changes are there already.
  public var hasMore: Bool

  package init(changes: [Change], next: Position, hasMore: Bool) {
    (self.changes, self.next, self.hasMore) = (changes, next, hasMore)
  }
}
