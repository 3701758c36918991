import CPlatform
import Glibc
import Platform

/// How a program ended, and its cost.
struct Ending {
  var status: Int32
  /// From its start to its end.
  var seconds: Double
  /// Processor time of this process alone, without its children.
  var ownSeconds: Double
  /// Processor time of this process and of all its children and theirs, as far as they were waited for.
  var treeSeconds: Double
}

/// A program running beside the bench, with its output in files.
final class Child {
  let pid: pid_t
  let out: String
  let errors: String
  private let name: String
  private let started: UInt64
  private let pidfd: Descriptor
  private var ending: Ending?

  /// - Parameters:
  ///   - words: the program's path, then its arguments.
  ///   - out: the file for its standard output, truncated first; its standard error goes to a file beside
  ///     it.
  init(_ words: [String], out: String, environment: [String: String] = [:]) throws {
    name = words.prefix(2).joined(separator: " ")
    self.out = out
    errors = out + ".errors"
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, out, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    let variables = Settings.environment.merging(environment) { $1 }.merging(["LC_ALL": "C.UTF-8"]) { $1 }
    let arguments = CStrings(words)
    let environment = CStrings(variables.map { "\($0.key)=\($0.value)" })
    var pid = pid_t()
    started = Clock.monotonic()
    let failure = posix_spawn(&pid, words[0], &actions, nil, arguments.pointers, environment.pointers)
    if failure != 0 { throw SystemError("starting \(words[0])", code: failure) }
    self.pid = pid
    let pidfd = sluice_pidfd_open(pid)
    if pidfd < 0 { throw SystemError("watching \(words[0])") }
    self.pidfd = Descriptor(owning: pidfd)
  }

  /// Kills the program, so that nothing outlives the bench.
  deinit {
    if ending == nil {
      kill(pid, SIGKILL)
      var status: Int32 = 0
      waitpid(pid, &status, 0)
    }
  }

  func signal(_ number: Int32) {
    if ending == nil { kill(pid, number) }
  }

  /// Waits until it ends. If it takes longer than `limit` seconds, it is killed, and an error is thrown.
  func end(within limit: Double = 900) throws -> Ending {
    if let ending { return ending }
    guard hasEnded(within: limit) else {
      throw BenchError("\(name) did not end within \(Int(limit)) s")
    }
    let seconds = Double(Clock.monotonic() - started) / 1e9
    // Read before it is reaped: /proc separates its own time from that of its waited-for workers, and
    // wait4(2) adds them.
    var info = siginfo_t()
    if waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) != 0 { throw SystemError("waiting for \(name)") }
    let own = try ownTime()
    var status: Int32 = 0
    var usage = rusage()
    if wait4(pid, &status, 0, &usage) != pid { throw SystemError("waiting for \(name)") }
    let isSignal = status & 0x7F != 0
    let ending = Ending(
      status: isSignal ? 128 + status & 0x7F : (status >> 8) & 0xFF, seconds: seconds, ownSeconds: own,
      treeSeconds: Self.seconds(usage.ru_utime) + Self.seconds(usage.ru_stime))
    self.ending = ending
    return ending
  }

  /// Waits until it ends, and throws unless it ended with one of these exit codes.
  @discardableResult
  func end(as codes: Int32..., within limit: Double = 900) throws -> Ending {
    let ending = try end(within: limit)
    if codes.contains(ending.status) { return ending }
    throw BenchError(
      "\(name) ended with \(ending.status): \(Files.tail(errors)) \(Files.tail(out))")
  }

  func hasEnded(within seconds: Double) -> Bool {
    let deadline = Clock.monotonic() + UInt64(seconds * 1e9)
    while true {
      let now = Clock.monotonic()
      var one = pollfd(fd: pidfd.number, events: Int16(POLLIN), revents: 0)
      if poll(&one, 1, now < deadline ? Int32((deadline - now) / 1_000_000 + 1) : 0) > 0 { return true }
      if now >= deadline { return false }
    }
  }

  /// Seconds since it was started.
  var age: Double { Double(Clock.monotonic() - started) / 1e9 }

  /// Its peak memory so far, in bytes; `nil`: it has ended.
  var peakMemory: Int64? {
    guard let text = try? Files.text("/proc/\(pid)/status"),
      let line = text.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
      let kilobytes = Int64(line.filter(\.isNumber))
    else { return nil }
    return kilobytes * 1024
  }

  private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }

  /// Fields 14 and 15 of proc(5)'s stat, user and system time; those of children are 16 and 17.
  private func ownTime() throws -> Double {
    let text = try Files.text("/proc/\(pid)/stat")
    guard let bracket = text.lastIndex(of: ")") else { throw BenchError("/proc/\(pid)/stat is odd") }
    let fields = text[bracket...].split(separator: " ")
    guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else {
      throw BenchError("/proc/\(pid)/stat is odd")
    }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }
}

/// Arguments as C strings, terminated by a null pointer.
final class CStrings {
  let pointers: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  private let count: Int

  init(_ words: [String]) {
    count = words.count
    pointers = .allocate(capacity: count + 1)
    for (index, word) in words.enumerated() { (pointers + index).initialize(to: strdup(word)) }
    (pointers + count).initialize(to: nil)
  }

  deinit {
    for index in 0..<count { free(pointers[index]) }
    pointers.deallocate()
  }
}
