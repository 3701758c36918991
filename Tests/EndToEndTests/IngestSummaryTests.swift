import Foundation
import Testing

/// What an ingest says in the end of attachments that were not completed: how many for which reason, and how to list them.
struct IngestSummaryTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write(
      "pipeline.yaml",
      """
      version: 1
      stages:
        - use: mime
          options: { allow: [text/plain] }
        - use: size
          options: { max: 1KB }
      """)
    for number in 0..<11 { try folder.write("in/\(number).txt", String(repeating: "long\n", count: 500)) }
    try folder.write("in/page.html", "<!DOCTYPE html><html><body>hello</body></html>\n")
    try folder.write("in/short.txt", "short\n")
  }

  @Test func reasonsAreCountedWithAnExampleAndTheCommandThatListsThem() throws {
    let outcome = try SluiceCommand.run(["ingest", "--home", "my home", "in"], in: folder)
    #expect(outcome.status == 1)
    let end = try #require(outcome.out.range(of: "\nNot completed:\n"))
    let lines = outcome.out[end.upperBound...].split(separator: "\n", omittingEmptySubsequences: false)
    try #require(lines.count > 5, "\(outcome.out)")
    #expect(
      lines[0]
        == "  rejected     size: too-large: 11 attachments: sluice list --code too-large --home 'my home'")
    #expect(lines[1].hasPrefix("               \(folder.path)/in/") && lines[1].contains(".txt: "))
    #expect(
      lines[2].hasPrefix("  rejected     mime: ") && lines[2].contains(": 1 attachment: sluice list --code "))
    #expect(lines[3].contains("/in/page.html: "))
    #expect(lines[4] == "" && lines[5].hasPrefix("13 attachments: 1 completed, 12 rejected, "))
  }

  @Test func aCodeOfTwoStagesIsListedWithItsStage() throws {
    try folder.write(
      "pipeline.yaml",
      """
      version: 1
      stages:
        - use: mime
        - use: size
          options: { max: 1KB }
        - { use: size, id: small, options: { min: 10B } }
        - { use: size, id: short, options: { max: 20B } }
      """)
    try folder.write("in/long.txt", "longer than twenty bytes\n")
    let outcome = try SluiceCommand.run(["ingest", "in"], in: folder)
    #expect(outcome.out.contains(": sluice list --stage size --code too-large\n"), "\(outcome.out)")
    #expect(outcome.out.contains(": sluice list --stage short --code too-large\n"), "\(outcome.out)")
    #expect(outcome.out.contains(": sluice list --code too-small\n"), "\(outcome.out)")
  }

  @Test(.enabled(if: CommandLineTests.hasTerminals, "needs a terminal and script(1)"))
  func aTerminalGetsALineForEachIfThatIsAskedFor() throws {
    func ingest(_ words: String) throws -> String {
      let process = Process()
      process.environment = ["PATH": "/usr/bin:/bin", "TERM": "xterm"]
      process.executableURL = URL(fileURLWithPath: "/usr/bin/script")
      process.arguments = ["-qec", "'\(SluiceCommand.folder)/sluice' ingest \(words) in", "/dev/null"]
      process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
      let pipe = Pipe()
      process.standardOutput = pipe
      process.standardInput = FileHandle.nullDevice
      try process.run()
      defer { process.waitUntilExit() }
      return String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }
    #expect(try ingest("--home a").components(separatedBy: "/in/").count == 3, "the examples of two reasons")
    #expect(try ingest("--home b -v").components(separatedBy: "/in/").count == 16)
  }

  /// Who watches asks what takes so long.
  @Test(.enabled(if: CommandLineTests.hasTerminals, "needs a terminal and script(1)"))
  func aTerminalIsToldWhatTakesSoLong() throws {
    let inbox = try Inbox()
    try inbox.pipeline("timeout: 5s", retry: "{ attempts: 1 }")
    try inbox.add("report.pdf", "misbehave obey\n")
    let process = Process()
    process.environment = [
      "PATH": "/usr/bin:/bin", "TERM": "xterm", "SLUICE_PLUGIN_PATH": try FixtureStages.folder(),
    ]
    process.executableURL = URL(fileURLWithPath: "/usr/bin/script")
    process.arguments = ["-qec", "'\(SluiceCommand.folder)/sluice' ingest --home home in", "/dev/null"]
    process.currentDirectoryURL = URL(fileURLWithPath: inbox.folder.path)
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let out = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(out.contains(" misbehave for 3s: report.pdf"), "\(out)")
    #expect(!out.contains(" misbehave for 1s"), "it is not worth a line as long as something may end")
  }
}
