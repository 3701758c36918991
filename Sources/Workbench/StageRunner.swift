import CPlatform
import Glibc
import Pipeline
import Platform
import Wire
import Workers

/// Runs work through one stage in its worker, one piece at a time, and classifies how the worker ended. After
/// a death, the next piece of work gets a new worker.
public final class StageRunner {
  public enum Outcome {
    case answered(WorkResult)
    case died(WorkerDeath)
  }

  /// How the worker is started.
  public struct Launch {
    public var executable: String
    public var sandbox = SandboxPolicy.require
    /// The folder granted to a stage that stores or to a channel; or -1.
    public var folder: Int32 = -1
    /// The descriptor for the worker's standard output, or -1.
    public var standardOutput: Int32 = -1
    /// A program to run the worker in, with its arguments. No limits apply then, and the worker keeps the
    /// terminal.
    public var tool: [String] = []
    public var isTraced = false
    /// Finds function and line of a crash.
    public var symbols = SymbolTool(path: "")
    public var trialOpenings: UInt32 = 0
    /// Whether a name of an option that the stage looks for and does not declare is a complaint.
    public var watchesNames = false
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
  /// The calls between stage and host during the last piece of work, in order. For the first piece, this
  /// includes the calls made while the stage was opened.
  public private(set) var trace: [TraceLine] = []
  private let launch: Launch
  var process: WorkerProcess?
  private var serial: UInt64 = 0
  /// The serial number before the first piece of work of this worker.
  private var openedAt: UInt64 = 0
  private var said = ""

  /// The time limit for a worker's start, in milliseconds; the same as the scheduler's.
  private static let startTimeout: Int64 = 30_000

  public init(_ stage: StageDefinition, _ launch: Launch) {
    self.stage = stage
    self.launch = launch
  }

  deinit {
    stop()
  }

  /// The worker's process, while there is one.
  public var pid: pid_t? { process?.pid }

  /// Ends the worker.
  public func stop() {
    process?.kill()
    process?.reap()
    process = nil
  }

  /// Lets the worker exit normally, so that a tool around it can print its summary.
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
      output: isStore ? -1 : stage.output)
    setup.isTraced = launch.isTraced
    setup.trialOpenings = launch.trialOpenings
    setup.watchesNames = launch.watchesNames
    trace = []
    do {
      if let excess = setup.excess { throw WorkbenchError(.configuration, excess) }
      try process.open(setup)
      ready = try greeting(of: process)
    } catch {
      process.kill()
      process.reap()
      throw error as? WorkbenchError ?? WorkbenchError(.system, "\(error)", cause: error)
    }
    return process
  }

  /// The stage once per instance, each under its own id.
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
      throw WorkbenchError(.system, "\(error)", cause: error)
    }
  }

  private func greeting(of process: WorkerProcess) throws(WorkbenchError) -> Ready {
    let noun = stage.description.role.noun
    func failure(_ text: String) -> WorkbenchError {
      WorkbenchError(.configuration, "\(noun) '\(stage.id)' does not open: \(text)")
    }
    switch try answer(of: process, within: Self.startTimeout) {
    case .message(.ready(let ready)): return ready
    case .message(.refusal(let refusal)):
      throw WorkbenchError(.refused, "\(noun) '\(stage.id)': \(refusal.message)")
    case .message(.invalid(let text)): throw failure("invalid-reply: \(text)")
    case .message(.fault(let cause)):
      let death = end(process, cause)
      var error = failure(death.message(in: stage))
      error.death = death
      throw error
    case .message: throw failure("invalid-reply: an answer to no question")
    case .death(let death):
      var error = failure(death.message(in: stage))
      error.death = death
      throw error
    }
  }

  /// Does one piece of work. Its serial number and stages are filled in.
  ///
  /// - Parameter instance: which of the stage's instances is to do it.
  public func run(_ work: Work, descriptors: [Int32], instance: Int = 0) throws(WorkbenchError) -> Outcome {
    try start()
    forgetTrace()
    guard let process else { throw WorkbenchError(.system, "there is no worker") }
    var work = work
    (work.serial, work.first, work.end) = (nextSerial(), instance, instance + 1)
    process.resetFlood()
    said = process.lastWords
    _ = process.give(work, descriptors: descriptors)  // if the worker is gone, the code below notices
    let outcome = try outcome(of: process)
    if case .died = outcome { self.process = nil }
    return outcome
  }

  /// Calls made while the stage was opened belong to the first piece of work.
  func forgetTrace() { if serial > openedAt { trace = [] } }

  func nextSerial() -> UInt64 {
    serial += 1
    return serial
  }

  /// What the worker wrote to standard error during the last piece of work; `nil` if it wrote nothing new.
  public var remark: String? {
    guard let words = process?.lastWords, !words.isEmpty, words != said else { return nil }
    return words
  }

  private func outcome(of process: WorkerProcess) throws(WorkbenchError) -> Outcome {
    switch try answer(of: process, within: stage.timeout) {
    case .death(let death): .died(death)
    case .message(.result(let result)) where result.serial == serial: .answered(result)
    case .message(.result): .died(end(process, .invalidReply("a result for work it was not given")))
    case .message(.invalid(let text)): .died(end(process, .invalidReply(text)))
    case .message(.fault(let cause)): .died(end(process, cause))
    case .message: .died(end(process, .invalidReply("an answer to no question")))
    }
  }
}

// MARK: Waiting

extension StageRunner {
  /// The worker's next message, or how it ended.
  enum Answer {
    case message(WorkerMessage)
    case death(WorkerDeath)
  }

  private func answer(of process: WorkerProcess, within limit: Int64) throws(WorkbenchError) -> Answer {
    try next(of: process, within: limit) ?? .death(end(process, .timedOut(afterMilliseconds: limit)))
  }

  /// The same; `nil`: it says nothing for so many milliseconds.
  func next(of process: WorkerProcess, within limit: Int64) throws(WorkbenchError) -> Answer? {
    let start = Clock.monotonic()
    var waiting = [process.socket, process.standardError, launch.signals].map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    while true {
      // In a tool such as a debugger there is no time limit.
      let left = launch.tool.isEmpty ? limit - Int64(clamping: (Clock.monotonic() - start) / 1_000_000) : 1000
      if left < 0 { return nil }
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
        // A descriptor at its end stays readable: stop polling it.
        if waiting[1].revents & Int16(POLLHUP) != 0 { waiting[1].fd = -1 }
      }
      if waiting[0].revents == 0 { continue }
      switch process.hear() {
      case .nothing: continue
      case .message(.trace(let line)): trace.append(line)
      case .message(let message): return .message(message)
      case .closed: return .death(end(process, nil))
      }
    }
  }

  /// Whether threads are counted. Only stages with capability `network` may start threads, and a tool starts
  /// threads itself.
  private var countsThreads: Bool { stage.description.capability == .network && launch.tool.isEmpty }

  /// Ends and reaps a worker.
  ///
  /// - Parameter cause: why it is killed; `nil`: it closed its socket, by ending or while still running.
  func end(_ process: WorkerProcess, _ cause: WorkerDeath.Cause?) -> WorkerDeath {
    var cause = cause
    if cause == nil {
      cause = process.endAfterClosing()
    } else {
      process.kill()
      process.reap()
    }
    var death = WorkerDeath(cause ?? .exited(-1), lastWords: process.lastWords)
    if let site = process.crashSite {
      let places = launch.symbols.places(of: site, in: stage.description.file)
      death.place = places.main
      if launch.isTraced { trace += places.all.map { TraceLine(stage: stage.id, call: "at", text: $0) } }
    }
    return death
  }
}
