import Glibc
import Pipeline
import Testing

@testable import Workers

struct WorkerDeathTests {
  private static let causes: [WorkerDeath.Cause] = [
    .crashed(signal: SIGSEGV), .exited(3), .outOfMemory(asked: 1 << 40), .outputLimit,
    .forbiddenCall(number: -1),
    .timedOut(afterMilliseconds: 30_000), .flooded, .tooManyThreads(65), .invalidReply("it spoke nonsense"),
  ]

  private static let stage: StageDefinition = {
    var stage = StageDefinition(
      id: "pdf", description: StageDescription(id: "pdf", version: "1", summary: "", file: ""), values: [])
    (stage.onTimeout, stage.onLimit, stage.onCrash) = (.retry, .reject, .hold)
    return stage
  }()

  @Test func eachEndHasACodeThatIsListed() {
    let codes = Self.causes.map { WorkerDeath($0, lastWords: "").code }
    #expect(Set(codes) == Set(WorkerDeath.codes))
    #expect(codes.allSatisfy(PlainName.isOne))
  }

  @Test(
    arguments: [
      (0, "crashed: SIGSEGV"), (1, "crashed: the worker ended with status 3"),
      (2, "out-of-memory: asked for 1099511627776 bytes more, and `memory` allows 256MB in all"),
      (3, "output-limit: wrote more than the 64MB that `output` allows"),
      (
        4,
        "forbidden-call: the sandbox does not allow a system call it made with capability content; a thread needs "
          + "capability network, and a process no stage may start"
      ),
      (5, "timed-out: took more than 30s"), (6, "flooded: wrote more than 1MB to standard error"),
      (7, "too-many-threads: had 65 threads, and may have 64"), (8, "invalid-reply: it spoke nonsense"),
    ])
  func theMessageSaysWhatWasAskedAndWhatIsAllowed(cause: Int, message: String) {
    #expect(WorkerDeath(Self.causes[cause], lastWords: "").message(in: Self.stage) == message)
    #expect(
      WorkerDeath(Self.causes[cause], lastWords: "help").message(in: Self.stage)
        == message + "; it last said: help")
  }

  @Test func aForbiddenCallIsNamed() {
    let message = WorkerDeath(.forbiddenCall(number: 57), lastWords: "").message(in: Self.stage)
    #expect(message.contains("(2) with capability content; a stage starts no process"))
  }

  @Test func theRemedyIsTheOneForThatKindOfEnd() {
    let remedies = Self.causes.map { WorkerDeath($0, lastWords: "").remedy(in: Self.stage) }
    #expect(remedies == [.hold, .hold, .reject, .reject, .hold, .retry, .reject, .reject, .hold])
    let verdicts = Self.causes.map { WorkerDeath($0, lastWords: "").verdict }
    #expect(
      verdicts == [
        "crashed", "crashed", "over-limit", "over-limit", "crashed", "timed-out", "over-limit", "over-limit",
        "crashed",
      ])
  }
}
