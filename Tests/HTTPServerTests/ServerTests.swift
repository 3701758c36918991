import Foundation
import Glibc
import HTTPServer
import Platform
import Testing

/// The server with real connections over loopback.
struct ServerTests {
  @Test func answersComeInOrderOverOneConnection() throws {
    let server = try RunningServer { exchange in exchange.answer(.text(200, exchange.head.target)) }
    let client = try server.connect()
    client.send(
      "GET /a HTTP/1.1\r\nHost: a\r\n\r\nHEAD /b HTTP/1.1\r\nHost: a\r\n\r\nGET /c HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    )
    let text = client.rest()
    #expect(text.components(separatedBy: "HTTP/1.1 200 OK\r\n").count == 4, "\(text)")
    #expect(text.contains("\r\n\r\n/aHTTP/1.1") && text.hasSuffix("Connection: close\r\n\r\n/c"), "\(text)")
    #expect(text.contains("Content-Length: 2\r\n") && !text.contains("\r\n\r\n/b"), "\(text)")
  }

  @Test func aBodyIsReadOnceItIsAskedFor() throws {
    let server = try RunningServer { exchange in
      Collector(exchange) { body in exchange.answer(.text(200, "\(body.count)")) }.start()
    }
    let client = try server.connect()
    let body = String(repeating: "x", count: 300_000)
    client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 300000\r\n\r\n")
    #expect(client.read(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
    client.send(body)
    #expect(client.read(until: "300000").hasPrefix("HTTP/1.1 200 OK"))
    client.send(
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\nGET / HTTP/1.0\r\n\r\n"
    )
    #expect(client.rest().hasSuffix("\r\n\r\n0"))
  }

  @Test func aClientIsInformedBeforeItsAnswerAndNotAfter() throws {
    let server = try RunningServer { exchange in
      exchange.inform(104, [("Location", "/x\r\nA: b")])
      Collector(exchange) { body in
        exchange.answer(.text(200, "\(body.count)"))
        exchange.inform(104, [])
      }.start()
    }
    let client = try server.connect()
    client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
    // No value ends its line, and nothing is said of a body or of the connection.
    let interim = "HTTP/1.1 104 Upload Resumption Supported\r\nLocation: /x  A: b\r\n\r\n"
    #expect(
      client.read(until: "Continue\r\n\r\n") == interim + "HTTP/1.1 100 Continue\r\n\r\n")
    client.send("ab")
    #expect(client.read(until: "\r\n\r\n2").hasPrefix("HTTP/1.1 200 OK"))
    client.send("POST / HTTP/1.0\r\nContent-Length: 1\r\n\r\na")
    let old = client.rest()
    #expect(old.hasPrefix("HTTP/1.1 200 OK") && old.hasSuffix("\r\n\r\n1"), "\(old)")
  }

  @Test func anEarlyAnswerIsReadByAClientThatStillSends() throws {
    let server = try RunningServer { exchange in exchange.answer(.text(413, "too large")) }
    for _ in 0..<100 {
      let client = try server.connect()
      client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 700000\r\n\r\n")
      client.send(String(repeating: "x", count: 700_000))
      #expect(client.rest().hasSuffix("too large"))
    }
  }

