/// One thing that every plugin must do, and whether this one does.
public struct Check: Sendable {
  public enum Result: Sendable {
    case passed
    /// It holds, with something the author should know.
    case noted(String)
    /// What is wrong, and what to do.
    case failed(String, remedy: String)
    /// It does not apply, and why.
    case skipped(String)
  }

  /// A word for it.
  public var name: String
  /// What must hold, as a sentence without a full stop.
  public var claim: String
  public var result: Result

  public var isFailed: Bool { if case .failed = result { true } else { false } }
}
