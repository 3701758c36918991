import Glibc

/// A thread with a body, to be joined or left to itself.
///
/// Blocking calls (SQLite's syncs, walking folders, waiting for events) get threads of their own: on the cooperative
/// pool they would hold up everything else.
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

  /// Lets it go on until its end, or the process's. Nobody can wait for it any more.
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
