import Foundation
import Testing

/// `sluice test` with the real binary: what holds, what does not, how it is told and how it is rewritten.
@Suite struct CasesTests {
  static let size = """
    # The size gate.
    stage: size
    cases:
      - name: small content passes  # always
        input: { text: "12345" }
        options: { max: 5B }
        expect: { verdict: pass }
      - name: large content does not
        input: { text: "123456" }
        options: { max: 5B }
        expect:
          verdict: pass  # no
          # The bytes.
          message: { matches: "^6 bytes" }
          metadata: {}
      - name: neither does nothing
        input: { text: "" }
        expect: { verdict: reject, code: too-small }  # a comment

    """

  private func test(
    _ text: String, _ arguments: String..., file: String = "cases.yaml"
  ) throws -> (folder: TemporaryFolder, outcome: SluiceCommand.Outcome) {
    let folder = try TemporaryFolder()
    try folder.write(file, text)
    return (folder, try SluiceCommand.run(["test", file] + arguments, in: folder))
  }

  // MARK: The project's own

  /// The folders of plugins; one for which this machine lacks a library may have no plugin.
  private static var plugins: [String] {
    let folder = SluiceCommand.projectFolder + "/Plugins"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.filter { name in
      var isFolder: ObjCBool = false
      return FileManager.default.fileExists(atPath: "\(folder)/\(name)", isDirectory: &isFolder)
        && isFolder.boolValue
    }.sorted()
  }

