import Foundation
import Testing

/// The word after an option that needs a value is its value, unless it looks like a mistake.
struct ArgumentTests {
  static let slips: [([String], String, String)] = [
    (["status", "--home", "--quiet"], "--home", "--home=--quiet"),
    (["list", "-s", "--home"], "-s", "-s=--home"),
    (["ingest", "-c", "-q", "in"], "-c", "-c=-q"),
    (["verify", "--sample", "--repair"], "--sample", "--sample=--repair"),
    (["ingest", "--sender", "-5", "in"], "--sender", "--sender=-5"),
    (["status", "--home", "--"], "--home", "--home=--"),
  ]

  @Test(arguments: slips)
  func anOptionIsNotTakenForTheValueOfAnother(words: [String], name: String, remedy: String) throws {
    let folder = try TemporaryFolder()
    let outcome = try SluiceCommand.run(words, in: folder)
    #expect(outcome.status == 2)
    #expect(outcome.err.hasPrefix("sluice: option '\(name)' needs a value: "), "\(outcome.err)")
    #expect(outcome.err.hasSuffix("for a value that begins so write '\(remedy)'\n"), "\(outcome.err)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
  }

  @Test func aValueMayBeginWithADashAfterAnEqualsSignAndNumbersMayAnyway() throws {
    let folder = try TemporaryFolder()
    try folder.write("a", "text\n")
    let words = ["enqueue", "--home=--quiet", "--sender=-ann", "--priority", "-5", "a"]
    let outcome = try SluiceCommand.run(words, in: folder)
    #expect(outcome.status == 0, "\(outcome.err)")
    #expect(FileManager.default.fileExists(atPath: folder.path + "/--quiet/sluice.db"))
    #expect(
      try SluiceCommand.run(["ingest", "--manifest", "-"], in: folder).err.contains("no pipeline.yaml"))
  }

  /// One of the two would be dropped without a word.
  @Test(arguments: [
    ["ingest", "--manifest", "a", "--manifest", "b"], ["status", "--home", "a", "--home=b"],
    ["ingest", "-c", "a", "--config", "b", "in"],
  ])
  func anOptionThatTakesOneValueIsGivenOnce(words: [String]) throws {
    let outcome = try SluiceCommand.run(words, in: try TemporaryFolder())
    #expect(outcome.status == 2 && outcome.err.hasSuffix("is given twice; give it once\n"), "\(outcome.err)")
  }

  static let emptyPaths: [([String], String)] = [
    (["status", "--home", ""], "--home is empty; name a folder, or leave the option out"),
    (["status", "--home="], "--home is empty; name a folder, or leave the option out"),
    (["lint", "--config="], "--config is empty; name a file, or leave the option out"),
    (["lint", "-c", ""], "--config is empty; name a file, or leave the option out"),
    (["ingest", "--manifest", ""], "--manifest is empty; name a file, or leave the option out"),
    (["test", "--plugin=", "."], "--plugin is empty; name a file, or leave the option out"),
    (["stages", "new", "--share=", "x"], "--share is empty; name a folder, or leave the option out"),
    (["stages", "check", "size", "--docs", ""], "--docs is empty; name a file, or leave the option out"),
  ]

  static let emptyWords: [([String], String)] = [
    (["lint", ""], "a FILE of `sluice lint` is empty; name a file"),
    (["graph", ""], "a FILE of `sluice graph` is empty; name a file"),
    (["stages", "run", "size", ""], "a FILE of `sluice stages run` is empty; name a file"),
    (["test", ""], "a PATH of `sluice test` is empty; name a file or a folder"),
  ]

  @Test(arguments: emptyPaths + emptyWords)
  func anEmptyPathIsNoPath(words: [String], says: String) throws {
    let folder = try TemporaryFolder()
    let outcome = try SluiceCommand.run(words, in: folder)
    #expect(outcome.status == 2)
    #expect(outcome.err == "sluice: \(says)\n")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
  }

  @Test func anEmptyVariableNamesNoHome() throws {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open)
    try folder.write("a", "text\n")
    let environment = ["SLUICE_HOME": ""]
    let outcome = try SluiceCommand.run(["ingest", "a"], in: folder, environment: environment)
    #expect(outcome.status == 0, "\(outcome.err)")
    #expect(outcome.err == "")
    let status = try SluiceCommand.run(["status"], in: folder, environment: environment)
    #expect(status.out.hasPrefix("home         ./var "), "\(status.out)\(status.err)")
    #expect(FileManager.default.fileExists(atPath: folder.path + "/var/sluice.db"))
  }
}
