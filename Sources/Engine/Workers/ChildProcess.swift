import CPlatform
import CWorker
import Glibc
import Platform

/// A process of ours for what is not trusted: its socket, what it writes to standard error, its status page, and the means to kill
/// it. Used by one thread.
public final class ChildProcess {
  public let pid: pid_t
  /// Readable when a frame waits.
  public let socket: Int32
  /// Readable when it wrote to standard error; -1: that goes to this process's own.
  public let standardError: Int32
  /// A pidfd: readable when the process has ended. -1 where the system has none, as under valgrind: then ``ended()`` has to be
  /// asked again and again.
  public let handle: Int32
  let page: UnsafeMutablePointer<sluice_status>
  /// The last of what it wrote to standard error.
  private var tail: [UInt8] = []

  /// It has closed its standard error, or ended.
  public private(set) var isStandardErrorClosed = false

  private static let tailLimit = 2048

  /// Starts an executable with these words after its name.
  ///
  /// - Parameters:
  ///   - folder: a descriptor for the folder granted to it, or -1.
  ///   - standardOutput: a descriptor for what it writes to standard output, or -1 for nowhere.
  ///   - tool: a program, with its words, to run it in, such as a debugger. It keeps this process's terminal and
  ///     environment.
  public init(
    executable: String, words: [String], folder: Int32 = -1, standardOutput: Int32 = -1, tool: [String] = []
  ) throws(SystemError) {
    var sockets: [Int32] = [-1, -1]
    if sluice_socketpair(&sockets) != 0 { throw SystemError("making a socket") }
    let mine = Descriptor(owning: sockets[0])
    let theirs = try Self.above(Descriptor(owning: sockets[1]))
    var ends: [Int32] = [-1, -1]
    if sluice_pipe(&ends) != 0 { throw SystemError("making a pipe") }
    let read = Descriptor(owning: ends[0])
    let write = try Self.above(Descriptor(owning: ends[1]))
    let shared = sluice_memfd("sluice-status", 0)
    if shared < 0 { throw SystemError("making a status page") }
    let status = try Self.above(Descriptor(owning: shared))
    if ftruncate(status.number, off_t(SLUICE_STATUS_SIZE)) != 0 { throw SystemError("sizing a status page") }
    let mapped = mmap(nil, Int(SLUICE_STATUS_SIZE), PROT_READ | PROT_WRITE, MAP_SHARED, status.number, 0)
    guard let mapped, mapped != MAP_FAILED else { throw SystemError("mapping a status page") }
    let grant = folder >= 0 ? sluice_fcntl_dup_above(folder, 16) : -1
    let output = standardOutput >= 0 ? sluice_fcntl_dup_above(standardOutput, 16) : -1
    defer {
      if grant >= 0 { close(grant) }
      if output >= 0 { close(output) }
    }

    var pid: pid_t = 0
    let error = Self.withCStrings(tool + [executable] + words) { words in
      // The backtracer would print 44 lines and take 20 ms for each crash.
      Self.withCStrings(["SWIFT_BACKTRACE=enable=no", "LANG=C.UTF-8", "TZ=UTC0"]) { environment in
        sluice_spawn(
          &pid, tool.first ?? executable, words, tool.isEmpty ? environment : environ, theirs.number,
          status.number,
          grant, output, tool.isEmpty ? write.number : -1)
      }
    }
    if error != 0 {
      munmap(mapped, Int(SLUICE_STATUS_SIZE))
      throw SystemError("starting \(tool.first ?? executable)", code: error)
    }
    // Only this process waits for the child, so its pid cannot have been given to another process yet.
    handle = sluice_pidfd_open(pid)
    self.pid = pid
    page = mapped.assumingMemoryBound(to: sluice_status.self)
    socket = mine.release()
    standardError = tool.isEmpty ? read.release() : -1
  }

  deinit {
    close(socket)
    if standardError >= 0 { close(standardError) }
    if handle >= 0 { close(handle) }
    munmap(page, Int(SLUICE_STATUS_SIZE))
  }

