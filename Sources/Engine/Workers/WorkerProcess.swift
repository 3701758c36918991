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
  private let child: ChildProcess
  /// Bytes it wrote to standard error since ``resetFlood()``.
  private var written = 0

  public var pid: pid_t { child.pid }

  public var processorTime: UInt64 {
    var (clock, time) = (clockid_t(), timespec())
    guard clock_getcpuclockid(pid, &clock) == 0, clock_gettime(clock, &time) == 0 else { return 0 }
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
  public var socket: Int32 { child.socket }
  public var standardError: Int32 { child.standardError }
  public var handle: Int32 { child.handle }
  public var isStandardErrorClosed: Bool { child.isStandardErrorClosed }

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
    child = try ChildProcess(
      executable: executable, words: words, folder: folder, standardOutput: standardOutput, tool: tool)
  }

  deinit { room.deallocate() }

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
    case (.opening, .fault), (.open, .fault):
      var fault = try ProgramFault(&reader)
      // It shows the beginning of what the program said.
      if case .invalidReply(let reason) = fault { fault = .invalidReply(redaction.withoutSecrets(reason)) }
      return .fault(WorkerDeath.Cause(fault))
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
  public var status: sluice_status { child.status }

  public func cancel(_ serials: [UInt64]) { sluice_status_cancel(child.page, serials, serials.count) }

  // The worker has ended, so it cannot change the page while it is read.
  public var partialResult: WorkResult? {
    let place = UnsafeRawPointer(child.page) + Int(SLUICE_STATUS_PARTIAL)
    let count = Int(place.load(as: UInt32.self))
    guard count > 0, count <= Frame.limit else { return nil }
    var reader = FrameReader(UnsafeRawBufferPointer(start: place + 4, count: count))
    guard case .result = try? reader.kind() else { return nil }
    // Torn, or a lie: then there is none.
    return (try? WorkResult(&reader, stageCount: stageCount)).map(redaction.withoutSecrets)
  }

  /// Takes what it wrote to standard error. True: it wrote more than one attachment may cause.
  public func drainStandardError() -> Bool {
    written += child.drainStandardError()
    return written > Self.floodLimit
  }

  /// Another attachment's turn begins: what was written so far is not its doing.
  public func resetFlood() {
    written = 0
    child.forgetWords()
  }

  /// The last lines it wrote, printable.
  public var lastWords: String {
    _ = drainStandardError()
    return ChildProcess.printable(redaction.withoutSecrets(child.words))
  }

  // MARK: The end

  public func closeSocket() { child.closeSocket() }
  public func kill() { child.kill() }
  public func ended() -> WorkerDeath.Cause? { child.ended() }
  public func reap() { child.reap() }
  public var crashSite: CrashSite? { child.crashSite }

  /// Milliseconds between the end of its socket and its own, after which it only pretends to end.
  public static let closingTimeout: Int32 = 2000
  public static let pretence = "it closed its socket and went on"

  /// Waits for the end of a worker that has closed its socket, and kills it where it goes on.
  public func endAfterClosing() -> WorkerDeath.Cause {
    for _ in 0..<Self.closingTimeout {
      if let cause = ended() { return cause }
      child.wait(1)
    }
    kill()
    reap()
    return .invalidReply(Self.pretence)
  }
}
