import Foundation
import Testing
import Wire

/// Going on where an earlier attempt stopped, and when not to.
@Suite(.serialized)
struct ResumeTests {
  static let content = sample(300_000)
  static let held = 200_000
  /// The first byte that is asked for with a validator: what is before the rest is compared.
  static let seam = 191_808

  /// Serves ranges as it should, with a strong tag.
  @Sendable static func serve(_ request: Server.Request, _ exchange: Exchange) {
    serve(content, etag: "\"a\"", request, exchange)
  }

  static func serve(
    _ content: [UInt8], etag: String?, _ request: Server.Request, _ exchange: Exchange,
    respectsCondition: Bool = true
  ) {
    let tag = etag.map { ["ETag: \($0)"] } ?? []
    let isSame =
      !respectsCondition || request.headers["if-range"] == nil || request.headers["if-range"] == etag
    guard let first = request.first, isSame else { return exchange.answer(200, tag, content) }
    guard first < content.count else {
      return exchange.answer(416, ["Content-Range: bytes */\(content.count)"] + tag, [])
    }
    exchange.answer(
      206, tag + ["Content-Range: bytes \(first)-\(content.count - 1)/\(content.count)"], content[first...])
  }

  private func resume(
    _ server: Server, etag: String? = "\"a\"", held: [UInt8] = Array(content.prefix(held)), bytes: Int = held,
    _ change: (inout TransferWork) -> Void = { _ in }
  ) throws -> SourceWorker.Fetched {
    try SourceWorker().fetch(server.url("/"), content: held) {
      $0.start = TransferProgress(bytes: Int64(bytes), etag: etag)
      change(&$0)
    }
  }

  @Test func withAStrongTagOnlyTheRestIsFetched() throws {
    let server = try Server(Self.serve)
    // What lies beyond the checkpoint does not count.
    let fetched = try resume(server, held: Array(Self.content.prefix(Self.held)) + sample(50_000, seed: 3))
    #expect(fetched.summary == "pass", "\(fetched.message)")
    #expect(fetched.holds(Self.content))
    #expect(server.requests.map(\.first) == [Self.seam])
    #expect(server.requests.first?.headers["if-range"] == "\"a\"")
    #expect(server.bodyBytes == Self.content.count - Self.seam)
  }

  @Test func withADateThatIsStrongEnoughOnlyTheRestIsFetched() throws {
    let date = "Mon, 05 Jan 2026 09:30:00 GMT"
    let server = try Server { request, exchange in
      let first = request.headers["if-range"] == date ? request.first ?? 0 : 0
      exchange.answer(
        first > 0 ? 206 : 200,
        ["Last-Modified: \(date)", "Content-Range: bytes \(first)-299999/300000"], Self.content[first...])
    }
    let fetched = try resume(server, etag: nil) { $0.start.modified = date }
    #expect(fetched.holds(Self.content))
    #expect(server.bodyBytes == Self.content.count - Self.seam)
  }

  @Test(arguments: ["Mon, 05 Jan 2026 09:30:01 GMT", "Mon, 05 Jan 2026 09:30:00 GMT"])
  func aDateIsAValidatorIfTheAnswerIsASecondYounger(date: String) throws {
    let server = try Server { _, exchange in
      exchange.send(
        "HTTP/1.1 200 OK\r\nDate: \(date)\r\nLast-Modified: Mon, 05 Jan 2026 09:30:00 GMT\r\n"
          + "Content-Length: 9\r\n\r\nhello")
      exchange.close()
    }
    let fetched = try SourceWorker().fetch(server.url("/"))
    #expect(fetched.summary == "retry short-body")
    #expect(fetched.checkpoints.last?.bytes == 5)
    let isStrong = date.contains(":01 ")
    #expect(fetched.checkpoints.last?.modified == (isStrong ? "" : "W/") + "Mon, 05 Jan 2026 09:30:00 GMT")
  }

