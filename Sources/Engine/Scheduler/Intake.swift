import CPlatform
import Glibc
import LedgerPort
import Platform
import Synchronization

/// The way for new files into a running scheduler: the thread that finds them sends batches, and waits
/// while the scheduler has two that are not yet recorded.
public final class Intake: Sendable {
  /// Commands to be applied in one transaction; none: no more files are found.
  package struct Batch: Sendable {
    package var commands: [Command]
    /// Comes back with the results.
    package var ticket: UInt64
    /// The scheduler is to let what is in hand end, and then to end itself: another goes on.
    package var isHandover = false

    package init(_ commands: [Command], ticket: UInt64) {
      (self.commands, self.ticket) = (commands, ticket)
    }
  }

  /// Applies commands of a client with a ticket, and answers it. False: they were not applied.
  public typealias Late = @Sendable (_ commands: [Command], _ ticket: UInt64) -> Bool

  private let batches = Mailbox<Batch>(capacity: 2)
  /// What clients send once it is closed goes there; `nil`: nowhere.
  private let late = Mutex<Late?>(nil)
  private let hasQuestion = Atomic(false)
  private let hasAttention = Atomic(false)
  /// Readable when a batch waits, or all have been sent.
  let readable: Int32

  /// Other schedulers take from it after the first.
  private let isKept: Bool

  /// - Parameter isKept: it goes on taking when a scheduler ends, until ``close()``.
  public init(isKept: Bool = false) throws(SystemError) {
    self.isKept = isKept
    readable = sluice_eventfd()
    if readable < 0 { throw SystemError("making an eventfd") }
  }

  deinit {
    Glibc.close(readable)
  }

  /// Queues files, at least one. False: the scheduler takes no more, and the rest need not be found.
  public func send(_ items: [IntakeItem]) -> Bool { send([.takeIn(items)], ticket: 0) }

  /// Hands over a client's commands, at least one. False: the scheduler takes no more.
  ///
  /// - Parameter ticket: given back with ``SchedulerEvent/answered(_:ticket:)`` once they are on record.
  public func send(_ commands: [Command], ticket: UInt64) -> Bool {
    if batches.send(Batch(commands, ticket: ticket)) {
      sluice_eventfd_raise(readable)
      return true
    }
    guard ticket != 0, let late = late.withLock({ $0 }) else { return false }
    return late(commands, ticket)
  }

  /// Says that no more files are found. Clients may still send commands.
  public func finish() {
    batches.send(Batch([], ticket: 0))
    sluice_eventfd_raise(readable)
  }

  /// Asks the scheduler to end once what is in hand has ended, so that another can go on. What is sent after this is the next one's.
  public func handOver() {
    var batch = Batch([], ticket: 0)
    batch.isHandover = true
    batches.send(batch)
    sluice_eventfd_raise(readable)
  }

  /// Asks the scheduler what its workers do: ``SchedulerEvent/atWork(_:)`` follows.
  public func askForWorkers() {
    hasQuestion.store(true, ordering: .relaxed)
    sluice_eventfd_raise(readable)
  }

  /// Whether that was asked since the last call.
  func takeQuestion() -> Bool {
    hasQuestion.load(ordering: .relaxed) && hasQuestion.exchange(false, ordering: .relaxed)
  }

  /// A client waits for what is queued, or watches. To be told each second.
  public func attend() {
    hasAttention.store(true, ordering: .relaxed)
    sluice_eventfd_raise(readable)
  }

  /// Whether that was told since the last call.
  func takeAttention() -> Bool {
    hasAttention.load(ordering: .relaxed) && hasAttention.exchange(false, ordering: .relaxed)
  }

  /// The next batch, if one waits; an empty one is the end.
  func take() -> Batch? { batches.pollFirst() }

  /// The scheduler ends.
  func end() {
    if !isKept { close() }
  }

  func clear() { sluice_eventfd_clear(readable) }

  /// Takes no more: senders are told so, and do not wait.
  ///
  /// - Parameter late: applies what clients have sent and the last scheduler did not take, and what they send from now on.
  ///   Any thread calls it.
  public func close(late: Late? = nil) {
    self.late.withLock { $0 = late }
    batches.close()
    guard let late else { return }
    for batch in batches.poll() where batch.ticket != 0 { _ = late(batch.commands, batch.ticket) }
  }
}
