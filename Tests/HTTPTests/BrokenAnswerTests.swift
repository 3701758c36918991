import Testing
import Wire

/// What servers do wrong: each has its code, nothing wrong counts as complete, and good transfers beside are not disturbed.
@Suite(.serialized)
struct BrokenAnswerTests {
  @Test func eachHasItsCodeAndTheGoodOnesBesideComplete() throws {
    let broken = BrokenAnswer.all
    #expect(broken.count >= 60)
    let good = sample(400_000)
    let server = try Server { request, exchange in
      let parts = request.path.split(separator: "/")
      if parts.first == "broken", parts.count > 1, let index = Int(parts[1]) {
        broken[index].answer(exchange)
      } else {
        exchange.answer(200, ["ETag: \"a\""], good)
      }
    }
    var options = SourceWorker.Options()
    (options.connections, options.perHost) = (50, 50)
    (options.idleTimeout, options.totalTimeout) = (1500, 4000)
    let worker = try SourceWorker(options)
    var given: [(broken: BrokenAnswer?, serial: UInt64)] = []
    for (index, one) in broken.enumerated() {
      let path = "/broken/\(index)/hidden-path\(one.query.isEmpty ? "?hidden-query=1" : one.query)"
      given.append((one, try worker.give(server.url(path), one.change)))
      if index % 3 == 0 { given.append((nil, try worker.give(server.url("/good")))) }
    }
    for (one, serial) in given {
      let fetched = try worker.result(of: serial, within: 60)
      guard let one else {
        #expect(fetched.summary == "pass", "\(fetched.message)")
        #expect(fetched.holds(good))
        continue
      }
      #expect(
        one.expected.split(separator: "|").contains { $0 == fetched.summary },
        "\(one.name): \(fetched.summary), \(fetched.message)")
      #expect(!fetched.message.contains("hidden"), "\(one.name): \(fetched.message)")
      #expect(
        ["127.0.0.1", "is not an address of", "bytes"].contains { fetched.message.contains($0) },
        "it names the host: \(fetched.message)")
      #expect(fetched.content.count <= 100_000)
    }
  }

  /// As browsers take it: servers write names of files in it as they are.
  @Test func aRedirectMayHaveSpacesAndLettersBeyondASCII() throws {
    let server = try Server { request, exchange in
      if request.path == "/" { return exchange.answer(302, "Location: /a b\t\u{E9}%20?c d") }
      exchange.answer(200, [], Array(request.path.utf8))
    }
    let fetched = try SourceWorker().fetch(server.url("/"))
    #expect(fetched.holds(Array("/a%20b%09%C3%A9%20?c%20d".utf8)), "\(fetched.summary) \(fetched.message)")
  }

  @Test func moreBytesThanTheLengthSaysAreNotContent() throws {
    let server = try Server { _, exchange in
      exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello, and more than was said")
      exchange.close()
    }
    let fetched = try SourceWorker().fetch(server.url("/"))
    #expect(fetched.holds(Array("hello".utf8)))
  }

  @Test func aFileOfExactlyTheLimitPasses() throws {
    let server = try Server { _, exchange in exchange.answer(200, [], sample(1000)) }
    #expect(try SourceWorker().fetch(server.url("/"), limit: 1000).summary == "pass")
  }

  @Test func aFileOverTheLimitIsRefusedBeforeItsBody() throws {
    let server = try Server { _, exchange in exchange.answer(200, [], sample(1001)) }
    let fetched = try SourceWorker().fetch(server.url("/"), limit: 1000)
    #expect(fetched.summary == "reject too-large-to-fetch")
    #expect(fetched.message == "1001 bytes, and 1000 are allowed")
    #expect(fetched.content.isEmpty)
  }

  @Test func aPageIsContentWhereItWasExpectedOrTheHashIsKnown() throws {
    let server = try Server { _, exchange in exchange.answer(200, ["Content-Type: text/html"], sample(10)) }
    let worker = try SourceWorker()
    #expect(try worker.fetch(server.url("/")).summary == "pass")
    #expect(try worker.fetch(server.url("/")) { $0.declaredType = "text/html" }.summary == "pass")
    let known = try worker.fetch(server.url("/")) {
      $0.declaredType = "application/pdf"
      $0.expectedSHA256 = String(repeating: "0", count: 64)
    }
    #expect(known.summary == "pass", "the host compares the hash")
  }

  @Test(arguments: [
    ("120", 120_000), ("0", 0), ("999999999999999", 86_400_000),
    ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400_000),
    ("Mon, 01 Jan 2001 00:00:00 GMT", 0),
  ])
  func theServerSaysHowLongToWait(header: String, milliseconds: Int64) throws {
    let server = try Server { _, exchange in exchange.answer(503, "Retry-After: \(header)") }
    let fetched = try SourceWorker().fetch(server.url("/"))
    #expect(fetched.summary == "retry server-busy")
    #expect(fetched.retryAfter == milliseconds)
    #expect(!fetched.pauses)
  }

  @Test func aCredentialThatIsNotTakenPausesTheLane() throws {
    let server = try Server { _, exchange in exchange.answer(401) }
    let fetched = try SourceWorker().fetch(server.url("/")) {
      $0.headers = ["Authorization: Bearer hidden"]
      $0.trustedHosts = ["127.0.0.1"]
    }
    #expect(fetched.summary == "retry unauthorized")
    #expect(fetched.pauses)
    #expect(!fetched.message.contains("hidden"))
  }

  @Test func aServerThatDoesNotSpeakTLSHasNoSecureConnection() throws {
    let server = try Server { _, exchange in exchange.answer(200, [], sample(10)) }
    let fetched = try SourceWorker().fetch("https://127.0.0.1:\(server.port)/hidden?hidden")
    #expect(fetched.summary == "retry tls-failed", "\(fetched.message)")
    #expect(!fetched.message.contains("hidden"))
  }

  @Test func aPortThatNoProcessListensOnRefusesConnections() throws {
    let fetched = try SourceWorker().fetch("http://127.0.0.1:\(try Server.closedPort())/hidden")
    #expect(fetched.summary == "retry connection-refused")
    #expect(fetched.message == "127.0.0.1 does not take connections")
  }

  @Test func aNameWithoutAnAddressIsNotFound() throws {
    let fetched = try SourceWorker().fetch("http://no-such-name.invalid/hidden")
    let codes: [String?] = ["name-not-found", "unreachable", "offline"]
    #expect(codes.contains(fetched.code), "\(fetched.message)")
    #expect(fetched.verdict == .retry)
  }
}
