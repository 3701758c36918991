/// Why the workbench cannot do what it was asked. What a stage says or does is never one of these.
public struct WorkbenchError: Error, Sendable, CustomStringConvertible {
  public enum Code: Sendable {
    /// The stage says that it cannot be opened so.
    case refused
    /// The stage, its options or the installation is at fault.
    case configuration
    /// The user wants to stop.
    case interrupted
    /// The system refuses something.
    case system
  }

  public var code: Code
  public var description: String

  public init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }
}
