import Configuration
import Pipeline
import Testing

@testable import Workers

/// What is told beside a program's last words.
struct ProgramAdviceTests {
  private static func stage(_ command: [String] = ["python3", "acts.py"], processes: Int = 1)
    -> StageDescription
  {
    var stage = StageDescription(id: "acts", version: "1", summary: "", file: "/stages/acts/stage.yaml")
    stage.program = Program(command: command, folder: "/stages/acts")
    stage.program?.processes = processes
    return stage
  }

  private static func advice(
    _ words: String, _ stage: StageDescription = stage(), isRoot: Bool = false
  ) -> String {
    ProgramAdvice.text(words, stage, isRoot: isRoot) ?? "none"
  }

  @Test func aFileThatItMayNotReadLeadsToReads() {
    let words =
      "  File \"<string>\", line 1, in <module> / PermissionError: [Errno 13] Permission denied: '/other/list'"
    #expect(Self.advice(words).contains("what 'reads' in stage.yaml names"))
    #expect(!Self.advice(words).contains("nobody"))
    #expect(Self.advice(words, isRoot: true).contains("it runs as the user nobody"))
    // A shell puts the script's name before what it says.
    let shell = Self.stage(["sh", "acts.sh"])
    #expect(Self.advice("acts.sh: 4: cannot open /other/list: Permission denied", shell).contains("'reads'"))
  }

  @Test func whatExecStartsHasItsKeysInThePipeline() {
    let exec = StageDescription.exec.filled(
      in: [OptionValue(name: "command", text: "python3")], folder: "/pipelines")
    #expect(Self.advice("Permission denied: '/x'", exec).contains("'reads' in the stage's options names"))
  }

  @Test(arguments: [
    (
      ["python3", "acts.py"], "python3: can't open file '/stages/acts/acts.py': [Errno 13] Permission denied"
    ),
    (["sh", "acts.sh"], "sh: 0: cannot open acts.sh: Permission denied"),
    (["bash", "acts.sh"], "bash: acts.sh: Permission denied"),
  ])
  func aScriptThatItsUserMayNotReadIsToldByItsMode(command: [String], words: String) {
    let stage = Self.stage(command)
    #expect(
      Self.advice(words, stage, isRoot: true)
        == "it runs as the user nobody: give the file the mode o+r, and the folders above it o+x")
    #expect(Self.advice(words, stage).contains("let the user that runs sluice read it"))
  }

  @Test(arguments: [
    "self.pid = _fork_exec( / PermissionError: [Errno 1] Operation not permitted", "acts.sh: 4: Cannot fork",
    "acts.sh: fork: Operation not permitted",
  ])
  func aProcessThatItMayNotStartLeadsToProcesses(words: String) {
    #expect(Self.advice(words).contains("give 'processes' in stage.yaml a higher number"))
    #expect(Self.advice(words, Self.stage(processes: 8)) == "none")
  }

  @Test func whatIsNotThereLeadsToTheFolder() {
    #expect(
      Self.advice("FileNotFoundError: [Errno 2] No such file or directory: 'list'")
        == "relative paths begin at /stages/acts")
  }

  @Test func nothingIsSaidOfOtherEndsAndOfLibraries() {
    #expect(Self.advice("ValueError: odd") == "none")
    let library = StageDescription(id: "pdf", version: "1", summary: "", file: "libsluice-pdf.so")
    #expect(Self.advice("Permission denied: '/x'", library) == "none")
  }

  @Test func itStandsBehindTheLastWords() {
    let stage = StageDefinition(id: "acts", description: Self.stage(), values: [])
    let words = "acts.sh: fork: Operation not permitted"
    let told = WorkerDeath(.programEnded(2), lastWords: words).message(in: stage)
    #expect(
      told.hasPrefix("crashed: the program ended with status 2; it last said: \(words) (with 'processes: 1'"))
    #expect(!WorkerDeath(.crashed(signal: 11), lastWords: words).message(in: stage).contains("'processes"))
  }
}