  /// What proves nothing still shows that a file was replaced, though its bytes at the seam are the same.
  @Test(arguments: [
    (etag: "W/\"a\"", modified: nil, answer: ["ETag: W/\"b\""]),
    ("W/\"a\"", nil, ["ETag: \"a\""]), ("W/\"a\"", nil, []), (nil, nil, ["ETag: \"b\""]),
    (
      "W/\"a\"", "Mon, 05 Jan 2026 09:30:00 GMT",
      ["ETag: W/\"b\"", "Last-Modified: Mon, 05 Jan 2026 09:30:00 GMT"]
    ),
    (nil, "W/Mon, 05 Jan 2026 09:30:00 GMT", ["Last-Modified: Mon, 05 Jan 2026 09:30:07 GMT"]),
    (
      "\"a\"", "Mon, 05 Jan 2026 09:30:00 GMT",
      ["ETag: \"a\"", "Last-Modified: Mon, 05 Jan 2026 09:30:07 GMT"]
    ),
  ])
  func anotherTagOrDateIsAnotherFile(etag: String?, modified: String?, answer: [String]) throws {
    let other = Self.content.prefix(250_000) + sample(50_000, seed: 9)
    let server = try Server { request, exchange in
      guard let first = request.first else { return exchange.answer(200, answer, other) }
      exchange.answer(206, answer + ["Content-Range: bytes \(first)-299999/300000"], other[first...])
    }
    let fetched = try resume(server, etag: etag) {
      $0.start.modified = modified
      $0.expectedSize = 300_000
    }
    #expect(fetched.holds(Array(other)), "\(fetched.summary)")
    #expect(server.requests.count == 2 && server.requests.last?.first == nil)
  }

  @Test func withAWeakTagThatIsTheSameTheSeamIsCompared() throws {
    let server = try Server { request, exchange in
      Self.serve(Self.content, etag: "W/\"a\"", request, exchange)
    }
    let fetched = try resume(server, etag: "W/\"a\"") { $0.expectedSize = 300_000 }
    #expect(fetched.holds(Self.content))
    #expect(server.requests.count == 1 && server.requests[0].headers["if-range"] == nil)
  }

  @Test func withoutAnyProofAllIsFetched() throws {
    for etag in [nil, "W/\"a\"", "a", "\"a\" b"] {
      let server = try Server(Self.serve)
      let fetched = try resume(server, etag: etag)
      #expect(fetched.holds(Self.content))
      #expect(server.requests.map(\.first) == [nil])
      #expect(fetched.checkpoints.first?.bytes == 0, "the host is told before anything is written")
    }
  }

  @Test(arguments: [true, false])
  func whereTheWholeIsKnownTheSeamIsCompared(isSame: Bool) throws {
    let server = try Server { request, exchange in
      Self.serve(Self.content, etag: nil, request, exchange)
    }
    var held = Array(Self.content.prefix(Self.held))
    if !isSame { held[Self.held - 30_000] ^= 1 }
    let fetched = try resume(server, etag: nil, held: held) { $0.expectedSize = 300_000 }
    #expect(fetched.summary == "pass", "\(fetched.message)")
    #expect(fetched.holds(Self.content))
    #expect(server.requests.map(\.first) == (isSame ? [Self.held - 65_536] : [Self.held - 65_536, nil]))
    #expect(server.requests.allSatisfy { $0.headers["if-range"] == nil })
  }

  @Test func aWholeAnswerToARangeIsNoFailure() throws {
    let other = sample(250_000, seed: 7)
    let server = try Server { _, exchange in exchange.answer(200, ["ETag: \"b\""], other) }
    let fetched = try resume(server)
    #expect(fetched.summary == "pass")
    #expect(fetched.holds(other))
    #expect(server.requests.count == 1)
    #expect(fetched.checkpoints.first?.bytes == 0)
  }

