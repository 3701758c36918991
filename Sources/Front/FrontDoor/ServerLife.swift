import CPlatform
import Glibc
import Platform
import Synchronization
import Workers

/// The life of a process without rights that speaks with the world: started again where it ends, ended where it hangs, and told when
/// the program ends. All threads use it.
final class ServerLife: Sendable {
  /// As messages call it: `the HTTP server`.
  private let name: String
  private let say: @Sendable (String) -> Void
  private let event: SharedDescriptor
  private let isOver = Atomic(false)

  /// Milliseconds that requests under way have once the program ends.
  static let drainTime: Int32 = 5000
  /// Milliseconds of them that are left to tell clients that theirs were not decided.
  private static let lastWordTime: Int32 = 1000

  init(_ name: String, say: @escaping @Sendable (String) -> Void) throws(SystemError) {
    (self.name, self.say) = (name, say)
    let number = sluice_eventfd()
    if number < 0 { throw SystemError("making an eventfd") }
    event = SharedDescriptor(Descriptor(owning: number))
  }

  /// Readable once it takes no more connections.
  var stopping: Int32 { event.number }

  /// Has the process take no more connections. Requests under way may end until a few seconds after ``stop()``.
  func drain() { sluice_eventfd_raise(stopping) }

  func stop() {
    isOver.store(true, ordering: .relaxed)
    drain()
  }

  /// Whether the scheduler has ended: no request needs to wait for an attachment.
  var isLast: Bool { isOver.load(ordering: .relaxed) }

  /// Waits so many milliseconds, or until it takes no more connections.
  func isStopping(within milliseconds: Int32) -> Bool {
    var one = pollfd(fd: stopping, events: Int16(POLLIN), revents: 0)
    return poll(&one, 1, milliseconds) > 0
  }

  /// Has a process serve, again and again, until it is to end.
  ///
  /// - Parameter serve: starts one and returns with its end; whether it took connections.
  func keep(_ serve: () throws(SystemError) -> Bool) {
    var failures = 0
    while true {
      var hasServed = false
      do throws(SystemError) {
        hasServed = try serve()
      } catch {
        say("\(name) cannot be started: \(error)")
      }
      failures = hasServed ? 0 : min(failures + 1, 8)
      if isStopping(within: Int32(100 << failures)) { return }
    }
  }

  /// Waits until a process has ended, which is told to where the program ends.
  ///
  /// - Parameters:
  ///   - isServing: whether it takes connections.
  ///   - isBroken: whether it has done what it may not.
  ///   - drain: tells it to end.
  ///   - giveUp: answers what is still under way, once, shortly before it is killed.
  func waitForEnd(
    of process: ChildProcess, isServing: () -> Bool, isBroken: () -> Bool, drain: () -> Void,
    giveUp: () -> Void = {}
  ) -> WorkerDeath.Cause {
    var (isTold, hasGivenUp) = (false, false)
    var left = Self.drainTime
    var pulse = Pulse()
    while true {
      _ = process.drainStandardError()
      if let cause = process.ended() { return cause }
      if isBroken() { process.kill() }
      if pulse.hasStopped(of: process, isServing: isServing()) {
        say("\(name) has not turned for \(pulse.missed) s, and is ended")
        process.kill()
      }
      var watched = [
        pollfd(fd: process.handle, events: Int16(POLLIN), revents: 0),
        pollfd(
          fd: process.isStandardErrorClosed ? -1 : process.standardError, events: Int16(POLLIN), revents: 0),
        pollfd(fd: isTold ? -1 : stopping, events: Int16(POLLIN), revents: 0),
      ]
      let wait: Int32 = isTold ? 50 : 1000
      poll(&watched, nfds_t(watched.count), wait)
      if watched[2].revents != 0 {
        isTold = true
        drain()
      } else if isTold && isLast {
        left -= wait
        if left <= Self.lastWordTime && !hasGivenUp {
          hasGivenUp = true
          giveUp()
        }
        if left <= 0 { process.kill() }
      }
    }
  }

  /// Tells the operator how a process ended, unless it was to.
  func tellEnd(of process: ChildProcess, _ cause: WorkerDeath.Cause) {
    if isStopping(within: 0) { return }
    let words = ChildProcess.printable(process.words)
    say(
      "\(name) ended (\(Self.words(cause)))\(words.isEmpty ? "" : ": \(words)"); it is started again, and clients may connect anew"
    )
  }

  private static func words(_ cause: WorkerDeath.Cause) -> String {
    switch cause {
    case .crashed(let signal, _): "signal \(signal)"
    case .exited(let status): "status \(status)"
    case .forbiddenCall(let number): "a system call that the sandbox does not allow, number \(number)"
    default: WorkerDeath(cause, lastWords: "").code
    }
  }
}
