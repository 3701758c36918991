import LedgerPort
import Objects
import Pipeline
import Platform
import Wire
import Workers

/// What a scheduler uses of the world outside: clocks, chance, workers, the ledger, sources, a store, and a way to wait for any of
/// them. ``Machine`` gives it those of this machine, the simulator its own, in virtual time.
///
/// What must answer at once is a closure here. All else arrives as a ``Happening``.
package struct SchedulerEnvironment {
  package var clock: Clock
  /// A random number in 0...1.
  package var jitter: () -> Double
  package var store: any ObjectStore
  /// Where what is fetched lies.
  package var downloads = DownloadsFolder(path: "", store: "")
  /// The folder with what clients send.
  package var uploads = ""
  /// Descriptors that this process may have open.
  package var descriptorLimit: Int
  package var tuning = Tuning()
  /// Starts a worker and tells it what to be. The slot names it in what happens; the folder is one that it may use.
  package var startWorker: (_ slot: UInt32, Setup, WorkerFolder?) throws(SystemError) -> any Worker
  /// What the files that a program's command names are now, by their paths.
  package var programFiles: (StageDescription) -> [String: FileStamp] = { _ in [:] }
  /// Whether ``WorkerNews/writable`` is told of a worker.
  package var awaitWritable: (_ slot: UInt32, Bool) -> Void
  /// Asks the ledger. One at a time: the next only after ``Happening/replied(_:)``.
  package var exchange: (LedgerRequest) -> Void
  /// Opens sources. Each is answered with ``Happening/opened(serial:_:)``.
  package var open: ([Source]) -> Void
  /// Renames objects to their paths. One batch at a time: the next only after ``Happening/published(_:)``.
  package var publish: ([StagedObject]) -> Void
  /// Writes what stages leave beside contents to files: of each flight all or nothing. One batch at a time: the next only after
  /// ``Happening/staged(_:)``.
  package var stage: ([NewPieces]) -> Void = { _ in }
  /// Deletes objects from the store. One batch at a time: the next only after ``Happening/deleted(_:)``.
  package var delete: (_ paths: [String]) -> Void
  /// The next batch of commands, if one waits; an empty one says that no more files are found.
  package var nextBatch: () -> Intake.Batch?
  /// Whether what the workers do was asked for since the last call.
  package var isAsked: () -> Bool = { false }
  /// Whether a client said since the last call that it waits for what is queued, or watches.
  package var isAttended: () -> Bool = { false }
  /// Minutes since Monday, 0:00, in local time.
  package var minuteOfWeek: () -> Int = { 0 }
  /// Has ``Happening/networkChanged`` told from now on.
  package var watchNetwork: () -> Void = {}
  /// What is no longer where it was; `nil`: home and store are in place.
  package var lostPlace: () -> Place?
  /// Waits up to so many milliseconds, and returns as soon as something has happened.
  package var wait: (_ milliseconds: Int32) throws(SystemError) -> [Happening]
  /// Ends all that was begun. At once: without waiting for what is under way.
  package var close: (_ isAtOnce: Bool) -> Void

  package init(
    clock: Clock, jitter: @escaping () -> Double, store: any ObjectStore, descriptorLimit: Int,
    startWorker: @escaping (_ slot: UInt32, Setup, WorkerFolder?) throws(SystemError) -> any Worker,
    awaitWritable: @escaping (_ slot: UInt32, Bool) -> Void, exchange: @escaping (LedgerRequest) -> Void,
    open: @escaping ([Source]) -> Void, publish: @escaping ([StagedObject]) -> Void,
    delete: @escaping (_ paths: [String]) -> Void,
    nextBatch: @escaping () -> Intake.Batch?, lostPlace: @escaping () -> Place?,
    wait: @escaping (_ milliseconds: Int32) throws(SystemError) -> [Happening],
    close: @escaping (_ isAtOnce: Bool) -> Void
  ) {
    self.clock = clock
    self.jitter = jitter
    self.store = store
    self.descriptorLimit = descriptorLimit
    self.startWorker = startWorker
    self.awaitWritable = awaitWritable
    self.exchange = exchange
    self.open = open
    self.publish = publish
    self.delete = delete
    self.nextBatch = nextBatch
    self.lostPlace = lostPlace
    self.wait = wait
    self.close = close
  }
}

/// What a pool of workers uses of it.
struct PoolEnvironment {
  var clock: Clock
  var tuning = Tuning()
  var startWorker: (_ slot: UInt32, Setup, WorkerFolder?) throws(SystemError) -> any Worker
  var awaitWritable: (_ slot: UInt32, Bool) -> Void
  var programFiles: (StageDescription) -> [String: FileStamp] = { _ in [:] }
}

extension SchedulerEnvironment {
  var pool: PoolEnvironment {
    PoolEnvironment(
      clock: clock, tuning: tuning, startWorker: startWorker, awaitWritable: awaitWritable,
      programFiles: programFiles)
  }
}

/// Limits that say when, and not what. The simulator makes them small, so that they are met often.
package struct Tuning: Sendable {
  /// Leases in hand of one lane, at most: three quarters of it, which one sender may have, are enough to keep all workers busy while
  /// a transaction is synced.
  package var window = 342
  /// Results that are worth a transaction of their own; and how long fewer wait while others are at work, in nanoseconds.
  package var worthwhile = 64
  package var gathering: UInt64 = 10_000_000
  /// Pieces of work after which a worker makes room for a new one: libraries leak, and a worker that was taken over is
  /// not kept for ever.
  package var recycleAfter = 10_000

  package init() {}
}

/// A place that is to stay where it is while a coordinator works.
package enum Place: Sendable {
  case home, store
}

/// The folder that a worker may use.
package enum WorkerFolder: Sendable {
  case store, home
}

/// What a scheduler waits for.
package enum Happening {
  case worker(slot: UInt32, WorkerNews)
  /// `nil`: the exchange that was asked about was not done.
  case replied(Result<ExchangeReply?, LedgerError>)
  /// A source is open, or why not.
  case opened(serial: UInt64, Source.Opening)
  /// For each object of the batch, why it has not got its path.
  case published([SystemError?])
  /// For each flight of the batch, what lies in files now.
  case staged([Result<StagedPieces, SystemError>])
  /// For each path of the batch, why its object is still there.
  case deleted([SystemError?])
  /// Addresses or routes of this machine have changed.
  case networkChanged
  /// A signal asks for the end.
  case signal(Int32)
}
