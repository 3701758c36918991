import Pipeline
import Testing

/// An attempt at a content that others were taken out of, or that has objects beside it.
struct ExpansionRunTests {
  /// `x` a stage that takes contents out, `d` one that derives, `l` one of the line that emits, `t` one at the end that emits.
  private static func plan(_ letters: String, waits: Bool = true) -> RunPlan {
    let stages = letters.enumerated().map { place, letter in
      var description = StageDescription(id: String(letter), version: "1", summary: "", file: "")
      description.role = letter == "t" ? .end : .line
      (description.expands, description.derives) = (letter == "x", letter == "d")
      description.options = [.init(name: "channels", kind: .channelName, shapes: .list, help: "")]
      var stage = StageDefinition(id: "\(letter)\(place)", description: description, values: [])
      if "lt".contains(letter) { stage.values = [OptionValue(name: "channels", text: "events")] }
      return stage
    }
    let hook = StageDefinition(
      id: "jsonl", description: .init(id: "jsonl", version: "1", summary: "", file: ""), values: [])
    var pipeline = PipelineDefinition(stages: stages, channels: [.init(name: "events", stage: hook)])
    pipeline.expand.waits = waits
    return RunPlan(pipeline)
  }

  private static let object = DerivedObject(
    name: "head", stage: "d0", mediaType: "a/b", sizeBytes: 1, sha256: [UInt8](repeating: 1, count: 32),
    url: "u")

  /// What a stage leaves.
  private static func report(_ letter: Character, _ file: Int) -> StageReport {
    var report = StageReport()
    report.results = [StageResult(index: 0, verdict: .pass, code: nil, message: nil)]
    report.pieceFile = file
    switch letter {
    case "x":
      report.pieces = (0..<2).map { Piece(.child, name: "\($0)", mediaType: nil, range: 0..<1, stage: 0) }
    case "d": report.pieces = [Piece(.derived, name: "head", mediaType: "a/b", range: 0..<1, stage: 0)]
    default: report.emissions = [Emission(type: "\(letter)", channel: "events", audience: .everyone)]
    }
    return report
  }

  /// Goes on until something else than stages is next. Returns which ran.
  private static func drive(_ run: inout AttachmentRun, _ letters: String) -> (
    ran: String, next: AttachmentRun.Next
  ) {
    var ran = ""
    while true {
      switch run.next(isSourceChanged: { false }) {
      case .measure: run.measured(String(repeating: "a", count: 64))
      case .run(let places):
        let place = places.lowerBound
        let letter = Array(letters)[place]
        ran.append(letter)
        run.take(report(letter, place), of: place..<place + 1)
      case let next: return (ran, next)
      }
    }
  }

  @Test func oneWithChildrenWaitsBeforeTheStagesAtTheEnd() {
    var run = AttachmentRun(Self.plan("xdt"), attempt: 1)
    var (ran, next) = Self.drive(&run, "xdt")
    #expect(ran == "xd" && next == .expand)
    #expect(run.pieces.map(\.stage) == ["x0", "x0", "d1"])
    #expect(run.pieces.map(\.file) == [0, 0, 1])
    #expect(Self.drive(&run, "xdt").next == .expand, "asked twice, it says the same")
    run.expanded()
    (ran, next) = Self.drive(&run, "xdt")
    #expect(ran == "t" && next == .end(.ended) && run.outcome == .completed)
  }

  @Test func oneThatNeedNotWaitDoesNot() {
    var run = AttachmentRun(Self.plan("xt", waits: false), attempt: 1)
    let (ran, next) = Self.drive(&run, "xt")
    #expect(ran == "xt" && next == .end(.ended))
    #expect(run.hasChildren)
  }

  /// What the line has emitted stays, what the stages at the end have said of the other outcome does not.
  @Test(arguments: [true, false]) func childrenThatAreTooManyRejectIt(waits: Bool) {
    var run = AttachmentRun(Self.plan("lxtt", waits: waits), attempt: 1)
    let (ran, next) = Self.drive(&run, "lxtt")
    #expect(ran == (waits ? "lx" : "lxtt") && next == (waits ? .expand : .end(.ended)))
    run.refuseChildren("too-large", "it is")
    #expect(run.outcome == .rejected && run.pieces.isEmpty)
    #expect(run.reason == Reason(stage: "x1", code: "too-large", message: "it is"))
    let again = Self.drive(&run, "lxtt")
    #expect(again.ran == "tt" && again.next == .end(.ended))
    #expect(run.outcome == .rejected && run.emissions.map(\.type) == ["l", "t", "t"])
    #expect(run.steps.map(\.stage) == ["l0", "x1", "t2", "t3"])
  }

