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
  private var waiting: [PluginQuestion]
  private var asked: [Asked] = []
  private var results: [String: Result<StageDescription, Refusal>] = [:]
  private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: Frame.limit, alignment: 8)

  /// Workers at a time.
  private static let width = 2
  private static let timeout: UInt64 = 10_000_000_000

  init(_ questions: [PluginQuestion], worker: String, major: UInt32) {
    self.worker = worker
    self.major = major
    waiting = questions.reversed()
  }

  mutating func run() -> [String: Result<StageDescription, Refusal>] {
    defer { room.deallocate() }
    var done: [WorkerProcess] = []
    defer { for process in done { process.reap() } }
    while true {
      while asked.count < Self.width, let question = waiting.popLast() { start(question) }
      if asked.isEmpty { return results }
      wait()
      for one in asked {
        guard let isAlive = hear(one) else { continue }
        asked.removeAll { $0.process === one.process }
        if isAlive, let next = waiting.last, case .sent = one.process.send(next.frame) {
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
        executable: worker, words: ["describe", String(major), String(getpid())])
      switch process.send(question.frame) {
      // One that is gone by now is found out by its socket.
      case .sent, .gone: asked.append(Asked(process: process, question: question))
      case .full, .failed:
        let error = SystemError("asking a worker")
        process.kill()
        process.reap()
        throw error
      }
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
    switch one.process.receive(into: room) {
    case .nothing:
      if one.since + Self.timeout > Clock.monotonic() { return nil }
      results[id] = refusal("does not load within 10s")
      return false
    case .frame(let count):
      do throws(FrameError) {
        results[id] = try answer(UnsafeRawBufferPointer(rebasing: room[..<count]), one.question.file)
        return true
      } catch {
        results[id] = refusal("answers with a description that is not one: \(error)")
        return false
      }
    case .tooLong, .gone:
      if one.isFirst {
        results[id] = refusal("takes its process down while it loads: \(end(of: one))")
      } else {
        // What was loaded before it may have a part in this: it is asked once more, in a worker of its own.
        waiting.append(one.question)
      }
      return false
    }
  }

  private func answer(
    _ frame: UnsafeRawBufferPointer, _ file: String
  ) throws(FrameError) -> Result<StageDescription, Refusal> {
    var reader = FrameReader(frame)
    switch try reader.kind() {
    case .description: return .success(try StageDescription(&reader, file: file))
    case .refusal: return .failure(try Refusal(&reader))
    default: throw FrameError("another kind of frame")
    }
  }

  /// What ended a process that has closed its socket.
  private func end(of one: Asked) -> String {
    var cause = one.process.ended()
    for _ in 0..<100 where cause == nil {
      usleep(1000)
      cause = one.process.ended()
    }
    let description = StageDescription(id: one.question.id, version: "", summary: "", file: one.question.file)
    let stage = StageDefinition(id: one.question.id, description: description, values: [])
    return WorkerDeath(cause ?? .exited(0), lastWords: one.process.lastWords).message(in: stage)
  }
}
