import CPlatform
import Pipeline
import Platform
import Wire

/// A worker process as the scheduler uses it: given work, looked at, killed. What it says and how it ends arrives as
/// ``WorkerNews``. The simulator has workers of its own.
public protocol Worker: AnyObject {
  /// Hands over a piece of work. Its descriptors are those that it reads and writes.
  func give(_ work: Work, descriptors: [Int32]) -> GiveResult
  /// Hands over a transfer, to a source's worker. The content goes to the descriptor.
  func give(_ transfer: TransferWork, descriptor: Int32) -> GiveResult
  /// Tells a source's worker what becomes of a transfer.
  func give(_ order: TransferOrder) -> GiveResult
  /// What it shows of itself: hearsay.
  var status: sluice_status { get }
  /// The results of the stages before the one at work when the worker ended: hearsay too. For a worker that has ended.
  var partialResult: WorkResult? { get }
  /// The processor time that it has used since its start, in nanoseconds; 0: unknown.
  var processorTime: UInt64 { get }
  /// It has more threads than any worker may have; `nil`: it has not.
  var excessThreads: Int? { get }
  /// The last lines it wrote to standard error, printable.
  var lastWords: String { get }
  /// Another attachment's turn begins: what was written to standard error so far is not its doing.
  func resetFlood()
  /// Tells it of which pieces of work the results are not wanted any more: all of them each time. Its stage may ask for that.
  func cancel(_ serials: [UInt64])
  /// Ends it at once, with SIGKILL. ``WorkerNews/ended(_:)`` follows.
  func kill()
}

extension Worker {
  public var processorTime: UInt64 { 0 }
  /// A worker of stages takes none.
  public func give(_ transfer: TransferWork, descriptor: Int32) -> GiveResult { .gone }
  public func give(_ order: TransferOrder) -> GiveResult { .gone }
}

/// What became of a piece of work that was handed to a worker.
public enum GiveResult: Sendable {
  case given
  /// The worker reads more slowly than it is written to: ``WorkerNews/writable`` follows.
  case full
  /// The worker is gone, or going.
  case gone
  /// More is known of it than fits into a frame.
  case tooLong
  /// It cannot be sent to any worker.
  case failed(SystemError)
}

/// What is heard of a worker.
public enum WorkerNews {
  case said(WorkerMessage)
  /// It takes more work again.
  case writable
  /// It wrote more to standard error than one attachment may cause.
  case flooded
  /// It has closed its socket: by ending, or else it only pretends to.
  case closed
  /// It has ended, and all that it said before has been told.
  case ended(WorkerDeath.Cause)
}

/// What a worker says.
public enum WorkerMessage {
  /// Its stages are open.
  case ready(Ready)
  /// It cannot be what it was told to be.
  case refusal(Refusal)
  // Copied from hand to hand: behind a reference, since it is large.
  indirect case result(WorkResult)
  /// How far a transfer is.
  case news(TransferNews)
  /// What the plugin is that it was asked about.
  case description(StageDescription)
  case trace(TraceLine)
  /// The program that is its stage has come to its end, or says what has no place.
  case fault(WorkerDeath.Cause)
  /// What has no place here, or breaks the format; with the reason.
  case invalid(String)
}
