import Workers

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
  /// What failed below the workbench, where that is an error of its own.
  public var cause: (any Error)?
  /// How the worker ended, if that is why its stage does not open.
  public var death: WorkerDeath?

  public init(_ code: Code, _ description: String, cause: (any Error)? = nil) {
    self.code = code
    self.description = description
    self.cause = cause
  }
}
