import HTTPServer
import Testing

/// What is read of a connection, and what is refused.
struct RequestParserTests {
  /// What came of some bytes: the requests, each with its body, and the fault that ended it.
  private struct Reading: Equatable {
    var heads: [RequestHead] = []
    var bodies: [[UInt8]] = []
    var isWhole = true
    var fault: RequestFault?
  }

  /// Hands over bytes in pieces of this size.
  private func read(_ bytes: [UInt8], by size: Int, _ limits: RequestLimits = RequestLimits()) -> Reading {
    let parser = RequestParser(limits)
    var reading = Reading()
    var isInBody = false
    do throws(RequestFault) {
      for start in stride(from: 0, to: bytes.count, by: size) {
        let piece = Array(bytes[start..<min(start + size, bytes.count)])
        var rest = piece[...]
        while !rest.isEmpty {
          if isInBody {
            var content: [UInt8] = []
            let (taken, isWhole) = try take(rest) { bytes throws(RequestFault) in
              try parser.takeBody(bytes) { content += $0 }
            }
            reading.bodies[reading.bodies.count - 1] += content
            rest = rest.dropFirst(taken)
            isInBody = !isWhole
          } else {
            let (taken, head) = try take(rest) { bytes throws(RequestFault) in try parser.takeHead(bytes) }
            rest = rest.dropFirst(taken)
            guard let head else { continue }
            reading.heads.append(head)
            reading.bodies.append([])
            isInBody = head.framing != .none
          }
        }
      }
    } catch {
      reading.fault = error
    }
    reading.isWhole = parser.isIdle && reading.fault == nil
    return reading
  }

