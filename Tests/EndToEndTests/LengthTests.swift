import Foundation
import Testing

/// Content beyond a size limit is refused before a byte is read, and content that takes long to read delays
/// no other.
@Suite(.serialized)
struct LengthTests {
  private func folder(_ size: String) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try folder.write(
      "pipeline.yaml", Pipelines.open.replacingOccurrences(of: "{ max: 100MB, min: 0B }", with: size))
    return folder
  }

  private func sparse(_ name: String, _ bytes: Int64, in folder: TemporaryFolder) throws {
    try folder.write(name, "")
    #expect(truncate(folder.path + "/" + name, off_t(bytes)) == 0)
  }

  private func ingest(_ folder: TemporaryFolder) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(["ingest", "--home", "home", "--format", "json", "in"], in: folder)
  }

  @Test(
    arguments: [
      "{ max: 10MB }", "{ max: 1MB, rules: { \"image/*\": 10MB } }", "{ rules: { \"*/*\": 10MB } }",
    ])
  func aFileOfATerabyteIsRefusedWithoutBeingRead(size: String) throws {
    let folder = try folder(size)
    try sparse("in/huge", 1 << 40, in: folder)
    let before = Date()
    let outcome = try ingest(folder)
    #expect(Date().timeIntervalSince(before) < 60, "to read it takes minutes")
    let record = try #require(outcome.attachments.first)
    #expect(record.status == "rejected" && record.code == "too-large", "\(outcome.out)")
    #expect(record.reason?.stage == "size")
    #expect(record.message == "1099511627776 bytes, and 10485760 are allowed")
    #expect(record.sha256 == nil, "nothing of it was read")
  }

  @Test func aLimitForOneTypeWaitsUntilTheTypeIsKnown() throws {
    let folder = try folder("{ rules: { \"image/*\": 1KB } }")
    try folder.write("in/text", String(repeating: "a line of text\n", count: 1000))
    let outcome = try ingest(folder)
    #expect(outcome.status == 0, "\(outcome.out)")
  }

  /// Hashing it takes minutes.
  @Test func whatIsLongToReadHoldsNobodyUp() throws {
    let folder = try folder("{ max: 100TB }")
    for number in 0..<8 { try sparse("in/\(number)-huge", 1 << 40, in: folder) }
    for number in 0..<60 { try folder.write("in/small-\(number)", "text \(number)\n") }
    let process = try SluiceCommand.start(
      ["ingest", "--home", "home", "--format", "json", "in"], in: folder, out: folder.path + "/out",
      err: folder.path + "/err")
    defer {
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
    // Hashing the others takes many times as long.
    try Resident.wait("the small ones are done", seconds: 12) {
      try folder.read("out").split(separator: "\n").count >= 60
    }
  }
}
