import CPlatform
import Glibc

/// A bounded queue between two threads. Senders wait while it is full, the receiver while it is empty, until
/// it is closed.
///
/// Unchecked because every access to the state holds the mutex.
public final class Mailbox<Element: Sendable>: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var elements: [Element] = []
  private var isClosed = false
  private let capacity: Int

  public init(capacity: Int) {
    self.capacity = capacity
    pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(changed, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(changed)
    pthread_mutex_destroy(mutex)
    changed.deallocate()
    mutex.deallocate()
  }

  /// Puts an element at the end. Returns false if the mailbox is closed.
  @discardableResult
  public func send(_ element: Element) -> Bool {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while elements.count >= capacity && !isClosed { pthread_cond_wait(changed, mutex) }
    if isClosed { return false }
    elements.append(element)
    pthread_cond_broadcast(changed)
    return true
  }

  /// The same without waiting. Returns false also if the mailbox is full.
  public func offer(_ element: Element) -> Bool {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    if isClosed || elements.count >= capacity { return false }
    elements.append(element)
    pthread_cond_broadcast(changed)
    return true
  }

  /// Takes all elements, waiting for the first. Empty: the mailbox is closed and drained.
  public func receive() -> [Element] {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while elements.isEmpty && !isClosed { pthread_cond_wait(changed, mutex) }
    return take()
  }

  /// The same, waiting at most so many milliseconds. `nil`: nothing came.
  public func receive(within milliseconds: Int) -> [Element]? {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    var end = timespec()
    clock_gettime(CLOCK_MONOTONIC, &end)
    let nanoseconds = end.tv_nsec + milliseconds * 1_000_000
    end = timespec(tv_sec: end.tv_sec + nanoseconds / 1_000_000_000, tv_nsec: nanoseconds % 1_000_000_000)
    while elements.isEmpty && !isClosed {
      if pthread_cond_timedwait(changed, mutex, &end) != 0 { return nil }
    }
    return take()
  }

  /// Takes all elements, without waiting.
  public func poll() -> [Element] {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return take()
  }

  /// Takes the first element, without waiting.
  public func pollFirst() -> Element? {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    if elements.isEmpty { return nil }
    pthread_cond_broadcast(changed)
    return elements.removeFirst()
  }

  /// Refuses further elements; those in the queue can still be received.
  public func close() {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    isClosed = true
    pthread_cond_broadcast(changed)
  }

  private func take() -> [Element] {
    let taken = elements
    elements.removeAll(keepingCapacity: true)
    pthread_cond_broadcast(changed)
    return taken
  }
}
