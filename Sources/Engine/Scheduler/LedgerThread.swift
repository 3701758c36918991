import CPlatform
import Glibc
import Ledger
import Platform

/// The thread that the ledger belongs to. While it syncs one transaction, the scheduler gathers what goes into the next.
final class LedgerThread: Sendable {
  private let inbox = Mailbox<ExchangeRequest>(capacity: 1)
  private let outbox = Mailbox<Result<ExchangeReply, LedgerError>>(capacity: 1)
  private let thread: Thread
  /// Readable when a reply waits.
  let readable: Int32

  /// Takes over the ledger until ``stop()`` returns.
  init(_ ledger: Ledger) throws(SystemError) {
    let readable = sluice_eventfd()
    if readable < 0 { throw SystemError("making an eventfd") }
    self.readable = readable
    let work = Handover(ledger: ledger, inbox: inbox, outbox: outbox, readable: readable)
    thread = try Thread { work.run() }
  }

  /// Hands over a request. One at a time: the next only after the reply.
  func send(_ request: ExchangeRequest) {
    inbox.send(request)
  }

  /// The reply, if it is there.
  func reply() -> Result<ExchangeReply, LedgerError>? {
    sluice_eventfd_clear(readable)
    return outbox.poll().first
  }

  /// Ends the thread once it has answered.
  func stop() {
    inbox.close()
    thread.join()
    close(readable)
  }
}

/// What the thread works with.
///
/// Unchecked because the ledger is used by this thread alone between its start and its end.
private struct Handover: @unchecked Sendable {
  let ledger: Ledger
  let inbox: Mailbox<ExchangeRequest>
  let outbox: Mailbox<Result<ExchangeReply, LedgerError>>
  let readable: Int32

  /// Milliseconds without a request after which the ledger is idle.
  private static let pause = 10

  func run() {
    while true {
      let next = inbox.receive(within: Self.pause)
      if next == nil { ledger.checkpoint(isIdle: true) }
      let requests = next ?? inbox.receive()
      if requests.isEmpty { return }
      for request in requests {
        do throws(LedgerError) {
          outbox.send(.success(try ledger.exchange(request)))
        } catch {
          outbox.send(.failure(error))
        }
        sluice_eventfd_raise(readable)
        ledger.checkpoint()
      }
    }
  }
}
