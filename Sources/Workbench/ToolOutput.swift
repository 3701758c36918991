import Glibc
import Platform

/// What a program writes to standard output.
enum ToolOutput {
  /// Runs a program with these words after its name, without input.
  ///
  /// - Parameters:
  ///   - milliseconds: after which it is killed.
  ///   - limit: in bytes; more is not read.
  /// - Returns: what it wrote until then; empty if it does not start.
  static func of(_ program: String, _ words: [String], within milliseconds: Int64, limit: Int) -> String {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return "" }
    let read = Descriptor(owning: ends[0])
    var actions = posix_spawn_file_actions_t()
    guard posix_spawn_file_actions_init(&actions) == 0 else {
      close(ends[1])
      return ""
    }
    defer { posix_spawn_file_actions_destroy(&actions) }
    var pid: pid_t = 0
    var arguments: [UnsafeMutablePointer<CChar>?] = ([program] + words).map { strdup($0) } + [nil]
    var environment: [UnsafeMutablePointer<CChar>?] = [strdup("LC_ALL=C.UTF-8"), nil]
    defer { for text in arguments + environment { free(text) } }
    let isPrepared =
      posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) == 0
      && posix_spawn_file_actions_adddup2(&actions, ends[1], 1) == 0
      && posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0) == 0
    let error = isPrepared ? posix_spawn(&pid, program, &actions, nil, &arguments, &environment) : EINVAL
    close(ends[1])
    if error != 0 { return "" }
    let output = all(of: read.number, within: milliseconds, limit: limit)
    kill(pid, SIGKILL)
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
    return String(decoding: output, as: UTF8.self)
  }

  private static func all(of descriptor: Int32, within milliseconds: Int64, limit: Int) -> [UInt8] {
    let start = Clock.monotonic()
    var output: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 4096)
    while output.count < limit {
      let left = milliseconds - Int64(clamping: (Clock.monotonic() - start) / 1_000_000)
      var one = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      if left <= 0 || poll(&one, 1, Int32(clamping: left)) <= 0 { break }
      let count = Glibc.read(descriptor, &piece, piece.count)
      if count <= 0 { break }
      output += piece[..<count]
    }
    return output
  }
}
