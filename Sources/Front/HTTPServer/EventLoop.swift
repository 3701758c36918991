import CPlatform
import Glibc
import Platform

/// Waits for descriptors, and calls those who watch them. All of it is on the thread that runs it.
public final class EventLoop {
  /// What may be done with a descriptor without waiting.
  public struct Readiness: Sendable {
    public let readable: Bool
    public let writable: Bool
    /// The other side has closed, or sends no more.
    public let isOver: Bool
    /// Nothing reaches it any more. Of a side that has closed over TCP that is known once something was sent to it.
    public let isClosed: Bool
  }

  /// What a watcher wants to be called for.
  public struct Interest: Sendable, Equatable {
    public var reads: Bool
    public var writes: Bool

    public init(reads: Bool, writes: Bool = false) { (self.reads, self.writes) = (reads, writes) }
  }

  /// A descriptor that is watched. The watcher keeps it open as long.
  public struct Watch: Sendable {
    let descriptor: Int32
    let tag: UInt64
  }

  private let epoll: Int32
  private var watchers: [UInt64: (Readiness) -> Void] = [:]
  private var lastTag: UInt64 = 0
  private var ticks: [() -> Void] = []
  private var turns: [() -> Void] = []
  private var isStopped = false
  /// By the monotonic clock, in nanoseconds: when it last stopped waiting.
  private var woken = Clock.monotonic()

  /// Milliseconds between two ticks.
  private static let tick: UInt64 = 1000

  /// - Throws: why there is no epoll(7).
  public init() throws(SystemError) {
    epoll = sluice_epoll()
    if epoll < 0 { throw SystemError("making an epoll") }
  }

  deinit { close(epoll) }

  /// Milliseconds of the monotonic clock, for deadlines. The same for all that is ready at once: to ask the clock for each would cost
  /// more than to compare.
  var now: UInt64 { woken / 1_000_000 }

  /// A descriptor that stands for nothing but its number; the caller closes it. -1: there is none left.
  func spareDescriptor() -> Int32 { sluice_fcntl_dup_above(epoll, 0) }

  /// Calls about once a second, for deadlines.
  public func onTick(_ body: @escaping () -> Void) { ticks.append(body) }

  /// Calls each time that all who watch descriptors which are ready were called.
  public func onTurn(_ body: @escaping () -> Void) { turns.append(body) }

  /// - Parameter body: called whenever the descriptor is ready for what the watcher is interested in, and when it is over.
  public func watch(
    _ descriptor: Int32, _ interest: Interest, _ body: @escaping (Readiness) -> Void
  ) throws(SystemError) -> Watch {
    lastTag += 1
    guard sluice_epoll_add(epoll, descriptor, lastTag, Self.reading(interest), interest.writes ? 1 : 0) == 0
    else {
      throw SystemError("watching a descriptor")
    }
    watchers[lastTag] = body
    return Watch(descriptor: descriptor, tag: lastTag)
  }

  public func change(_ watch: Watch, _ interest: Interest) {
    sluice_epoll_change(
      epoll, watch.descriptor, watch.tag, Self.reading(interest), interest.writes ? 1 : 0)
  }

  /// Its watcher is not called any more, not even for what is ready already. To be called before the descriptor is closed.
  public func forget(_ watch: Watch) {
    guard watchers.removeValue(forKey: watch.tag) != nil else { return }
    sluice_epoll_remove(epoll, watch.descriptor)
  }

  /// Runs until ``stop()``.
  public func run() throws(SystemError) {
    var ticked = woken
    while !isStopped {
      let passed = (woken - ticked) / 1_000_000
      if passed >= Self.tick {
        ticked = woken
        for tick in ticks { tick() }
        for turn in turns { turn() }
        continue
      }
      try turn(waiting: Int32(Self.tick - passed))
    }
  }

  /// To be called by a watcher or a tick.
  public func stop() { isStopped = true }

  private func turn(waiting milliseconds: Int32) throws(SystemError) {
    let count = withUnsafeTemporaryAllocation(of: sluice_ready.self, capacity: 64) { ready in
      let count = sluice_epoll_wait(epoll, ready.baseAddress, 64, milliseconds)
      woken = Clock.monotonic()
      if count <= 0 { return count }
      for event in ready[..<Int(count)] {
        // One that was called before may have had it forgotten.
        watchers[event.tag]?(
          Readiness(
            readable: event.readable != 0, writable: event.writable != 0, isOver: event.hangup != 0,
            isClosed: event.hangup & UInt32(SLUICE_CLOSED) != 0))
      }
      return count
    }
    if count < 0 { throw SystemError("waiting for descriptors") }
    for turn in turns { turn() }
  }

  /// Where nothing is read, the end is told all the same: a stream must notice that its reader has left.
  private static func reading(_ interest: Interest) -> Int32 { interest.reads ? 1 : SLUICE_ENDS }
}
