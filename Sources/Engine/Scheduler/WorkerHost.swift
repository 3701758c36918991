import CPlatform
import Glibc
import Pipeline
import Platform
import Wire
import Workers

/// Worker processes of one thread, and the epoll by which that thread hears of them, and of what else it waits for.
final class WorkerHost {
  private let executable: String
  private let epoll: Int32
  private var workers: [UInt32: WorkerProcess] = [:]
  /// Workers whose end is not told, but has to be asked for.
  private var unwatched: Set<UInt32> = []

  /// What an event of the epoll is about: the upper half of its tag. The lower half is a worker's slot, or what the owner has chosen.
  private enum Subject: UInt64 {
    case other = 1
    case socket, standardError, process

    func tag(_ number: UInt32) -> UInt64 { rawValue << 32 | UInt64(number) }
  }

  /// - Parameter executable: the worker's.
  init(executable: String) throws(SystemError) {
    self.executable = executable
    epoll = sluice_epoll()
    if epoll < 0 { throw SystemError("making an epoll") }
  }

  /// Has a descriptor told of as soon as it can be read.
  func watch(_ descriptor: Int32, as number: UInt32) {
    sluice_epoll_add(epoll, descriptor, Subject.other.tag(number), 1, 0)
  }

  private func watch(_ descriptor: Int32, _ subject: Subject, _ slot: UInt32) {
    sluice_epoll_add(epoll, descriptor, subject.tag(slot), 1, 0)
  }

  /// Starts a worker and tells it what to be.
  ///
  /// - Parameters:
  ///   - slot: names it in what is heard of it.
  ///   - folder: a folder that it may use; or -1.
  ///   - ready: one that was set up like this before.
  func start(
    _ slot: UInt32, _ setup: Setup, folder: Int32 = -1, ready: WorkerProcess? = nil
  ) throws(SystemError) -> any Worker {
    let worker: WorkerProcess
    if let ready {
      worker = ready
    } else {
      worker = try WorkerProcess(executable: executable, words: ["run", String(getpid())], folder: folder)
    }
    workers[slot] = worker
    watch(worker.socket, .socket, slot)
    watch(worker.standardError, .standardError, slot)
    if worker.handle >= 0 { watch(worker.handle, .process, slot) } else { unwatched.insert(slot) }
    if ready == nil { try worker.open(setup) }
    return worker
  }

  /// Whether ``WorkerNews/writable`` is told of a worker.
  func awaitWritable(_ slot: UInt32, _ isAwaited: Bool) {
    guard let worker = workers[slot] else { return }
    sluice_epoll_change(epoll, worker.socket, Subject.socket.tag(slot), 1, isAwaited ? 1 : 0)
  }

  func kill() { for worker in workers.values { worker.kill() } }

  /// Ends all workers, and waits until they have ended. Nothing can be waited for afterwards.
  func close() {
    kill()
    for worker in workers.values { worker.reap() }
    workers.removeAll()
    Glibc.close(epoll)
  }

  // MARK: Waiting

  /// Waits up to so many milliseconds, and returns as soon as something has happened.
  ///
  /// - Parameters:
  ///   - news: is told what is heard of a worker.
  ///   - other: is told which of the other descriptors can be read.
  func wait(
    _ milliseconds: Int32, news: (UInt32, WorkerNews) -> Void, other: (UInt32) -> Void
  ) throws(SystemError) {
    let count = withUnsafeTemporaryAllocation(of: sluice_ready.self, capacity: 64) { ready in
      let count = sluice_epoll_wait(epoll, ready.baseAddress, 64, milliseconds)
      for index in 0..<Int(max(count, 0)) {
        let event = ready[index]
        let number = UInt32(truncatingIfNeeded: event.tag)
        switch Subject(rawValue: event.tag >> 32) {
        case .other: other(number)
        case .socket:
          if event.writable != 0 { news(number, .writable) }
          if event.readable != 0 || event.hangup != 0 { hear(number, news) }
        case .standardError: drain(number, news)
        case .process: bury(number, news)
        case nil: break
        }
      }
      return count
    }
    if count < 0 { throw SystemError("waiting for workers") }
    for slot in unwatched { bury(slot, news) }
  }

  /// Takes all that a worker has said.
  private func hear(_ slot: UInt32, _ news: (UInt32, WorkerNews) -> Void) {
    guard let worker = workers[slot] else { return }
    while true {
      switch worker.hear() {
      case .nothing: return
      case .closed:
        sluice_epoll_remove(epoll, worker.socket)
        return news(slot, .closed)
      case .message(let message):
        news(slot, .said(message))
        // Nothing more is to come: to look again would be one system call for nothing.
        if worker.unanswered == 0 { return }
      }
    }
  }

  private func drain(_ slot: UInt32, _ news: (UInt32, WorkerNews) -> Void) {
    guard let worker = workers[slot] else { return }
    if worker.drainStandardError() { news(slot, .flooded) }
    if worker.isStandardErrorClosed { sluice_epoll_remove(epoll, worker.standardError) }
  }

  /// Takes the rest of what a worker has said, and how it ended.
  private func bury(_ slot: UInt32, _ news: (UInt32, WorkerNews) -> Void) {
    guard let worker = workers[slot], let cause = worker.ended() else { return }
    hear(slot, news)
    for descriptor in [worker.socket, worker.standardError, worker.handle] where descriptor >= 0 {
      sluice_epoll_remove(epoll, descriptor)
    }
    workers[slot] = nil
    unwatched.remove(slot)
    news(slot, .ended(cause))
  }
}
