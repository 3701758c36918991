import Foundation
import Testing

/// `sluice test` with the real binary: expectations that hold, those that do not, and the report.
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

  static func test(
    _ text: String, _ arguments: String..., file: String = "cases.yaml"
  ) throws -> (folder: TemporaryFolder, outcome: SluiceCommand.Outcome) {
    let folder = try TemporaryFolder()
    try folder.write(file, text)
    return (folder, try SluiceCommand.run(["test", file] + arguments, in: folder))
  }

  // MARK: The project's own

  /// The folders of plugins. If this machine lacks a library, the plugin that needs it may be missing.
  private static var plugins: [String] {
    let folder = SluiceCommand.projectFolder + "/Plugins"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.filter { name in
      var isFolder: ObjCBool = false
      return FileManager.default.fileExists(atPath: "\(folder)/\(name)", isDirectory: &isFolder)
        && isFolder.boolValue && name != "http"  // a source, whose tests have a server
    }.sorted()
  }

  @Test func thereArePlugins() { #expect(Self.plugins.count >= 8) }

  @Test func allCasesOfAFolderAreFoundAndHold() throws {
    let folder = SluiceCommand.projectFolder + "/Plugins"
    let outcome = try SluiceCommand.run(["test", folder, "--format", "json"], in: TemporaryFolder())
    #expect(outcome.status == 0, "\(outcome.err)")
    let cases = outcome.records(Printed.Case.self)
    for one in cases where !one.ok { Issue.record("\(one)") }
    for plugin in Self.plugins {
      #expect(cases.count { $0.file == "\(folder)/\(plugin)/cases.yaml" } >= 3, "\(plugin)")
    }
  }

  @Test func theDefaultPipelineDoesWhatItsCasesSay() throws {
    let outcome = try SluiceCommand.run(["test", SluiceCommand.projectFolder], in: TemporaryFolder())
    #expect(outcome.status == 0, "\(outcome.out)")
    #expect(outcome.out.contains("a PDF is stored and its participants are told"))
  }

  // MARK: Reports

  @Test func whatDoesNotHoldIsShownWithFileAndLine() throws {
    let (_, outcome) = try Self.test(Self.size)
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
    let (folder, outcome) = try Self.test(Self.size, "--filter", "content passes")
    #expect(outcome.status == 0 && outcome.out.contains("1 case, all as expected"))
    let none = try SluiceCommand.run(["test", "cases.yaml", "--filter", "nobody"], in: folder)
    #expect(none.status == 2)
    #expect(none.err.contains("there is no case whose name holds 'nobody' in cases.yaml"))
  }

  @Test func forProgramsThereIsAnObjectALine() throws {
    let (_, outcome) = try Self.test(Self.size, "--format", "json")
    #expect(outcome.status == 1)
    #expect(outcome.out.split(separator: "\n").count == 4)
    let cases = outcome.records(Printed.Case.self)
    try #require(cases.map(\.ok) == [true, false, false])
    let mismatch = try #require(cases[1].mismatches.first)
    #expect(mismatch.key == "verdict" && mismatch.line == 12)
    #expect(mismatch.expected == "pass")
    let summary = try outcome.last(Printed.CaseSummary.self)
    #expect(summary.cases == 3 && summary.failures == 2)
  }

  @Test func jUnitsXMLIsWellFormedWhateverACaseIsCalled() throws {
    let (_, outcome) = try Self.test(
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
    let document = try XML.parse(outcome.out)
    let suite = try #require(document.first { $0.name == "testsuite" })
    #expect(suite.attributes["tests"] == "2" && suite.attributes["failures"] == "1")
    let cases = document.filter { $0.name == "testcase" }
    #expect(cases.map { $0.attributes["name"] } == ["<&>\"']]> \\u{1}\u{FFFD} 🎈", "fine"])
    let failure = try #require(document.first { $0.name == "failure" })
    #expect(failure.attributes["message"]?.hasPrefix("message: expected <b>&amp;") == true)
  }

  @Test func aCaseWithoutItsFileDoesNotHoldAndTheOthersRun() throws {
    let (_, outcome) = try Self.test(
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
    let (_, unknown) = try Self.test("stage: siz\ncases:\n- name: x\n  expect: {}\n")
    #expect(unknown.status == 2 && unknown.err.contains("no stage 'siz' is found; did you mean 'size'?"))
  }

  @Test func aStageThatThePipelineHasNotCannotBeCanned() throws {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.only("size"))
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
}
