import Glibc
import Pipeline
import Wire
import Workers

/// A bench that records violations of the contract.
final class Trier {
  let bench: Bench
  let folder: ScratchFolder?
  private unowned let conformance: Conformance

  init(_ bench: Bench, _ folder: ScratchFolder?, _ conformance: Conformance) {
    self.bench = bench
    self.folder = folder
    self.conformance = conformance
  }

  var pid: pid_t? { bench.runner.pid }

  /// Runs a trial that must have a verdict.
  ///
  /// - Parameter what: the trial in words, for the message.
  /// - Throws: ``UnexpectedEnd`` if the worker ends instead.
  func run(_ trial: Trial, _ what: @autoclosure () -> String, instance: Int = 0) throws -> TrialResult {
    let result = try attempt(trial, instance: instance)
    if let death = result.death { throw UnexpectedEnd(death: death, what: what()) }
    return result
  }

  /// Runs a trial that may end the worker.
  func attempt(_ trial: Trial, instance: Int = 0) throws -> TrialResult {
    let result = try bench.run(trial, instance: instance)
    conformance.observe(result)
    return result
  }

  /// Runs trials at once, which must all have a verdict.
  ///
  /// - Parameter what: the trials in words, for the message.
  /// - Throws: ``UnexpectedEnd`` if the worker ends instead.
  func runTogether(_ trials: [Trial], _ what: String) throws -> [TrialResult] {
    let (results, death) = try bench.runTogether(trials)
    for result in results { conformance.observe(result) }
    if let death { throw UnexpectedEnd(death: death, what: what) }
    return results
  }

  /// Opens the stage.
  ///
  /// - Throws: why it does not open.
  func open() throws(WorkbenchError) {
    defer { conformance.observe(bench.runner.trace) }
    try bench.runner.start()
  }
}

/// A worker ended where a check waits for a verdict.
struct UnexpectedEnd: Error {
  var death: WorkerDeath
  /// What the stage was given.
  var what: String
  /// What its author may do about it; `nil`: what the death says.
  var remedy: String?
}

extension WorkerDeath {
  /// What the author of the stage may do about it.
  ///
  /// - Parameter command: the command that shows more of it.
  func remedy(command: String) -> String {
    switch cause {
    case .timedOut: "bound the work by the content's size, or by an option"
    case .outOfMemory: "read in pieces: `memory` bounds what may be held"
    case .outputLimit: "bound what is produced"
    case .forbiddenCall:
      "load files in `open`, declare `network` or `store` where it needs them, and start no process"
    case .crashed, .exited: "run it with `\(command) --under gdb`"
    case .programEnded: "let it answer each line, and end when there are no more"
    case .flooded: "log less"
    case .tooManyThreads: "start fewer threads"
    case .invalidReply: "call the host only during a call, on its thread"
    }
  }

  /// The same for the author of a program, where it is something else.
  func remedyOfProgram(command: String) -> String? {
    switch cause {
    case .crashed: "run it with `\(command) --trace`, which shows what it said before"
    case .invalidReply:
      "let it say whole lines of JSON, flushed, and of one attachment after the other; what is for people goes to standard error"
    default: nil
    }
  }

  /// Whether it has the same cause as another, as far as can be seen.
  func isLike(_ other: WorkerDeath) -> Bool {
    switch (cause, other.cause) {
    case (.crashed(let one, let site), .crashed(let signal, let otherSite)):
      one == signal && site?.frames.first == otherSite?.frames.first
    case (.outOfMemory, .outOfMemory), (.timedOut, .timedOut), (.tooManyThreads, .tooManyThreads): true
    default: cause == other.cause
    }
  }
}
