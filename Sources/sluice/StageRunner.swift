import CPlatform
import Glibc
import Pipeline
import Platform
import Wire
import Workers

/// Takes work through one stage in its worker, a piece at a time, and names what becomes of the worker. After a death the
/// next piece gets a new one.
final class StageRunner {
  enum Outcome {
    /// What the stage said, with the whole result.
    case answered(WorkResult.Stage, WorkResult)
    case died(WorkerDeath)
  }

  let stage: StageDefinition
  /// The parts of the sandbox in force, as bits; `nil` before the first start.
  private(set) var sandbox: UInt32?
  private let executable: String
  private let policy: SandboxPolicy
  private let folder: Int32
  private let signals: Int32
  private var process: WorkerProcess?
  private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: Frame.limit, alignment: 8)
  private var serial: UInt64 = 0
  private var said = ""

  /// As long as the scheduler gives a worker, in milliseconds.
  private static let startTimeout: Int64 = 30_000

  /// - Parameters:
  ///   - folder: a descriptor for a stage that stores, or -1.
  ///   - signals: readable when the user wants to stop, or -1.
  init(
    _ stage: StageDefinition, executable: String, sandbox: SandboxPolicy, folder: Int32 = -1,
    signals: Int32 = -1
  ) {
    self.stage = stage
    self.executable = executable
    policy = sandbox
    self.folder = folder
    self.signals = signals
  }

  deinit {
    process?.kill()
    process?.reap()
    room.deallocate()
  }

  /// Starts the worker, if none is there.
  ///
  /// - Throws: why the stage does not open.
  func start() throws {
    if process == nil { _ = try open() }
  }

  private func open() throws -> WorkerProcess {
    let process = try WorkerProcess(executable: executable, words: ["run", String(getpid())], folder: folder)
    let isStore = stage.description.capability == .store
    let setup = Setup(
      stages: [stage], sandbox: policy, capability: stage.description.capability,
      output: isStore ? -1 : stage.output, parent: getpid())
    _ = process.send(setup.frame)  // a worker that is gone is found out below
    do {
      switch try answer(of: process, within: Self.startTimeout) {
      case .death(let death):
        throw CommandError(.configuration, "the worker does not start: \(death.message(in: stage))")
      case .frame(let frame):
        var reader = FrameReader(frame)
        switch try reader.kind() {
        case .ready: sandbox = try Ready(&reader).sandbox
        case .refusal:
          throw CommandError(.configuration, "stage '\(stage.id)': \(try Refusal(&reader).message)")
        default: throw FrameError("a frame that has no place here")
        }
      }
    } catch {
      process.kill()
      process.reap()
      throw error
    }
    self.process = process
    return process
  }

  /// Does one piece of work. Its serial number and stages are filled in.
  func run(_ work: Work, descriptors: [Int32]) throws -> Outcome {
    let process = try process ?? open()
    serial += 1
    var work = work
    (work.serial, work.first, work.end) = (serial, 0, 1)
    process.resetFlood()
    said = process.lastWords
    _ = process.send(work.frame, descriptors: descriptors)  // a worker that is gone is found out below
    let outcome = try outcome(of: process)
    if case .died = outcome { self.process = nil }
    return outcome
  }

  /// What the worker wrote to standard error about the last piece of work, if it was something new.
  var remark: String? {
    guard let words = process?.lastWords, !words.isEmpty, words != said else { return nil }
    return words
  }

  private func outcome(of process: WorkerProcess) throws -> Outcome {
    switch try answer(of: process, within: stage.timeout) {
    case .death(let death): return .died(death)
    case .frame(let frame):
      do throws(FrameError) {
        var reader = FrameReader(frame)
        guard case .result = try reader.kind() else { throw FrameError("a frame that has no place here") }
        let result = try WorkResult(&reader, stageCount: 1)
        guard result.serial == serial, let said = result.stages.first else {
          throw FrameError("a result for work it was not given")
        }
        return .answered(said, result)
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

  private func answer(
    of process: WorkerProcess, within limit: Int64
  ) throws(CommandError) -> Answer {
    let start = Clock.monotonic()
    var waiting = [process.socket, process.standardError, signals].map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    while true {
      let left = limit - Int64(clamping: (Clock.monotonic() - start) / 1_000_000)
      if left < 0 { return .death(end(process, .timedOut(afterMilliseconds: limit))) }
      poll(&waiting, nfds_t(waiting.count), Int32(clamping: left + 1))
      if waiting[2].revents != 0 { throw CommandError(.temporary, "interrupted") }
      if waiting[1].revents != 0 {
        if process.drainStandardError() { return .death(end(process, .flooded)) }
        // At its end it stays readable for ever.
        if waiting[1].revents & Int16(POLLHUP) != 0 { waiting[1].fd = -1 }
      }
      if waiting[0].revents == 0 { continue }
      switch process.receive(into: room) {
      case .nothing: continue
      case .frame(let count): return .frame(UnsafeRawBufferPointer(rebasing: room[..<count]))
      case .tooLong:
        return .death(end(process, .invalidReply("a frame of more than \(Frame.limit) bytes")))
      case .gone: return .death(end(process, nil))
      }
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
