import CPlatform
import FrontWire
import Glibc
import HTTPServer
import Platform
import Synchronization

/// Writes bodies into files on a thread of its own: a disk may take long, and connections do not wait for it.
final class FileWriter {
  /// The writing of one body. What the thread does with it is told on the loop.
  final class Task: @unchecked Sendable {
    fileprivate let file: SharedDescriptor
    fileprivate var place: Int64
    fileprivate let digest: MessageDigest?
    fileprivate var written: Int64 = 0
    fileprivate var error: Int32 = 0
    /// Is told on the loop what was done; `nil` once all was.
    var body: StoredBody?

    /// Unchecked because each part belongs to one thread: ``body`` to the loop, what else changes to the writer's.
    init(_ file: SharedDescriptor, _ order: StoreOrder) {
      (self.file, place) = (file, order.offset)
      digest = order.digest.flatMap { try? MessageDigest($0) }
      digest?.begin()
    }
  }

  private enum Step: Sendable {
    case write(Task, [UInt8])
    case finish(Task)
  }

  private enum Report: Sendable {
    case wrote(Task, Int)
    case finished(Task, Int64, Int32, [UInt8])
  }

  private let steps = Mailbox<Step>(capacity: .max)
  private let reports = ReportBox()
  private let readable: Int32

  /// What the thread has to tell.
  private final class ReportBox: Sendable {
    let waiting = Mutex<[Report]>([])
  }

  /// Starts the thread. The sandbox is closed by then.
  init(_ loop: EventLoop) throws(SystemError) {
    readable = sluice_eventfd()
    if readable < 0 { throw SystemError("making an eventfd") }
    _ = try loop.watch(readable, EventLoop.Interest(reads: true)) { [unowned self] _ in hear() }
    let (steps, reports, readable) = (steps, reports, readable)
    let thread = try Thread {
      while case let all = steps.receive(), !all.isEmpty {
        for step in all {
          let report = Self.take(step)
          reports.waiting.withLock { $0.append(report) }
          sluice_eventfd_raise(readable)
        }
      }
    }
    thread.detach()
  }

  func write(_ bytes: [UInt8], _ task: Task) { steps.send(.write(task, bytes)) }

  /// Syncs what was written, and tells the end.
  func finish(_ task: Task) { steps.send(.finish(task)) }

  private func hear() {
    sluice_eventfd_clear(readable)
    for report in reports.waiting.withLock({ waiting in
      defer { waiting = [] }
      return waiting
    }) {
      switch report {
      case .wrote(let task, let count): task.body?.progress(count)
      case .finished(let task, let written, let error, let digest):
        task.body?.ended(written, error, digest)
        task.body = nil
      }
    }
  }

  // MARK: On the thread

  private static func take(_ step: Step) -> Report {
    switch step {
    case .write(let task, let bytes):
      write(bytes, task)
      return .wrote(task, bytes.count)
    case .finish(let task):
      if task.written > 0 && fdatasync(task.file.number) != 0 { task.error = errno }
      return .finished(task, task.written, task.error, task.digest?.finish() ?? [])
    }
  }

  private static func write(_ bytes: [UInt8], _ task: Task) {
    var done = 0
    while task.error == 0 && done < bytes.count {
      let count = bytes.withUnsafeBytes {
        pwrite(task.file.number, $0.baseAddress.map { $0 + done }, bytes.count - done, off_t(task.place))
      }
      if count < 0 && errno == EINTR { continue }
      if count <= 0 {
        task.error = count < 0 ? errno : EIO
        return
      }
      bytes.withUnsafeBytes {
        task.digest?.add(UnsafeRawBufferPointer(rebasing: $0[done..<done + count]))
      }
      done += count
      task.place += Int64(count)
      task.written += Int64(count)
    }
  }
}
