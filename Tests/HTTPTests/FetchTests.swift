import Foundation
import Outbound
import Testing
import Wire

/// Good answers, through a real worker in its sandbox.
@Suite(.serialized)
struct FetchTests {
  @Test(arguments: [0, 1, 100, 64 << 10, (64 << 10) + 1, 5 << 20])
  func contentOfAnyLengthComesWhole(count: Int) throws {
    let content = sample(count)
    let server = try Server { _, exchange in exchange.answer(200, ["ETag: \"a\""], content) }
    let worker = try SourceWorker()
    let fetched = try worker.fetch(server.url("/file"))
    #expect(fetched.summary == "pass", "\(fetched.message)")
    #expect(fetched.holds(content))
    #expect(fetched.received.last == Int64(count))
    let request = try #require(server.requests.first)
    #expect(request.line == "GET /file HTTP/1.1")
    #expect(request.headers["accept-encoding"] == "identity")
    #expect(request.headers["cookie"] == nil && request.headers["range"] == nil)
  }

  @Test func aChunkedAnswerComesWhole() throws {
    let content = sample(300_000)
    let server = try Server { _, exchange in
      exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      for start in stride(from: 0, to: content.count, by: 70_000) {
        let piece = content[start..<min(start + 70_000, content.count)]
        exchange.send("\(String(piece.count, radix: 16))\r\n")
        exchange.send(piece)
        exchange.send("\r\n")
      }
      exchange.send("0\r\nX-Trailer: y\r\n\r\n")
    }
    let fetched = try SourceWorker().fetch(server.url("/"))
    #expect(fetched.summary == "pass", "\(fetched.message)")
    #expect(fetched.holds(content))
  }

  @Test func anAnswerThatEndsWithItsConnectionComesWhole() throws {
    let content = sample(200_000)
    let server = try Server { _, exchange in
      exchange.send("HTTP/1.0 200 OK\r\n\r\n")
      exchange.send(content)
      exchange.close()
    }
    #expect(try SourceWorker().fetch(server.url("/")).holds(content))
  }

  @Test func whatLaysInTheFileBeforeIsTakenAway() throws {
    let content = sample(1000)
    let server = try Server { _, exchange in exchange.answer(200, [], content) }
    let fetched = try SourceWorker().fetch(server.url("/"), content: sample(5000, seed: 9))
    #expect(fetched.summary == "pass")
    #expect(fetched.holds(content))
  }

  /// HTTP/1.1 numbers no answers, so that one too many would be taken for the next link's.
  @Test func anAnswerThatNobodyAskedForIsNoOtherLinks() throws {
    let server = try Server { request, exchange in
      exchange.answer(200, [], Array(request.path.utf8))
      if request.path == "/twice" {
        usleep(100_000)
        exchange.answer(200, [], Array("/wrong".utf8))
      }
    }
    var options = SourceWorker.Options()
    options.reusesConnections = false
    let worker = try SourceWorker(options)
    for path in ["/twice", "/a", "/twice", "/b"] {
      #expect(try worker.fetch(server.url(path)).holds(Array(path.utf8)))
    }
    #expect(server.connections == 4)
  }

  /// What is left of it would be taken for the head of the next answer on its connection.
  @Test func anAnswerThatIsLongerThanItSaysCostsNoOtherLink() throws {
    let server = try Server { request, exchange in
      exchange.answer(200, [], Array(request.path.utf8))
      guard request.path == "/long" else { return }
      usleep(50_000)
      exchange.send("and more than was said\r\n")
    }
    let worker = try SourceWorker()
    for path in ["/long", "/a", "/b"] {
      let fetched = try worker.fetch(server.url(path))
      #expect(fetched.holds(Array(path.utf8)), "\(fetched.summary) \(fetched.message)")
    }
    #expect(server.connections == 2)
  }

