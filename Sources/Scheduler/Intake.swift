import CPlatform
import Glibc
import Ledger
import Platform

/// The way for new files into a running scheduler: whoever finds them sends batches, from a thread of its own, and waits
/// while the scheduler has two that are not yet recorded.
public final class Intake: Sendable {
  private let batches = Mailbox<[IntakeItem]>(capacity: 2)
  /// Readable when a batch waits, or all have been sent.
  let readable: Int32

  public init() throws(SystemError) {
    readable = sluice_eventfd()
    if readable < 0 { throw SystemError("making an eventfd") }
  }

  deinit {
    Glibc.close(readable)
  }

  /// Queues files. False: the scheduler takes no more, and the rest need not be found.
  public func send(_ items: [IntakeItem]) -> Bool {
    let taken = batches.send(items)
    sluice_eventfd_raise(readable)
    return taken
  }

  /// Says that nothing more comes.
  public func finish() {
    batches.send([])
    sluice_eventfd_raise(readable)
  }

  /// The next batch, if one waits; an empty one is the end.
  func take() -> [IntakeItem]? { batches.pollFirst() }

  func clear() { sluice_eventfd_clear(readable) }

  /// Takes no more.
  func close() {
    batches.close()
  }
}
