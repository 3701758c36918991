import LedgerPort
import Platform
import Synchronization

/// Applies the commands of clients whose requests end after the scheduler has ended. Any thread calls it.
final class LateCommands: Sendable {
  private let open: @Sendable () throws -> CommandDesk
  /// The ledger is joined with the first command.
  private let desk = Mutex<CommandDesk?>(nil)

  /// - Parameter open: joins the ledger.
  init(_ open: @escaping @Sendable () throws -> CommandDesk) { self.open = open }

  /// - Returns: the results, which are on record; `nil`: the ledger failed, which the operator was told.
  func apply(_ commands: [Command]) -> [CommandResult]? {
    desk.withLock { desk in
      do {
        let working = try desk ?? open()
        desk = working
        return try working.apply(commands)
      } catch {
        Terminal.error("what clients sent at the end could not be put on record: \(error)")
        return nil
      }
    }
  }

  /// Leaves the ledger.
  func end() { desk.withLock { $0 = nil } }
}
