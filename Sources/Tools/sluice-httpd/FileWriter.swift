import CPlatform
import FrontWire
import Glibc
import HTTPServer
import Platform
import Synchronization

/// Is told on the loop what becomes of what it has written.
protocol FileWriterClient: AnyObject {
  /// So many bytes are written, or cannot be.
  func progress(_ count: Int)
  /// Nothing more is written. The errno is 0 where all was; the digest is empty where none was asked for.
  func ended(_ written: Int64, _ error: Int32, _ digest: [UInt8])
}

/// Writes bodies into files on a thread of its own: a disk may take long, and connections do not wait for it. What is to be hashed
/// another thread hashes meanwhile, which takes longer than to write where the disk is fast; and a third one syncs what is written
/// while the rest comes, so that little is left to sync at the end.
final class FileWriter {
  /// The writing of one body. What the thread does with it is told on the loop.
  final class Task: @unchecked Sendable {
    fileprivate let file: SharedDescriptor
    fileprivate var place: Int64
    fileprivate let digest: MessageDigest?
    fileprivate var written: Int64 = 0
    /// Of them, those that are synced, or soon will be.
    fileprivate var passed: Int64 = 0
    fileprivate var error: Int32 = 0
    /// Why not all of it is on the disk. The kernel says so once.
    fileprivate var syncError: Int32 = 0
    fileprivate var sum: [UInt8] = []
    /// Threads that are not done with it. The last one tells.
    fileprivate let working: Atomic<Int>
    /// Whether what was written is synced before its end is told.
    fileprivate let syncs: Bool
    /// Is told on the loop what was done; `nil` once all was.
    var client: (any FileWriterClient)?

    /// Unchecked because each part belongs to one thread: ``client`` to the loop, ``digest`` and ``sum`` to the one that hashes,
    /// ``syncError`` to the one that syncs, what else changes to the one that writes; until all are done.
    init(
      _ file: SharedDescriptor, at place: Int64 = 0, digest algorithm: MessageDigest.Algorithm? = nil,
      syncs: Bool
    ) {
      (self.file, self.place, self.syncs) = (file, place, syncs)
      digest = algorithm.flatMap { try? MessageDigest($0) }
      digest?.begin()
      working = Atomic(digest == nil ? 1 : 2)
    }
  }

  private enum Step: Sendable {
    /// So many bytes of a body, or those of them that were written.
    case write(Task, Block, count: Int)
    case finish(Task)
  }

  private enum Report: Sendable {
    /// The rest of a block that could not be written counts as done as well.
    case wrote(Task, Block, count: Int)
    case finished(Task, Int64, Int32, [UInt8])
  }

  private enum Sync: Sendable {
    /// What is written so far; more follows.
    case part(Task)
    case all(Task)
  }

  /// So many bytes at a time are synced.
  private static let part: Int64 = 8 << 20

  private let steps = Mailbox<Step>(capacity: .max)
  private let reports: Reports
  private let blocks: Blocks

  /// What the threads have to tell.
  private final class Reports: Sendable {
    let readable: Int32
    private let waiting = Mutex<[Report]>([])

    init() throws(SystemError) {
      readable = sluice_eventfd()
      if readable < 0 { throw SystemError("making an eventfd") }
    }

    func add(_ report: Report) {
      let isFirst = waiting.withLock { waiting in
        waiting.append(report)
        return waiting.count == 1
      }
      // Of the others the loop hears with the first.
      if isFirst { sluice_eventfd_raise(readable) }
    }

    /// Tells the end, where the other thread is done as well.
    func finish(_ task: Task) {
      if task.working.subtract(1, ordering: .acquiringAndReleasing).newValue > 0 { return }
      add(.finished(task, task.written, task.error != 0 ? task.error : task.syncError, task.sum))
    }

    func take() -> [Report] {
      sluice_eventfd_clear(readable)
      return waiting.withLock { waiting in
        defer { waiting = [] }
        return waiting
      }
    }
  }

