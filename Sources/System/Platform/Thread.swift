import Glibc

/// A thread with a body, to be joined or detached.
///
/// Blocking calls (SQLite's syncs, walking folders, waiting for events) run on threads of their own: on the
/// cooperative pool they would block all other tasks.
public struct Thread: Sendable {
  private let handle: pthread_t

  public init(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
    let box = Unmanaged.passRetained(Body(body))
    var handle = pthread_t()
    let error = pthread_create(&handle, nil, runBody, box.toOpaque())
    if error != 0 {
      box.release()
      throw SystemError("starting a thread", code: error)
    }
    self.handle = handle
  }

  /// Waits for its end.
  public func join() {
    pthread_join(handle, nil)
  }

  /// Lets the thread run on its own, until it ends or the process does. It cannot be joined afterwards.
  public func detach() {
    pthread_detach(handle)
  }
}

private final class Body: Sendable {
  let run: @Sendable () -> Void
  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

private func runBody(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context else { return nil }
  Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
  return nil
}