  @Test func connectionsAreUsedAgain() throws {
    let server = try Server { _, exchange in exchange.answer(200, [], sample(1000)) }
    let worker = try SourceWorker()
    for _ in 0..<10 { #expect(try worker.fetch(server.url("/")).summary == "pass") }
    #expect(server.connections == 1)
  }

  @Test func theServersNameAndTypeAreToldCleaned() throws {
    let server = try Server { _, exchange in
      exchange.answer(
        200,
        [
          "Content-Disposition: attachment; filename=\"plain.pdf\"; filename*=UTF-8''..%2Fr%C3%A9sum%C3%A9%0A.pdf",
          "Content-Type: application/pdf; x=\(String(repeating: "y", count: 400))",
        ], sample(10))
    }
    let fetched = try SourceWorker().fetch(server.url("/"))
    #expect(fetched.metadata["fileName"] == ".._résumé.pdf")
    #expect(fetched.metadata["contentType"]?.hasPrefix("application/pdf; x=yyy") == true)
    #expect(fetched.metadata["contentType"]?.utf8.count == 255)
  }

  /// RFC 9112, section 5.2.
  @Test func aFoldInAHeaderIsASpace() throws {
    let server = try Server { _, exchange in
      exchange.send(
        "HTTP/1.1 200 OK\r\nX-A: a\r\n Content-Length: 3\r\nContent-Length: 5\r\nContent-Type:\r\n\ttext/plain;\r\n  x=y \r\n"
          + "Content-Disposition: attachment;\r\n\t \r\n filename=\"a\r\n b.pdf\"\r\n\r\nhello")
      exchange.close()
    }
    let fetched = try SourceWorker().fetch(server.url("/"))
    #expect(fetched.summary == "pass" && fetched.holds(Array("hello".utf8)), "\(fetched.message)")
    #expect(fetched.metadata["contentType"] == "text/plain; x=y")
    #expect(fetched.metadata["fileName"] == "a b.pdf")
  }

  /// As `curl -O` does; a segment without an extension may be a secret.
  @Test(
    arguments: [
      ("/a/r%C3%A9sum%C3%A9.pdf?x=/y.txt#z.gif", "r\u{E9}sum\u{E9}.pdf"),
      ("/a\u{F6}/\u{F6}.tar.gz", "\u{F6}.tar.gz"),
      ("/a%2Fb%0A.pdf", "a_b.pdf"), ("/%2e%2e/x.JPEG", "x.JPEG"), ("/moved/x.txt", "x.txt"),
      ("/", nil), ("/hidden", nil), ("/a.pdf/", nil), ("/.pdf", nil), ("/a.", nil), ("/a.extension42", nil),
      ("/a.p%66", "a.pf"),
      ("/a.p%0%.pdf", nil),
    ] as [(String, String?)])
  func withoutAServersNameTheLinkNamesTheFile(path: String, name: String?) throws {
    let server = try Server { request, exchange in
      if request.path.hasPrefix("/moved/") { return exchange.answer(302, "Location: /other.bin") }
      exchange.answer(200, [], Array(request.path.utf8))
    }
    let fetched = try SourceWorker().fetch(server.url(path))
    #expect(fetched.summary == "pass", "\(fetched.message)")
    #expect(fetched.metadata["fileName"] == name)
  }

  @Test func lettersBeyondASCIIAreSentAsTheirBytes() throws {
    let server = try Server { request, exchange in exchange.answer(200, [], Array(request.path.utf8)) }
    let fetched = try SourceWorker().fetch(server.url("/a\u{F6}?q=\u{20AC}%20"))
    #expect(fetched.holds(Array("/a%C3%B6?q=%E2%82%AC%20".utf8)), "\(fetched.summary) \(fetched.message)")
  }

  @Test(arguments: [
    ("http://m\u{FC}nchen.example/\u{F6}", "xn--mnchen-3ya.example", "http://xn--mnchen-3ya.example/%C3%B6"),
    ("http://M\u{DC}NCHEN.example:81/", "xn--mnchen-3ya.example", "http://xn--mnchen-3ya.example:81/"),
    ("http://m%C3%BCnchen.example/", "xn--mnchen-3ya.example", "http://xn--mnchen-3ya.example/"),
    // The address policy sees what is connected to.
    ("http://\u{FF11}27.0.0.\u{FF11}/", "127.0.0.1", "http://127.0.0.1/"),
  ])
  func aNameWithOtherLettersIsAskedByItsASCIIForm(link: String, host: String, text: String) throws {
    let link = try WebURL(link)
    #expect(link.host == host && link.text == text)
  }

  @Test func aPostSendsItsBody() throws {
    let server = try Server { request, exchange in
      exchange.answer(200, [], request.method == "POST" ? request.body.reversed() : [])
    }
    let fetched = try SourceWorker().fetch(server.url("/")) {
      $0.method = "POST"
      $0.body = Array("stressed".utf8)
    }
    #expect(fetched.holds(Array("desserts".utf8)))
  }

  @Test func manyAtOnceAllComeWholeInBoundedMemory() throws {
    let content = sample(2_000_000)
    let server = try Server { _, exchange in exchange.answer(200, ["ETag: \"a\""], content) }
    var options = SourceWorker.Options()
    (options.connections, options.perHost) = (50, 50)
    let worker = try SourceWorker(options)
    let serials = try (0..<60).map { _ in try worker.give(server.url("/")) }
    for serial in serials {
      let fetched = try worker.result(of: serial, within: 60)
      #expect(fetched.summary == "pass", "\(fetched.message)")
      #expect(fetched.holds(content))
    }
    let peak = try Memory.peak(of: worker.process.pid)
    #expect(peak < 40 << 20, "the worker had \(peak >> 10) KiB")
  }

  @Test func onlySoManyAreUnderWayAtATime() throws {
    let gate = Gate()
    let server = try Server { _, exchange in
      gate.enter()
      exchange.answer(200, [], sample(10))
      gate.leave()
    }
    var options = SourceWorker.Options()
    (options.connections, options.perHost) = (6, 3)
    let worker = try SourceWorker(options)
    let serials = try (0..<12).map { _ in try worker.give(server.url("/")) }
    for serial in serials { #expect(try worker.result(of: serial).summary == "pass") }
    #expect(gate.most == 3)
    #expect(server.connections == 3)
  }

  /// A charset, or how an object of S3 was once uploaded, is no compression.
  @Test func anEncodingThatChangesNoByteIsNone() throws {
    let content = sample(1000)
    let server = try Server { _, exchange in
      exchange.answer(200, ["Content-Encoding: aws-chunked, UTF-8", "Content-Encoding: none"], content)
    }
    #expect(try SourceWorker().fetch(server.url("/")).holds(content))
  }

  @Test func theRateHoldsForAllTogether() throws {
    let content = sample(1 << 20)
    let server = try Server { _, exchange in exchange.answer(200, [], content) }
    var options = SourceWorker.Options()
    options.rate = 2 << 20
    let worker = try SourceWorker(options)
    let start = Date.now
    let serials = try (0..<4).map { _ in try worker.give(server.url("/")) }
    for serial in serials { #expect(try worker.result(of: serial).holds(content)) }
    let took = Date.now.timeIntervalSince(start)
    #expect(took > 1.75, "4 MiB at 2 MiB/s took \(took) s")
  }
}
