import CSeccomp
import Glibc
import Pipeline
import Wire

/// How a worker came to its end, as an outcome with a name.
public struct WorkerDeath: Sendable {
  public enum Cause: Sendable, Equatable {
    case crashed(signal: Int32, at: CrashSite? = nil)
    case exited(Int32)
    /// The program that is the stage, and not the worker.
    case programEnded(Int32)
    case outOfMemory(asked: UInt64)
    case outputLimit
    /// -1: which one is not known.
    case forbiddenCall(number: Int32)
    case timedOut(afterMilliseconds: Int64)
    case flooded
    case tooManyThreads(Int)
    case invalidReply(String)
  }

  public var cause: Cause
  public var lastWords: String
  /// The place in words, as a tool found it from the plugin's file: `in greet, greeting.c:57`.
  public var place: String?

  /// Its stage reads nothing but the content, and kept a processor busy until its time was over: another attempt would do the same.
  public var isInVain = false

  public init(_ cause: Cause, lastWords: String) {
    self.cause = cause
    self.lastWords = lastWords
  }

  /// The codes an attachment can get for its worker's end.
  public static let codes = [
    "crashed", "timed-out", "out-of-memory", "output-limit", "forbidden-call", "flooded",
    "too-many-threads", "invalid-reply",
  ]

  public var code: String {
    switch cause {
    case .crashed, .exited, .programEnded: "crashed"
    case .outOfMemory: "out-of-memory"
    case .outputLimit: "output-limit"
    case .forbiddenCall: "forbidden-call"
    case .timedOut: "timed-out"
    case .flooded: "flooded"
    case .tooManyThreads: "too-many-threads"
    case .invalidReply: "invalid-reply"
    }
  }

  /// The name of the outcome, as an attempt records it.
  public var verdict: String {
    switch cause {
    case .timedOut: "timed-out"
    case .outOfMemory, .outputLimit, .flooded, .tooManyThreads: "over-limit"
    case .crashed, .exited, .programEnded, .forbiddenCall, .invalidReply: "crashed"
    }
  }

  /// Where it was, as the end of a sentence. An address in no file says nothing.
  private static func text(_ frame: CrashSite.Frame) -> String {
    frame.module.isEmpty ? "" : " at \(frame.text)"
  }

  /// A sentence that says what was asked and what was allowed.
  public func message(in stage: StageDefinition) -> String {
    let fact =
      switch cause {
      case .crashed(let signal, let site):
        "crashed: \(Self.name(ofSignal: signal))"
          + (place == nil ? site.map { Self.text($0.frame(in: stage.description.file)) } ?? "" : "")
      case .exited(let code): "crashed: the worker ended with status \(code)"
      case .programEnded(let code): "crashed: the program ended with status \(code)"
      case .outOfMemory(let asked):
        "out-of-memory: asked for \(asked == .max ? "more than there are addresses" : "\(asked)") bytes more, and "
          + "`memory` allows \(ByteSize.text(stage.memory)) in all"
      case .outputLimit:
        "output-limit: wrote more than the \(ByteSize.text(stage.output)) that `output` allows"
      case .forbiddenCall(let number):
        "forbidden-call: the sandbox does not allow \(Self.name(ofCall: number)) with capability "
          + stage.description.capability.name
          + (Self.startsProcess(number) ? "; a stage starts no process" : "")
          // glibc blocks signals where it starts something: then the call cannot be told.
          + (number < 0 ? "; a thread needs capability network, and a process no stage may start" : "")
      case .timedOut(let after): "timed-out: took more than \(Interval.text(after))"
      case .flooded:
        "flooded: wrote more than \(ByteSize.text(Int64(WorkerProcess.floodLimit))) to standard error"
      case .tooManyThreads(let count):
        "too-many-threads: had \(count) threads, and may have \(WorkerProcess.threadLimit)"
      case .invalidReply(let text): "invalid-reply: \(text)"
      }
    let told = place.map { "\(fact), \($0)" } ?? fact
    if lastWords.isEmpty { return told }
    let said = "\(told); it last said: \(lastWords)"
    guard case .programEnded = cause, let advice = ProgramAdvice.text(lastWords, stage.description) else {
      return said
    }
    return "\(said) (\(advice))"
  }

  /// Which of the stage's remedies applies.
  public func remedy(in stage: StageDefinition) -> Remedy {
    switch cause {
    case .timedOut: stage.onTimeout
    case .outOfMemory, .outputLimit, .flooded, .tooManyThreads: stage.onLimit
    case .crashed, .exited, .programEnded, .forbiddenCall, .invalidReply: stage.onCrash
    }
  }

  private static func startsProcess(_ number: Int32) -> Bool {
    ["fork(2)", "vfork(2)", "clone(2)", "execve(2)", "execveat(2)"].contains(name(ofCall: number))
  }

  private static func name(ofSignal number: Int32) -> String {
    let names: [Int32: String] = [
      SIGSEGV: "SIGSEGV", SIGILL: "SIGILL", SIGABRT: "SIGABRT", SIGBUS: "SIGBUS", SIGFPE: "SIGFPE",
      SIGTRAP: "SIGTRAP",
      SIGKILL: "SIGKILL", SIGTERM: "SIGTERM", SIGSYS: "SIGSYS", SIGXCPU: "SIGXCPU",
    ]
    return names[number] ?? "signal \(number)"
  }

  private static func name(ofCall number: Int32) -> String {
    if number < 0 { return "a system call it made" }
    guard let name = seccomp_syscall_resolve_num_arch(UInt32(bitPattern: Int32(SCMP_ARCH_NATIVE)), number)
    else {
      return "system call \(number)"
    }
    defer { free(name) }
    return "\(String(cString: name))(2)"
  }
}

extension WorkerDeath.Cause {
  /// What a worker tells of its program.
  init(_ fault: ProgramFault) {
    switch fault {
    case .exited(let status): self = .programEnded(status)
    case .crashed(let signal): self = .crashed(signal: signal)
    case .outputLimit: self = .outputLimit
    case .invalidReply(let reason): self = .invalidReply(reason)
    }
  }
}
