import Glibc
import Platform
import Testing

@testable import Manifest

/// What is taken of a mail's header.
struct MessageHeaderTests {
  private static func header(_ lines: String...) -> MessageHeader {
    MessageHeader(Array((lines + ["", ""]).joined(separator: "\n").utf8))
  }

  private static func id(_ header: MessageHeader) -> String? {
    header.messageId.map { String(decoding: $0, as: UTF8.self) }
  }

  // MARK: Fields

  @Test(arguments: ["\n", "\r\n"])
  func theFieldsOfAMailAreRead(end: String) {
    let lines = [
      "Received: from a by b;", "\tWed, 25 Nov 2026 08:00:00 +0000", "FROM: Anna <anna@example.com>",
      "To: ben@example.com,", "  Carl", " <carl@example.com>", "Cc : dora@example.com",
      "bcc: eve@example.com", "Message-Id:", " <one@example.com>", "", "Cc: body@example.com", "",
    ]
    let header = MessageHeader(Array(lines.joined(separator: end).utf8))
    #expect(Self.id(header) == "one@example.com")
    #expect(header.sender == "anna@example.com")
    #expect(header.participants == ["ben", "carl", "dora", "eve"].map { $0 + "@example.com" })
  }

  @Test func whatIsNotThereIsNone() {
    #expect(MessageHeader([]) == Self.header("Subject: nothing"))
    let header = Self.header("Subject: nothing")
    #expect(header.messageId == nil && header.sender == nil && header.participants == [])
    #expect(Self.header("Message-ID: <>", "From: nobody").messageId == nil)
  }

  @Test func theFirstOfSeveralCountsAndParticipantsAddUp() {
    let header = Self.header(
      "From: none", "From: second@x.org", "Message-ID: <a@b>", "Message-ID: <c@d>", "To: a@x.org, B@x.org",
      "To: c@x.org", "Cc: a@x.org, b@x.org, C@X.org")
    #expect(header.sender == nil, "a second From is not what others show")
    #expect(Self.id(header) == "a@b")
    #expect(header.participants == ["a@x.org", "B@x.org", "c@x.org", "b@x.org", "C@X.org"])
  }

  @Test func linesThatAreNoFieldsAreLeftOut() {
    let header = Self.header(
      "From anna Wed Nov 25 08:00:00 2026", ">From: x@x.org", "no field", "To bcc: y@x.org", ": z@x.org",
      " lost@x.org", "To: a@x.org")
    #expect(header.sender == nil && header.participants == ["a@x.org"])
  }

  @Test(arguments: [
    ("<one@x>", "one@x"), ("one@x", "one@x"), (" <one@x> (a comment)", "one@x"), ("<one@x", "one@x"),
    ("< one@x\t>", "one@x"), ("(said) <one@x><two@x>", "one@x"), ("<a\u{0}b>", "a\u{0}b"),
  ])
  func theIdIsWhatStandsInAngleBrackets(body: String, id: String) {
    #expect(Self.id(Self.header("Message-ID: " + body)) == id)
  }

  // MARK: Bounds

  @Test func theFirstTwoHundredParticipantsAreTaken() {
    let all = (0..<250).map { "p\($0)@example.com" }
    let header = Self.header("To: " + all.joined(separator: ", "), "Cc: " + all.joined(separator: ",\n "))
    #expect(header.participants == Array(all.prefix(200)))
  }

  /// Half an address may be that of another person.
  @Test func anAddressThatIsCutByTheLimitIsNone() {
    let start = "From: anna@example.com\nTo: ben@example.com,\n carl@example.com.evil"
    let filling = "X: " + String(repeating: "x", count: MessageHeader.limit - start.utf8.count - 4 + 5) + "\n"
    let header = MessageHeader(Array((filling + start).utf8))
    #expect(header.participants == ["ben@example.com"], "it would be carl@example.com")
    #expect(header.sender == "anna@example.com")
    let beyond = MessageHeader(Array((filling + "\(filling)To: a@b\n\n").utf8))
    #expect(beyond.participants == [])
  }

  @Test func aFileIsReadToTheEndOfItsHeaderWhereverThatLies() throws {
    for size in [0, 10, 16_300, 16_383, 16_384, 16_385, 40_000] {
      let header = "X: \(String(repeating: "x", count: size))\r\nTo: a@x.org\r\n\r\n"
      let body = "To: body@x.org\n" + String(repeating: "b", count: 40_000)
      let file = try file(header + body)
      defer { close(file) }
      #expect(try MessageHeader(reading: file).participants == ["a@x.org"], "\(size)")
      let cut = try self.file(String(header.dropLast(1)))
      defer { close(cut) }
      #expect(try MessageHeader(reading: cut).participants == ["a@x.org"], "without an end")
    }
    #expect(throws: SystemError.self) { try MessageHeader(reading: -1) }
  }

  private func file(_ text: String) throws -> Int32 {
    let stream = try #require(tmpfile())
    defer { fclose(stream) }
    fputs(text, stream)
    fflush(stream)
    let file = dup(fileno(stream))
    try #require(file >= 0)
    return file
  }
}
