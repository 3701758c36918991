import Control
import Glibc
import Ledger
import Platform

/// Records files in the ledger: through the coordinator that holds the home, or directly if there is none.
final class IntakeDesk {
  private enum Way {
    case coordinator(ControlClient)
    case ledger(Ledger, HomeLock)
  }

  private let home: Home
  private var way: Way

  /// How long to wait for a coordinator that is starting or ending: number of tries, and microseconds between
  /// them.
  private static let connecting: (times: Int, each: UInt32) = (100, 20_000)
  /// How often the same files are sent before the coordinator counts as gone.
  private static let tries = 3

  init(_ home: Home) throws {
    self.home = home
    way = try Self.way(home)
  }

  private static func way(_ home: Home) throws -> Way {
    for _ in 0..<connecting.times {
      do {
        return .coordinator(try ControlClient(home))
      } catch let error as SystemError where error.code == ETIMEDOUT {
        throw LedgerError(
          .inUse,
          "the coordinator of \(home.path) lets nobody in (\(error)); it may be stopped or overloaded, so try again later"
        )
      } catch {
        // If no coordinator listens, the lock tells more; other errors are reported at the end.
      }
      do throws(LedgerError) {
        try home.create()
        let lock = try home.lock()
        return .ledger(try Ledger(home), lock)
      } catch {
        guard error.code == .inUse else { throw error }
        // An ingest accepts no files from other processes; `sluice run` will listen in a moment.
        usleep(connecting.each)
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

  /// Returns once the files are on record. If the coordinator ends or disconnects meanwhile, it is looked for
  /// again; files already on record are not taken in twice.
  func take(_ items: [IntakeItem]) throws -> IntakeReport {
    var attempt = 0
    while true {
      attempt += 1
      switch way {
      case .ledger(let ledger, _):
        var request = ExchangeRequest()
        request.intake = items
        let report = try ledger.exchange(request).intake
        ledger.checkpoint()
        return report
      case .coordinator(let client):
        do {
          return try client.enqueue(items)
        } catch let error as SystemError where error.code == ETIMEDOUT {
          throw LedgerError(
            .inUse,
            "the coordinator of \(home.path) does not answer (\(error)); it may be stopped, or its disk slow: run the same "
              + "command again later, what is known is not taken in twice")
        } catch {
          if attempt == Self.tries {
            throw LedgerError(
              .inUse,
              "the coordinator of \(home.path) did not put the last files on record (\(error)); run the same command again, "
                + "what is known is not taken in twice")
          }
          usleep(Self.connecting.each)
          way = try Self.way(home)
        }
      }
    }
  }
}
