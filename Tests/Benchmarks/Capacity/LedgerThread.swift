import Glibc
import LedgerPort
import Platform
import Scheduler

/// The ledger's thread, as a coordinator has one, with a count of its processor time.
///
/// Unchecked because the mutex is held at every access to the state, and the ledger is used by the thread alone.
final class LedgerThread: @unchecked Sendable {
  typealias Reply = Result<ExchangeReply?, LedgerError>

  private let ledger: any LedgerWriter
  private let inbox = Mailbox<LedgerRequest>(capacity: .max)
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let replied = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var replies: [Reply] = []
  private var use = Use()
  private var thread: Platform.Thread?

  /// What the thread has taken, in seconds.
  struct Use {
    /// Of a processor.
    var processor = 0.0
    /// With a request in hand: at work, or waiting for a sync.
    var inHand = 0.0
  }

  init(_ ledger: any LedgerWriter) throws {
    self.ledger = ledger
    pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(replied, &attributes)
    pthread_condattr_destroy(&attributes)
    thread = try Platform.Thread { [unowned self] in run() }
  }

  deinit {
    pthread_cond_destroy(replied)
    pthread_mutex_destroy(mutex)
    replied.deallocate()
    mutex.deallocate()
  }

  func send(_ request: LedgerRequest) {
    inbox.send(request)
  }

  /// Takes the replies, and waits for the first until this time of the monotonic clock, in nanoseconds.
  func replies(until time: UInt64) -> [Reply] {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    var end = timespec(tv_sec: Int(time / 1_000_000_000), tv_nsec: Int(time % 1_000_000_000))
    while replies.isEmpty {
      if time == 0 || pthread_cond_timedwait(replied, mutex, &end) != 0 { return [] }
    }
    defer { replies.removeAll(keepingCapacity: true) }
    return replies
  }

  /// Ends it when it has answered all requests.
  func stop() -> Use {
    inbox.close()
    thread?.join()
    thread = nil
    return use
  }

  /// The processor time of the thread that asks, in seconds.
  static func ownProcessorSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  private func run() {
    while true {
      let requests = inbox.receive()
      if requests.isEmpty { break }
      let started = Clock.monotonic()
      for request in requests {
        let reply = request.ask(ledger)
        pthread_mutex_lock(mutex)
        replies.append(reply)
        pthread_cond_signal(replied)
        pthread_mutex_unlock(mutex)
        _ = ledger.rest(isIdle: false)
      }
      use.inHand += Double(Clock.monotonic() - started) / 1e9
    }
    use.processor = Self.ownProcessorSeconds()
  }
}
