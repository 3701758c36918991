import Foundation
import Testing

/// What a stage must not do, done beside well-behaved attachments.
@Suite(.serialized)
struct MisbehavingStageTests {
  /// One misdeed and its expected outcome.
  struct Act: Sendable, CustomTestStringConvertible {
    var name: String
    var status = "rejected"
    var code: String?
    /// A part of the reason's message.
    var saying = ""

    init(_ name: String, _ code: String?, _ saying: String = "", status: String = "rejected") {
      self.name = name
      self.code = code
      self.saying = saying
      self.status = status
    }

    var testDescription: String { name }
  }

  static let ends = [
    Act("segfault", "crashed", "SIGSEGV"), Act("abort", "crashed", "SIGABRT"),
    Act("trap", "crashed", "SIGILL"),
    Act("divide", "crashed", "SIGFPE"), Act("recurse", "crashed", "SIGSEGV"),
    Act("exit", "crashed", "the worker ended with status 0"),
    Act("say-last-words", "crashed", "it last said: first line / the  [31mlast [0m words"),
    Act("spin", "timed-out", "took more than 1s"), Act("sleep", "timed-out", "took more than 1s"),
  ]
  static let calls = [
    Act("fork", "forbidden-call", "does not allow clone(2) with capability content"),
    Act("exec", "forbidden-call", "execve(2)"), Act("open-file", "forbidden-call", "openat(2)"),
    Act("socket", "forbidden-call", "socket(2)"), Act("connect", "forbidden-call", "connect(2)"),
    Act("kill-parent", "forbidden-call", "kill(2)"), Act("ptrace", "forbidden-call", "ptrace(2)"),
    Act("executable-memory", "forbidden-call", "mmap(2)"), Act("block-and-fork", "forbidden-call"),
  ]
  static let budgets = [
    Act("allocate", "out-of-memory", "asked for 2147483648 bytes more, and `memory` allows 64MB in all"),
    Act("allocate-slowly", "out-of-memory", "`memory` allows 64MB in all"),
    Act("map", "misbehaved", "2 GB were not to be had", status: "failed"),
    Act("write", "output-limit", "more than the 16MB that `output` allows"),
    Act("flood", "flooded", "more than 1MB to standard error"), Act("log-for-ever", "flooded"),
  ]
  static let lies = [
    Act("close-socket", "invalid-reply", "it closed its socket and went on"),
    Act("close-everything", "crashed"),
    Act("absurd-length", "invalid-reply", "a text of 4294967294 bytes"),
    Act("absurd-count", "invalid-reply", "4294967295 elements where 512 are allowed"),
    Act("absurd-stage", "invalid-reply", "a result of stage 250 of 2"),
    Act("wrong-serial", "invalid-reply", "work it was not given"),
    Act("unknown-verdict-frame", "invalid-reply", "unknown verdict"),
    Act("garbage", "invalid-reply", "unknown kind of frame"), Act("empty-frame", "invalid-reply"),
    Act("oversized", "invalid-reply", "a frame of more than 98304 bytes"),
    Act("forged-ready", "invalid-reply"),
    Act("forged-refusal", "invalid-reply"), Act("forged-descriptors", "invalid-reply"),
    Act("forged-content", "invalid-reply", "new content from no stage that makes any"),
    Act("forged-texts", "invalid-reply", "a text with a NUL character"),
  ]
  static let odd = [
    Act("unknown-verdict", "unexplained", "verdict 4242", status: "failed"),
    Act("hostile-strings", "undeclared"), Act("produce-and-reject", "misbehaved"),
    Act("retry", "misbehaved", "not today (attempt 2, the last)", status: "failed"),
    // Only a stage that stores may report a location: this one is dropped.
    Act("hostile-location", nil, status: "completed"),
    Act("huge-metadata", nil, status: "completed"), Act("hostile-type", nil, status: "completed"),
    Act("produce", nil, status: "completed"), Act("produce-and-hold", nil, status: "completed"),
    Act("pass", nil, status: "completed"),
  ]

