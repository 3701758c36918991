import CPlatform
import Glibc
import Pipeline
import Platform
import Wire
import Workers

/// Takes work through one stage in its worker, a piece at a time, and names what becomes of the worker. After a death the
/// next piece gets a new one.
public final class StageRunner {
  public enum Outcome {
    case answered(WorkResult)
    case died(WorkerDeath)
  }

  /// How its worker is started.
  public struct Launch {
    public var executable: String
    public var sandbox = SandboxPolicy.require
    /// A folder for a stage that stores, or a channel; or -1.
    public var folder: Int32 = -1
    /// Where it may write to standard output, or -1.
    public var standardOutput: Int32 = -1
    /// A program to run the worker in, with its words. There are no limits then: it has the terminal.
    public var tool: [String] = []
    public var isTraced = false
    public var trialOpenings: UInt32 = 0
    /// How many instances of the stage the worker opens.
    public var instances = 1
    /// Readable when the user wants to stop, or -1.
    public var signals: Int32 = -1

    public init(executable: String) {
      self.executable = executable
    }
  }

  public let stage: StageDefinition
  /// What the worker said when its stage was open; `nil` before the first start.
  public private(set) var ready: Ready?
  /// What the stage said and was told about the last piece of work, in order, with what it said when it was opened.
  public private(set) var trace: [TraceLine] = []
  private let launch: Launch
  private var process: WorkerProcess?
  private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: Frame.limit, alignment: 8)
  private var serial: UInt64 = 0
  /// The serial number before the first piece of work of this worker.
  private var openedAt: UInt64 = 0
  private var said = ""

  /// As long as the scheduler gives a worker, in milliseconds.
  private static let startTimeout: Int64 = 30_000

  public init(_ stage: StageDefinition, _ launch: Launch) {
    self.stage = stage
    self.launch = launch
  }

  deinit {
    stop()
    room.deallocate()
  }

  /// The worker's process, while there is one.
  public var pid: pid_t? { process?.pid }

  /// Ends the worker.
  public func stop() {
    process?.kill()
    process?.reap()
    process = nil
  }

  /// Lets the worker end by itself, so that a tool around it can sum up.
  public func finish() {
    guard let process else { return }
    process.closeSocket()
    process.reap()
    self.process = nil
  }

  /// Starts the worker, if none is there.
  ///
  /// - Throws: why the stage does not open.
  public func start() throws(WorkbenchError) {
    if process != nil { return }
    process = try open()
    openedAt = serial
  }

  private func open() throws(WorkbenchError) -> WorkerProcess {
    let process = try spawn()
    let isStore = stage.description.capability == .store || stage.description.role == .channel
    var setup = Setup(
      stages: instances, sandbox: launch.sandbox, capability: stage.description.capability,
      output: isStore ? -1 : stage.output, parent: getpid())
    setup.isTraced = launch.isTraced
    setup.trialOpenings = launch.trialOpenings
    trace = []
    _ = process.send(setup.frame)  // a worker that is gone is found out below
    do throws(WorkbenchError) {
      switch try answer(of: process, within: Self.startTimeout) {
      case .death(let death):
        throw WorkbenchError(.configuration, "stage '\(stage.id)' does not open: \(death.message(in: stage))")
      case .frame(let frame): ready = try greeting(frame)
      }
    } catch {
      process.kill()
      process.reap()
      throw error
    }
    return process
  }

  /// The stage, each time under a name of its own.
  private var instances: [StageDefinition] {
    (0..<launch.instances).map { number in
      var instance = stage
      if number > 0 { instance.id += "-\(number + 1)" }
      return instance
    }
  }

  private func spawn() throws(WorkbenchError) -> WorkerProcess {
    do {
      return try WorkerProcess(
        executable: launch.executable, words: ["run", launch.tool.isEmpty ? String(getpid()) : "0"],
        folder: launch.folder, standardOutput: launch.standardOutput, tool: launch.tool)
    } catch {
      throw WorkbenchError(.system, "\(error)")
    }
  }

  private func greeting(_ frame: UnsafeRawBufferPointer) throws(WorkbenchError) -> Ready {
    let refusal: Refusal
    do throws(FrameError) {
      var reader = FrameReader(frame)
      switch try reader.kind() {
      case .ready: return try Ready(&reader)
      case .refusal: refusal = try Refusal(&reader)
      default: throw FrameError("a frame that has no place here")
      }
    } catch {
      throw WorkbenchError(.configuration, "stage '\(stage.id)' does not open: invalid-reply: \(error)")
    }
    throw WorkbenchError(.refused, "stage '\(stage.id)': \(refusal.message)")
  }

  /// Does one piece of work. Its serial number and stages are filled in.
  ///
  /// - Parameter instance: which of the stage's instances is to do it.
  public func run(_ work: Work, descriptors: [Int32], instance: Int = 0) throws(WorkbenchError) -> Outcome {
    try start()
    // What was said when it was opened belongs to the first piece of work.
    if serial > openedAt { trace = [] }
    guard let process else { throw WorkbenchError(.system, "there is no worker") }
    serial += 1
    var work = work
    (work.serial, work.first, work.end) = (serial, instance, instance + 1)
    process.resetFlood()
    said = process.lastWords
    _ = process.send(work.frame, descriptors: descriptors)  // a worker that is gone is found out below
    let outcome = try outcome(of: process)
    if case .died = outcome { self.process = nil }
    return outcome
  }

  /// What the worker wrote to standard error about the last piece of work, if it was something new.
  public var remark: String? {
    guard let words = process?.lastWords, !words.isEmpty, words != said else { return nil }
    return words
  }

  private func outcome(of process: WorkerProcess) throws(WorkbenchError) -> Outcome {
    switch try answer(of: process, within: stage.timeout) {
    case .death(let death): return .died(death)
    case .frame(let frame):
      do throws(FrameError) {
        var reader = FrameReader(frame)
        guard case .result = try reader.kind() else { throw FrameError("a frame that has no place here") }
        let result = try WorkResult(&reader, stageCount: launch.instances)
        guard result.serial == serial else { throw FrameError("a result for work it was not given") }
        return .answered(result)
      } catch {
        return .died(end(process, .invalidReply(error.description)))
      }
    }
  }
}

