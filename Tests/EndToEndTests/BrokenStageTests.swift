import Foundation
import Testing

/// Cases are useful only if they fail: here for a stage with one mistake at a time.
@Suite struct BrokenStageTests {
  static let judge = """
    stage: judge
    cases:
      - name: what is bad is rejected
        input: { text: bad }
        timeout: 3s
        expect:
          verdict: reject
          code: bad
          message: it says so itself
          metadata: {}
          events: []
          produced: none
          within: 1s
      - name: what is good is described and replaced
        input: { text: good }
        timeout: 3s
        expect:
          verdict: pass
          metadata: { judge.bytes: 4, judge.start: goo }
          media-type: text/judged
          events: [{ type: judge.done, channel: events, to: sender }]
          produced: { text: "judged\\n", size: 7 }
          within: 1s
      - name: it does not open while it is angry
        options: { mood: angry }
        expect: { refused: { matches: "it does not judge while it is angry" } }

    """

  /// The mistake, with the cases and keys that reveal it.
  enum Breakage: Int, CaseIterable, Sendable {
    case nothing, verdict, code, message, missingKey, extraKey, value, mediaType, event, audience,
      missingEvent
    case content, missingContent, budget, crash, hang, refusal, lenience

    /// By the number of the case.
    var shown: [String] {
      switch self {
      case .nothing: []
      case .verdict: ["0 verdict"]
      case .code: ["0 code"]
      case .message: ["0 message"]
      case .missingKey, .extraKey, .value: ["1 metadata"]
      case .mediaType: ["1 media-type"]
      case .event, .audience, .missingEvent: ["1 events"]
      case .content: ["1 produced"]
      case .missingContent: ["1 produced"]
      case .budget: ["0 within", "1 within"]
      case .crash, .hang: ["0 verdict", "1 verdict"]
      case .refusal: ["0 refused", "1 refused"]
      case .lenience: ["2 refused"]
      }
    }
  }

  @Test(arguments: Breakage.allCases)
  func casesAreRedForABrokenStageAndGreenForTheRightOne(breakage: Breakage) throws {
    let folder = try TemporaryFolder()
    let plugin = try FixtureStages.compile("judge", into: folder.path, ["-DBROKEN=\(breakage.rawValue)"])
    try folder.write("cases.yaml", Self.judge)
    let outcome = try SluiceCommand.run(["test", ".", "--plugin", plugin, "--format", "json"], in: folder)
    #expect(outcome.status == (breakage == .nothing ? 0 : 1), "\(outcome.err)")
    var shown: Set<String> = []
    for (index, one) in outcome.records(Printed.Case.self).enumerated() {
      for mismatch in one.mismatches { shown.insert("\(index) \(mismatch.key)") }
    }
    // The first mistake may cause other failures.
    #expect(shown.isSuperset(of: breakage.shown))
    let cases = Set(shown.compactMap(\.first))
    #expect(cases == Set(breakage.shown.compactMap(\.first)))
  }
}
