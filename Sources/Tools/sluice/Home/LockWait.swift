import Control
import Glibc
import HomeFolder
import LedgerPort
import Platform

extension Environment {
  /// Milliseconds for which a command waits for the end of a short one, such as `enqueue` or a check.
  private static let lockPatience: UInt64 = 10_000

  /// Takes the right to write. A short command holds the lock and does not listen, so its end is waited for. A
  /// coordinator listens: it may work for months, and people are told of it at once.
  static func lock(_ home: Home) throws(LedgerError) -> HomeLock {
    let end = Clock.monotonic() + lockPatience * 1_000_000
    while true {
      do throws(LedgerError) {
        return try home.lock()
      } catch {
        guard error.code == .inUse, !hasCoordinator(home), Clock.monotonic() < end else { throw error }
        usleep(20_000)
      }
    }
  }

  /// Whether a coordinator listens. A coordinator that is stopped or overloaded answers nobody in time.
  private static func hasCoordinator(_ home: Home) -> Bool {
    do {
      _ = try ControlClient(home)
      return true
    } catch {
      return (error as? SystemError)?.code == ETIMEDOUT
    }
  }
}
