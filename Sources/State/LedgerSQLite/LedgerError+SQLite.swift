import LedgerPort
import SQLite

extension LedgerError {
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
