import Foundation
import Testing

/// The same mistake made two thousand times is reported twenty times, followed by the number of the others.
struct RepeatedProblemTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("good.yaml", Pipelines.open)
  }

  @Test func aPipelinesRepeatedMistakeIsToldTwentyTimesAndOthersToo() throws {
    let stages = (0..<2000).map { "  - { use: nosuch, id: s\($0) }\n" }.joined()
    try folder.write("pipeline.yaml", "version: 1\nstages:\n\(stages)  - use: mimee\n")
    let outcome = try SluiceCommand.run(["lint"], in: folder)
    #expect(outcome.status == 78)
    let lines = outcome.err.split(separator: "\n")
    #expect(lines.count == 22, "\(lines.count) lines")
    #expect(
      lines.first
        == "pipeline.yaml:3:12: unknown stage 'nosuch'; 'sluice stages list' shows the stages there are")
    #expect(lines.dropLast().last == "pipeline.yaml:2003:10: unknown stage 'mimee'; did you mean 'mime'?")
    #expect(
      lines.last
        == "and 1,980 more like it: unknown stage 'nosuch'; 'sluice stages list' shows the stages there are")
    let mistakes = try SluiceCommand.run(["lint", "--format", "json"], in: folder)
      .every(Printed.Diagnostic.self)
    #expect(mistakes.count == 2001, "programs get all of it")
  }

  @Test(arguments: [["ingest", "-c", "good.yaml"], ["enqueue", "--quiet"]])
  func aManifestsRepeatedMistakeIsToldTwentyTimesAndTheRestIsTaken(command: [String]) throws {
    try folder.write("a.txt", "a text\n")
    let wrong = String(repeating: "{\"path\": \"a.txt\", \"pat\": 1}\n", count: 2000)
    try folder.write("list.jsonl", wrong + "{\"path\": \"b.txt\"}\n{\"path\": \"a.txt\"}\n")
    let outcome = try SluiceCommand.run(command + ["--home", "home", "--manifest", "list.jsonl"], in: folder)
    #expect(outcome.status == 1)
    let lines = outcome.err.split(separator: "\n")
    #expect(lines.count == 22, "\(lines.count) lines")
    #expect(lines.first == "sluice: list.jsonl:1: unknown key 'pat'; did you mean 'path'?")
    #expect(lines.contains("sluice: list.jsonl:2001: b.txt: No such file or directory; check the path"))
    #expect(lines.contains("sluice: and 1,980 more like it: unknown key 'pat'; did you mean 'path'?"))
    if command[0] == "ingest" {
      #expect(outcome.out.contains("1 attachment: 1 completed"), "\(outcome.out)")
      #expect(outcome.out.contains("\n2001 not taken in, see above\n"), "\(outcome.out)")
    }
  }

  @Test func theCountOfProblemsStaysRight() throws {
    try folder.write("a.txt", "a text\n")
    let paths = (0..<30).map { "missing-\($0)" } + ["a.txt"]
    let outcome = try SluiceCommand.run(
      ["enqueue", "--home", "home", "--format", "json"] + paths, in: folder)
    #expect(outcome.status == 1)
    let enqueued = try outcome.only(Printed.Enqueued.self)
    #expect(enqueued.problems == 30)
    #expect(enqueued.added == 1)
    let said = outcome.err.split(separator: "\n").filter { !$0.contains("made a new home") }
    #expect(said.count == 21)
    #expect(said.last == "sluice: and 10 more like it: No such file or directory; check the path")
  }
}
