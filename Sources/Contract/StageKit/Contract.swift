import CStage

/// The version of the contract that the kit was built with. A package that needs a later minor finds out while it is
/// compiled: what it uses is not there. At run time ``Opening/hostMinor`` tells what the host has.
public enum Contract {
  /// A host refuses a plugin of another major.
  public static let major = SLUICE_ABI_MAJOR
  /// A minor only adds.
  public static let minor = SLUICE_ABI_MINOR
  /// As `sluice version` prints it: `1.1`.
  public static var version: String { "\(major).\(minor)" }
}
