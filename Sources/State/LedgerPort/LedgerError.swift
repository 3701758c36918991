/// Why the ledger cannot be used, and what to do about it.
public struct LedgerError: Error, Sendable, CustomStringConvertible {
  public enum Code: Sendable {
    /// Another coordinator has the home.
    case inUse
    /// Written by another version, whose tables this one does not know.
    case otherVersion
    /// The home or its file system does not allow writing.
    case unwritable
    /// The disk is full; nothing was written.
    case full
    /// Damaged, or not a ledger.
    case damaged
    /// Nothing was done, and the same may be tried again: the ledger is busy.
    case unavailable
    /// A failed write whose outcome is not known until ``LedgerWriter/fate(of:)`` is asked.
    case indeterminate
    /// This coordinator was taken for lost: others may have its work.
    case fenced
    case other
  }

  public let code: Code
  public let description: String
  /// What failed below the ledger: an error of SQLite's, or of the system's.
  public let cause: (any Error)?

  /// The remedy for a damaged ledger.
  package static let restore =
    "`sluice verify` tells more; restore it from a backup, or begin with another --home"

  public init(_ code: Code, _ description: String, cause: (any Error)? = nil) {
    self.code = code
    self.description = description
    self.cause = cause
  }
}