  @Test func framingThatIsWrongIsAnsweredAndTheConnectionClosed() throws {
    let server = try RunningServer { exchange in exchange.answer(.text(200, "fine")) }
    let client = try server.connect()
    client.send(
      "GET / HTTP/1.1\r\nHost: a\r\n\r\nPOST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nGET /c HTTP/1.1\r\nHost: a\r\n\r\n"
    )
    let text = client.rest()
    #expect(
      text.contains("fineHTTP/1.1 400 Bad Request\r\n") && !text.contains("fineHTTP/1.1 200"), "\(text)")
    // Within a body that is read.
    let reading = try RunningServer { exchange in
      Collector(exchange) { _ in exchange.answer(.text(200, "whole")) }.start()
    }
    let other = try reading.connect()
    other.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nx\r\n")
    #expect(other.rest().hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
  }

  @Test func aFileIsSentAndOneThatIsTooShortCutsTheConnection() throws {
    let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    let path = NSTemporaryDirectory() + "sluice-http-\(UUID().uuidString)"
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    defer { unlink(path) }
    let file = SharedDescriptor(try Descriptor.open(path, O_RDONLY))
    let server = try RunningServer { exchange in
      let range: Range<Int64> = exchange.head.target == "/long" ? 0..<4_000_000 : 5..<2_999_999
      exchange.answer(Response(200, [], .file(file, range)))
    }
    let client = try server.connect()
    client.send("GET / HTTP/1.0\r\n\r\n")
    let got = client.restBytes()
    #expect(Array(got.suffix(2_999_994)) == Array(bytes[5..<2_999_999]))
    let cut = try server.connect()
    cut.send("GET /long HTTP/1.1\r\nHost: a\r\n\r\n")
    let less = cut.restBytes()
    #expect(less.count > 3_000_000 && less.count < 3_001_000)
  }

  @Test func aStreamIsSentAsItComesAndItsEndIsMarked() throws {
    let server = try RunningServer { exchange in
      exchange.answer(Response(200, [], .stream))
      exchange.send(Array("one".utf8))
      exchange.send(Array("three".utf8))
      exchange.finish()
    }
    let client = try server.connect()
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(client.read(until: "0\r\n\r\n").hasSuffix("\r\n\r\n3\r\none\r\n5\r\nthree\r\n0\r\n\r\n"))
    client.send("GET / HTTP/1.0\r\n\r\n")
    #expect(client.rest().hasSuffix("\r\n\r\nonethree"))
  }

  @Test func aReaderThatTakesNothingIsClosedAndOneThatLeavesIsNoticed() throws {
    var limits = ServerLimits()
    limits.streamBacklog = 10_000
    let server = try RunningServer(limits) { exchange in
      exchange.answer(Response(200, [], .stream))
      if exchange.head.target == "/much" {
        for _ in 0..<2000 where exchange.send([UInt8](repeating: 1, count: 10_000)) {}
      }
    }
    let slow = try server.connect()
    slow.send("GET /much HTTP/1.1\r\nHost: a\r\n\r\n")
    try server.waitFor { $0.ended == 1 }
    let client = try server.connect()
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(client.read(until: "chunked\r\n\r\n").hasPrefix("HTTP/1.1 200"))
    client.close()
    try server.waitFor { $0.ended == 2 && $0.connections == 0 }
  }

  @Test func whoeverIsTooSlowIsSentAway() throws {
    var limits = ServerLimits()
    (limits.headTime, limits.idleTime, limits.bodyTime) = (1000, 1000, 1000)
    let server = try RunningServer(limits) { exchange in
      Collector(exchange) { _ in exchange.answer(.text(200, "whole")) }.start()
    }
    let head = try server.connect()
    let idle = try server.connect()
    let body = try server.connect()
    head.send("GET / HTTP/1.1\r\nHo")
    body.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\nhello")
    #expect(head.rest().hasPrefix("HTTP/1.1 408 Request Timeout\r\n"))
    #expect(idle.rest().isEmpty)
    #expect(body.rest().hasPrefix("HTTP/1.1 408 Request Timeout\r\n"))
    try server.waitFor { $0.ended == 1 && $0.cut == 1 }
  }

  /// As slow as a line may be: what it takes must be seen before the deadline, however much the kernel has room for.
  @Test func whoReadsSlowlyGetsItsAnswerAndWhoReadsNothingDoesNot() throws {
    let size = 8_000_000
    let path = NSTemporaryDirectory() + "sluice-http-\(UUID().uuidString)"
    try Data(count: size).write(to: URL(fileURLWithPath: path))
    defer { unlink(path) }
    let file = SharedDescriptor(try Descriptor.open(path, O_RDONLY))
    var limits = ServerLimits()
    limits.writeTime = 1000
    let server = try RunningServer(limits) { exchange in
      exchange.answer(Response(200, [], .file(file, 0..<Int64(size))))
    }
    let (slow, none) = (try server.connect(), try server.connect())
    for client in [slow, none] { client.send("GET / HTTP/1.0\r\n\r\n") }
    var count = 0
    for _ in 0..<50 {
      usleep(100_000)
      count += slow.read(atMost: 20_000)
    }
    #expect(count + slow.restBytes().count > size)
    #expect(none.restBytes().count < size)
    try server.waitFor { $0.connections == 0 }
  }

  /// Who sends on after an answer that came early gets the answer, and is not listened to for ever.
  @Test func afterAnEarlyAnswerSoMuchIsReadForSoLong() throws {
    var limits = ServerLimits()
    (limits.lingerTime, limits.lingerBytes) = (1000, 100_000)
    let server = try RunningServer(limits) { exchange in exchange.answer(.text(413, "too large")) }
    let (silent, loud) = (try server.connect(), try server.connect())
    for client in [silent, loud] {
      client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 700000\r\n\r\n")
      #expect(client.read(until: "too large").hasPrefix("HTTP/1.1 413"))
    }
    try server.waitFor { $0.connections == 2 }
    loud.send(String(repeating: "x", count: 100_001))
    try server.waitFor { $0.connections == 1 }
    try server.waitFor { $0.connections == 0 }
  }

  /// As nginx does: it writes as long as the server takes something.
  @Test func whoSendsAllBeforeReadingGetsTheEarlyAnswer() throws {
    let server = try RunningServer(ServerLimits()) { exchange in exchange.answer(.text(413, "too large")) }
    let size = 20 << 20
    for _ in 0..<5 {
      let client = try server.connect()
      client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(2 * size)\r\n\r\n")
      client.send(String(repeating: "x", count: size))
      #expect(client.read(until: "too large").hasPrefix("HTTP/1.1 413"))
    }
    try server.waitFor { $0.connections == 0 }
  }

  @Test func whoFallsSilentAfterAnEarlyAnswerIsLeft() throws {
    var limits = ServerLimits()
    limits.lingerSilence = 500
    let server = try RunningServer(limits) { exchange in exchange.answer(.text(413, "too large")) }
    let client = try server.connect()
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 700000\r\n\r\nx")
    #expect(client.read(until: "too large").hasPrefix("HTTP/1.1 413"))
    try server.waitFor { $0.connections == 0 }
  }

  @Test func oneAddressHasSoManyConnections() throws {
    var limits = ServerLimits()
    limits.perAddress = 2
    let server = try RunningServer(limits) { exchange in exchange.answer(.text(200, "fine")) }
    let first = try server.connect()
    let second = try server.connect()
    let third = try server.connect()
    let refusal = third.rest()
    #expect(refusal.hasPrefix("HTTP/1.1 503 Service Unavailable\r\n"))
    #expect(refusal.contains("\r\nContent-Type: application/problem+json\r\n"), "\(refusal)")
    let body = try #require(refusal.range(of: "\r\n\r\n")).upperBound
    #expect(refusal.contains("\r\nContent-Length: \(refusal[body...].utf8.count)\r\n"), "\(refusal)")
    let problem = try JSONSerialization.jsonObject(with: Data(refusal[body...].utf8)) as? [String: Any]
    #expect(problem?["status"] as? Int == 503 && problem?["code"] as? String == "too-many-connections")
    first.close()
    try server.waitFor { $0.connections == 1 }
    let fourth = try server.connect()
    for client in [second, fourth] {
      client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(client.read(until: "fine").hasPrefix("HTTP/1.1 200"))
    }
  }

  @Test func addressesAreReadAndOthersAreNone() {
    #expect(ListenAddress("127.0.0.1:8080") == .tcp(host: "127.0.0.1", port: 8080))
    #expect(ListenAddress("localhost:0") == .tcp(host: "127.0.0.1", port: 0))
    #expect(ListenAddress("[::1]:80") == .tcp(host: "::1", port: 80))
    #expect(ListenAddress("unix:/run/a.sock") == .unix(path: "/run/a.sock"))
    #expect(ListenAddress("systemd") == .systemd)
    for bad in [
      "", "8080", ":8080", "a:80", "127.0.0.1", "127.0.0.1:65536", "::1:80", "[::1]", "unix:a", "1.2.3.4:-1",
    ] {
      #expect(ListenAddress(bad) == nil, "\(bad)")
    }
    #expect(HTTPDate.text(784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
  }
}
