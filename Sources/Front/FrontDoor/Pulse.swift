import Glibc
import Platform
import Workers

/// Whether the process that serves HTTP still turns: it counts up on its status page each second.
///
/// Looks are counted and not seconds. So neither a machine nor a program that was suspended takes the other for hung: each look
/// comes a second after the one before, in which the process could have turned as well.
struct Pulse {
  private var beat: UInt64 = 0
  private var next: UInt64 = 0
  /// Looks without a sign of life.
  private(set) var missed = 0

  /// As many looks without a sign are too many; and as many while it starts, which a busy machine may delay.
  private static let most = 10
  private static let mostAtStart = 60

  /// To be called often. True: it is to be ended; told once.
  mutating func hasStopped(of process: ChildProcess, isServing: Bool) -> Bool {
    hasStopped(
      process.status.serial, isServing: isServing, at: Clock.monotonic(), waits: Self.waits(process.pid))
  }

  /// - Parameters:
  ///   - beat: what it has counted up to.
  ///   - now: nanoseconds of the monotonic clock.
  ///   - waits: whether it waits for a disk.
  mutating func hasStopped(
    _ beat: UInt64, isServing: Bool, at now: UInt64, waits: @autoclosure () -> Bool
  ) -> Bool {
    if now < next { return false }
    next = now + 1_000_000_000
    if beat != self.beat {
      (self.beat, missed) = (beat, 0)
      return false
    }
    if !waits() { missed += 1 }
    return missed == (isServing ? Self.most : Self.mostAtStart)
  }

  /// Whether a process is in a call that nothing interrupts, as reading from a slow disk is: to end it would not make that faster.
  private static func waits(_ pid: pid_t) -> Bool {
    guard let file = try? Descriptor.open("/proc/\(pid)/stat", O_RDONLY) else { return false }
    var room = [UInt8](repeating: 0, count: 200)
    let count = read(file.number, &room, room.count)
    // The name before it may have anything in it.
    guard count > 0, let end = room[..<count].lastIndex(of: UInt8(ascii: ")")), end + 2 < count else {
      return false
    }
    return room[end + 2] == UInt8(ascii: "D")
  }
}