  /// Each of these is a part that does not go with what is held: all is fetched again, and it is complete.
  @Test(arguments: [
    ["Content-Range: bytes 0-99999/300000"], ["Content-Range: bytes 191809-299999/300000"],
    ["Content-Range: bytes 191807-299999/300000"], ["Content-Range: bytes 191808-299999/*"],
    ["Content-Range: bytes 191808-299999"], ["Content-Range: bytes 299999-191808/300000"],
    ["Content-Range: bytes 191808-299999/200000"], ["Content-Range: bytes */300000"],
    ["Content-Range: items 191808-299999/300000"], ["Content-Range: bytes=191808-299999/300000"],
    ["Content-Range: bytes -191808-299999/300000"], ["Content-Range: bytes 0191808-299999/300000x"],
    ["Content-Range: bytes 99999999999999999999-299999/300000"], ["Content-Range:"], [],
    ["Content-Range: bytes 191808-299999/300000", "Content-Range: bytes 0-99999/300000"],
    ["Content-Range: bytes 191808-299999/300000", "ETag: \"b\""],
    ["Content-Range: bytes 191808-299999/300000", "ETag: W/\"a\""],
    [
      "Content-Range: bytes 191808-299999/300000", "Content-Type: multipart/byteranges; boundary=x",
      "ETag: \"a\"",
    ],
  ])
  func aPartThatDoesNotFitIsNotTaken(headers: [String]) throws {
    let server = try Server { request, exchange in
      if request.first == nil { return exchange.answer(200, ["ETag: \"a\""], Self.content) }
      let tag = headers.contains { $0.hasPrefix("ETag") } || headers.count > 2 ? [] : ["ETag: \"a\""]
      exchange.answer(206, headers + tag, sample(108_192, seed: 5))
    }
    let fetched = try resume(server)
    #expect(fetched.summary == "pass", "\(fetched.message)")
    #expect(fetched.holds(Self.content))
    #expect(server.requests.map(\.first) == [Self.seam, nil])
  }

  /// What comes behind the end of a part is not taken for content.
  @Test func aPartThatIsLongerThanItSaysIsNotTaken() throws {
    let server = try Server { request, exchange in
      guard let first = request.first else { return Self.serve(request, exchange) }
      exchange.send(
        "HTTP/1.1 206 Partial Content\r\nETag: \"a\"\r\nConnection: close\r\n"
          + "Content-Range: bytes \(first)-299999/300000\r\n\r\n")
      exchange.send(Array(Self.content[first...]) + sample(500, seed: 7))
      exchange.close()
    }
    let fetched = try resume(server)
    #expect(fetched.holds(Self.content), "\(fetched.summary) \(fetched.content.count)")
    #expect(server.requests.map(\.first) == [Self.seam, nil])
  }

  @Test func aPartWithoutItsTagIsNotTaken() throws {
    let server = try Server { request, exchange in
      if request.first == nil { return exchange.answer(200, ["ETag: \"a\""], Self.content) }
      exchange.answer(206, ["Content-Range: bytes 191808-299999/300000"], Self.content[Self.seam...])
    }
    #expect(try resume(server).holds(Self.content))
    #expect(server.requests.count == 2)
  }

  @Test func aPartOfAPartGoesOnWithTheNextAttempt() throws {
    let server = try Server { request, exchange in
      let first = request.first ?? 0
      exchange.answer(
        206, ["ETag: \"a\"", "Content-Range: bytes \(first)-\(first + 9999)/300000"],
        Self.content[first..<(first + 10_000)])
    }
    let fetched = try resume(server)
    #expect(fetched.summary == "retry short-body", "\(fetched.message)")
    #expect(fetched.checkpoints.last == TransferProgress(bytes: 201_808, total: 300_000, etag: "\"a\""))
    #expect(fetched.holds(Array(Self.content.prefix(201_808))))
  }

  @Test func whatIsThereWholeIsNotFetchedAgain() throws {
    let server = try Server(Self.serve)
    let fetched = try resume(server, held: Self.content, bytes: Self.content.count)
    #expect(fetched.summary == "pass", "\(fetched.message)")
    #expect(fetched.holds(Self.content))
    #expect(server.requests.map(\.first) == [Self.content.count - 8192])
  }

