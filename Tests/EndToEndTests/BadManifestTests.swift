import Foundation
import Testing

/// The bad lines of a manifest are named, and the good ones taken in.
@Suite(.serialized)
struct BadManifestTests {
  private func open() throws -> Inbox {
    let inbox = try Inbox()
    try inbox.pipeline("timeout: 20s")
    try inbox.add("good", "a good one\n")
    return inbox
  }

  @Test func aManifestsBadLinesAreNamedAndItsGoodOnesTaken() throws {
    let inbox = try open()
    let lines: [(line: [UInt8], says: String?)] = [
      (Array(#"{"path":"in/good"}"#.utf8), nil),
      (Array("not JSON".utf8), #"not a JSON object; write one a line, such as {"path": "inbox/a.pdf"}"#),
      (Array(#"["path"]"#.utf8), #"not a JSON object; write one a line, such as {"path": "inbox/a.pdf"}"#),
      (Array(#"{"path":"in/good","filename":"x"}"#.utf8), "unknown key 'filename'; did you mean 'fileName'?"),
      (Array(#"{"path":"in/good","priority":"high"}"#.utf8), "'priority' is text where integer is wanted"),
      (Array(#"{"path":7}"#.utf8), "'path' is integer where text is wanted"),
      (
        Array(#"{"path":"in/good","participants":[1]}"#.utf8),
        "'participants' holds something else than texts"
      ),
      (Array(#"{"path":"in/good","path":"in/good"}"#.utf8), "the key 'path' stands there twice"),
      (Array(#"{"fileName":"x"}"#.utf8), "the key 'path' is missing or empty"),
      (Array("".utf8), nil),
      (
        Array(#"{"path":"in/\#(String(repeating: "x", count: 2 << 20))"}"#.utf8),
        "the line is longer than 1MB; passed over, the next is read"
      ),
      (Array(#"{"path":"in/"#.utf8) + [0xFF, 0x22, 0x7D], "not UTF-8"),
      (Array(#"{"path":"in/good\u0000.pdf"}"#.utf8), "holds a NUL character; no name has one"),
      (Array(#"{"path":"in/good","fileName":"\\\u0000"}"#.utf8), "holds a NUL character; no name has one"),
      (Array(#"{"path":"in/good"}"#.utf8) + [0] + Array("{}".utf8), "holds a NUL character; no name has one"),
      (Array(#"{"path":"in/nothing"}"#.utf8), "in/nothing: No such file or directory; check the path"),
      (Array(#"{"path":"in"}"#.utf8), "in: not a file; a manifest lists files, one a line"),
      (
        Array(#"{"path":"in/good","messageId":""}"#.utf8),
        "'messageId' has 0 bytes where 1 to 256 are allowed"
      ),
      (
        Array(String(repeating: "[", count: 5000).utf8),
        #"not a JSON object; write one a line, such as {"path": "inbox/a.pdf"}"#
      ),
      (Array(#"{"path":"in/good","messageId":"m1","fileName":"\\u0000"}"#.utf8), nil),
      (Array(#"{"path":"in/good","messageId":"m1","senderId":"eve"}"#.utf8), nil),
      (Array(#"  {"path":"in/good","messageId":"last"}"#.utf8), nil),
    ]
    try inbox.folder.write("list.jsonl", Data(lines.map(\.line).joined(separator: [0x0A])))
    let run = try inbox.run([], options: ["--manifest", "list.jsonl"])
    var wanted = lines.enumerated().compactMap { index, line in
      line.says.map { "sluice: list.jsonl:\(index + 1): \($0)" }
    }
    // The ledger reports its own objection when the batch is recorded.
    wanted.append(
      "sluice: list.jsonl:21: message 'm1' of conversation 'default' is from 'ann', not from 'eve'; give it another messageId, or delete the attachments of that one first"
    )
    let said = run.outcome.err.replacingOccurrences(of: inbox.folder.path + "/", with: "").split(
      separator: "\n"
    ).map(String.init)
    #expect(said.sorted() == wanted.sorted())
    #expect(run.outcome.status == 1)
    #expect(
      run.outcome.attachments.map(\.fileName).sorted() == [
        #"\u0000"#, "good", "good",
      ])
    #expect(run.outcome.attachments.allSatisfy { $0.isCompleted })
    try inbox.checkWhole(run)
  }

  @Test func aManifestThatIsNotThereIsToldWithARemedy() throws {
    let inbox = try open()
    let run = try inbox.run([], options: ["--manifest", "nowhere.jsonl"])
    #expect(run.outcome.status == 2)
    #expect(
      run.outcome.err
        == "sluice: nowhere.jsonl: No such file or directory; give the manifest's path, or - for standard input\n"
    )
  }
}
