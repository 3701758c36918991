/// Why the workbench cannot do what it was asked. A stage's verdicts and failures are not reported this way.
public struct WorkbenchError: Error, Sendable, CustomStringConvertible {
  public enum Code: Sendable {
    /// The stage refuses to open with these options.
    case refused
    /// The stage, its options or the installation is at fault.
    case configuration
    /// The user interrupted.
    case interrupted
    /// A system call failed.
    case system
  }

  public var code: Code
  public var description: String

  public init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }
}