// MARK: Waiting

extension StageRunner {
  /// The worker's next frame, which lies in the room, or how it ended instead.
  private enum Answer {
    case frame(UnsafeRawBufferPointer)
    case death(WorkerDeath)
  }

  private func answer(of process: WorkerProcess, within limit: Int64) throws(WorkbenchError) -> Answer {
    let start = Clock.monotonic()
    var waiting = [process.socket, process.standardError, launch.signals].map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    while true {
      // In a tool, a person sets the pace.
      let left = launch.tool.isEmpty ? limit - Int64(clamping: (Clock.monotonic() - start) / 1_000_000) : 1000
      if left < 0 { return .death(end(process, .timedOut(afterMilliseconds: limit))) }
      poll(&waiting, nfds_t(waiting.count), Int32(clamping: min(left + 1, countsThreads ? 20 : left + 1)))
      if countsThreads, let count = process.excessThreads {
        return .death(end(process, .tooManyThreads(count)))
      }
      if waiting[2].revents != 0 {
        throw WorkbenchError(
          .interrupted, "the stage was interrupted by a signal; run the same command again")
      }
      if waiting[1].revents != 0 {
        if process.drainStandardError() { return .death(end(process, .flooded)) }
        // At its end it stays readable for ever.
        if waiting[1].revents & Int16(POLLHUP) != 0 { waiting[1].fd = -1 }
      }
      if waiting[0].revents == 0 { continue }
      switch process.receive(into: room) {
      case .nothing: continue
      case .frame(let count):
        let frame = UnsafeRawBufferPointer(rebasing: room[..<count])
        if launch.isTraced && keepTrace(frame) { continue }
        return .frame(frame)
      case .tooLong:
        return .death(end(process, .invalidReply("a frame of more than \(Frame.limit) bytes")))
      case .gone: return .death(end(process, nil))
      }
    }
  }

  /// Only those may start threads; in a tool, that has some of its own.
  private var countsThreads: Bool { stage.description.capability == .network && launch.tool.isEmpty }

  /// True where the frame is a line of the trace.
  private func keepTrace(_ frame: UnsafeRawBufferPointer) -> Bool {
    var reader = FrameReader(frame)
    do throws(FrameError) {
      guard case .trace = try reader.kind() else { return false }
      trace.append(try TraceLine(&reader))
      return true
    } catch {
      return false  // whoever reads it next says what is wrong with it
    }
  }

  /// Buries a worker.
  ///
  /// - Parameter cause: why it is killed; `nil`: it closed its socket by ending, or else it only pretends to.
  private func end(_ process: WorkerProcess, _ cause: WorkerDeath.Cause?) -> WorkerDeath {
    var cause = cause
    if cause == nil {
      for _ in 0..<250 where cause == nil {
        cause = process.ended()
        if cause == nil { usleep(200) }
      }
      if let cause { return WorkerDeath(cause, lastWords: process.lastWords) }
    }
    process.kill()
    process.reap()
    return WorkerDeath(
      cause ?? .invalidReply("it closed its socket and went on"), lastWords: process.lastWords)
  }
}
