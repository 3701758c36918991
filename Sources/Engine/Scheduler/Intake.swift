import CPlatform
import Glibc
import Ledger
import Platform

/// The way for new files into a running scheduler: the thread that finds them sends batches, and waits
/// while the scheduler has two that are not yet recorded.
public final class Intake: Sendable {
  /// Files to be recorded in one transaction; none: the end.
  package struct Batch: Sendable {
    package var items: [IntakeItem]
    /// Comes back when they are on record.
    package var ticket: UInt64

    package init(items: [IntakeItem], ticket: UInt64) {
      (self.items, self.ticket) = (items, ticket)
    }
  }

  private let batches = Mailbox<Batch>(capacity: 2)
  /// Readable when a batch waits, or all have been sent.
  let readable: Int32

  public init() throws(SystemError) {
    readable = sluice_eventfd()
    if readable < 0 { throw SystemError("making an eventfd") }
  }

  deinit {
    Glibc.close(readable)
  }

  /// Queues files, at least one. False: the scheduler takes no more, and the rest need not be found.
  ///
  /// - Parameter ticket: given back with ``SchedulerEvent/takenIn(_:ticket:)`` once the files are on record.
  public func send(_ items: [IntakeItem], ticket: UInt64 = 0) -> Bool {
    let taken = batches.send(Batch(items: items, ticket: ticket))
    sluice_eventfd_raise(readable)
    return taken
  }

  /// Says that nothing more comes.
  public func finish() {
    batches.send(Batch(items: [], ticket: 0))
    sluice_eventfd_raise(readable)
  }

  /// The next batch, if one waits; an empty one is the end.
  func take() -> Batch? { batches.pollFirst() }

  func clear() { sluice_eventfd_clear(readable) }

  /// Takes no more.
  func close() {
    batches.close()
  }
}