  @Test func thereArePlugins() { #expect(Self.plugins.count >= 8) }

  @Test(arguments: plugins)
  func everyCaseOfAPluginHolds(plugin: String) throws {
    let folder = try TemporaryFolder()
    let outcome = try SluiceCommand.run(
      ["test", "\(SluiceCommand.projectFolder)/Plugins/\(plugin)", "--format", "json"], in: folder)
    #expect(outcome.status == 0, "\(outcome.err)")
    let cases = outcome.json.filter { $0["record"] as? String == "case" }
    for one in cases where one["ok"] as? Bool != true { Issue.record("\(one)") }
    #expect(cases.count >= 3)
  }

  @Test func allCasesOfAFolderAreFoundAndHold() throws {
    let outcome = try SluiceCommand.run(
      ["test", SluiceCommand.projectFolder + "/Plugins"], in: TemporaryFolder())
    #expect(outcome.status == 0)
    for plugin in Self.plugins { #expect(outcome.out.contains("Plugins/\(plugin)/cases.yaml\n")) }
  }

  @Test func theDefaultPipelineDoesWhatItsCasesSay() throws {
    let outcome = try SluiceCommand.run(["test", SluiceCommand.projectFolder], in: TemporaryFolder())
    #expect(outcome.status == 0, "\(outcome.out)")
    #expect(outcome.out.contains("a PDF is stored and its participants are told"))
  }

  // MARK: What is told

  @Test func whatDoesNotHoldIsShownWithFileAndLine() throws {
    let (_, outcome) = try test(Self.size)
    #expect(outcome.status == 1)
    #expect(
      outcome.out.replacing(/[0-9.]+ (ms|s)\n/, with: "N\n") == """
        cases.yaml
          ok     small content passes  N
          wrong  large content does not  N
                 cases.yaml:12: verdict
                   expected  pass
                   found     reject (too-large: 6 bytes, and 5 are allowed)
          wrong  neither does nothing  N
                 cases.yaml:18: code
                   expected  too-small
                   found     empty

        3 cases, 2 not as expected; N

        """)
  }

  @Test func aFilterPicksCasesByName() throws {
    let (folder, outcome) = try test(Self.size, "--filter", "content passes")
    #expect(outcome.status == 0 && outcome.out.contains("1 cases, all as expected"))
    let none = try SluiceCommand.run(["test", "cases.yaml", "--filter", "nobody"], in: folder)
    #expect(none.status == 2)
    #expect(none.err.contains("there is no case whose name holds 'nobody' in cases.yaml"))
  }

  @Test func forProgramsThereIsAnObjectALine() throws {
    let (_, outcome) = try test(Self.size, "--format", "json")
    #expect(outcome.status == 1)
    let records = outcome.json
    #expect(records.map { $0["record"] as? String } == ["case", "case", "case", "summary"])
    #expect(records.map { $0["ok"] as? Bool } == [true, false, false, nil])
    let mismatch = (records[1]["mismatches"] as? [[String: Any]])?.first
    #expect(mismatch?["key"] as? String == "verdict" && mismatch?["line"] as? Int == 12)
    #expect(mismatch?["expected"] as? String == "pass")
    #expect(records[3]["cases"] as? Int == 3 && records[3]["failures"] as? Int == 2)
  }

  @Test func jUnitsXMLIsWellFormedWhateverACaseIsCalled() throws {
    let (_, outcome) = try test(
      """
      stage: size
      cases:
        - name: "<&>\\"']]> \\u0001\\uFFFE 🎈"
          input: { text: "12" }
          options: { max: 1B }
          expect: { verdict: reject, message: "<b>&amp;\\u0002" }
        - name: fine
          input: { text: "1" }
          expect: { verdict: pass }
      """, "--format", "junit")
    #expect(outcome.status == 1)
    let file = try TemporaryFolder()
    try file.write("junit.xml", outcome.out)
    let document = try XML.parse(outcome.out)
    let suite = try #require(document.first { $0.name == "testsuite" })
    #expect(suite.attributes["tests"] == "2" && suite.attributes["failures"] == "1")
    let cases = document.filter { $0.name == "testcase" }
    #expect(cases.map { $0.attributes["name"] } == ["<&>\"']]> \u{FFFD}\u{FFFD} 🎈", "fine"])
    let failure = try #require(document.first { $0.name == "failure" })
    #expect(failure.attributes["message"]?.hasPrefix("message: expected <b>&amp;") == true)
  }

  @Test func aCaseWithoutItsFileDoesNotHoldAndTheOthersRun() throws {
    let (_, outcome) = try test(
      """
      stage: size
      cases:
        - name: lost
          input: fixtures/lost.pdf
          expect: { verdict: pass }
        - name: found
          input: { text: "1" }
          expect: { verdict: pass }
      """, file: "folder/cases.yaml")
    #expect(outcome.status == 1)
    #expect(outcome.out.contains("folder/cases.yaml:3: case\n"))
    #expect(
      outcome.out.contains("its input folder/fixtures/lost.pdf: opening the file: No such file or directory"))
    #expect(outcome.out.contains("ok     found"))
  }

