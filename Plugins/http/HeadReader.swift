/// Reads the heads of an answer, line by line as libcurl hands them over: informational ones, then that of the answer.
struct HeadReader {
  /// Bytes of all heads together, and of what follows a chunked body.
  static let limit = 64 << 10
  /// Informational answers before the one that counts.
  static let informationalLimit = 16

  private var bytes = 0
  private var informational = 0
  private var head: AnswerHead?
  /// The last field, whose value may go on in the next line.
  private var field: (name: String, value: [UInt8])?

  /// Takes one line with its end. Returns the head of the answer once it is complete.
  mutating func read(_ line: UnsafeRawBufferPointer) throws(MalformedAnswer) -> AnswerHead? {
    bytes += line.count
    guard bytes <= Self.limit else {
      throw MalformedAnswer("it has more than \(Self.limit) bytes of headers")
    }
    var line = line[...]
    if line.last == 0x0A { line = line.dropLast() }
    if line.last == 0x0D { line = line.dropLast() }
    guard line.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
      throw MalformedAnswer("a header has control characters")
    }
    guard head != nil else {
      head = AnswerHead(status: try Self.status(line))
      return nil
    }
    if let first = line.first, Self.isBlank(first) {
      try goOn(with: line)
      return nil
    }
    if let field { head?.add(field.name, field.value) }
    field = nil
    if line.isEmpty { return try endOfHead() }
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else {
      throw MalformedAnswer("a header has no name")
    }
    let name = line[..<colon]
    // A space before the colon has led to differing readings of the same answer (RFC 9112, section 5.1).
    guard !name.contains(0x20), !name.contains(0x09) else {
      throw MalformedAnswer("a header's name has spaces")
    }
    field = (String(decoding: name, as: UTF8.self).lowercased(), Self.trimmed(line[(colon + 1)...]))
    return nil
  }

  /// RFC 9112, section 5.2: a line that begins with a blank goes on with the value of the line before; the fold is a space.
  ///
  /// libcurl reads the length of the body from the first line alone, so a fold there would have two meanings.
  private mutating func goOn(with line: Slice<UnsafeRawBufferPointer>) throws(MalformedAnswer) {
    guard let folded = field else { throw MalformedAnswer("its first header begins with a space") }
    guard folded.name != "content-length", folded.name != "transfer-encoding" else {
      throw MalformedAnswer("\(folded.name) goes on in a second line")
    }
    let rest = Self.trimmed(line)
    let space: [UInt8] = folded.value.isEmpty || rest.isEmpty ? [] : [0x20]
    field = (folded.name, folded.value + space + rest)
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  private static func trimmed(_ text: Slice<UnsafeRawBufferPointer>) -> [UInt8] {
    let value = text.drop(while: isBlank)
    let end = value.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? value.startIndex
    return Array(value[value.startIndex..<end])
  }

  /// Takes a line that comes after a chunked body. None of them matters.
  mutating func skipTrailer(_ line: UnsafeRawBufferPointer) throws(MalformedAnswer) {
    bytes += line.count
    guard bytes <= Self.limit else {
      throw MalformedAnswer("it has more than \(Self.limit) bytes of headers and trailers")
    }
  }

  private mutating func endOfHead() throws(MalformedAnswer) -> AnswerHead? {
    guard let head, 100..<200 ~= head.status else { return head }
    guard head.status != 101 else {
      throw MalformedAnswer("it changes the protocol, which was not asked for")
    }
    informational += 1
    guard informational <= Self.informationalLimit else {
      throw MalformedAnswer("it has more than \(Self.informationalLimit) informational answers")
    }
    self.head = nil
    return nil
  }

  /// `HTTP/1.1 200 OK`, `HTTP/2 200 `.
  private static func status(_ line: Slice<UnsafeRawBufferPointer>) throws(MalformedAnswer) -> Int {
    let parts = line.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count >= 2, parts[0].starts(with: "HTTP/".utf8), parts[1].count == 3,
      parts[1].allSatisfy({ 0x30...0x39 ~= $0 })
    else { throw MalformedAnswer("it has no status") }
    let status = parts[1].reduce(0) { $0 * 10 + Int($1 - 0x30) }
    guard 100..<600 ~= status else { throw MalformedAnswer("its status is \(status)") }
    return status
  }
}
