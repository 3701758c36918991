import Pipeline

/// One thing that every plugin must do, and whether this one does.
public struct Check: Sendable {
  public enum Result: Sendable {
    case passed
    /// The check passed, with a note for the author.
    case noted(String)
    /// The check failed: the problem and the remedy.
    case failed(String, remedy: String)
    /// The check does not apply, for this reason.
    case skipped(String)
  }

  /// A word for it.
  public var name: String
  /// What must hold, as a sentence without a full stop.
  public var claim: String
  public var result: Result

  public init(name: String, claim: String, result: Result) {
    self.name = name
    self.claim = claim
    self.result = result
  }

  init(_ name: CheckName, of stage: StageDescription, _ result: Result) {
    self.init(name: name.rawValue, claim: name.claim(for: stage), result: result)
  }

  public var isFailed: Bool { if case .failed = result { true } else { false } }
}
