import Glibc

/// Syncs files on threads of its own, so that a slow disk does not keep transfers from being read.
///
/// The threads are started with the first file: one that is started before the sandbox closes would not be held by it.
/// Unchecked because the lock guards all that changes; `wake` may be called on any thread.
final class Syncing: @unchecked Sendable {
  struct Order {
    /// A duplicate, which is closed here: the transfer may end meanwhile.
    var descriptor: Int32
    var transfer: Int
    /// The length of the file that will be on disk.
    var bytes: Int64
    /// It was made since its transfer was last asked from the start.
    var generation: Int
    /// An errno; 0: it is done.
    var error: Int32 = 0
  }

  private static let threadCount = 4
  private static let stackSize = 256 << 10

  private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let signal = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private let wake: () -> Void
  private var waiting: [Order] = []
  private var done: [Order] = []
  private var threads: [pthread_t] = []
  private var isEnding = false

  /// - Parameter wake: called on another thread when something is done.
  init(wake: @escaping () -> Void) {
    self.wake = wake
    pthread_mutex_init(lock, nil)
    pthread_cond_init(signal, nil)
  }

  deinit {
    pthread_cond_destroy(signal)
    pthread_mutex_destroy(lock)
    signal.deallocate()
    lock.deallocate()
  }

  /// Hands over a file. Returns an errno; 0: it will be among ``takeDone()``.
  func begin(_ descriptor: Int32, transfer: Int, bytes: Int64, generation: Int) -> Int32 {
    let copy = dup(descriptor)
    if copy < 0 { return errno }
    let order = Order(descriptor: copy, transfer: transfer, bytes: bytes, generation: generation)
    pthread_mutex_lock(lock)
    waiting.append(order)
    let isShort = threads.count < min(Self.threadCount, waiting.count)
    pthread_cond_signal(signal)
    pthread_mutex_unlock(lock)
    guard isShort, let thread = startThread() else {
      if threads.isEmpty { run(isThread: false) }  // no thread can be had: then here
      return 0
    }
    threads.append(thread)
    return 0
  }

  /// What has been done since the last call.
  func takeDone() -> [Order] {
    pthread_mutex_lock(lock)
    defer { pthread_mutex_unlock(lock) }
    if done.isEmpty { return [] }
    let taken = done
    done.removeAll(keepingCapacity: true)
    return taken
  }

  /// Ends the threads, once they have synced what waits.
  func end() {
    pthread_mutex_lock(lock)
    isEnding = true
    pthread_cond_broadcast(signal)
    pthread_mutex_unlock(lock)
    for thread in threads { pthread_join(thread, nil) }
    threads = []
  }

  private func startThread() -> pthread_t? {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setstacksize(&attributes, Self.stackSize)
    var thread = pthread_t()
    // The object lives until `end` has joined its threads.
    let context = Unmanaged.passUnretained(self).toOpaque()
    let result = pthread_create(&thread, &attributes, syncFiles, context)
    return result == 0 ? thread : nil
  }

  fileprivate func run(isThread: Bool) {
    pthread_mutex_lock(lock)
    defer { pthread_mutex_unlock(lock) }
    while true {
      while waiting.isEmpty && isThread && !isEnding { pthread_cond_wait(signal, lock) }
      if waiting.isEmpty { return }
      var order = waiting.removeFirst()
      pthread_mutex_unlock(lock)
      order.error = fdatasync(order.descriptor) == 0 ? 0 : errno
      close(order.descriptor)
      pthread_mutex_lock(lock)
      done.append(order)
      wake()
    }
  }
}

private func syncFiles(_ syncing: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  if let syncing { Unmanaged<Syncing>.fromOpaque(syncing).takeUnretainedValue().run(isThread: true) }
  return nil
}
