import Foundation
import Testing

/// Texts of a plugin never reach the terminal unescaped: control characters have no effect, and no line looks
/// like one of sluice's own.
@Suite(.serialized)
struct HostileTextTests {
  private let folder: TemporaryFolder
  private let plugins: String

  /// The plugins lie in a folder with a hostile name; one of them is not a library.
  init() throws {
    folder = try TemporaryFolder()
    plugins = folder.path + "/\u{1B}[31mplugins\nall is well\r"
    try FileManager.default.createDirectory(atPath: plugins, withIntermediateDirectories: true)
    try FixtureStages.compile("garish", into: plugins)
    try Data("no library".utf8).write(to: URL(fileURLWithPath: plugins + "/words.so"))
    try folder.write("a.txt", "a text\n")
    for mood in ["pass", "refuse"] { try folder.write("\(mood).yaml", pipeline("{ mood: \(mood) }")) }
    try folder.write("missing.yaml", pipeline("{}"))
    try folder.write("unknown.yaml", pipeline("{ mod: pass, colour: 1 }"))
    try folder.write("choice.yaml", pipeline("{ mood: blue }"))
    try folder.write("unset.yaml", pipeline("{ mood: '${GARISH_MOOD}' }"))
    try folder.write("words.yaml", Pipelines.only("words"))
    try folder.write(
      "cases.yaml",
      "stage: garish\ncases:\n  - { name: one, input: { text: a }, options: { mood: pass }, expect: { verdict: pass } }\n"
        + "  - { name: two, options: { mood: refuse }, input: { text: a }, expect: { verdict: pass } }\n")
  }

  private func pipeline(_ options: String) -> String { Pipelines.only("garish, options: \(options)") }

  @discardableResult
  private func run(_ words: [String], _ status: Int32) throws -> SluiceCommand.Outcome {
    let outcome = try SluiceCommand.run(words, in: folder, environment: ["SLUICE_PLUGIN_PATH": plugins])
    #expect(outcome.status == status, "\(words): \(outcome.err)")
    for text in [outcome.out, outcome.err] {
      let acting = text.unicodeScalars.filter { $0.value < 0x20 && $0 != "\n" || $0.value == 0x7F }
      #expect(acting.isEmpty, "\(words): \(text.debugDescription)")
      #expect(
        !text.split(separator: "\n").contains {
          $0.hasPrefix("sluice: all is well") || $0.hasPrefix("all is well")
        }, "\(words): \(text)")
    }
    return outcome
  }

  static let commands: [([String], Int32)] = [
    (["stages", "list"], 0), (["stages", "list", "garish", "words"], 1),
    (["stages", "inspect", "garish"], 0),
    (["stages", "inspect", "words"], 78), (["stages", "check", "garish", "--set", "mood=pass"], 1),
    (["stages", "check", "words"], 1), (["stages", "doctor"], 1),
    (["stages", "doctor", "garish", "words"], 1),
    (["doctor"], 1), (["graph", "pass.yaml"], 0), (["graph", "pass.yaml", "--format", "dot"], 0),
    (["graph", "pass.yaml", "--format", "mermaid"], 0), (["graph", "words.yaml"], 78),
    (["lint", "pass.yaml"], 0),
    (["lint", "words.yaml"], 78), (["lint", "missing.yaml"], 78), (["lint", "unknown.yaml"], 78),
    (["lint", "choice.yaml"], 78), (["lint", "unset.yaml"], 78), (["test", "cases.yaml"], 1),
    (["stages", "run", "garish", "--set", "mood=pass", "a.txt"], 1),
    (["stages", "run", "garish", "--set", "mood=refuse", "a.txt"], 78),
    (["stages", "run", "garish", "a.txt"], 2),
    (["stages", "run", "garish", "--set", "mod=pass", "a.txt"], 2),
    (["stages", "run", "words", "a.txt"], 78), (["schema"], 0),
    (["stages", "list", "--format", "json"], 0), (["stages", "inspect", "garish", "--format", "json"], 0),
    (["doctor", "--format", "json"], 1), (["lint", "missing.yaml", "--format", "json"], 78),
  ]

  @Test(arguments: commands)
  func noCommandLetsItThrough(words: [String], status: Int32) throws {
    try run(words, status)
  }

  @Test func whatIsSaidCanStillBeRead() throws {
    let shown = #"\u{1b}[31mred\u{1b}[0m\u{a}sluice: all is well\u{d}"#
    #expect(try run(["stages", "inspect", "garish"], 0).out.contains("Paints everything \(shown)"))
    let refused = try run(["stages", "run", "garish", "--set", "mood=refuse", "a.txt"], 78)
    #expect(refused.err.contains("it does not open, for it sees \(shown)"), "\(refused.err)")
  }

  @Test func theReasonsOfAnIngestDoNotGetThroughEither() throws {
    let refused = try run(["ingest", "-c", "refuse.yaml", "a.txt"], 78)
    #expect(refused.err.contains("it does not open, for it sees "), "\(refused.err)")
    #expect(try run(["ingest", "-c", "pass.yaml", "a.txt"], 1).out.contains("it sees "))
    try run(["ingest", "-q", "-c", "pass.yaml", "--conversation", "c2", "a.txt"], 1)
    try run(["list"], 0)
    try run(["status"], 0)
    let list = try run(["list", "--format", "json"], 0)
    try run(["show", try #require(list.attachments.first).id], 0)
    try run(["replay", "-c", "pass.yaml"], 0)
    try run(["replay", "-c", "refuse.yaml"], 78)
  }
}
