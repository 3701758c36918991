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

  /// The flag belongs to all who share a pipe: Node and some service managers set it.
  @Test func anOutputThatDoesNotBlockLosesNothingToASlowReader() throws {
    let whole = try SluiceCommand.run(["schema"], in: folder).out
    let pipe = Pipe()
    let (reader, writer) = (
      pipe.fileHandleForReading.fileDescriptor, pipe.fileHandleForWriting.fileDescriptor
    )
    let room = fcntl(writer, 1031, 4096)  // F_SETPIPE_SZ
    try #require(room > 0 && whole.utf8.count > 2 * Int(room))
    _ = fcntl(writer, F_SETFL, fcntl(writer, F_GETFL) | O_NONBLOCK)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: SluiceCommand.folder + "/sluice")
    process.arguments = ["schema"]
    process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
    process.standardOutput = pipe
    try process.run()
    try Resident.wait("the pipe is full, or the program has ended") {
      var count: Int32 = 0
      _ = ioctl(reader, UInt(FIONREAD), &count)
      return count >= room || !process.isRunning
    }
    usleep(200_000)
    try pipe.fileHandleForWriting.close()
    let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(text == whole)
  }
}
