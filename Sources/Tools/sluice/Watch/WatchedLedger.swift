import Glibc
import HomeFolder
import LedgerPort

/// The ledger of a home, read for a long time: it is opened anew where another file takes its place, as when a backup is
/// restored.
final class WatchedLedger {
  let home: Home
  private(set) var queries: any LedgerQueries
  private var file: (dev_t, ino_t)?

  init(_ home: Home) throws {
    self.home = home
    file = Self.file(of: home)
    queries = try Environment.ledger(reading: home)
  }

  /// Opens the ledger anew if it is another file. To be called now and then.
  func follow() throws {
    let now = Self.file(of: home)
    if let now, let file, now == file { return }
    queries = try Environment.ledger(reading: home)
    file = now
  }

  private static func file(of home: Home) -> (dev_t, ino_t)? {
    var facts = stat()
    return stat(home.ledgerPath, &facts) == 0 ? (facts.st_dev, facts.st_ino) : nil
  }
}
