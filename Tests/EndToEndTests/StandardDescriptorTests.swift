import Foundation
import Testing

/// Standard descriptors that are closed, full or broken.
@Suite(.serialized)
struct StandardDescriptorTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open)
    for number in 0..<30 { try folder.write("in/\(number).txt", "text \(number)\n") }
  }

  private func shell(_ command: String) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(
      ["-c", command.replacingOccurrences(of: "sluice ", with: SluiceCommand.folder + "/sluice ")],
      in: folder,
      program: "/bin/sh")
  }

  private func completed() throws -> Int? {
    try SluiceCommand.run(["status", "--home", "home", "--format", "json"], in: folder)
      .only(Printed.Status.self).attachments["completed"]?.count
  }

  @Test(arguments: ["<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
  func noFileOfTheHomeBecomesStandardOutput(closed: String) throws {
    let outcome = try shell("sluice ingest --home home --participants ann in \(closed)")
    #expect(!outcome.wasKilled)
    let isOutClosed = closed.split(separator: " ").contains(">&-")
    #expect(outcome.status == (isOutClosed ? 1 : 0), "\(outcome.err)")
    let lock = try folder.read("home/sluice.lock")
    #expect(lock.allSatisfy { $0.isNumber || $0 == "\n" }, "only the process is named there: \(lock)")
    #expect(try SluiceCommand.run(["verify", "--home", "home"], in: folder).status == 0)
    #expect(try completed() == 30)
  }

  @Test func aReaderThatGoesEndsNothing() throws {
    let outcome = try shell(
      "sluice ingest --home home --format json in | head -n 1; sluice list --home home | head -n 1")
    #expect(outcome.status == 0, "\(outcome.err)")
    #expect(try completed() == 30, "the work was done to its end")
  }

  @Test(arguments: [0, 1, 100]) func aLimitOnTheSizeOfFilesIsNamed(blocks: Int) throws {
    let outcome = try shell("ulimit -f \(blocks); sluice ingest --home home in")
    #expect(!outcome.wasKilled && outcome.status == 78, "\(outcome.status) \(outcome.err)")
    // With a limit of zero, not even the message can be written to a file.
    if blocks > 0 { #expect(outcome.err.contains("ulimit -f"), "\(outcome.err)") }
  }

  @Test(arguments: [8, 16, 32, 64]) func aLimitOnOpenFilesIsNamedOrEnough(count: Int) throws {
    let outcome = try shell("ulimit -n \(count); sluice ingest --home home in")
    #expect(!outcome.wasKilled && [0, 78].contains(outcome.status), "\(outcome.status) \(outcome.err)")
    if outcome.status == 78 { #expect(outcome.err.contains("ulimit -n"), "\(outcome.err)") }
  }
}