  /// A validator is good for the link that it came from: a redirect may lead to another server the next time.
  @Test(arguments: ["\"a\"", nil])
  func whatAnotherServerCallsTheSameIsNotMixed(etag: String?) throws {
    let date = "Mon, 05 Jan 2026 09:30:00 GMT"
    let other = sample(300_000, seed: 9)
    let server = try Server { request, exchange in
      if request.path == "/" { return exchange.answer(302, "Location: /other") }
      guard let first = request.first else { return exchange.answer(200, ["ETag: \"a\""], other) }
      exchange.answer(
        206, ["ETag: \"a\"", "Last-Modified: \(date)", "Content-Range: bytes \(first)-299999/300000"],
        other[first...])
    }
    let fetched = try resume(server, etag: etag) { if etag == nil { $0.start.modified = date } }
    #expect(fetched.summary == "pass", "\(fetched.message)")
    #expect(fetched.holds(other))
  }

  /// A server that has lost the end of a file still knows its name.
  @Test(arguments: [206, 416])
  func aFileThatHasLostItsEndIsNotComplete(status: Int) throws {
    let server = try Server { request, exchange in
      guard let first = request.first, status == 206 || first >= Self.held else {
        return exchange.answer(status == 416 && request.first != nil ? 416 : 200, [], Self.content)
      }
      exchange.answer(
        status, ["ETag: \"a\"", "Content-Range: bytes \(status == 416 ? "*" : "\(first)-199999")/200000"],
        status == 416 ? [] : Self.content[first..<Self.held])
    }
    let fetched = try resume(server) { $0.start.total = 300_000 }
    #expect(fetched.summary == "pass", "\(fetched.message)")
    #expect(fetched.holds(Self.content))
  }

  @Test(arguments: ["Content-Range: bytes */100000", "Content-Range: bytes 0-1/2", "X: y"])
  func aRangeBeyondTheEndIsAskedForOnceMoreFromTheStart(header: String) throws {
    let server = try Server { request, exchange in
      if request.first != nil { return exchange.answer(416, header) }
      exchange.answer(200, ["ETag: \"b\""], Self.content)
    }
    let fetched = try resume(server)
    #expect(fetched.summary == "pass")
    #expect(fetched.holds(Self.content))
    #expect(server.requests.count == 2)
  }

  @Test func aFileThatHasBecomeShorterIsFetchedWhole() throws {
    let server = try Server(Self.serve)
    let fetched = try resume(server, held: Array(Self.content.prefix(100)))
    #expect(fetched.holds(Self.content))
    #expect(server.requests.map(\.first) == [nil])
  }

  /// By its tag it is the same file, so that what is shorter than was told is cut, whether it looks whole or not.
  @Test(arguments: ["", "Transfer-Encoding: chunked\r\n"])
  func withTheSameTagLessThanWasToldIsAPart(framing: String) throws {
    let server = try Server { _, exchange in
      let body = framing.isEmpty ? "hello" : "5\r\nhello\r\n0\r\n\r\n"
      exchange.send("HTTP/1.1 200 OK\r\nETag: \"a\"\r\nConnection: close\r\n\(framing)\r\n\(body)")
      exchange.close()
    }
    let fetched = try resume(server) { $0.start.total = 300_000 }
    #expect(fetched.summary == "retry short-body", "\(fetched.message)")
  }

  @Test func withTheSameTagAndAnotherLengthAllIsAskedForOnceMore() throws {
    let server = try Server { request, exchange in
      exchange.answer(200, ["ETag: \"a\""], Self.content[..<(request.first == nil ? 300_000 : 60_000)])
    }
    let fetched = try resume(server) { $0.start.total = 300_000 }
    #expect(fetched.holds(Self.content) && server.requests.map(\.first) == [Self.seam, nil])
  }

