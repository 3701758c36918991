import Foundation
import Testing

/// The tools for those who write stages, with a program.
@Suite(.serialized)
struct ProgramToolTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try ActsProgram.write(to: folder)
    try folder.write(
      "file", "say(annotate={'acts.number': 2}); say(log='so'); say(verdict='reject', code='bad')")
  }

  private func run(_ arguments: [String]) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(
      arguments, in: folder, environment: ["SLUICE_PLUGIN_PATH": folder.path + "/stages"])
  }

  @Test(arguments: ["acts", "./stages/acts", "./stages/acts/", "stages/acts/stage.yaml"])
  func itIsFoundByItsNameAndByItsFolder(name: String) throws {
    let outcome = try run(["stages", "run", name, "file", "--format", "json"])
    let said = try outcome.only(Printed.StageRun.self)
    #expect((said.verdict, said.code) == ("reject", "bad"), "\(outcome.out)\(outcome.err)")
    #expect(said.metadata["acts.number"] == 2)
  }

  @Test func aTraceShowsWhatItSaysInOrder() throws {
    let outcome = try run(["stages", "run", "acts", "file", "--trace", "--format", "json"])
    let trace = try #require(try outcome.only(Printed.StageRun.self).trace)
    #expect(trace.map(\.call) == ["open", "annotate", "log", "explain", "process"], "\(trace)")
  }

  @Test func itsListIsComplete() throws {
    let listed = try run(["stages", "list", "--format", "json"])
    let plugins = Printed.records(Printed.Plugin.self, in: listed.out)
    for id in ["acts", "exec"] {
      let plugin = try #require(plugins.first { $0.id == id })
      #expect((plugin.version, plugin.capability, plugin.role) == ("1.0.0", "content", "line"))
    }
    #expect(try run(["stages", "list", "exec"]).out.contains("built in"))
  }

  @Test func itIsInspectedAsALibraryIs() throws {
    let inspected = try run(["stages", "inspect", "acts"])
    #expect(inspected.status == 0)
    for part in [
      "program       python3 acts.py", "processes     1 at once", "sha256", "  number", "default 7",
    ] {
      #expect(inspected.out.contains(part), "\(inspected.out)")
    }
    let exec = try run(["stages", "inspect", "exec"])
    #expect(exec.status == 0 && exec.err == "", "\(exec.err)")
    #expect(exec.out.contains("file          built in"))
    #expect(exec.out.contains("max-content  size, 1B to 4GB, default 100MB"), "\(exec.out)")
  }

  @Test func theDoctorOfStagesTellsWhatIsWrongWithOne() throws {
    #expect(try run(["stages", "doctor", "./stages/acts"]).out.hasPrefix("ok "))
    try folder.write(
      "stages/acts/stage.yaml", "id: acts\nversion: 1.0.0\nsummary: None.\ncommand: python99\n")
    let missing = try run(["stages", "doctor", "./stages/acts"])
    #expect(missing.status == 1)
    #expect(missing.out.contains("the program 'python99' is in none of /usr/local/bin"), "\(missing.out)")
    try folder.write("stages/acts/stage.yaml", "id: acts\nversion: 1.0.0\nsumary: None.\ncommand: sh\n")
    let misspelt = try run(["stages", "doctor", "./stages/acts"])
    #expect(misspelt.status == 1)
    #expect(misspelt.out.contains("stage.yaml:3:1: unknown key 'sumary'; did you mean 'summary'?"))
    #expect(!misspelt.out.contains("ELF"))
  }

  @Test func theDoctorSaysWhetherThereMayBeSeveralProcesses() throws {
    let outcome = try run(["doctor"])
    #expect(outcome.out.contains("namespaces  "), "\(outcome.out)")
  }

  @Test func theSchemaKnowsItsOptions() throws {
    let schema = try run(["schema"]).out
    #expect(schema.contains("\"max-content\"") && schema.contains("Does what attachments say."))
  }

  /// The checks of a program speak of programs: no function of one is called.
  @Test func itIsCheckedAsAProgram() throws {
    func check(_ words: String...) throws -> [Printed.Check] {
      try run(["stages", "check", "./stages/acts", "--format", "json"] + words).every(Printed.Check.self)
    }
    let fine = try check("--fast")
    #expect(Set(fine.map(\.name)).isDisjoint(with: ["abi", "sandbox", "stdout"]), "\(fine.map(\.name))")
    #expect(fine.first { $0.name == "open" }?.result == "passed")
    let asked = try check("--only", "abi")
    #expect(asked.map(\.result) == ["skipped"], "\(asked)")
    try folder.write("stages/acts/acts.py", "print('hello', flush=True)")
    let open = try #require(try check("--only", "open").first)
    #expect(open.result == "failed" && open.message?.contains("not JSON") == true, "\(open)")
    #expect(open.remedy?.contains(#"{"ready": true}"#) == true && open.remedy?.contains("`open`") == false)
    try folder.write("stages/acts/stage.yaml", "id: acts\nversion: 1.0.0\nsumary: None.\ncommand: sh\n")
    let load = try #require(try check().first)
    #expect(load.name == "load" && load.claim == "stage.yaml says what the program is", "\(load)")
    #expect(load.remedy == "correct it, and check again")
  }

  /// It may be right to reject all that the checks have. Whether it passes anything is not known then.
  @Test func thatNothingPassesIsNoCheckThatPassed() throws {
    try folder.write(
      "stages/acts/acts.py",
      """
      import json, sys
      sys.stdin.readline()
      print('{"ready": true}', flush=True)
      for line in sys.stdin: print('{"verdict": "reject", "code": "bad", "message": "never"}', flush=True)
      """)
    let outcome = try run(["stages", "check", "./stages/acts", "--only", "empty,passes", "--format", "json"])
    let checks = try outcome.every(Printed.Check.self)
    #expect(outcome.status == 0 && checks.map(\.result) == ["passed", "skipped"], "\(outcome.out)")
    #expect(
      checks.last?.message
        == "nothing did (reject, bad: never); with a FILE that it passes the checks see more")
  }

  /// A worker is told all in one frame.
  @Test(arguments: [(1 << 10, true), (60 << 10, false), (200 << 10, false)])
  func aCommandThatIsTooLongForAWorkerIsRefused(length: Int, isFine: Bool) throws {
    let program =
      "import sys; sys.stdin.readline(); print('{\\\"ready\\\": true}', flush=True); sys.stdin.readline() # "
      + String(repeating: "x", count: length)
    try folder.write(
      "pipeline.yaml",
      Pipelines.storing("- use: exec\n  id: long\n  options: { command: [python3, -c, \"\(program)\"] }"))
    let lint = try run(["lint"])
    #expect(lint.status == (isFine ? 0 : 78), "\(lint.out)\(lint.err)")
    if isFine { return }
    let limit = "98304 are allowed, in which a command counts twice; put a long program into a file"
    #expect(
      lint.err.contains("what a worker is told of long comes to") && lint.err.contains(limit), "\(lint.err)")
    try folder.write("in/a", "well-behaved")
    let ingest = try run(["ingest", "in"])
    #expect(ingest.status == 78 && ingest.err.contains(limit), "\(ingest.err)")
  }

  @Test func itsCasesAreTested() throws {
    try folder.write(
      "stages/acts/cases.yaml",
      """
      stage: ./stage.yaml
      cases:
        - name: two and no more
          input: { text: "say(annotate={'acts.number': options['number']}); say(verdict='pass')" }
          options: { number: 2 }
          expect: { verdict: pass, metadata: { acts.number: 2 } }
        - name: one that does not open
          options: { start: "say(refuse='not with these options')" }
          expect: { refused: { matches: "not with these options" } }
      """)
    let outcome = try run(["test", "stages/acts", "--format", "json"])
    let cases = Printed.records(Printed.Case.self, in: outcome.out)
    #expect(cases.map(\.ok) == [true, true], "\(outcome.out)\(outcome.err)")
  }

  /// What a stage says is one line, and acts on no terminal, as elsewhere.
  @Test(arguments: ["text", "junit"])
  func whatItSaysIsPrintedSafelyByTests(format: String) throws {
    try folder.write(
      "stages/acts/cases.yaml",
      """
      stage: ./stage.yaml
      cases:
        - name: none
          input: { text: "say(annotate={'acts.text': 'a\\\\n  ok  b'}, verdict='reject', code='bad', message='c\\\\n\\\\x1b[31md\\\\u202e')" }
          expect: { verdict: pass, metadata: {} }
      """)
    let outcome = try run(["test", "stages/acts", "--format", format])
    #expect(outcome.status == 1)
    #expect(outcome.out.contains(#"reject (bad: c\u{a}\u{1b}[31md\u{202e})"#), "\(outcome.out)\(outcome.err)")
    #expect(outcome.out.contains(#"acts.text: a\u{a}  ok  b"#), "\(outcome.out)")
  }

  @Test func itIsAskedInACheckAndInAReplay() throws {
    try folder.write(
      "pipeline.yaml", Pipelines.storing("- use: acts\n  options: { number: 1 }"))
    try folder.write("in/a", "say(annotate={'acts.number': options['number']}, verdict='pass')")
    let checked = try run(["check", "--format", "json", "in/a", "file"])
    #expect(checked.out.contains(#""verdict":"pass""#), "\(checked.out)\(checked.err)")
    #expect(checked.out.contains(#""code":"bad""#), "\(checked.out)\(checked.err)")
    #expect(try run(["ingest", "in"]).status == 0)
    try folder.write(
      "pipeline.yaml", Pipelines.storing("- use: acts\n  options: { number: 5 }"))
    let replayed = try run(["replay", "--diff"])
    #expect(replayed.out.contains("1 would change"), "\(replayed.out)\(replayed.err)")
  }
}
