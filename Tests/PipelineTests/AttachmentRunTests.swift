import Pipeline
import Testing

/// The effect of stage results on an attempt, one row per case.
struct AttachmentRunTests {
  /// A pipeline in letters: `l` a stage of role `line`, `s` one that stores, `n` a `line` stage that uses the
  /// network, `m` one that makes new content, `e` a stage at the end, `t` one at the end that emits events.
  /// Stages are named by letter and place: `l0`, `t2`.
  private static func plan(
    _ letters: String, attempts: Int = 3, onCrash: Remedy = .retry, when: [Int: String] = [:]
  ) throws -> RunPlan {
    let stages = try letters.enumerated().map { place, letter in
      var description = StageDescription(id: String(letter), version: "1", summary: "", file: "")
      description.role = "et".contains(letter) ? .end : .line
      description.capability = letter == "s" ? .store : letter == "n" ? .network : .content
      description.produces = letter == "m"
      description.keys = [.init(name: "found.*", help: "")]
      if letter == "t" {
        description.options = [.init(name: "channels", kind: .channelName, shapes: .list, help: "")]
      }
      var stage = StageDefinition(id: "\(letter)\(place)", description: description, values: [])
      if letter == "t" { stage.values = [OptionValue(name: "channels", text: "events")] }
      stage.onCrash = onCrash
      stage.conditions = try when[place].map { [try #require(MediaTypePattern($0))] } ?? []
      return stage
    }
    let hook = StageDefinition(
      id: "jsonl", description: .init(id: "jsonl", version: "1", summary: "", file: ""), values: [])
    var pipeline = PipelineDefinition(stages: stages, channels: [.init(name: "events", stage: hook)])
    pipeline.retry.attempts = attempts
    return RunPlan(pipeline)
  }

  private static let told = Emission(type: "attachment.any", channel: "events", audience: .everyone)

  /// Drives a run to its end. Acts are given by stage, `pass` by default; `tell` emits and passes.
  private struct Drive {
    var run: AttachmentRun
    var ran: [String] = []
    var end: AttachmentRun.End?

    init(
      _ letters: String, _ acts: [String: String] = [:], attempt: Int = 1, attempts: Int = 3,
      onCrash: Remedy = .retry, when: [Int: String] = [:], isSourceChanged: Bool = false
    ) throws {
      let plan = try AttachmentRunTests.plan(letters, attempts: attempts, onCrash: onCrash, when: when)
      run = AttachmentRun(plan, attempt: attempt)
      while end == nil {
        switch run.next(isSourceChanged: { isSourceChanged }) {
        case .measure: run.measured(String(repeating: "a", count: 64))
        case .end(let end): self.end = end
        case .expand: run.expanded()
        case .run(let places):
          let place = places.lowerBound
          let stage = plan.stages[place]
          ran.append(stage.id)
          let act = acts[stage.id] ?? "pass"
          let step = Step(
            stage: stage.id, verdict: "crashed", code: "crashed", message: "crashed", microseconds: 1)
          if act == "crash" || act == "in-vain" {
            run.died(
              step, at: place, remedy: stage.onCrash, isInVain: act == "in-vain", of: place..<place + 1)
            continue
          }
          var report = StageReport()
          let verdicts: [String: Verdict] = [
            "reject": .reject, "fail": .fail, "retry": .retry, "pause": .retry,
          ]
          report.results = [
            StageResult(
              index: 0, verdict: verdicts[act] ?? .pass, code: verdicts[act] == nil ? nil : act, message: act,
              pausesLane: act == "pause")
          ]
          if act == "tell" { report.emissions = [AttachmentRunTests.told] }
          if act == "elsewhere" {
            report.emissions = [.init(type: "x", channel: "nowhere", audience: .sender)]
          }
          if act == "store" { report.location = "documents/a" }
          if act == "produce" { report.produced = true }
          if act == "image" { report.mediaType = "image/png" }
          run.take(report, of: place..<place + 1)
        }
      }
    }

    /// How it ended, in a word: the outcome with the stage that decided it, or what happens to the attempt.
    var word: String {
      switch end {
      case .ended: run.outcome.rawValue + (run.reason.map { " \($0.stage)" } ?? "")
      case .again(let reason, _, let crashed): "again \(reason.stage)\(crashed ? " crashed" : "")"
      case .lanePaused(let reason): "paused \(reason.stage)"
      case nil: "nothing"
      }
    }
  }

  struct Row: Sendable, CustomTestStringConvertible {
    var letters: String
    var acts: [String: String]
    var ran: String
    var word: String
    var emissions = 0
    var testDescription: String { "\(letters) \(acts.sorted { $0.key < $1.key })" }
  }

  static let rows: [Row] = [
    Row(letters: "", acts: [:], ran: "", word: "completed"),
    Row(letters: "llsee", acts: [:], ran: "l0 l1 s2 e3 e4", word: "completed"),
    Row(letters: "lle", acts: ["l0": "reject"], ran: "l0 e2", word: "rejected l0"),
    Row(letters: "lle", acts: ["l1": "fail"], ran: "l0 l1 e2", word: "failed l1"),
    Row(letters: "lle", acts: ["l0": "retry"], ran: "l0", word: "again l0"),
    // A stage that parses content may decide about that content only.
    Row(letters: "le", acts: ["l0": "pause"], ran: "l0", word: "again l0"),
    Row(letters: "ne", acts: ["n0": "pause"], ran: "n0", word: "paused n0"),
    Row(letters: "lse", acts: ["s1": "pause"], ran: "l0 s1", word: "paused s1"),
    Row(letters: "lle", acts: ["l0": "crash"], ran: "l0", word: "again l0 crashed"),
    // A stage at the end may still change the outcome `completed`, until an event has told it.
    Row(
      letters: "let", acts: ["e1": "reject", "t2": "tell"], ran: "l0 e1 t2", word: "rejected e1", emissions: 1
    ),
    Row(
      letters: "ltt", acts: ["t1": "tell", "t2": "reject"], ran: "l0 t1 t2", word: "completed", emissions: 1),
    Row(letters: "lee", acts: ["e1": "fail", "e2": "reject"], ran: "l0 e1 e2", word: "failed e1"),
    Row(letters: "lee", acts: ["l0": "reject", "e1": "fail"], ran: "l0 e1 e2", word: "rejected l0"),
    Row(letters: "let", acts: ["e1": "retry", "t2": "tell"], ran: "l0 e1", word: "again e1"),
    // Events of a `line` stage are recorded with any outcome, but not if the attempt does not count.
    Row(
      letters: "lle", acts: ["l0": "tell", "l1": "reject"], ran: "l0 l1 e2", word: "rejected l1", emissions: 1
    ),
    Row(letters: "lle", acts: ["l0": "tell", "l1": "retry"], ran: "l0 l1", word: "again l1"),
    Row(letters: "lne", acts: ["l0": "tell", "n1": "pause"], ran: "l0 n1", word: "paused n1"),
    // An event of a `line` stage does not tell the outcome: a stage at the end can still change it.
    Row(
      letters: "lte", acts: ["l0": "tell", "e2": "reject"], ran: "l0 t1 e2", word: "rejected e2", emissions: 1
    ),
    Row(letters: "le", acts: ["l0": "elsewhere"], ran: "l0 e1", word: "completed"),
    Row(letters: "mle", acts: ["m0": "produce"], ran: "m0 l1 e2", word: "completed"),
  ]

  @Test(arguments: rows) func anAttemptEndsAsTheTableSays(row: Row) throws {
    let drive = try Drive(row.letters, row.acts)
    #expect(drive.ran.joined(separator: " ") == row.ran)
    #expect(drive.word == row.word)
    #expect(drive.run.emissions.count == row.emissions)
    #expect(drive.run.steps.map(\.stage) == drive.ran)
  }

  static let remedies: [(remedy: Remedy, attempt: Int, ran: String, word: String)] = [
    (.reject, 1, "l0 e2", "rejected l0"), (.hold, 1, "l0 e2", "quarantined l0"),
    (.pass, 1, "l0 l1 e2", "completed"),
    (.retry, 1, "l0", "again l0 crashed"), (.retry, 3, "l0 e2", "quarantined l0"),
  ]

  @Test(arguments: remedies) func aWorkersEndGoesByTheRemedy(
    remedy: Remedy, attempt: Int, ran: String, word: String
  ) throws {
    let drive = try Drive("lle", ["l0": "crash"], attempt: attempt, onCrash: remedy)
    #expect(drive.ran.joined(separator: " ") == ran)
    #expect(drive.word == word)
  }

  /// Another attempt would keep a processor as busy, for as long.
  @Test func workInVainIsTriedOnceMore() throws {
    #expect(try Drive("lle", ["l0": "in-vain"], attempt: 1, attempts: 9).word == "again l0 crashed")
    #expect(try Drive("lle", ["l0": "in-vain"], attempt: 2, attempts: 9).word == "quarantined l0")
    #expect(try Drive("lle", ["l0": "crash"], attempt: 2, attempts: 9).word == "again l0 crashed")
  }

  @Test func theLastAttemptFailsAndSaysSo() throws {
    let last = try Drive("le", ["l0": "retry"], attempt: 3)
    #expect(last.word == "failed l0" && last.run.reason?.message == "retry (attempt 3, the last)")
    let only = try Drive("le", ["l0": "retry"], attempt: 1, attempts: 1)
    #expect(only.word == "failed l0" && only.run.reason?.message == "retry")
  }

  @Test func aConditionIsAskedWithTheTypeThatIsKnownThen() throws {
    let when = [1: "image/*", 2: "application/pdf", 3: "image/png"]
    let drive = try Drive("llle", ["l0": "image"], when: when)
    #expect(drive.ran == ["l0", "l1", "e3"])
    #expect(try Drive("llle", when: when).ran == ["l0"])
  }

  // MARK: The source

  @Test(arguments: ["l", "le", "lt"]) func aSourceThatChangedIsTriedAgainBeforeAnybodyIsTold(letters: String)
    throws
  {
    let drive = try Drive(letters, ["l0": "tell"], isSourceChanged: true)
    #expect(drive.ran == ["l0"] && drive.word == "again l0" && drive.run.emissions.isEmpty)
    let last = try Drive(letters, ["l0": "tell"], attempt: 3, isSourceChanged: true)
    #expect(last.word == "failed l0" && last.run.reason?.code == "source-changed")
    #expect(Set(last.ran).count == last.ran.count && last.ran.count == letters.count)
  }

  @Test func aSourceThatChangesOnceItIsStoredChangesNothing() throws {
    #expect(try Drive("ls", ["s1": "store"], isSourceChanged: true).word == "completed")
    #expect(try Drive("ls", isSourceChanged: true).word == "again s1")
  }

  @Test func newContentIsMeasuredAndTheFirstHashIsKept() throws {
    var run = AttachmentRun(try Self.plan("ml"), attempt: 1)
    let next1 = run.next(isSourceChanged: { false })
    #expect(next1 == .measure)
    run.measured("first")
    let next2 = run.next(isSourceChanged: { false })
    #expect(next2 == .run(0..<2))
    var report = StageReport()
    report.results = [StageResult(index: 0, verdict: .pass)]
    report.produced = true
    run.take(report, of: 0..<2)
    let next3 = run.next(isSourceChanged: { false })
    #expect(next3 == .measure)
    run.measured("second")
    let next4 = run.next(isSourceChanged: { false })
    #expect(next4 == .run(1..<2))
    #expect(run.metadata == [Metadatum(key: "original.sha256", value: .text("first"))])
  }

  @Test func aFaultOfTheSourceRunsTheStagesAtTheEndOnly() throws {
    var run = AttachmentRun(try Self.plan("lle"), attempt: 1)
    run.takeSourceFault(Reason(stage: "source", code: "missing", message: "gone"), mayPass: false)
    let next5 = run.next(isSourceChanged: { true })
    #expect(next5 != .measure)
    var other = AttachmentRun(try Self.plan("lle"), attempt: 1)
    other.takeSourceFault(Reason(stage: "source", code: "missing", message: "gone"), mayPass: false)
    let next6 = other.next(isSourceChanged: { false })
    #expect(next6 == .run(2..<3))
    #expect(other.outcome == .failed)
  }

  @Test func lengthAloneRejectsBeforeAnythingIsRead() throws {
    var run = AttachmentRun(try Self.plan("le"), attempt: 1)
    run.rejectUnread(Reason(stage: "l0", code: "too-large", message: "9 bytes"))
    let next7 = run.next(isSourceChanged: { false })
    #expect(next7 == .run(1..<2))
    #expect(run.outcome == .rejected && run.steps.map(\.verdict) == ["reject"])
  }

  // MARK: Equal content

  @Test func whatWasSaidOfEqualContentStandsForTheFirstGroup() throws {
    var run = AttachmentRun(try Self.plan("llse"), attempt: 1)
    run.measured("hash")
    let metadata = [
      Metadatum(key: "found.pages", value: .integer(3)), Metadatum(key: "others.word", value: .integer(1)),
    ]
    let isRepeated8 = run.repeatReport(mediaType: "text/plain", metadata: metadata, of: 0..<2)
    #expect(isRepeated8)
    let next9 = run.next(isSourceChanged: { false })
    #expect(next9 == .run(2..<3))
    #expect(run.metadata.map(\.key) == ["found.pages"], "what the stages declare is theirs, and no more")
    #expect(run.steps.map(\.stage) == ["l0", "l1"])
    let isRepeated10 = run.repeatReport(mediaType: nil, metadata: [], of: 0..<2)
    #expect(!isRepeated10, "once")
  }

  // MARK: Too many facts

  @Test func metadataIsBoundedOverAllStages() throws {
    var run = AttachmentRun(try Self.plan("l"), attempt: 1)
    run.measured("hash")
    for place in 0..<100 {
      var report = StageReport()
      report.results = [StageResult(index: 0, verdict: .pass)]
      report.metadata = [Metadatum(key: "found.k\(place)", value: .text(String(repeating: "x", count: 1000)))]
      run.take(report, of: 0..<1)
    }
    let bytes = run.metadata.reduce(0) { $0 + $1.key.utf8.count + $1.value.text.utf8.count }
    #expect(bytes <= 40 << 10 && bytes > 38 << 10)
  }

  @Test func whatFitsIntoNoFrameEndsWithoutFurtherStages() throws {
    var run = AttachmentRun(try Self.plan("let"), attempt: 1)
    run.measured("hash")
    run.endUntold()
    let next11 = run.next(isSourceChanged: { false })
    #expect(next11 == .run(1..<3), "they are told, without the metadata")
    run.endUntold()
    let next12 = run.next(isSourceChanged: { false })
    #expect(next12 == .end(.ended))
    #expect(run.outcome == .failed && run.reason == AttachmentRun.tooMuch && run.metadata.isEmpty)
  }
}
