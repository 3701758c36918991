import CPlatform
import Glibc
import Pipeline
import Platform
import Synchronization

/// Judges contents with a pipeline, and keeps nothing: no row, no object. The workers, their sandbox and their limits are those of an
/// ingest; each content is answered once, in the time that it was given.
///
/// A thread of its own does it. Any thread may ask.
public final class Checker: Sendable {
  /// A check, and where its answer goes.
  struct Asked: Sendable {
    var check: Check
    var answer: @Sendable (CheckResult) -> Void
  }

  /// What the thread is asked.
  final class Inbox: Sendable {
    private struct State {
      var waiting: [Asked] = []
      var isClosed = false
      /// It is closed once nothing is left to do.
      var isRetired = false
    }

    let readable: Int32
    private let state = Mutex(State())

    init() throws(SystemError) {
      readable = sluice_eventfd()
      if readable < 0 { throw SystemError("making an eventfd") }
    }

    deinit { Glibc.close(readable) }

    /// False: it takes no more.
    func send(_ asked: Asked) -> Bool {
      let isTaken = state.withLock { state in
        if !state.isClosed { state.waiting.append(asked) }
        return !state.isClosed
      }
      if isTaken { sluice_eventfd_raise(readable) }
      return isTaken
    }

    func close() {
      state.withLock { $0.isClosed = true }
      sluice_eventfd_raise(readable)
    }

    func retire() {
      state.withLock { $0.isRetired = true }
      sluice_eventfd_raise(readable)
    }

    /// Closes it where it is retired and nothing was asked since the last call. To be called where nothing else is left to do.
    func closeIfRetired() -> Bool {
      state.withLock { state in
        if state.isRetired && state.waiting.isEmpty { state.isClosed = true }
        return state.isClosed
      }
    }

    /// What was asked since the last call, and whether that was the last.
    func take() -> (asked: [Asked], isLast: Bool) {
      sluice_eventfd_clear(readable)
      return state.withLock { state in
        defer { state.waiting = [] }
        return (state.waiting, state.isClosed)
      }
    }
  }

  private let inbox: Inbox
  private let thread: Thread

  /// - Parameters:
  ///   - pipeline: what of it judges is used: see ``PipelineDefinition/judging``.
  ///   - digest: the stage that measures content.
  ///   - executable: the worker's.
  ///   - isWarm: whether workers are started at once, and not with the first check.
  ///   - say: tells the operator a line: the pipeline cannot be used, and why. The thread calls it.
  public init(
    _ pipeline: PipelineDefinition, digest: StageDescription, executable: String, isWarm: Bool = true,
    say: @escaping @Sendable (String) -> Void
  ) throws(SystemError) {
    let inbox = try Inbox()
    self.inbox = inbox
    let judging = pipeline.judging
    thread = try Thread {
      CheckLoop(judging, digest: digest, executable: executable, inbox: inbox, say: say).run(isWarm: isWarm)
    }
  }

  /// Asks for a judgement. It is answered by the checker's thread, which must not be held up.
  public func check(_ check: Check, _ answer: @escaping @Sendable (CheckResult) -> Void) {
    if inbox.send(Asked(check: check, answer: answer)) { return }
    answer(.unknown("stopped", "the checker has ended; ask again"))
  }

  /// Lets what is under way end in its time, and ends then: another takes its place. In the place of ``stop()``.
  public func retire() {
    inbox.retire()
    thread.detach()
  }

  /// Answers what is under way as not decided, and ends the workers. Called once.
  public func stop() {
    inbox.close()
    thread.join()
  }
}