  @Test func aWrongLengthIsFetchedOnceMoreFromTheStart() throws {
    let server = try Server { request, exchange in
      if request.first == nil { return exchange.answer(200, ["ETag: \"a\""], Self.content) }
      exchange.answer(
        206, ["ETag: \"a\"", "Content-Range: bytes 191808-299998/299999"], Self.content[Self.seam..<299_999])
    }
    let fetched = try resume(server) { $0.expectedSize = 300_000 }
    #expect(fetched.summary == "pass", "\(fetched.message)")
    #expect(fetched.holds(Self.content))
    let wrong = try resume(server) { $0.expectedSize = 300_001 }
    #expect(wrong.summary == "fail size-mismatch")
  }

  /// A thousand files that change between their parts, on servers that know more or less of HTTP.
  @Test func aFileThatChangesBetweenItsPartsIsNeverMixed() throws {
    let versions = (0..<4).map { sample(70_000 + Int($0) * 1000, seed: UInt64($0) + 10) }
    let served = Served()
    let server = try Server { request, exchange in
      // `/kind/round`
      let kind = Int(request.path.split(separator: "/").first ?? "") ?? 0
      let version = served.next()
      let strong = "\"\(version)\""
      let etag: String? = kind == 2 ? nil : kind == 3 ? "W/" + strong : strong
      if served.breaks() {
        let whole = versions[version]
        let first = request.first ?? 0
        let isPart =
          request.first != nil && first < whole.count && (kind != 0 || request.headers["if-range"] == etag)
        let start = isPart ? first : 0
        let rest = whole[start...]
        var head = "HTTP/1.1 \(isPart ? 206 : 200) x\r\nContent-Length: \(rest.count)\r\n"
        if let etag { head += "ETag: \(etag)\r\n" }
        if isPart { head += "Content-Range: bytes \(start)-\(whole.count - 1)/\(whole.count)\r\n" }
        exchange.send(head + "\r\n")
        exchange.send(rest.prefix(served.length(below: rest.count)))
        exchange.close()
      } else {
        Self.serve(versions[version], etag: etag, request, exchange, respectsCondition: kind == 0)
      }
    }
    let worker = try SourceWorker()
    var resumed = 0
    for round in 0..<1000 {
      let kind = round % 4
      var progress = TransferProgress(bytes: 0)
      for attempt in 0..<20 {
        let fetched = try worker.fetch(server.url("/\(kind)/\(round)"), file: "\(round)") {
          $0.start = progress
          $0.attempt = attempt + 1
          // Otherwise nothing is gone on with.
          if kind >= 2 { $0.expectedSHA256 = String(repeating: "0", count: 64) }
        }
        if progress.bytes > 0, fetched.checkpoints.first?.bytes != 0 { resumed += 1 }
        progress = fetched.checkpoints.last ?? progress
        if fetched.verdict == .pass {
          let isWhole = versions.contains(fetched.content)
          #expect(isWhole, "round \(round) of kind \(kind) is mixed")
          break
        }
        #expect(fetched.verdict == .retry, "\(fetched.message)")
      }
      try FileManager.default.removeItem(atPath: worker.file("\(round)"))
    }
    #expect(resumed > 100, "\(resumed) attempts went on")
  }
}

/// What the server of the changing file does next.
///
/// Unchecked because the lock guards the state.
private final class Served: @unchecked Sendable {
  private let lock = NSLock()
  private var state: UInt64 = 88_172_645_463_325_252
  private var version = 0

  private func random(_ count: Int) -> Int {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return Int(state % UInt64(count))
  }

  /// The version at hand; one request in three sees another.
  func next() -> Int {
    lock.withLock {
      if random(3) == 0 { version = random(4) }
      return version
    }
  }

  func breaks() -> Bool { lock.withLock { random(2) == 0 } }
  func length(below count: Int) -> Int { lock.withLock { random(max(count, 1)) } }
}
