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
    var begin = 0
    var isAfterCR = bytes.last == UInt8(ascii: "\r")
    // Bytes of the head with the one that is looked at.
    var count = bytes.count
    for index in 0..<more.count {
      let byte = more[index]
      count += 1
      if byte == UInt8(ascii: "\n") {
        if !isAfterCR { throw RequestFault(400, "a line ends with LF alone") }
        bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: more[begin...index]))
        begin = index + 1
        if try endLine() { return (begin, true) }
        (isAfterCR, count) = (false, bytes.count)
        continue
      }
      if isAfterCR { throw RequestFault(400, "a CR stands without LF") }
      isAfterCR = byte == UInt8(ascii: "\r")
      if byte == 0 { throw RequestFault(400, "the head of the request has a NUL") }
      if lines > 0 && count == lineStart + 1 && (byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")) {
        throw RequestFault(400, "a field of the header goes on in the next line")
      }
      if lines == 0 && count > limits.requestLine {
        throw RequestFault(414, "the request line has more than \(limits.requestLine) bytes")
      }
      if count > limits.head {
        throw RequestFault(431, "the head of the request has more than \(limits.head) bytes")
      }
    }
    bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: more[begin...]))
    return (more.count, false)
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
