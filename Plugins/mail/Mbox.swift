import Bytes
import StageKit

/// The messages of a mailbox file, where a content is one: each becomes a content of its own.
struct Mbox {
  /// In the order of the file; without empty ones.
  private(set) var messages: [UnsafeRawBufferPointer] = []

  /// - Parameter limit: messages that are looked for at most, so that a content of lines has no cost without bound.
  init(_ bytes: UnsafeRawBufferPointer, atMost limit: Int) {
    guard MboxSplitter.begins(bytes) else { return }
    var splitter = MboxSplitter()
    var lines = Lines(bytes)
    var start = 0
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
