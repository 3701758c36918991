import Glibc
import Pipeline
import Platform
import Wire

/// Asks workers what plugins are: two side by side, each one plugin after the other, for most of what it takes is to start a
/// process.
struct PluginInquiry {
  /// A worker that loads a plugin now.
  private struct Asked {
    var process: WorkerProcess
    var question: PluginQuestion
    /// It has loaded no other.
    var isFirst = true
    /// In nanoseconds.
    var since = Clock.monotonic()
  }

  private let worker: String
  private let major: UInt32
  /// All that a worker may load. Its sandbox closes before it loads the first, so it has to know the others.
  private let files: [String]
  private var waiting: [PluginQuestion]
  private var asked: [Asked] = []
  private var results: [String: Result<StageDescription, Refusal>] = [:]

  /// Workers at a time.
  private static let width = 2
  private static let timeout: UInt64 = 10_000_000_000

  init(_ questions: [PluginQuestion], worker: String, major: UInt32) {
    self.worker = worker
    self.major = major
    files = questions.map(\.file)
    waiting = questions.reversed()
  }

  mutating func run() -> [String: Result<StageDescription, Refusal>] {
    var done: [WorkerProcess] = []
    defer { for process in done { process.reap() } }
    while true {
      while asked.count < Self.width, let question = waiting.popLast() { start(question) }
      if asked.isEmpty { return results }
      wait()
      for one in asked {
        guard let isAlive = hear(one) else { continue }
        asked.removeAll { $0.process === one.process }
        // A question that this worker cannot be asked waits for a new one, whose start tells why.
        if isAlive, let next = waiting.last, (try? one.process.ask(next)) != nil {
          waiting.removeLast()
          asked.append(Asked(process: one.process, question: next, isFirst: false))
        } else {
          one.process.kill()
          done.append(one.process)
        }
      }
    }
  }

  private mutating func start(_ question: PluginQuestion) {
    do throws(SystemError) {
      let process = try WorkerProcess(
        executable: worker, words: ["describe", String(major)] + files + [String(getpid())])
      try process.ask(question)
      asked.append(Asked(process: process, question: question))
    } catch {
      results[question.id] = .failure(Refusal(stage: question.id, message: error.advice))
    }
  }

  private func wait() {
    var sockets = asked.map { pollfd(fd: $0.process.socket, events: Int16(POLLIN), revents: 0) }
    poll(&sockets, nfds_t(sockets.count), 1000)
  }

  /// Takes an answer. Returns whether the worker can be asked on; `nil`: it has not answered yet.
  private mutating func hear(_ one: Asked) -> Bool? {
    let id = one.question.id
    func refusal(_ text: String) -> Result<StageDescription, Refusal> {
      .failure(Refusal(stage: id, message: "\(one.question.file): \(text)"))
    }
    switch one.process.hear() {
    case .nothing:
      if one.since + Self.timeout > Clock.monotonic() { return nil }
      results[id] = refusal("does not load within 10s")
      return false
    case .message(.description(let description)):
      results[id] = .success(description)
      return true
    case .message(.refusal(let refusal)):
      results[id] = .failure(refusal)
      return true
    case .message(.invalid(let text)):
      results[id] = refusal("answers with a description that is not one: \(text)")
      return false
    case .message: return nil  // it was asked nothing else
    case .closed:
      if one.isFirst {
        results[id] = refusal("takes its process down while it loads: \(end(of: one))")
      } else {
        // What was loaded before it may have a part in this: it is asked once more, in a worker of its own.
        waiting.append(one.question)
      }
      return false
    }
  }

  /// What ended a process that has closed its socket.
  private func end(of one: Asked) -> String {
    let description = StageDescription(id: one.question.id, version: "", summary: "", file: one.question.file)
    let stage = StageDefinition(id: one.question.id, description: description, values: [])
    return WorkerDeath(one.process.endAfterClosing(), lastWords: one.process.lastWords).message(in: stage)
  }
}
