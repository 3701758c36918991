import Glibc

/// The lines of some bytes, without the newline that ends them.
struct Lines: Sequence, IteratorProtocol {
  private let bytes: UnsafeRawBufferPointer
  /// Where the next line begins.
  private(set) var position: Int

  init(_ bytes: UnsafeRawBufferPointer, from position: Int = 0) {
    self.bytes = bytes
    self.position = position
  }

  mutating func next() -> Slice<UnsafeRawBufferPointer>? {
    guard position < bytes.count, let base = bytes.baseAddress else { return nil }
    let start = position
    let newline = memchr(base + start, 0x0A, bytes.count - start)
    let end = newline.map { base.distance(to: UnsafeRawPointer($0)) } ?? bytes.count
    position = end + 1
    return bytes[start..<end]
  }
}

/// The line between two parts (RFC 2046, section 5.1.1).
enum Boundary {
  static func trimmed(_ line: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
    var line = line
    while let last = line.last, last == 0x20 || last == 0x09 || last == 0x0D { line = line.dropLast() }
    return line
  }

  /// Where a part ends that begins at `start`: before the newline that belongs to the next line with one of these boundaries.
  static func end(of bytes: UnsafeRawBufferPointer, from start: Int, _ boundaries: [[UInt8]]) -> Int {
    var lines = Lines(bytes, from: start)
    var begin = start
    while let line = lines.next() {
      if line.starts(with: [0x2D, 0x2D]), separates(trimmed(line.dropFirst(2)), boundaries) {
        var end = begin
        if end > start, bytes[end - 1] == 0x0A { end -= 1 }
        if end > start, bytes[end - 1] == 0x0D { end -= 1 }
        return end
      }
      begin = lines.position
    }
    return bytes.count
  }

  private static func separates(_ line: Slice<UnsafeRawBufferPointer>, _ boundaries: [[UInt8]]) -> Bool {
    boundaries.contains { boundary in
      line.starts(with: boundary)
        && (line.count == boundary.count
          || line.count == boundary.count + 2 && line.dropFirst(boundary.count).elementsEqual([0x2D, 0x2D]))
    }
  }
}
