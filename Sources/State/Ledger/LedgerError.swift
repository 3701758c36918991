import SQLite

/// Why the ledger cannot be used, and what to do about it.
public struct LedgerError: Error, Sendable, CustomStringConvertible {
  public enum Code: Sendable {
    /// Another coordinator has the home.
    case inUse
    /// Written by a newer version.
    case newer
    /// The home or its file system does not allow writing.
    case unwritable
    /// The disk is full; nothing was written.
    case full
    /// Damaged, or not a ledger.
    case damaged
    /// A failed write whose outcome is not known: stop, and open again.
    case indeterminate
    case other
  }

  public let code: Code
  public let description: String

  /// The remedy for a damaged ledger.
  static let restore =
    "`sluice verify` tells more; restore it from a backup, or begin with another --home"

  public init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }

  init(_ error: SQLiteError, path: String) {
    switch error.code {
    case .full: self.init(.full, "\(path): no room on the disk; make room, then run again")
    case .readOnly, .cantOpen:
      self.init(.unwritable, "\(path): \(error.message); give a home that can be written, with --home")
    case .corrupt, .notADatabase:
      self.init(.damaged, "\(path): \(error.message); \(Self.restore)")
    case .constraint:
      self.init(
        .damaged, "\(path): \(error.message), for a row is not what it should be; `sluice verify` tells more")
    case .ioError:
      self.init(
        .indeterminate,
        "\(path): \(error.message); whether the last write took effect is not known, and the next run finds out"
      )
    default: self.init(.other, "\(path): \(error)")
    }
  }
}
