import Glibc

/// Gathers the head of a request up to its empty line.
///
/// The parser gets it whole, so that where a read ended makes no difference. What is checked here is how lines end, which
/// parsers of different servers see differently, and what smuggling lives on: only CR LF ends a line, and no line goes on with the
/// next (RFC 9112, 2.2 and 5.2).
struct HeadBuffer {
  private(set) var bytes: [UInt8] = []
  private let limits: RequestLimits
  private var lines = 0
  private var lineStart = 0
  private var hasSkipped = false

  init(_ limits: RequestLimits) { self.limits = limits }

  var isEmpty: Bool { bytes.isEmpty && !hasSkipped }

  /// - Returns: how many bytes it took, and whether the head is whole.
  mutating func take(_ more: UnsafeRawBufferPointer) throws(RequestFault) -> (taken: Int, isWhole: Bool) {
    var taken = 0
    while taken < more.count {
      let rest = UnsafeRawBufferPointer(rebasing: more[taken...])
      let end = Self.place(of: UInt8(ascii: "\n"), in: rest)
      let line = UnsafeRawBufferPointer(rebasing: rest[..<(end ?? rest.count)])
      try check(line)
      if end != nil && (line.last ?? bytes.last) != UInt8(ascii: "\r") {
        throw RequestFault(400, "a line ends with LF alone")
      }
      let count = end.map { $0 + 1 } ?? rest.count
      bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: rest[..<count]))
      taken += count
      if end != nil, try endLine() { return (taken, true) }
    }
    return (taken, false)
  }

  /// Looks for the first fault in what a line has, or goes on with, up to its LF: the same one, wherever a read ended.
  private func check(_ line: UnsafeRawBufferPointer) throws(RequestFault) {
    guard let byte = line.first else { return }
    if lines > 0 && bytes.count == lineStart && (byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")) {
      throw RequestFault(400, "a field of the header goes on in the next line")
    }
    // Where the bytes stand that make the other faults.
    let bare =
      bytes.last == UInt8(ascii: "\r") ? 0 : Self.place(of: UInt8(ascii: "\r"), in: line).map { $0 + 1 }
    let null = Self.place(of: 0, in: line)
    let isRequestLine = lines == 0 && limits.requestLine <= limits.head
    let long = max((isRequestLine ? limits.requestLine : limits.head) - bytes.count, 0)
    let first = min(bare ?? line.count, null ?? line.count, long)
    if first >= line.count { return }
    if first == bare { throw RequestFault(400, "a CR stands without LF") }
    if first == null { throw RequestFault(400, "the head of the request has a NUL") }
    if isRequestLine { throw RequestFault(414, "the request line has more than \(limits.requestLine) bytes") }
    throw RequestFault(431, "the head of the request has more than \(limits.head) bytes")
  }

  private static func place(of byte: UInt8, in bytes: UnsafeRawBufferPointer) -> Int? {
    guard let start = bytes.baseAddress, let found = memchr(start, Int32(byte), bytes.count) else {
      return nil
    }
    return UnsafeRawPointer(found) - start
  }

  /// Returns whether it was the empty line after the header.
  private mutating func endLine() throws(RequestFault) -> Bool {
    let isBlank = bytes.count - lineStart == 2
    if isBlank && lines > 0 { return true }
    if isBlank {
      // One empty line before a request is forgiven: old clients send one after a body (RFC 9112, 2.2).
      if hasSkipped { throw RequestFault(400, "there are empty lines before the request") }
      hasSkipped = true
      bytes.removeAll(keepingCapacity: true)
      return false
    }
    lines += 1
    lineStart = bytes.count
    if lines > limits.fields + 1 {
      throw RequestFault(431, "the header has more than \(limits.fields) fields")
    }
    return false
  }
}