  @Test func whatWaitedGoesOnWithTheStagesAtTheEnd() {
    let before = ConcludedExpansion(
      mediaType: "a/b", sizeBytes: 3, sha256: String(repeating: "b", count: 64),
      metadata: [Metadatum(key: "k", value: .integer(1))], url: "path", derived: [Self.object],
      steps: [Step(stage: "x0", verdict: "pass", code: nil, message: nil, microseconds: 1)],
      children: [.rejected: 1, .completed: 2])
    var run = AttachmentRun(Self.plan("xdtt"), attempt: 1, concluding: before)
    let (ran, next) = Self.drive(&run, "xdtt")
    #expect(ran == "tt" && next == .end(.ended) && run.outcome == .completed)
    #expect(run.location == "path" && run.knownDerived == [Self.object] && run.mediaType == "a/b")
    #expect(
      run.metadata.map { "\($0.key) \($0.value.text)" } == [
        "k 1", "children.count 3", "children.completed 2", "children.rejected 1",
      ])
    #expect(run.steps.map(\.stage) == ["x0", "t2", "t3"])
  }

  @Test func aLaterObjectTakesThePlaceOfOneWithItsName() {
    var run = AttachmentRun(Self.plan("dd"), attempt: 1)
    _ = Self.drive(&run, "dd")
    #expect(run.pieces.map(\.stage) == ["d1"])
    var known = AttachmentRun(Self.plan("ddd"), attempt: 1)
    known.measured(String(repeating: "a", count: 64))
    var other = Self.object
    (other.name, other.stage) = ("text", "d9")
    let isUsed = known.repeatReport(mediaType: nil, metadata: [], derived: [Self.object, other], of: 0..<1)
    #expect(isUsed)
    #expect(known.knownDerived == [Self.object], "those of other stages do not count")
    _ = Self.drive(&known, "ddd")
    #expect(known.knownDerived.isEmpty && known.pieces.map(\.stage) == ["d2"])
  }

  // MARK: Limits

  @Test func theRoomIsWhatIsLeft() {
    var rules = ExpandRules()
    (rules.depth, rules.contents, rules.bytes) = (2, 10, 100)
    #expect(rules.room(TreePlace()) == ChildRoom(contents: 10, bytes: 100))
    #expect(rules.room(TreePlace(depth: 1, contents: 4, bytes: 90)) == ChildRoom(contents: 6, bytes: 10))
    #expect(rules.room(TreePlace(depth: 1, contents: 40, bytes: 900)) == ChildRoom(contents: 0, bytes: 0))
    // Too deep to have any.
    #expect(rules.room(TreePlace(depth: 2)).contents < 0)
  }

  @Test func theTimeOfATreeIsForAllThatCameOutOfIt() {
    var rules = ExpandRules()
    rules.time = 2
    func problem(_ depth: Int64, _ microseconds: Int64) -> Reason? {
      rules.problem(at: TreePlace(depth: depth, contents: 3, microseconds: microseconds))
    }
    #expect(problem(1, 1999) == nil && problem(0, 2000) == nil)
    #expect(
      problem(1, 2000)
        == Reason(
          stage: "expand", code: "tree-timeout",
          message:
            "stages have worked on what came out of the same content for 2ms, and 'expand' allows 2ms in 'time'; allow more, and retry it"
        ))
    let step = Step(stage: "a", verdict: "pass", code: nil, message: nil, microseconds: .max)
    #expect(TreePlace.time(of: [step, step]) == TreePlace.longest)
  }

  @Test func whatIsMoreThanThatIsAProblem() {
    var rules = ExpandRules()
    (rules.depth, rules.contents, rules.bytes) = (2, 10, 100)
    func code(_ contents: Int64, _ bytes: Int64, _ place: TreePlace) -> String? {
      rules.problem(with: ChildRoom(contents: contents, bytes: bytes), at: place)?.code
    }
    #expect(code(10, 100, TreePlace()) == nil)
    #expect(code(11, 100, TreePlace()) == "too-many-contents")
    #expect(code(10, 101, TreePlace()) == "too-large")
    #expect(code(6, 1, TreePlace(depth: 1, contents: 4)) == nil)
    #expect(code(7, 1, TreePlace(depth: 1, contents: 4)) == "too-many-contents")
    #expect(code(1, 11, TreePlace(depth: 1, contents: 1, bytes: 90)) == "too-large")
    #expect(code(1, 0, TreePlace(depth: 2)) == "too-deep")
    #expect(code(0, 0, TreePlace(depth: 9, contents: 99, bytes: 999)) == nil, "it has none")
  }
}