  /// Moves a descriptor out of the way of the numbers that those of the process get.
  private static func above(_ descriptor: consuming Descriptor) throws(SystemError) -> Descriptor {
    let moved = sluice_fcntl_dup_above(descriptor.number, 16)
    if moved < 0 { throw SystemError("moving a descriptor") }
    return Descriptor(owning: moved)
  }

  private static func withCStrings<Result>(
    _ texts: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
  ) -> Result {
    var pointers: [UnsafeMutablePointer<CChar>?] = texts.map { strdup($0) } + [nil]
    defer { for pointer in pointers { free(pointer) } }
    return pointers.withUnsafeMutableBufferPointer { buffer in
      // Never empty: there is always the nil at the end.
      body(buffer.baseAddress.unsafelyUnwrapped)
    }
  }

  /// What it shows of itself: hearsay.
  public var status: sluice_status { sluice_status_read(page) }

  // MARK: Standard error

  /// Takes what it wrote to standard error.
  ///
  /// - Returns: how many bytes.
  public func drainStandardError() -> Int {
    if standardError < 0 { return 0 }
    var taken = 0
    withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 1) { room in
      for _ in 0..<8 {
        let count = Glibc.read(standardError, room.baseAddress, room.count)
        if count == 0 { isStandardErrorClosed = true }
        if count <= 0 { break }
        taken += count
        tail += room[..<count].suffix(Self.tailLimit)
        if tail.count > Self.tailLimit { tail.removeFirst(tail.count - Self.tailLimit) }
      }
    }
    return taken
  }

  /// What it wrote so far is forgotten.
  public func forgetWords() { tail.removeAll(keepingCapacity: true) }

  /// The last that it wrote and was taken, as it came.
  public var words: String { String(decoding: tail, as: UTF8.self) }

  /// The last lines of a text that a process wrote, printable.
  public static func printable(_ text: String) -> String {
    let printable = text.unicodeScalars.map { scalar -> Character in
      switch scalar.value {
      case 0x0A: Character(scalar)
      // Control characters, and those that turn the direction of writing.
      case 0..<0x20, 0x7F...0x9F, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF: " "
      default: Character(scalar)
      }
    }
    // Without the lines in which Python marks a part of the line before: what stands above them says more.
    let lines = String(printable).split(separator: "\n").filter { line in
      !line.allSatisfy { $0 == " " || $0 == "^" || $0 == "~" }
    }
    return String(lines.suffix(3).joined(separator: " / ").suffix(400))
  }

  // MARK: The end

  /// Tells it that no more comes: it ends. Nothing can be sent or received after.
  public func closeSocket() {
    shutdown(socket, Int32(SHUT_RDWR))
  }

  public func kill() {
    if handle >= 0 { sluice_pidfd_kill(handle) } else { Glibc.kill(pid, SIGKILL) }
  }

  /// How it ended; `nil` while it has not.
  public func ended() -> WorkerDeath.Cause? {
    var code: Int32 = 0
    var signal: Int32 = 0
    switch sluice_wait(pid, &code, &signal) {
    case 0: return nil
    case 1: break
    default: return .exited(-1)
    }
    let status = status
    if status.death == SLUICE_DEATH_MEMORY { return .outOfMemory(asked: status.detail) }
    if status.death == SLUICE_DEATH_SYSCALL {
      return .forbiddenCall(number: Int32(truncatingIfNeeded: status.detail))
    }
    if signal == SIGXFSZ { return .outputLimit }
    // Its handler could not run: the stage had blocked the signal.
    if signal == SIGSYS { return .forbiddenCall(number: -1) }
    return signal != 0 ? .crashed(signal: signal, at: crashSite) : .exited(code)
  }

  /// Where one that has ended was when it crashed, made a call that is not allowed or asked for too much memory; `nil`: it
  /// did not say.
  public var crashSite: CrashSite? { CrashSite(page) }

  /// Waits for the end of one that was killed.
  public func reap() {
    while ended() == nil { wait(10) }
  }

  /// Waits up to so many milliseconds, or until it has ended.
  public func wait(_ milliseconds: Int32) {
    var one = pollfd(fd: handle, events: Int16(POLLIN), revents: 0)
    poll(&one, 1, handle >= 0 ? milliseconds : 1)
  }
}
