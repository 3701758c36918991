import Foundation
import Testing

/// A count of one uses the singular.
struct PluralTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open)
    try folder.write("a.txt", "a")
  }

  private func out(_ words: String...) throws -> String {
    try SluiceCommand.run(words, in: folder).out
  }

  @Test func oneAttachmentIsToldAsOne() throws {
    #expect(try out("ingest", "a.txt").contains("\n1 attachment: 1 completed, 0 rejected"))
    #expect(try out("verify").hasPrefix("1 object, 1 of them read"))
    #expect(try out("replay").hasSuffix("1 attachment from 'mime' on: 0 would change, 1 would not\n"))
    let listed = try SluiceCommand.run(["list", "--format", "json"], in: folder).attachments
    #expect(try out("show", try #require(listed.first).id).contains("1 B (1 byte)"))
    try FileManager.default.removeItem(atPath: folder.path + "/var/store/documents")
    #expect(try out("verify").contains("; 1 finding\n"))
    let mended = try out("verify", "--repair")
    #expect(
      mended.contains(
        "; 1 finding, 1 of them mended; 1 attachment is to be stored anew by `sluice ingest`\n"))
    let again = try SluiceCommand.run(["ingest", "a.txt"], in: folder)
    #expect(again.err == "sluice: going on with 1 attachment that an earlier run left\n")
  }

  @Test func oneCaseIsToldAsOne() throws {
    let cases = "stage: size\ncases: [{ name: one, input: { text: a }, expect: { verdict: VERDICT } }]\n"
    try folder.write("cases.yaml", cases.replacingOccurrences(of: "VERDICT", with: "pass"))
    #expect(try out("test", ".").contains("\n1 case, all as expected; "))
    try folder.write("cases.yaml", cases.replacingOccurrences(of: "VERDICT", with: "reject"))
    let updated = try SluiceCommand.run(["test", ".", "--update"], in: folder)
    #expect(updated.err.contains("rewrote 1 of 1 case;"), "\(updated.err)")
    #expect(try out("stages", "run", "size", "--repeat", "1", "a.txt").contains("1 time: median "))
  }

  @Test func oneByteIsToldAsOne() throws {
    let small = try out("stages", "run", "size", "--set", "min=3B", "a.txt")
    #expect(small.contains("(too-small: 1 byte, and at least 3 are asked for)"), "\(small)")
  }
}