  @Test func everythingThatIsWrongWithFilesIsToldBeforeAnyRuns() throws {
    let folder = try TemporaryFolder()
    try folder.write("all/a/cases.yaml", Self.size)
    try folder.write("all/b/cases.yaml", "stage: size\ncases:\n- name: x\n  expct: {}\n")
    try folder.write("all/c/cases.yaml", "stage: size\ncases: []\n")
    let outcome = try SluiceCommand.run(["test", "all"], in: folder)
    #expect(outcome.status == 78 && outcome.out.isEmpty)
    #expect(
      outcome.err == """
        all/b/cases.yaml:4:3: unknown key 'expct'; did you mean 'expect'?
        all/c/cases.yaml:2:8: there are no cases; begin each case with '- name: …'

        """)
  }

  @Test func whereThereAreNoCasesItIsSaid() throws {
    let folder = try TemporaryFolder()
    try folder.write("x/y", "")
    for (path, explanation) in [
      ("lost", "lost: No such file or directory"), ("x", "x has no cases.yaml, nor has any of its folders"),
    ] {
      let outcome = try SluiceCommand.run(["test", path], in: folder)
      #expect(outcome.status == 2 && outcome.err.contains(explanation))
    }
    #expect(try SluiceCommand.run(["test"], in: folder).err.contains("needs a PATH"))
    let (_, unknown) = try test("stage: siz\ncases:\n- name: x\n  expect: {}\n")
    #expect(unknown.status == 2 && unknown.err.contains("no stage 'siz' is found; did you mean 'size'?"))
  }

  @Test func aStageThatThePipelineHasNotCannotBeCanned() throws {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", "version: 1\nstages: [{ use: size }]\n")
    try folder.write(
      "cases.yaml",
      "pipeline: pipeline.yaml\ncases:\n- name: x\n  stages: { siz: { verdict: fail } }\n  expect: { outcome: failed }\n"
    )
    let outcome = try SluiceCommand.run(["test", "."], in: folder)
    #expect(outcome.status == 1)
    #expect(outcome.out.contains("cases.yaml:3: case\n"))
    #expect(
      outcome.out.contains("the pipeline has no stage 'siz' for 'stages' to name; did you mean 'size'?"))
  }

  // MARK: Rewriting

  @Test func anUpdateShowsTheDifferenceAndLeavesTheRest() throws {
    let (folder, outcome) = try test(Self.size, "--update")
    #expect(outcome.status == 1)
    #expect(
      outcome.err == """
        cases.yaml:12: large content does not
        -       verdict: pass  # no
        +       verdict: reject  # no
        cases.yaml:18: neither does nothing
        -     expect: { verdict: reject, code: too-small }  # a comment
        +     expect: { verdict: reject, code: empty }  # a comment
        sluice: cases.yaml: rewrote 2 of 3 cases; run it again to check

        """)
    let expected = Self.size.replacing("verdict: pass  # no", with: "verdict: reject  # no")
      .replacing("too-small", with: "empty")
    #expect(try folder.read("cases.yaml") == expected)
    let again = try SluiceCommand.run(["test", "cases.yaml", "--update"], in: folder)
    #expect(again.status == 0 && again.err.isEmpty)
    #expect(try folder.read("cases.yaml") == expected)
    #expect(folder.files(below: ".") == ["cases.yaml"])
  }

  @Test func aCaseThatExpectsNothingIsFilledIn() throws {
    let (folder, outcome) = try test(
      """
      stage: store
      cases:
        - name: stored
          input: { text: abc }
          options: { path: "a/{fileName}" }
          expect: {}
        - name: refused
          expect: {}
      """, "--update")
    #expect(outcome.status == 1)
    #expect(
      try folder.read("cases.yaml").hasSuffix(
        """
            expect: { verdict: pass, location: a/attachment, files: { a/attachment: abc } }
          - name: refused
            expect: { refused: "stage 'store' needs its option 'path'; add 'path: …' under 'options'" }
        """))
    #expect(try SluiceCommand.run(["test", "."], in: folder).status == 0)
  }

  @Test func whatOnlyAPersonCanMendStays() throws {
    let text = """
      stage: size
      cases:
        - name: lost
          input: lost.pdf
          expect: { verdict: pass }

      """
    let (folder, outcome) = try test(text, "--update")
    #expect(outcome.status == 1)
    #expect(outcome.err.contains("rewrote 0 of 1 cases, and 1 needs your hand"))
    #expect(try folder.read("cases.yaml") == text)
  }

  @Test func patternsThatHoldStayWhenOthersAreRewritten() throws {
    let (folder, _) = try test(
      """
      stage: mime
      cases:
        - name: x
          input: { text: hello }
          file-name: a.txt
          expect:
            metadata:
              mime.magic: { matches: "^text/" }
              mime.extension: pdf  # wrong
              mime.mismatch: true
              mime.database: { matches: . }
              mime.also: x
      """, "--update")
    #expect(
      try folder.read("cases.yaml").hasSuffix(
        """
              metadata:
                mime.magic: { matches: "^text/" }
                mime.extension: txt  # wrong
                mime.mismatch: false
                mime.database: { matches: . }
        """))
    #expect(try SluiceCommand.run(["test", "."], in: folder).status == 0)
  }

  // MARK: A stage that is broken on purpose

  static let judge = """
    stage: judge
    cases:
      - name: what is bad is rejected
        input: { text: bad }
        timeout: 2s
        expect:
          verdict: reject
          code: bad
          message: it says so itself
          metadata: {}
          events: []
          produced: none
          within: 200ms
      - name: what is good is described and replaced
        input: { text: good }
        timeout: 2s
        expect:
          verdict: pass
          metadata: { judge.bytes: 4, judge.start: goo }
          media-type: text/judged
          events: [{ type: judge.done, channel: events, to: sender }]
          produced: { text: "judged\\n", size: 7 }
          within: 200ms
      - name: it does not open while it is angry
        options: { mood: angry }
        expect: { refused: { matches: "it does not judge while it is angry" } }

    """

  /// What is broken, with the cases and keys that show it.
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
    for (index, one) in outcome.json.filter({ $0["record"] as? String == "case" }).enumerated() {
      for mismatch in one["mismatches"] as? [[String: Any]] ?? [] {
        shown.insert("\(index) \(mismatch["key"] as? String ?? "")")
      }
    }
    // The first thing that is wrong may bring others with it.
    #expect(shown.isSuperset(of: breakage.shown))
    let cases = Set(shown.compactMap(\.first))
    #expect(cases == Set(breakage.shown.compactMap(\.first)))
  }
}

