import Scheduler
import Testing
import Wire

@testable import Control

/// Questions of clients cost the scheduler ten answers a second at most.
struct WorkersQuestionsTests {
  private static let idle = WorkersAtWork([.init("mime", busy: 0, total: 1)], longest: nil)
  private static let second: UInt64 = 1_000_000_000

  @Test func theSchedulerIsAskedTenTimesASecondAtMost() {
    var questions = WorkersQuestions()
    var (asked, answered) = (0, 0)
    var isAsked = false
    // Twenty clients, each of which asks a thousand times a second.
    for step in 0..<1000 {
      let now = Self.second + UInt64(step) * Self.second / 1000
      for client in 1...20 as ClosedRange<UInt64> {
        switch questions.take(from: client, at: now) {
        case .ask: (asked, isAsked) = (asked + 1, true)
        case .answer: answered += 1
        case .wait, .refuse: break
        }
      }
      // The loop turns every few milliseconds.
      if isAsked && step % 3 == 0 {
        answered += questions.answer(Self.idle, at: now).count
        isAsked = false
      }
    }
    #expect(asked <= 10 && asked > 5 && answered > 18_000, "\(asked) \(answered)")
  }

  @Test(arguments: [
    nil, WorkersAtWork.Piece(stage: "pdf", attachmentId: "01a2", fileName: "a.pdf", since: 1_700_000_000_123),
  ])
  func anAnswerIsReadAsItWasWrittenAndNoPartOfIt(longest: WorkersAtWork.Piece?) throws {
    let workers = WorkersAtWork(
      [.init("mime, size, pdf", busy: 2, total: 3), .init("channel:events", busy: 0, total: 1)],
      longest: longest,
      downloads: longest == nil
        ? nil
        : DownloadsAtWork(
          [
            .init(fileName: "a.pdf", link: "https://files.example.com/…", bytes: 5, total: 9, isHeld: false),
            .init(fileName: "b", link: "", bytes: 0, total: nil, isHeld: true),
          ], rate: 7))
    let message = ControlMessage.workers(workers)
    #expect(try message.withUnsafeBytes { try ControlMessage.workersAnswer($0).get() } == workers)
    for count in 0..<message.count {
      #expect(throws: FrameError.self) {
        try message[..<count].withUnsafeBytes { _ = try ControlMessage.workersAnswer($0) }
      }
    }
    let question = ControlMessage.workersQuestion(.looks)
    #expect(try question.withUnsafeBytes { try ControlMessage.readQuestion($0) } == .looks)
    let other = ControlMessage.workersQuestion(.attends)
    #expect(try other.withUnsafeBytes { try ControlMessage.readQuestion($0) } == .attends)
    #expect(try message.withUnsafeBytes { try ControlMessage.readQuestion($0) } == nil)
    #expect(throws: FrameError.self) {
      try (question + [0]).withUnsafeBytes { _ = try ControlMessage.readQuestion($0) }
    }
  }

  @Test func thePipelineIsAskedForAndToldInFull() throws {
    let atWork = PipelineAtWork(file: "/a.yaml", fingerprint: "f", process: 7, isResident: true)
    for pipeline in [atWork, nil] {
      let message = ControlMessage.pipeline(pipeline)
      #expect(try message.withUnsafeBytes { try ControlMessage.pipelineAnswer($0).get() } == pipeline)
      for count in 0..<message.count {
        #expect(throws: FrameError.self) {
          try message[..<count].withUnsafeBytes { _ = try ControlMessage.pipelineAnswer($0) }
        }
      }
      #expect(try message.withUnsafeBytes { try !ControlMessage.isPipelineQuestion($0) })
    }
    let question = ControlMessage.pipelineQuestion()
    #expect(try question.withUnsafeBytes { try ControlMessage.isPipelineQuestion($0) })
    #expect(throws: FrameError.self) {
      try (question + [0]).withUnsafeBytes { _ = try ControlMessage.isPipelineQuestion($0) }
    }
  }

  @Test func allThatWaitGetTheNextAnswer() {
    var questions = WorkersQuestions()
    #expect(questions.take(from: 1, at: 5) == .ask)
    #expect(questions.take(from: 2, at: 6) == .wait)
    #expect(questions.take(from: 2, at: 7) == .refuse, "it has not waited for its answer")
    #expect(questions.take(from: 3, at: 8) == .wait)
    questions.forget(3)
    #expect(questions.answer(Self.idle, at: 9) == [1, 2])
    #expect(questions.take(from: 2, at: 10) == .answer(Self.idle))
    #expect(questions.take(from: 2, at: 9 + Self.second) == .ask, "an answer does not hold for ever")
  }
}
