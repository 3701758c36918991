import Foundation
import Platform
import Testing

@testable import Manifest

/// A mailbox file is read message by message, whatever its size and its lines.
final class MboxReaderTests {
  private let path = NSTemporaryDirectory() + "sluice-test-" + UUID().uuidString
  private static let from = "From ann@example.com Wed Nov 25 10:00:00 2026\n"

  deinit { unlink(path) }

  private func open(_ text: String) throws -> Descriptor {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    return try Descriptor.open(path, O_RDONLY)
  }

  /// The places, hashes and ids of the messages.
  private func read(_ text: String) throws -> [MboxReader.Message] {
    let file = try open(text)
    let reader = try MboxReader(file.number)
    var messages: [MboxReader.Message] = []
    while let message = try reader.next() { messages.append(message) }
    #expect(!reader.hasChanged)
    return messages
  }

  private static func sha256(_ text: String) throws -> [UInt8] {
    let hash = try SHA256()
    Array(text.utf8).withUnsafeBytes { hash.add($0) }
    return hash.finish()
  }

  private func expect(_ texts: [String]) throws {
    let messages = try read(texts.map { Self.from + $0 + "\n" }.joined())
    #expect(messages.count == texts.count)
    var offset = 0
    for (text, message) in zip(texts, messages) {
      offset += Self.from.utf8.count
      #expect(message.range == Int64(offset)..<Int64(offset + text.utf8.count))
      #expect(message.sha256 == (try Self.sha256(text)))
      offset += text.utf8.count + 1
    }
  }

  /// Lines and messages end everywhere beside the bounds of what is read at once.
  @Test func messagesAreFoundAcrossTheBoundsOfPieces() throws {
    for shift in [0, 1, 2, 3, 5, 40, 60, 999, 1000, 1001] {
      let filler = String(repeating: "x", count: 75) + "\n"
      let first =
        "Subject: a\n\n" + String(repeating: filler, count: 13_790) + String(repeating: "y", count: shift)
      try expect([
        first + "\n", "Subject: b\n\nshort\n", "Subject: c\n\n" + String(repeating: filler, count: 30_000),
      ])
    }
  }

  @Test func aLineMayBeLongerThanWhatIsReadAtOnce() throws {
    let long = String(repeating: "From here: ", count: 300_000)
    try expect(
      ["Subject: a\n\n\(long)\n", "Subject: b\n\n\(long)", "\(long)\n\nSubject: c\n"].map { $0 + "\n" })
  }

  @Test func theHeaderOfEachIsItsOwn() throws {
    let messages = try read(
      Self.from + "Message-ID: <a@x>\nTo: ben@example.com\n\nTo: eve@example.com\n\n" + Self.from + "\n"
        + Self.from
        + "From: Carl <carl@example.com>\n\nMessage-ID: <c@x>\n")
    #expect(messages.count == 2, "the one without a byte is left out")
    #expect(messages.map { $0.header.messageId.map { String(decoding: $0, as: UTF8.self) } } == ["a@x", nil])
    #expect(messages.map(\.header.participants) == [["ben@example.com"], []])
    #expect(messages.map(\.header.sender) == [nil, "carl@example.com"])
  }

  @Test func theLastMessageIsLeftOutWhereTheFileWasWrittenTo() throws {
    let file = try open(Self.from + "Subject: a\n\nHello\n\n" + Self.from + "Subject: b\n\nHel")
    let reader = try MboxReader(file.number)
    #expect(try reader.next() != nil)
    let writer = try Descriptor.open(path, O_WRONLY | O_APPEND)
    #expect(write(writer.number, "lo\n", 3) == 3)
    #expect(try reader.next() == nil)
    #expect(reader.hasChanged)
  }

  @Test func aFileThatIsCutWhileItIsReadIsAnError() throws {
    let file = try open(Self.from + "Subject: a\n\n" + String(repeating: "Hello\n", count: 500_000))
    let reader = try MboxReader(file.number)
    #expect(truncate(path, 2_000_000) == 0)
    #expect(throws: SystemError.self) { try reader.next() }
  }

  @Test func aMailboxIsToldByItsStart() throws {
    for (text, isMailbox) in [(Self.from + "Subject: a\n", true), ("Subject: a\n", false), ("", false)] {
      let file = try open(text)
      #expect(MboxReader.isMailbox(file.number) == isMailbox)
    }
  }
}