/// The elements of an XML document, in order.
private final class XML {
  struct Element {
    var name: String
    var attributes: [String: String]
  }

  struct Malformed: Error {
    var place: Substring
  }

  /// Strict about what JUnit's XML needs: elements that are closed in order, attributes in double quotes, five entities and
  /// characters that XML 1.0 has a place for.
  static func parse(_ text: String) throws -> [Element] {
    var rest = text[...]
    var open: [Substring] = []
    var elements: [Element] = []
    guard let head = rest.prefixMatch(of: /<\?xml version="1.0" encoding="UTF-8"\?>\n/) else {
      throw Malformed(place: rest.prefix(80))
    }
    rest.removeSubrange(head.range)
    while !rest.isEmpty {
      if let match = rest.prefixMatch(of: /<([a-z]+)((?: [a-z]+="[^"<]*")*)(\/?)>/) {
        var attributes: [String: String] = [:]
        for attribute in match.output.2.matches(of: /([a-z]+)="([^"<]*)"/) {
          guard
            attributes.updateValue(try decoded(attribute.output.2), forKey: String(attribute.output.1)) == nil
          else { throw Malformed(place: match.output.0) }
        }
        elements.append(Element(name: String(match.output.1), attributes: attributes))
        if match.output.3.isEmpty { open.append(match.output.1) }
        rest.removeSubrange(match.range)
      } else if let match = rest.prefixMatch(of: /<\/([a-z]+)>/) {
        guard open.popLast() == match.output.1 else { throw Malformed(place: rest.prefix(80)) }
        rest.removeSubrange(match.range)
      } else if let match = rest.prefixMatch(of: /[^<]+/) {
        _ = try decoded(match.output)
        rest.removeSubrange(match.range)
      } else {
        throw Malformed(place: rest.prefix(80))
      }
    }
    guard open.isEmpty else { throw Malformed(place: "the end") }
    return elements
  }

  private static func decoded(_ text: Substring) throws -> String {
    let isWhole = text.unicodeScalars.allSatisfy {
      $0.value >= 0x20 && !(0xFFFE...0xFFFF).contains($0.value) || $0 == "\n" || $0 == "\t"
    }
    guard isWhole, !text.contains("]]>") else { throw Malformed(place: text) }
    return try text.split(separator: "&", omittingEmptySubsequences: false).enumerated().map { index, part in
      if index == 0 { return String(part) }
      for (name, letter) in [("amp;", "&"), ("lt;", "<"), ("gt;", ">"), ("quot;", "\"")]
      where part.hasPrefix(name) {
        return letter + part.dropFirst(name.count)
      }
      throw Malformed(place: part)
    }.joined()
  }
}
