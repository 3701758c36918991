import ClamdServer
import Testing

/// Commands and contents, whole and in pieces.
struct ClamdParserTests {
  /// What a text comes to, read so many bytes at a time. A content is joined.
  private static func read(_ bytes: [UInt8], by size: Int) throws -> [String] {
    var parser = ClamdParser()
    var heard: [String] = []
    var content: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: size) {
      let piece = Array(bytes[start..<min(start + size, bytes.count)])
      var taken = 0
      while taken < piece.count {
        let (count, event) = try piece.withUnsafeBytes { buffer in
          let (count, event) = try parser.take(UnsafeRawBufferPointer(rebasing: buffer[taken...]))
          switch event {
          case .command(let command):
            heard.append("\(command.verb?.rawValue ?? "?")(\(command.argument))\(command.terminator)")
            if command.verb == .inStream { parser.expectContent() }
          case .content(let bytes): content += bytes
          case .end:
            heard.append(String(decoding: content, as: UTF8.self))
            content = []
          case nil: break
          }
          return (count, event)
        }
        #expect(count > 0 || event != nil, "it goes on")
        taken += count
      }
    }
    return heard
  }

  @Test(arguments: [1, 2, 3, 7, 1000])
  func pieces(size: Int) throws {
    let text =
      Array("zIDSESSION\0zINSTREAM\0".utf8) + [0, 0, 0, 3] + Array("abc".utf8) + [0, 0, 0, 2]
      + Array("de".utf8)
      + [0, 0, 0, 0] + Array("nPING\nPING\r\nzSCAN /a\nb:c\0END x\n".utf8)
    #expect(
      try Self.read(text, by: size) == [
        "IDSESSION()0", "INSTREAM()0", "abcde", "PING()10", "PING()10", "SCAN(/a?b?c)0", "?(x)10",
      ])
  }

  @Test func aCommandWithoutAnEndIsRefused() {
    let text = [UInt8](repeating: UInt8(ascii: "A"), count: ClamdParser.longestCommand + 1)
    #expect(throws: ClamdFault()) { try Self.read(text, by: 100) }
  }

  @Test func theLastCommandNeedsNoEnd() {
    var parser = ClamdParser()
    let taken = try? Array("PING".utf8).withUnsafeBytes { bytes throws(ClamdFault) in
      try parser.take(bytes).taken
    }
    #expect(taken == 4)
    #expect(parser.end()?.verb == .ping)
    #expect(parser.end() == nil)
  }
}
