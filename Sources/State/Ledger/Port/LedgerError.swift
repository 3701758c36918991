import SQLite

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
  static let restore =
    "`sluice verify` tells more; restore it from a backup, or begin with another --home"

  public init(_ code: Code, _ description: String, cause: (any Error)? = nil) {
    self.code = code
    self.description = description
    self.cause = cause
  }

  /// What an error below the ledger means for the one at a path. An error of the ledger's own stays as it is.
  init(_ error: any Error, path: String) {
    switch error {
    case let error as LedgerError: self = error
    case let error as SQLiteError:
      let (code, sentence) = Self.meaning(of: error)
      self.init(code, "\(path): \(sentence)", cause: error)
    default: self.init(.other, "\(path): \(error)", cause: error)
    }
  }

  private static func meaning(of error: SQLiteError) -> (Code, String) {
    switch error.code {
    case .full: (.full, "no room on the disk; make room, then run again")
    case .readOnly, .cantOpen: (.unwritable, "\(error.message); give a home that can be written, with --home")
    case .corrupt, .notADatabase: (.damaged, "\(error.message); \(restore)")
    case .constraint:
      (.damaged, "\(error.message), for a row is not what it should be; `sluice verify` tells more")
    case .busy: (.unavailable, "\(error.message), for another program has it; end that program")
    case .ioError:
      (
        .indeterminate,
        "\(error.message); whether the last write took effect is not known, and the next run finds out"
      )
    default: (.other, "\(error)")
    }
  }
}
