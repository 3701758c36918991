import Foundation
import Testing

/// What a newcomer does who writes a stage in another language: the commands that `sluice stages new` prints, as they are printed.
@Suite(.serialized)
struct NewProgramTests {
  @Test(arguments: ["python", "shell"])
  func aNewProgramIsCheckedTestedAndRunAsIsPrinted(language: String) throws {
    let installed = try Installation.shared()
    let folder = try TemporaryFolder()
    let made = try installed.run(["stages", "new", "my-words", "--language", language], in: folder)
    #expect(made.status == 0, "\(made.err)")
    #expect(!made.out.contains("build") && !made.out.contains("make"), "\(made.out)")
    let next = try #require(made.out.components(separatedBy: "Next:\n").last)
    let steps = next.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    #expect(steps.first == "cd my-words")
    #expect(steps.count == 4)
    try folder.write("my-words/hello.txt", "hello, world\n")
    try folder.write("my-words/other.txt", "goodbye\n")
    for step in steps.dropFirst() {
      let command = step.replacingOccurrences(of: "FILE", with: "hello.txt")
      let outcome = try installed.tool("sh", ["-c", command], in: folder, below: "my-words")
      #expect(outcome.status == 0, "\(command): \(outcome.out)\(outcome.err)")
    }
    let ran = try installed.run(
      ["ingest", "--config", "pipeline.yaml", "--format", "json", "other.txt"], in: folder, below: "my-words")
    #expect(ran.attachments.map(\.code) == ["wrong-word"], "\(ran.out)\(ran.err)")
  }

  /// The program is short, and needs no more than the language has.
  @Test(arguments: ["python/greeting.py", "shell/greeting.sh"])
  func theExampleIsShort(file: String) throws {
    let text = try String(contentsOfFile: "\(SluiceCommand.projectFolder)/Templates/\(file)", encoding: .utf8)
    #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count <= 26)
  }

  @Test(arguments: ["python", "shell"])
  func aNameMayBeAWordOfTheTemplates(language: String) throws {
    let folder = try TemporaryFolder()
    let made = try Installation.shared().run(
      ["stages", "new", "greeting-list", "--language", language], in: folder)
    #expect(made.status == 0, "\(made.err)")
    let stage = try folder.read("greeting-list/stage.yaml")
    #expect(stage.contains("id: greeting-list\n") && stage.contains("\n  greeting-list.word: "), "\(stage)")
    #expect(stage.contains("greeting-list.\(language == "python" ? "py" : "sh")"))
    #expect(folder.files(below: "greeting-list").contains("fixtures/hello.txt"))
  }

  @Test(arguments: [
    ["--role", "end"], ["--role", "source"], ["--capability", "store"], ["--capability", "network"],
  ])
  func aProgramHasOneRoleAndOneCapability(words: [String]) throws {
    let folder = try TemporaryFolder()
    for language in ["python", "shell"] {
      let outcome = try SluiceCommand.run(
        ["stages", "new", "mine", "--language", language] + words, in: folder)
      #expect(outcome.status == 2)
      #expect(
        outcome.err.contains(
          "a stage in \(language) is one of the line with capability content; leave --role and --capability out"
        ),
        "\(outcome.err)")
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).allSatisfy { $0.hasPrefix(".") })
  }

  /// Nothing in a folder that is there is written over.
  @Test func aFolderThatIsThereIsLeftAsItIs() throws {
    let folder = try TemporaryFolder()
    try folder.write("mine/stage.yaml", "the only copy")
    let outcome = try Installation.shared().run(
      ["stages", "new", "mine", "--language", "python"], in: folder)
    #expect(outcome.status == 2)
    #expect(
      outcome.err.contains(
        "/mine is there already, and is left as it is; give another NAME, or delete it first"),
      "\(outcome.err)")
    #expect(folder.files(below: "mine") == ["stage.yaml"])
    #expect(try folder.read("mine/stage.yaml") == "the only copy")
  }

  @Test func theDefaultsMayBeWritten() throws {
    let outcome = try Installation.shared().run(
      ["stages", "new", "mine", "--language", "python", "--role", "line", "--capability", "content"],
      in: TemporaryFolder())
    #expect(outcome.status == 0, "\(outcome.err)")
  }

  /// `exec` is built in.
  @Test func noStageIsCalledExec() throws {
    let outcome = try SluiceCommand.run(
      ["stages", "new", "exec", "--language", "python"], in: TemporaryFolder())
    #expect(outcome.status == 2)
    #expect(outcome.err.contains("'exec' is a stage that there is already"), "\(outcome.err)")
  }

  /// The page on stages shows a program that runs.
  @Test func theProgramOfThePageRuns() throws {
    let page = try String(contentsOfFile: SluiceCommand.projectFolder + "/docs/stages.md", encoding: .utf8)
    func block(_ begin: String) throws -> String {
      let parts = page.components(separatedBy: begin)
      return try #require(parts.dropFirst().first?.components(separatedBy: "\n```").first) + "\n"
    }
    let folder = try TemporaryFolder()
    try folder.write(
      "count/count.py", "import json\nimport sys\n" + block("```python\nimport json\nimport sys\n"))
    try folder.write("count/stage.yaml", "id: count\n" + block("```text\nid: count\n"))
    try folder.write("short", "a\nb\n")
    try folder.write("long", String(repeating: "a\n", count: 11))
    for (file, said) in [("short", "count.lines"), ("long", "too-long")] {
      let outcome = try SluiceCommand.run(["stages", "run", "./count", file], in: folder)
      #expect(outcome.out.contains(said), "\(outcome.out)\(outcome.err)")
    }
  }
}
