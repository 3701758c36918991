import Bytes
import StageKit

/// The messages of a mailbox file, where a content is one: each becomes a content of its own.
struct Mbox {
  /// In the order of the file; without empty ones.
  private(set) var messages: [UnsafeRawBufferPointer] = []

  /// - Parameters:
  ///   - isDeclared: whether it is one even if it does not begin so: programs of mail read on to the first line that does.
  ///   - limit: messages that are looked for at most, so that a content of lines has no cost without bound.
  init(_ bytes: UnsafeRawBufferPointer, isDeclared: Bool, atMost limit: Int) {
    var start = MailStart(bytes).offset
    let begins = MboxSplitter.begins(UnsafeRawBufferPointer(rebasing: bytes[start...]))
    guard begins || isDeclared else { return }
    if !begins { start = MailStart.behindMailboxLine(in: bytes, from: start) }
    var splitter = MboxSplitter(from: begins ? nil : Int64(start))
    var lines = Lines(bytes, from: start)
    func add(_ range: Range<Int64>) {
      if !range.isEmpty {
        messages.append(
          UnsafeRawBufferPointer(rebasing: bytes[Int(range.lowerBound)..<Int(range.upperBound)]))
      }
    }
    while lines.next() != nil, messages.count < limit {
      let end = min(lines.position, bytes.count)
      let line = bytes[start..<end].prefix(MboxSplitter.looked + 1)
      if let range = splitter.take(UnsafeRawBufferPointer(rebasing: line), Int64(start)..<Int64(end)) {
        add(range)
      }
      start = end
    }
    if let range = splitter.finish(at: Int64(bytes.count)) { add(range) }
  }
}
