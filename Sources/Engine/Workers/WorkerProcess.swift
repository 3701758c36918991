import CPlatform
import CWorker
import Glibc
import Pipeline
import Platform
import Sealing
import Wire

/// A worker process: its socket, what it writes to standard error, its status page, and the means to kill it. Used by one
/// thread.
public final class WorkerProcess: Worker {
  public let pid: pid_t
  /// Readable when a frame waits.
  public let socket: Int32
  /// Readable when it wrote to standard error; -1: that goes to this process's own.
  public let standardError: Int32
  /// A pidfd: readable when the process has ended. -1 where the system has none, as under valgrind: then ``ended()`` has to be
  /// asked again and again.
  public let handle: Int32
  private let page: UnsafeMutablePointer<sluice_status>
  /// The last of what it wrote to standard error.
  private var tail: [UInt8] = []
  /// Bytes it wrote to standard error since ``resetFlood()``.
  private var written = 0

  /// What it was told to be, and so what it may say.
  private enum Phase {
    case opening, open
    case describing(file: String)
  }

  private var phase = Phase.opening
  private var stageCount = 0
  private var isTraced = false
  /// Takes the secrets of its options out of all that it says.
  private var redaction = Redaction()
  /// Pieces of work it has been given and has not answered.
  public private(set) var unanswered = 0
  private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: Frame.limit, alignment: 16)

  /// It has closed its standard error, or ended.
  public private(set) var isStandardErrorClosed = false

  /// How often in a row the kernel had no memory for a frame.
  private var starvations = 0
  private static let starvationLimit = 1000

  /// Threads that a worker may have. Those without capability `network` cannot start any.
  public static let threadLimit = 64

  /// It has more threads than any may have; `nil`: it has not. A limit of the kernel's (RLIMIT_NPROC) would count all
  /// processes of the user, and none of root's.
  public var excessThreads: Int? {
    let count = Int(sluice_thread_count(pid))
    return count > Self.threadLimit ? count : nil
  }

  /// What may be written to standard error for one attachment.
  public static let floodLimit = 1 << 20
  private static let tailLimit = 2048

  /// Starts the worker executable with these words after its name.
  ///
  /// - Parameters:
  ///   - folder: a descriptor for the worker's folder, or -1.
  ///   - standardOutput: a descriptor for what it writes to standard output, or -1 for nowhere.
  ///   - tool: a program, with its words, to run the worker in, such as a debugger. It keeps this process's terminal and
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
    room.deallocate()
    munmap(page, Int(SLUICE_STATUS_SIZE))
  }

  /// Moves a descriptor out of the way of the numbers a worker's descriptors get.
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

  // MARK: What it is told

  /// Tells it which stages to open. It answers with ``WorkerMessage/ready(_:)`` or ``WorkerMessage/refusal(_:)``; one that is
  /// gone is found out by its socket.
  public func open(_ setup: Setup) throws(SystemError) {
    phase = .opening
    (stageCount, isTraced) = (setup.stages.count, setup.isTraced)
    redaction = Redaction(setup.stages.flatMap(\.values).filter(\.isSecret).map { Secret($0.text) })
    try tell(setup.frame)
  }

  /// Asks it what a plugin is. It answers with ``WorkerMessage/description(_:)`` or ``WorkerMessage/refusal(_:)``.
  public func ask(_ question: PluginQuestion) throws(SystemError) {
    phase = .describing(file: question.file)
    try tell(question.frame)
  }

  private func tell(_ frame: [UInt8]) throws(SystemError) {
    switch frame.withUnsafeBytes({ send($0) }) {
    case .given, .gone: break
    case .failed(let error): throw error
    case .full, .tooLong: throw SystemError("telling a worker what to do", code: ENOBUFS)
    }
  }

  public func give(_ work: Work, descriptors: [Int32]) -> GiveResult {
    let result = work.withFrame { send($0, descriptors) }
    if case .given = result { unanswered += 1 }
    return result
  }

  /// Hands over a transfer, to a source's worker. The content goes to the descriptor.
  public func give(_ transfer: TransferWork, descriptor: Int32) -> GiveResult {
    let result = transfer.withFrame { send($0, [descriptor]) }
    if case .given = result { unanswered += 1 }
    return result
  }

  /// Tells a source's worker what becomes of a transfer.
  public func give(_ order: TransferOrder) -> GiveResult { order.frame.withUnsafeBytes { send($0) } }

  private func send(_ frame: UnsafeRawBufferPointer, _ descriptors: [Int32] = []) -> GiveResult {
    if frame.count > Frame.limit { return .tooLong }
    if sluice_send(socket, frame.baseAddress, frame.count, descriptors, Int32(descriptors.count), 1) >= 0 {
      starvations = 0
      return .given
    }
    switch errno {
    case EAGAIN, EWOULDBLOCK: return .full
    case ENOBUFS, ENOMEM:
      // The kernel is short of memory, and says of no socket when that has passed.
      starvations += 1
      return starvations < Self.starvationLimit ? .full : .failed(SystemError("handing work to a worker"))
    case EPIPE, ECONNRESET, ENOTCONN: return .gone
    default: return .failed(SystemError("handing work to a worker"))
    }
  }

  // MARK: What it says

  /// The next that it says.
  public enum Heard {
    case message(WorkerMessage)
    case nothing
    /// It has closed its end.
    case closed
  }

  /// Takes the next frame, if one waits. What may come when stands here alone: first the answer to ``open(_:)`` or
  /// ``ask(_:)``, then results; a traced worker tells in between what its stages do.
  public func hear() -> Heard {
    let count = sluice_receive(socket, room.baseAddress, room.count, nil, nil, 1)
    if count == 0 { return .closed }
    if count < 0 {
      switch errno {
      case EAGAIN, EWOULDBLOCK: return .nothing
      case EMSGSIZE: return .message(.invalid("a frame of more than \(Frame.limit) bytes"))
      default: return .closed
      }
    }
    do throws(FrameError) {
      return .message(try message(UnsafeRawBufferPointer(rebasing: room[..<count])))
    } catch {
      return .message(.invalid(error.description))
    }
  }

  private func message(_ frame: UnsafeRawBufferPointer) throws(FrameError) -> WorkerMessage {
    var reader = FrameReader(frame)
    switch (phase, try reader.kind()) {
    case (.open, .result):
      let result = try WorkResult(&reader, stageCount: stageCount)
      unanswered -= 1
      return .result(redaction.withoutSecrets(result))
    case (.open, .news): return .news(try TransferNews(&reader))
    case (.opening, .ready):
      let ready = try Ready(&reader)
      phase = .open
      return .ready(ready)
    case (.opening, .refusal), (.describing, .refusal):
      let refusal = try Refusal(&reader)
      return .refusal(Refusal(stage: refusal.stage, message: redaction.withoutSecrets(refusal.message)))
    case (.describing(let file), .description):
      return .description(try StageDescription(&reader, file: file))
    case (.opening, .trace) where isTraced, (.open, .trace) where isTraced:
      var line = try TraceLine(&reader)
      line.text = redaction.withoutSecrets(line.text)
      return .trace(line)
    default: throw FrameError("a frame that has no place here")
    }
  }

  // MARK: Watching

  /// What the worker shows of itself: hearsay.
  public var status: sluice_status { sluice_status_read(page) }

  public func cancel(_ serial: UInt64) { sluice_status_cancel(page, serial) }

  // The worker has ended, so it cannot change the page while it is read.
  public var partialResult: WorkResult? {
    let place = UnsafeRawPointer(page) + Int(SLUICE_STATUS_PARTIAL)
    let count = Int(place.load(as: UInt32.self))
    guard count > 0, count <= Frame.limit else { return nil }
    var reader = FrameReader(UnsafeRawBufferPointer(start: place + 4, count: count))
    guard case .result = try? reader.kind() else { return nil }
    // Torn, or a lie: then there is none.
    return (try? WorkResult(&reader, stageCount: stageCount)).map(redaction.withoutSecrets)
  }

  /// Takes what it wrote to standard error. True: it wrote more than one attachment may cause.
  public func drainStandardError() -> Bool {
    if standardError < 0 { return false }
    withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 1) { room in
      for _ in 0..<8 {
        let count = Glibc.read(standardError, room.baseAddress, room.count)
        if count == 0 { isStandardErrorClosed = true }
        if count <= 0 { break }
        written += count
        tail += room[..<count].suffix(Self.tailLimit)
        if tail.count > Self.tailLimit { tail.removeFirst(tail.count - Self.tailLimit) }
      }
    }
    return written > Self.floodLimit
  }

  /// Another attachment's turn begins: what was written so far is not its doing.
  public func resetFlood() {
    written = 0
    tail.removeAll(keepingCapacity: true)
  }

  /// The last lines it wrote, printable.
  public var lastWords: String {
    _ = drainStandardError()
    let text = redaction.withoutSecrets(String(decoding: tail, as: UTF8.self))
    let printable = text.unicodeScalars.map { scalar -> Character in
      switch scalar.value {
      case 0x0A: Character(scalar)
      // Control characters, and those that turn the direction of writing.
      case 0..<0x20, 0x7F...0x9F, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF: " "
      default: Character(scalar)
      }
    }
    return String(String(printable).split(separator: "\n").suffix(3).joined(separator: " / ").suffix(400))
  }

  // MARK: The end

  /// Tells the worker that no more work comes: it ends. Nothing can be sent or received after.
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

  /// Where a worker that has ended was when it crashed, made a call that is not allowed or asked for too much memory; `nil`: it
  /// did not say.
  public var crashSite: CrashSite? { CrashSite(page) }

  /// Milliseconds between the end of its socket and its own, after which it only pretends to end.
  public static let closingTimeout: Int32 = 50
  public static let pretence = "it closed its socket and went on"

  /// Waits for the end of a worker that has closed its socket, and kills it where it goes on.
  public func endAfterClosing() -> WorkerDeath.Cause {
    for _ in 0..<Self.closingTimeout {
      if let cause = ended() { return cause }
      wait(1)
    }
    kill()
    reap()
    return .invalidReply(Self.pretence)
  }

  /// Waits for the end of a worker that was killed.
  public func reap() {
    while ended() == nil { wait(10) }
  }

  /// Waits up to so many milliseconds, or until it has ended.
  private func wait(_ milliseconds: Int32) {
    var one = pollfd(fd: handle, events: Int16(POLLIN), revents: 0)
    poll(&one, 1, handle >= 0 ? milliseconds : 1)
  }
}
