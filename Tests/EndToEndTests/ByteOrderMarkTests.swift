import Foundation
import Testing

/// Files as some editors save them: with a byte order mark, which is not part of the text, or in UTF-16,
/// which is not supported.
struct ByteOrderMarkTests {
  static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

  static let cases = """
    stage: size
    cases:
      - name: three bytes
        input: { text: abc }
        expect: { verdict: reject }
    """

  private func write(_ name: String, _ text: String, in folder: TemporaryFolder) throws {
    try folder.write(name, Data(Self.mark) + Data(text.utf8))
  }

  @Test func aByteOrderMarkIsNoPartOfAFile() throws {
    let folder = try TemporaryFolder()
    try write("pipeline.yaml", Pipelines.open, in: folder)
    try write("list.jsonl", "{\"path\": \"a.txt\"}\n{\"path\": \"b.txt\"}\n", in: folder)
    for name in ["a", "b"] { try folder.write("\(name).txt", "text \(name)\n") }
    let outcome = try SluiceCommand.run(["ingest", "--manifest", "list.jsonl"], in: folder)
    #expect(outcome.status == 0, "\(outcome.err)")
    #expect(outcome.out.contains("2 attachments: 2 completed"))
    #expect(try SluiceCommand.run(["lint"], in: folder).status == 0)
  }

  @Test func aByteOrderMarkAnywhereElseIsAMistake() throws {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open)
    for text in [
      "\n\u{FEFF}{\"path\": \"pipeline.yaml\"}\n", "\u{FEFF}\u{FEFF}{\"path\": \"pipeline.yaml\"}\n",
    ] {
      try folder.write("list.jsonl", text)
      let outcome = try SluiceCommand.run(["ingest", "--manifest", "list.jsonl"], in: folder)
      #expect(outcome.status == 1)
      #expect(outcome.err.contains("not a JSON object; write one a line, such as"), "\(outcome.err)")
    }
  }

  @Test func casesKeepTheirByteOrderMarkWhenTheyAreRewritten() throws {
    let folder = try TemporaryFolder()
    try write("cases.yaml", Self.cases, in: folder)
    #expect(try SluiceCommand.run(["test", "."], in: folder).status == 1)
    #expect(try SluiceCommand.run(["test", "--update", "."], in: folder).status == 1)
    #expect(
      try Data(contentsOf: URL(fileURLWithPath: folder.path + "/cases.yaml"))
        == Data(Self.mark) + Data(Self.cases.replacingOccurrences(of: "reject", with: "pass").utf8))
    #expect(try SluiceCommand.run(["test", "."], in: folder).status == 0)
  }

  @Test(arguments: [String.Encoding.utf16, .utf16LittleEndian, .utf16BigEndian])
  func aFileInUTF16IsToldOnceAndHowToSaveIt(encoding: String.Encoding) throws {
    let folder = try TemporaryFolder()
    func data(_ text: String) throws -> Data { try #require(text.data(using: encoding)) }
    try folder.write("list.jsonl", try data("{\"path\": \"a.txt\"}\n{\"path\": \"b.txt\"}\n"))
    try folder.write("good.yaml", Pipelines.open)
    try folder.write("pipeline.yaml", try data(Pipelines.open))
    try folder.write("cases.yaml", try data(Self.cases))
    let ingest = try SluiceCommand.run(["ingest", "-c", "good.yaml", "--manifest", "list.jsonl"], in: folder)
    #expect(ingest.status == 1)
    #expect(ingest.err == "sluice: list.jsonl:1: in UTF-16, and UTF-8 is read; save it as UTF-8\n")
    for (command, file) in [("lint", "pipeline.yaml"), ("test", "cases.yaml")] {
      let outcome = try SluiceCommand.run([command, file], in: folder)
      #expect(outcome.status == 78)
      #expect(outcome.err == "\(file):1:1: the file is in UTF-16, and UTF-8 is read; save it as UTF-8\n")
    }
  }
}