  @Test(arguments: ends + calls + budgets + lies + odd)
  func eachMisdeedHasItsNameAndTouchesNobodyElse(act: Act) throws {
    let inbox = try Inbox()
    let timeout = act.code == "timed-out" ? "1s" : "60s"
    try inbox.pipeline("timeout: \(timeout)", "on-crash: reject", "on-timeout: reject", "on-limit: reject")
    try inbox.add("a", "misbehave \(act.name)\n")
    try inbox.addNeighbours(6)
    let run = try inbox.run()
    let record = try run.record("a")
    #expect(record.status == act.status, "\(record)")
    #expect(record.code == act.code, "\(record.message)")
    #expect(record.code == nil || record.reason?.stage == "misbehave")
    #expect(act.saying.isEmpty || record.message.contains(act.saying), "\(record.message)")
    #expect(run.neighbours.count == 6)
    #expect(run.neighbours.allSatisfy { $0.isCompleted }, "\(run.outcome.out)")
    #expect(run.outcome.status == (act.status == "completed" ? 0 : 1))
    try inbox.checkWhole(run)
  }

  @Test func allMisdeedsAtOnceTouchNobodyElse() throws {
    let inbox = try Inbox()
    try inbox.pipeline("timeout: 5s", "on-crash: retry", "on-timeout: hold", "on-limit: reject")
    // A forged answer may concern other attachments of the same worker: such acts need `fresh`.
    let acts = (Self.ends + Self.calls + Self.budgets + Self.lies).filter {
      !$0.name.hasPrefix("forged-")
    }
    for act in acts { try inbox.add("act-\(act.name)", "misbehave \(act.name)\n") }
    try inbox.addNeighbours(100)
    let run = try inbox.run()
    #expect(run.neighbours.count == 100)
    #expect(run.neighbours.allSatisfy { $0.isCompleted })
    for act in acts {
      let record = try run.record("act-\(act.name)")
      #expect(record.code == act.code, "\(record)")
      let wanted =
        switch act.code {
        case "out-of-memory", "output-limit", "flooded": "rejected"
        case "misbehaved": "failed"
        default: "quarantined"
        }
      #expect(record.status == wanted, "\(record)")
    }
    try inbox.checkWhole(run)
  }

  /// The damage shows after the answer, when the next attachment begins.
  @Test func aStageThatBreaksTheHeapTakesNoNeighbourWithIt() throws {
    let inbox = try Inbox()
    try inbox.pipeline("on-crash: reject", more: "workers: 1")
    for number in 0..<5 { try inbox.add("a-\(number)", "misbehave break-heap\n") }
    try inbox.addNeighbours(20)
    let run = try inbox.run()
    #expect(run.neighbours.count == 20)
    #expect(run.neighbours.allSatisfy { $0.isCompleted }, "\(run.outcome.out)")
    try inbox.checkWhole(run)
  }

  /// Nearly valid frames, each from its own process.
  @Test func aThousandWaysToAnswerWronglyHurtNobodyElse() throws {
    let inbox = try Inbox()
    try inbox.pipeline(
      "isolation: fresh", "timeout: 200ms", "on-crash: reject", "on-timeout: reject", "on-limit: reject")
    for number in 1...250 {
      // Files are taken in by name, so that the number is the serial.
      let name = String(repeating: "0", count: 4 - String(number).count) + "\(number)"
      try inbox.add(name, "misbehave fuzz \(number) \(number * 7 + 3)\n")
    }
    try inbox.addNeighbours(6)
    let run = try inbox.run()
    #expect(run.outcome.attachments.count == 256)
    #expect(run.neighbours.allSatisfy { $0.isCompleted }, "\(run.neighbours)")
    let codes = Set(run.outcome.attachments.compactMap(\.code))
    #expect(codes.contains("invalid-reply"))
    try inbox.checkWhole(run)
  }

  // MARK: Remedies

  struct Case: Sendable, CustomTestStringConvertible {
    var act: String
    var key: String
    var code: String
    var remedy: String
    var testDescription: String { "\(key): \(remedy)" }
  }

  static let cases = ["reject", "retry", "hold", "pass"].flatMap { remedy in
    [
      Case(act: "segfault", key: "on-crash", code: "crashed", remedy: remedy),
      Case(act: "spin", key: "on-timeout", code: "timed-out", remedy: remedy),
      Case(act: "allocate", key: "on-limit", code: "out-of-memory", remedy: remedy),
    ]
  }