  /// Starts the threads. The sandbox is closed by then.
  ///
  /// - Parameter blocks: in which what is to be written may lie.
  init(_ loop: EventLoop, _ blocks: Blocks) throws(SystemError) {
    self.blocks = blocks
    reports = try Reports()
    _ = try loop.watch(reports.readable, EventLoop.Interest(reads: true)) { [unowned self] _ in hear() }
    let (steps, reports) = (steps, reports)
    let (written, syncs) = (Mailbox<Step>(capacity: .max), Mailbox<Sync>(capacity: .max))
    let writing = try Thread {
      while case let all = steps.receive(), !all.isEmpty {
        for step in all { Self.write(step, written, syncs, reports) }
      }
    }
    writing.detach()
    let syncing = try Thread {
      while case let all = syncs.receive(), !all.isEmpty { Self.sync(all, reports) }
    }
    syncing.detach()
    let hashing = try Thread {
      while case let all = written.receive(), !all.isEmpty {
        for step in all { Self.hash(step, reports) }
      }
    }
    hashing.detach()
  }

  /// - Parameter bytes: as many as one read brings, at most.
  func write(_ bytes: UnsafeRawBufferPointer, _ task: Task) {
    steps.send(.write(task, blocks.block(bytes), count: bytes.count))
  }

  /// Syncs what was written, and tells the end.
  func finish(_ task: Task) { steps.send(.finish(task)) }

  private func hear() {
    for report in reports.take() {
      switch report {
      case .wrote(let task, let block, let count):
        blocks.giveBack(block)
        task.client?.progress(count)
      case .finished(let task, let written, let error, let digest):
        task.client?.ended(written, error, digest)
        task.client = nil
      }
    }
  }

  // MARK: On the threads

  /// Does a step, and passes it on to be hashed and synced. Bytes count as pending until they are hashed, too: those in memory are
  /// bounded.
  private static func write(
    _ step: Step, _ written: Mailbox<Step>, _ syncs: Mailbox<Sync>, _ reports: Reports
  ) {
    switch step {
    case .write(let task, let block, let count):
      block.shorten(to: write(block.bytes, task))
      if task.digest == nil {
        reports.add(.wrote(task, block, count: count))
      } else {
        written.send(.write(task, block, count: count))
      }
      if task.syncs && task.written - task.passed >= part {
        task.passed = task.written
        syncs.send(.part(task))
      }
    case .finish(let task):
      if task.digest != nil { written.send(step) }
      if task.syncs && task.written > 0 { syncs.send(.all(task)) } else { reports.finish(task) }
    }
  }

  /// Syncs what waits for it: first what has ended, for which a client waits, then what goes on.
  private static func sync(_ waiting: [Sync], _ reports: Reports) {
    var done: Set<ObjectIdentifier> = []
    func sync(_ task: Task) {
      guard done.insert(ObjectIdentifier(task)).inserted else { return }
      if fdatasync(task.file.number) != 0 && task.syncError == 0 { task.syncError = errno }
    }
    for case .all(let task) in waiting {
      sync(task)
      reports.finish(task)
    }
    for case .part(let task) in waiting { sync(task) }
  }

  private static func hash(_ step: Step, _ reports: Reports) {
    switch step {
    case .write(let task, let block, let count):
      task.digest?.add(block.bytes)
      reports.add(.wrote(task, block, count: count))
    case .finish(let task):
      task.sum = task.digest?.finish() ?? []
      reports.finish(task)
    }
  }

  /// - Returns: how many bytes were written; after an error none is.
  private static func write(_ bytes: UnsafeRawBufferPointer, _ task: Task) -> Int {
    var done = 0
    while task.error == 0 && done < bytes.count {
      let rest = bytes.baseAddress.map { $0 + done }
      let count = pwrite(task.file.number, rest, bytes.count - done, off_t(task.place))
      if count < 0 && errno == EINTR { continue }
      if count <= 0 {
        task.error = count < 0 ? errno : EIO
        break
      }
      done += count
      task.place += Int64(count)
      task.written += Int64(count)
    }
    return done
  }
}
