import Foundation
import Glibc

/// A shell that execs a command: a process in its own group, whose output comes through pipes.
final class ChildProcess {
  let pid: Int32
  private(set) var out = ""
  private(set) var err = ""
  /// The status from waitpid(2); `nil` while it runs.
  private(set) var end: End?
  private var readers: [Int32]
  private var bytes: [[UInt8]] = [[], []]
  private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
  /// The most output that is kept, in bytes.
  private static let outputLimit = 4 << 20

  enum End: Equatable, Sendable {
    case exit(Int32)
    case signal(Int32)
  }

  struct Failed: Error {
    var action: String
    var code: Int32
  }

  /// - Parameter closed: of 1 and 2, those that are pipes without a reader.
  init(shell script: String, closed: Set<Int32> = []) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // Inherits nothing of the test: no signal is ignored or blocked, and no other descriptor is open.
    var signals = sigset_t()
    sigfillset(&signals)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP))
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    readers = []
    var writers: [Int32] = []
    defer { writers.forEach { close($0) } }
    for descriptor: Int32 in 1...2 {
      var ends: [Int32] = [-1, -1]
      guard pipe(&ends) == 0 else { throw Failed(action: "making a pipe", code: errno) }
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
      posix_spawn_file_actions_adddup2(&actions, ends[1], descriptor)
      if closed.contains(descriptor) { close(ends[0]) }
      readers.append(closed.contains(descriptor) ? -1 : ends[0])
      writers.append(ends[1])
    }
    // Also the descriptors of tests that run concurrently. One closed meanwhile is no error.
    for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [] {
      if let number = Int32(name), number > 2 { posix_spawn_file_actions_addclose(&actions, number) }
    }
    var pid: pid_t = 0
    let words: [UnsafeMutablePointer<CChar>?] = [strdup("/bin/sh"), strdup("-c"), strdup(script), nil]
    defer { words.forEach { free($0) } }
    let code = posix_spawn(&pid, "/bin/sh", &actions, &attributes, words, environ)
    guard code == 0 else { throw Failed(action: "starting a shell", code: code) }
    self.pid = pid
  }

  deinit {
    kill()
    room.deallocate()
    for reader in readers where reader >= 0 { close(reader) }
  }

  /// Kills it and everything else in its group.
  func kill() {
    if end != nil { return }
    Glibc.kill(-pid, SIGKILL)
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
    end = .signal(SIGKILL)
  }

  func send(_ signal: Int32) {
    if end == nil { Glibc.kill(pid, signal) }
  }

  /// Reads the available output, and checks whether it has ended.
  func look() {
    if end == nil {
      var status: Int32 = 0
      if waitpid(pid, &status, WNOHANG) == pid {
        end = status & 0x7F == 0 ? .exit(status >> 8 & 0xFF) : .signal(status & 0x7F)
      }
    }
    drain()
  }

  /// Waits until the condition holds, or the time is over.
  func wait(seconds: Double, until condition: () -> Bool) -> Bool {
    let deadline = Date(timeIntervalSinceNow: seconds)
    while true {
      look()
      if condition() { return true }
      if Date() > deadline { return false }
      usleep(2000)
    }
  }

  private func drain() {
    for (number, reader) in readers.enumerated() where reader >= 0 {
      while true {
        let count = read(reader, room.baseAddress, room.count)
        if count <= 0 { break }
        if bytes[number].count < Self.outputLimit { bytes[number] += room.prefix(count) }
        if number == 0 {
          out = String(decoding: bytes[0], as: UTF8.self)
        } else {
          err = String(decoding: bytes[1], as: UTF8.self)
        }
      }
    }
  }
}
