import Control
import Glibc
import Ledger
import Platform

/// Puts files on record: through the coordinator that has the home, or where there is none, itself.
final class IntakeDesk {
  private enum Way {
    case coordinator(ControlClient)
    case ledger(Ledger, HomeLock)
  }

  private let home: Home
  private var way: Way

  /// How long to wait for a coordinator that is just beginning, or ending, in microseconds, and how often to look.
  private static let patience: (times: Int, each: UInt32) = (100, 20_000)

  init(_ home: Home) throws {
    self.home = home
    way = try Self.way(home)
  }

  private static func way(_ home: Home) throws -> Way {
    for _ in 0..<patience.times {
      // Where none listens the lock says more; what else is wrong is told at the end.
      if let client = try? ControlClient(home) { return .coordinator(client) }
      do throws(LedgerError) {
        try home.create()
        let lock = try home.lock()
        return .ledger(try Ledger(home), lock)
      } catch {
        guard error.code == .inUse else { throw error }
        // An ingest takes nothing from others; `sluice run` will listen in a moment.
        usleep(patience.each)
      }
    }
    do {
      return .coordinator(try ControlClient(home))
    } catch {
      throw LedgerError(
        .inUse,
        "\(home.path) is in use by a sluice that takes in no files of others (\(error)): an ingest, or a check; wait "
          + "for it to end, or use `sluice run` in its place")
    }
  }

  /// No coordinator has the home.
  var isAlone: Bool {
    if case .ledger = way { true } else { false }
  }

  /// Returns once the files are on record.
  func take(_ items: [IntakeItem]) throws -> IntakeReport {
    switch way {
    case .coordinator(let client):
      do {
        return try client.enqueue(items)
      } catch {
        throw LedgerError(
          .inUse,
          "the coordinator of \(home.path) ended before it had the last files on record (\(error)); run the same command "
            + "again, what is known is not taken in twice")
      }
    case .ledger(let ledger, _):
      var request = ExchangeRequest()
      request.intake = items
      let report = try ledger.exchange(request).intake
      ledger.checkpoint()
      return report
    }
  }
}
