import Foundation
import Testing

/// Names of files that are not UTF-8, as a shell's `*` and `find -exec` give them.
@Suite(.serialized)
struct OddNameTests {
  private let folder: TemporaryFolder
  private static let name: [UInt8] = Array("caf".utf8) + [0xE9] + Array(".txt".utf8)

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.storing())
    try folder.write("in/.keep", "")
    try #require(try shell("rm in/.keep; printf one > \"$(printf 'in/caf\\351.txt')\"").status == 0)
  }

  private func shell(_ script: String) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(
      ["-c", script], in: folder, environment: ["PATH": "\(SluiceCommand.folder):/usr/bin:/bin"],
      program: "/bin/sh")
  }

  @Test func aFileIsTakenInAndFoundByItsName() throws {
    let ingest = try shell("sluice ingest --format json in/*")
    #expect(ingest.status == 0, "\(ingest.err)")
    let record = try JSON(String(ingest.out.split(separator: "\n").first ?? ""))
    let bytes = try #require(record["sourceBase64"].text.flatMap { Data(base64Encoded: $0) })
    #expect(bytes.suffix(Self.name.count).elementsEqual(Self.name))
    for verb in ["show", "get --output got"] {
      let outcome = try shell("sluice \(verb) in/*")
      #expect(outcome.status == 0, "\(verb): \(outcome.err)")
    }
    #expect(try shell("sluice check in/*").status == 0)
    // What the record says leads back to the file.
    let line = #"{"path\#("Base64")": "\#(bytes.base64EncodedString())", "conversationId": "again"}"#
    try folder.write("manifest.jsonl", line + "\n")
    let again = try shell("sluice ingest --manifest manifest.jsonl --sender ann --participants ann")
    #expect(again.status == 0 && again.out.contains("1 completed"), "\(again.out)\(again.err)")
  }

  @Test func anotherHomeIsNotBegun() throws {
    let outcome = try shell("mkdir \"$(printf 'h\\351')\"; sluice list --home \"$(printf 'h\\351')\"")
    #expect(outcome.status == 2 && outcome.err.contains("'--home' is not UTF-8"), "\(outcome.err)")
    #expect(try shell("ls").out.split(separator: "\n").count == 3, "in, the folder, the pipeline")
  }

  @Test func aWatchedFileIsMovedOnceItIsTakenIn() throws {
    try #require(try shell("mkdir done").status == 0)
    let resident = try Resident(folder, options: ["--watch", "in", "--consume", "move:done"])
    defer { kill(resident.process.processIdentifier, SIGKILL) }
    try Resident.wait("the file is moved") { try shell("ls done/caf* 2>/dev/null").status == 0 }
    #expect(try shell("ls -A in").out.isEmpty)
  }
}