  private func take<Value>(
    _ bytes: ArraySlice<UInt8>, _ body: (UnsafeRawBufferPointer) throws(RequestFault) -> Value
  ) throws(RequestFault) -> Value {
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(RequestFault) in try body(bytes) }
    }
    return try result.get()
  }

  private func read(_ text: String) -> Reading { read(Array(text.utf8), by: .max / 2) }

  // MARK: What is understood

  @Test func aRequestIsReadWithItsFields() throws {
    let reading = read(
      "GET /v1/a?b=c%20d HTTP/1.1\r\nHost: a:80\r\nX-Two:  x \r\nx-two:\ty\r\nEmpty:\r\nA: \u{E9}\r\n\r\n")
    #expect(reading.fault == nil && reading.isWhole)
    let head = try #require(reading.heads.first)
    #expect(head.method == "GET" && head.target == "/v1/a?b=c%20d" && head.host == "a:80")
    #expect(head.minorVersion == 1 && head.keepsAlive && head.framing == .none && !head.expectsContinue)
    #expect(head.values("x-two") == ["x", "y"] && head.value("x-two") == nil)
    #expect(head.value("empty")?.isEmpty == true && head.value("a") == "é" && head.value("b") == nil)
    #expect(head.raw.starts(with: "GET /v1/a?b=c%20d HTTP/1.1\r\nHost:".utf8))
  }

  @Test(arguments: [
    ("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", false),
    ("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, CLOSE\r\n\r\n", false),
    ("GET / HTTP/1.0\r\n\r\n", false), ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true),
    ("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n", true),
  ])
  func aConnectionIsKeptWhereBothWantIt(text: String, keeps: Bool) throws {
    #expect(try #require(read(text).heads.first).keepsAlive == keeps)
  }

  @Test func requestsFollowEachOther() {
    let reading = read(
      "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello\r\n"
        + "PATCH /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        + "5;x=\"y\"\r\nhello\r\n006\r\n world\r\n0\r\nTrailer: x\r\n\r\n"
        + "DELETE /c HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\nOPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(reading.fault == nil && reading.isWhole)
    #expect(reading.heads.map(\.method) == ["POST", "PATCH", "DELETE", "OPTIONS"])
    #expect(reading.heads.map(\.target) == ["/a", "/b", "/c", "*"])
    #expect(reading.bodies.map { String(decoding: $0, as: UTF8.self) } == ["hello", "hello world", "", ""])
    #expect(reading.heads[1].value("trailer") == nil)
  }

  @Test func whatIsNotWholeIsWaitedFor() {
    for text in [
      "G", "GET / HTTP/1.1\r\nHost: a\r\n", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n12345678",
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", "\r\n",
    ] {
      let reading = read(text)
      #expect(!reading.isWhole && reading.fault == nil, "\(text)")
    }
  }

  // MARK: What is refused

  /// A head with Host, and these lines.
  private static func post(_ lines: String, _ body: String = "", version: String = "1.1") -> String {
    "POST /x HTTP/\(version)\r\nHost: a\r\n\(lines)\r\n\(body)"
  }

  /// Requests, and the status of the answer.
  private static let refused: [(String, Int)] = [
    // Two lengths, or one that two servers read in two ways.
    (post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400),
    (post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"), 400),
    (post("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"), 400),
    (post("Content-Length: 5\r\nContent-Length: 6\r\n", "hello"), 400),
    (post("Content-Length: 5, 5\r\n", "hello"), 400), (post("Content-Length: +5\r\n", "hello"), 400),
    (post("Content-Length: -1\r\n"), 400), (post("Content-Length: 3abc\r\n", "hello"), 400),
    (post("Content-Length: 0x5\r\n", "hello"), 400), (post("Content-Length:\r\n"), 400),
    (post("Content-Length: 5 5\r\n", "hello"), 400),
    (post("Content-Length: 99999999999999999999\r\n"), 400),
    (post("Content-Length: 9999999999999999999\r\n"), 400),
    (post("Content-Length : 5\r\n", "hello"), 400),
    (post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"), 400),
    // Codings.
    (post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"), 501),
    (post("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"), 501),
    (post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 501),
    (post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 501),
    (post("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400),
    (post("Transfer-Encoding: \u{0B}chunked\r\n", "0\r\n\r\n"), 400),
    (post("Transfer-Encoding:\r\n", "0\r\n\r\n"), 501),
    (post("Transfer-Encoding: chunked\r\n", "0\r\n\r\n", version: "1.0"), 400),
    // Chunks.
    (post("Transfer-Encoding: chunked\r\n", "-1\r\n"), 400),
    (post("Transfer-Encoding: chunked\r\n", "+1\r\na"), 400),
    (post("Transfer-Encoding: chunked\r\n", "0x1\r\na"), 400),
    (post("Transfer-Encoding: chunked\r\n", "1 \na"), 400),
    (post("Transfer-Encoding: chunked\r\n", "1\na\r\n"), 400),
    (post("Transfer-Encoding: chunked\r\n", "1\r\nab\r\n"), 400),
    (post("Transfer-Encoding: chunked\r\n", "fffffffffffffffff\r\n"), 400),
    (post("Transfer-Encoding: chunked\r\n", "\r\n"), 400),
    // What follows the last chunk.
    (post("Transfer-Encoding: chunked\r\n", "0\r\n\n"), 400),
    (post("Transfer-Encoding: chunked\r\n", "0\r\nX: a\n\r\n"), 400),
    (post("Transfer-Encoding: chunked\r\n", "0\r\nX: a\r\n\n"), 400),
    (post("Transfer-Encoding: chunked\r\n", "0\r\nX: a\rb\r\n\r\n"), 400),
    (post("Transfer-Encoding: chunked\r\n", "0\r\nX: a\r\n b\r\n\r\n"), 400),
    (post("Transfer-Encoding: chunked\r\n", "0\r\n X: a\r\n\r\n"), 400),
    (post("Transfer-Encoding: chunked\r\n", "0\r\nX : a\r\n\r\n"), 400),
    (post("Transfer-Encoding: chunked\r\n", "0\r\n: a\r\n\r\n"), 400),
    (post("Transfer-Encoding: chunked\r\n", "0\r\nX\r\n\r\n"), 400),
    (post("Transfer-Encoding: chunked\r\n", "0\r\nX: \u{0}\r\n\r\n"), 400),
    (post("Transfer-Encoding: chunked\r\n", "0\r\n\rx"), 400),
    // Hosts.
    ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost:\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: b@a\r\n\r\n", 400),
    ("GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    // Lines and characters.
    ("GET / HTTP/1.1\nHost: a\n\n", 400), ("GET / HTTP/1.1\r\nHost: a\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: a\u{0}b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX:\r\n\tb\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX Y: b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: \u{1}\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: \u{7F}\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX\u{E9}: b\r\n\r\n", 400),
    ("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    // Request lines.
    ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 505), (" GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET /\u{E9} HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET /#a HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505), ("GET / HTTP/1.9\r\nHost: a\r\n\r\n", 505),
    ("GET / HTTP/0.9\r\nHost: a\r\n\r\n", 505), ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    ("GET / HTTP/11\r\nHost: a\r\n\r\n", 505), ("GET / http/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET /\r\n\r\n", 505),
    ("BREW / HTTP/1.1\r\nHost: a\r\n\r\n", 501), ("get / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", 501), ("HTTP/1.1 200 OK\r\n\r\n", 400),
    ("\u{16}\u{3}\u{1}\u{2}\r\n\r\n", 400),
    // Expectations.
    (post("Expect: 200-ok\r\nContent-Length: 1\r\n"), 417),
    (post("Expect: 100-continue\r\nExpect: 100-continue\r\nContent-Length: 1\r\n"), 417),
  ]

  @Test(arguments: refused)
  func whatTwoServersMayReadInTwoWaysIsRefused(text: String, status: Int) {
    let bytes = Array(text.utf8)
    let whole = read(bytes, by: bytes.count)
    #expect(whole.fault?.status == status, "\(text.debugDescription): \(whole)")
    for size in 1..<bytes.count {
      let split = read(bytes, by: size)
      #expect(split.fault == whole.fault && split.heads == whole.heads, "\(text.debugDescription) by \(size)")
    }
  }

  @Test func whereAReadEndsMakesNoDifference() {
    let bytes = Array(
      ("\r\nPOST /a HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nX:  y \r\nContent-Length: 0005\r\n\r\nhello"
        + "PUT /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n5;x=1\r\nhello\r\nA\r\n0123456789\r\n0\r\nT: x\r\nU:\tÿ\r\nV:\r\n\r\n"
        + "HEAD / HTTP/1.0\r\n\r\n").utf8)
    let whole = read(bytes, by: bytes.count)
    #expect(whole.heads.count == 3 && whole.isWhole && whole.heads.first?.expectsContinue == true)
    for size in 1..<bytes.count {
      #expect(read(bytes, by: size) == whole, "\(size)")
    }
  }

  /// Bytes that are no UTF-8 become three each.
  @Test func aFieldIsNoLongerAsTextThanAHeadMayBe() throws {
    for (count, status) in [(10_000, nil), (11_000, 431)] {
      let head = "GET / HTTP/1.1\r\nHost: a\r\nX: "
      let bytes = Array(head.utf8) + [UInt8](repeating: 0xFF, count: count) + Array("\r\n\r\n".utf8)
      let reading = read(bytes, by: bytes.count)
      #expect(reading.fault?.status == status)
      #expect(reading.heads.first?.pairs { $1.utf8.count <= 32 << 10 }.allSatisfy { $0 } ?? (status != nil))
    }
  }

  @Test func whatIsTooLongIsRefusedBeforeItEnds() {
    var limits = RequestLimits()
    (limits.requestLine, limits.head, limits.fields) = (100, 300, 5)
    (limits.chunkExtension, limits.trailers) = (10, 20)
    let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    for (text, status) in [
      ("GET /" + String(repeating: "a", count: 200), 414),
      // Of two faults the first counts, wherever reads end.
      ("GET /" + String(repeating: "a", count: 96) + "\0" + String(repeating: "a", count: 100), 414),
      ("GET /" + String(repeating: "a", count: 95) + "\0" + String(repeating: "a", count: 100), 400),
      ("GET /" + String(repeating: "a", count: 95) + "\r" + String(repeating: "a", count: 100), 414),
      ("GET /" + String(repeating: "a", count: 94) + "\r" + String(repeating: "a", count: 100), 400),
      ("GET / HTTP/1.1\r\nX: " + String(repeating: "a", count: 400), 431),
      ("GET / HTTP/1.1\r\n" + String(repeating: "X: a\r\n", count: 6), 431),
      (chunked + "1;" + String(repeating: "a", count: 11), 400),
      (chunked + "1\r\na\r\n0\r\nX: " + String(repeating: "a", count: 30), 431),
    ] {
      for size in [1, 7, 1000] {
        #expect(read(Array(text.utf8), by: size, limits).fault?.status == status, "\(text) by \(size)")
      }
    }
    // The extensions of several chunks count for each alone.
    let many = chunked + String(repeating: "1;abcdef\r\na\r\n", count: 5) + "0\r\n\r\n"
    #expect(read(Array(many.utf8), by: 3, limits).isWhole)
  }
}
