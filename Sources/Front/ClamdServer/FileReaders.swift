import CPlatform
import Glibc
import HTTPServer
import Platform
import Synchronization

/// Does what may block for ever, such as to read a file that a client has open, on threads of which there are few.
///
/// What has not ended in its time is given up: its client is told, and what it held is closed, at once where it had not begun, else
/// when the call that blocks returns. Used by the loop's thread.
public final class FileReaders {
  /// What one is asked to do. It returns an errno, or 0; and soon where it is not wanted any more.
  public typealias Work = @Sendable (_ isWanted: () -> Bool) -> Int32

  /// One that is under way or waits.
  public final class Reading {
    fileprivate let serial: UInt64
    fileprivate let peer: String
    fileprivate let since: UInt64
    /// `nil`: it has begun.
    fileprivate var work: Work?
    fileprivate let then: (Int32) -> Void
    fileprivate let flag = Flag()

    fileprivate init(
      _ serial: UInt64, _ peer: String, _ work: @escaping Work, _ then: @escaping (Int32) -> Void
    ) {
      (self.serial, self.peer, self.work, self.then) = (serial, peer, work, then)
      since = ClamdServer.now
    }
  }

  fileprivate final class Flag: Sendable {
    let isWanted = Atomic(true)
  }

  /// What threads have ended.
  private final class Ends: Sendable {
    let readable: Int32
    private let ended = Mutex<[(serial: UInt64, error: Int32)]>([])

    init() throws(SystemError) {
      readable = sluice_eventfd()
      if readable < 0 { throw SystemError("making an eventfd") }
    }

    func add(_ serial: UInt64, _ error: Int32) {
      ended.withLock { $0.append((serial, error)) }
      sluice_eventfd_raise(readable)
    }

    func take() -> [(serial: UInt64, error: Int32)] {
      sluice_eventfd_clear(readable)
      return ended.withLock { ended in
        defer { ended = [] }
        return ended
      }
    }
  }

  private let limits: ClamdServer.Limits
  private let ends: Ends
  private var last: UInt64 = 0
  /// Those whose clients are not told yet.
  private var readings: [UInt64: Reading] = [:]
  private var waiting: [Reading] = []
  /// The peers of those that have a thread, also where they were given up.
  private var threads: [UInt64: String] = [:]

  public init(_ loop: EventLoop, _ limits: ClamdServer.Limits) throws(SystemError) {
    self.limits = limits
    ends = try Ends()
    _ = try loop.watch(ends.readable, EventLoop.Interest(reads: true)) { [unowned self] _ in hear() }
    loop.onTick { [weak self] in self?.giveUpLate() }
  }

  /// Has it done by a thread, once there is one for its peer.
  ///
  /// - Parameter then: is told on the loop how it ended; ETIMEDOUT: not in its time. Not called once it was given up.
  @discardableResult
  public func read(for peer: String, _ work: @escaping Work, then: @escaping (Int32) -> Void) -> Reading {
    last += 1
    let reading = Reading(last, peer, work, then)
    readings[last] = reading
    waiting.append(reading)
    begin()
    return reading
  }

  /// It is not wanted any more.
  public func giveUp(_ reading: Reading) {
    readings[reading.serial] = nil
    reading.flag.isWanted.store(false, ordering: .relaxed)
    reading.work = nil
    waiting.removeAll { $0 === reading }
  }

  private func begin() {
    while threads.count < limits.readers, let index = waiting.firstIndex(where: { mayBegin($0.peer) }) {
      let reading = waiting.remove(at: index)
      guard let work = reading.work else { continue }
      reading.work = nil
      let (serial, flag, ends) = (reading.serial, reading.flag, ends)
      do throws(SystemError) {
        try Thread {
          ends.add(serial, work { flag.isWanted.load(ordering: .relaxed) })
        }.detach()
        threads[serial] = reading.peer
      } catch {
        readings[serial] = nil
        reading.then(error.code)
      }
    }
  }

  /// One peer whose files hang leaves threads to others.
  private func mayBegin(_ peer: String) -> Bool {
    threads.values.count { $0 == peer } < limits.readersOfPeer
  }

  private func hear() {
    for (serial, error) in ends.take() {
      threads[serial] = nil
      readings.removeValue(forKey: serial)?.then(error)
    }
    begin()
  }

  private func giveUpLate() {
    let now = ClamdServer.now
    for reading in readings.values where now > reading.since && now - reading.since > limits.readTime {
      giveUp(reading)
      reading.then(ETIMEDOUT)
    }
  }
}
