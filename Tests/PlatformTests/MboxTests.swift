import Bytes
import Platform
import Testing

/// Messages of a mailbox file: where they are, and how their places are written.
struct MboxTests {
  private static let from = "From ann@example.com Wed Nov 25 10:00:00 2026"

  /// The texts of the messages of a mailbox.
  private static func messages(_ text: String) -> [String] {
    let bytes = Array(text.utf8)
    var splitter = MboxSplitter()
    var ranges: [Range<Int64>] = []
    var start = 0
    while start < bytes.count {
      let end = bytes[start...].firstIndex(of: 0x0A).map { $0 + 1 } ?? bytes.count
      let ended = bytes[start..<end].withUnsafeBytes { splitter.take($0, Int64(start)..<Int64(end)) }
      if let ended { ranges.append(ended) }
      start = end
    }
    if let last = splitter.finish(at: Int64(bytes.count)) { ranges.append(last) }
    return ranges.map { String(decoding: bytes[Int($0.lowerBound)..<Int($0.upperBound)], as: UTF8.self) }
  }

  private static func begins(_ text: String) -> Bool {
    Array(text.utf8).withUnsafeBytes { MboxSplitter.begins($0) }
  }

  @Test(arguments: ["\n", "\r\n"])
  func aMailboxIsTakenApart(end: String) {
    let lines = [
      Self.from, "Subject: a", "", "Hello", "", "", Self.from, "Subject: b", "", ">From here", "", Self.from,
      "",
      Self.from, "Subject: d",
    ]
    #expect(
      Self.messages(lines.joined(separator: end) + end)
        == [
          ["Subject: a", "", "Hello", "", ""].joined(separator: end),
          ["Subject: b", "", ">From here", ""].joined(separator: end), "", "Subject: d" + end,
        ])
  }

  @Test(arguments: [
    "From here on it is text", "From Mon to Fri", "from ann Wed Nov 25 10:00:00 2026", " " + from,
    "From Wed Nov 25 at ten 2026", "From Wed Nov 25 10:00:00",
  ])
  func aLineOfATextIsNone(line: String) {
    let text = "Subject: a\n\nHello\n\n\(line)\nmore\n"
    #expect(Self.messages("\(Self.from)\n\(text)") == [text])
  }

  @Test(arguments: [
    from, "From - Wed Nov 25 10:00 2026", "From 123@xxx Wed Nov  5 10:00:00 +0000 2026",
    "From a b Wed Nov 25 10:00:00 2026 +0100",
  ])
  func aDateIsEnoughForAMessage(line: String) {
    #expect(Self.messages("\(line)\n\nHello\n\n\(line)\nHello\n") == ["\nHello\n", "Hello\n"])
    #expect(Self.begins("\(line)\nHello"))
  }

  @Test func theFieldOfAHeaderIsEnoughForAMessage() {
    #expect(Self.messages("From a\nX-A : 1\n\nHi\n\nFrom b\nX: 2\n") == ["X-A : 1\n\nHi\n", "X: 2\n"])
    #expect(Self.begins("From a\nX: 2"))
  }

  /// Where it has a date, the programs that read mailboxes split there.
  @Test func aLineInAParagraphIsNoneWithoutADate() {
    let text = "Subject: a\n\nHello\nFrom ben\nSubject: b\n"
    #expect(Self.messages("\(Self.from)\n\(text)") == [text])
    #expect(
      Self.messages("\(Self.from)\nSubject: a\n\nHello\n\(Self.from)\nSubject: b\n")
        == ["Subject: a\n\nHello\n", "Subject: b\n"])
  }

  @Test(arguments: ["", "\n", "From", "From ", "From x\n", "From x\nno field\n", "Subject: x\n\n\(from)\n"])
  func otherContentDoesNotBeginAsAMailbox(text: String) {
    #expect(!Self.begins(text))
  }

  // MARK: Places

  private static let hash = String(repeating: "ab", count: 32)

  @Test func aPlaceIsReadAsItIsWritten() throws {
    let path = MboxPath(
      file: Array("/m/in.mbox".utf8), 44..<613, sha256: [UInt8](repeating: 0xAB, count: 32))
    #expect(String(decoding: path.path, as: UTF8.self) == "/m/in.mbox//44+569+\(Self.hash)")
    #expect(MboxPath(path.path) == path)
    let whole = MboxPath.beginning(path.path)
    #expect(whole.map { $0.file + $0.rest } == path.path && whole?.file == path.file)
    #expect(path.place == "/m/in.mbox//44+569")
  }

  @Test(arguments: [
    "", "/", "//", "/m/in.mbox", "//1+2+\(hash)", "/m/1+2+\(hash)", "/m//1+2", "/m//1+2+ab", "/m//+2+\(hash)",
    "/m//-1+2+\(hash)", "/m//1+-2+\(hash)", "/m//1+2+\(hash)+", "/m//1+268435457+\(hash)",
    "/m//9223372036854775807+1+\(hash)", "/m//1+2+\(hash)/", "/m//1/2+3+\(hash)",
  ])
  func otherPathsAreNone(text: String) {
    #expect(MboxPath(Array(text.utf8)) == nil)
  }
}