  @Test(arguments: cases)
  func thePipelineSaysWhatBecomesOfAStagesVictim(example: Case) throws {
    let inbox = try Inbox()
    try inbox.pipeline("timeout: 400ms", "\(example.key): \(example.remedy)")
    try inbox.add("a", "misbehave \(example.act)\n")
    try inbox.addNeighbours(3)
    let run = try inbox.run()
    let record = try run.record("a")
    let attempts = try inbox.ledger(
      "SELECT count(DISTINCT number) FROM attempts JOIN attachments ON key = attachment_key WHERE file_name = 'a'"
    )
    switch example.remedy {
    case "reject":
      #expect(record.status == "rejected")
      #expect(attempts == "1")
    case "retry":
      #expect(record.status == "quarantined")
      #expect(record.message.hasSuffix("(attempt 2, the last)"))
      #expect(attempts == "2")
    case "hold":
      #expect(record.status == "quarantined")
      #expect(attempts == "1")
    default:
      #expect(record.status == "completed")
      #expect(record.mediaType == "text/plain", "what an earlier stage found is not lost")
      let died = try inbox.ledger(
        "SELECT count(*) FROM steps WHERE stage = 'misbehave' AND code = '\(example.code)'")
      #expect(died == "1", "what happened is on record")
    }
    #expect(record.code == (example.remedy == "pass" ? nil : example.code))
    #expect(run.outcome.status == (example.remedy == "pass" ? 0 : 1))
    #expect(run.neighbours.allSatisfy { $0.isCompleted })
    try inbox.checkWhole(run)
  }

  // MARK: Isolation

  @Test func aFreshProcessForEachAttachmentRemembersNothing() throws {
    let counts = try countCalls("isolation: fresh")
    #expect(counts == [1, 1, 1, 1, 1])
  }

  @Test func aSharedProcessTakesOneAttachmentAfterTheOther() throws {
    let counts = try countCalls("isolation: worker")
    #expect(counts == [1, 2, 3, 4, 5])
  }

  private func countCalls(_ isolation: String) throws -> [Int] {
    let inbox = try Inbox()
    try inbox.pipeline(isolation, more: "workers: 1")
    try inbox.addNeighbours(5)
    let run = try inbox.run()
    try inbox.checkWhole(run)
    return run.neighbours.compactMap { $0.metadata["misbehave.calls"]?.asInteger }.sorted()
  }

  // MARK: What it says

  @Test func newContentIsWhatIsStoredAndMeasured() throws {
    let inbox = try Inbox()
    try inbox.pipeline()
    try inbox.add("a", "misbehave produce\n")
    let run = try inbox.run()
    let record = try run.record("a")
    let content = Data("well-behaved new content\n".utf8)
    #expect(record.status == "completed")
    #expect(record.sizeBytes == content.count)
    #expect(record.sha256 == (try Inbox.sha256(content)))
    #expect(
      try record.metadata["original.sha256"] == .text(Inbox.sha256(Data("misbehave produce\n".utf8))))
    let stored = try inbox.folder.read("home/store/" + (record.url ?? ""))
    #expect(stored == "well-behaved new content\n")
    try inbox.checkWhole(run)
  }

  @Test func metadataIsBoundedAndTheRestDropped() throws {
    let inbox = try Inbox()
    try inbox.pipeline()
    try inbox.add("a", "misbehave huge-metadata\n")
    let run = try inbox.run()
    let own = try run.record("a").metadata.filter { $0.key.hasPrefix("misbehave.") }
    let bytes = own.reduce(0) { $0 + $1.key.utf8.count + ($1.value.asText?.utf8.count ?? 1) }
    #expect(own.count > 100)
    #expect(bytes < 40 << 10)
    #expect(own.keys.allSatisfy { $0.utf8.count <= 128 })
    try inbox.checkWhole(run)
  }

  @Test func hostileTextReachesNoTerminal() throws {
    let inbox = try Inbox()
    try inbox.pipeline("on-crash: reject")
    for act in ["hostile-strings", "hostile-type", "say-last-words", "forged-texts"] {
      try inbox.add(act, "misbehave \(act)\n")
    }
    let outcome = try SluiceCommand.run(
      ["ingest", "--home", "home", "in"], in: inbox.folder,
      environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
    for text in [outcome.out, outcome.err] {
      let harmful = text.unicodeScalars.filter { scalar in
        scalar.value < 0x20 && scalar != "\n" || (0x7F...0x9F).contains(scalar.value)
          || (0x2028...0x202E).contains(scalar.value)
      }
      #expect(harmful.isEmpty, "\(text)")
    }
    #expect(outcome.status == 1)
  }
}
