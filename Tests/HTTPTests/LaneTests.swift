import Foundation
import Glibc
import Synchronization
import Testing

/// The lane of downloads with the source that fetches from servers, from the command line to the store.
struct LaneTests {
  /// Content that comes in pieces for as long as nothing stops it; from where it is asked for.
  private static func slowly(_ content: [UInt8], _ request: Server.Request, _ exchange: Exchange) {
    let first = request.first ?? 0
    let head =
      first > 0
      ? "206 Partial Content\r\nContent-Range: bytes \(first)-\(content.count - 1)/\(content.count)"
      : "200 OK"
    exchange.send("HTTP/1.1 \(head)\r\nContent-Length: \(content.count - first)\r\nETag: \"one\"\r\n\r\n")
    var rest = content[first...]
    while !rest.isEmpty, exchange.isOpen {
      exchange.send(rest.prefix(32 << 10))
      rest = rest.dropFirst(32 << 10)
      usleep(20_000)
    }
  }

  // MARK: Tokens

  /// A server that takes one token, and after so many files no longer.
  private final class Gate: Sendable {
    private let state: Mutex<(token: String, left: Int, refused: Int)>

    init(token: String, files: Int) { state = Mutex((token, files, 0)) }

    var refused: Int { state.withLock { $0.refused } }
    func take(_ token: String) { state.withLock { ($0.token, $0.left) = (token, .max) } }

    func lets(_ request: Server.Request) -> Bool {
      state.withLock { state in
        guard request.headers["authorization"] == "Bearer \(state.token)", state.left > 0 else {
          state.refused += 1
          return false
        }
        state.left -= 1
        return true
      }
    }

    /// - Parameter pause: milliseconds between head and body of a refusal.
    func server(pause: UInt32 = 0) throws -> Server {
      try Server { [self] request, exchange in
        if lets(request) { return exchange.answer(200, [], sample(1000)) }
        if pause == 0 { return exchange.answer(401) }
        exchange.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 3\r\n\r\n")
        usleep(pause * 1000)
        exchange.send("no\n")
      }
    }
  }

  private static let credentials = #"""
    credentials:
      files: { header: "authorization: Bearer ${file:token}", hosts: [127.0.0.1] }
    """#

  @Test(arguments: [(1, 0), (8, 0), (8, 300)])
  func aTokenThatExpiresIsAskedWithTwiceAtMost(connections: Int, pause: UInt32) throws {
    let gate = Gate(token: "first", files: 5)
    let server = try gate.server(pause: pause)
    let lane = "connections: \(connections)\n    per-host: \(connections)\n    credential: files"
    let home = try Home(lane: lane, credentials: Self.credentials)
    try home.write("token", "first\n")
    try home.run()
    try home.enqueue((1...20).map { server.url("/\($0)") })
    try home.wait("the lane is paused") { try home.sluice("status").out.contains("unauthorized") }
    usleep(500_000)
    // Beside others, one may be stopped with all its bytes here.
    #expect(try connections == 1 ? home.count("completed") == 5 : home.count("completed") <= 5)
    #expect(gate.refused <= 2, "\(gate.refused)")
    #expect(try home.sluice("status").out.contains("by sluice since"), "it is nobody's session")
    gate.take("second")
    try home.write("token", "second\n")
    #expect(try home.sluice("resume", "downloads").status == 0)
    try home.wait("the others are fetched") { try home.count("completed") == 20 }
    #expect(gate.refused <= 2, "the new token was read before anything was asked")
    if connections == 1 { #expect(server.requests.count == 20 + gate.refused) }
    #expect(!home.said.contains("first") && !home.said.contains("second"))
  }

  @Test func aCredentialWhoseFileCannotBeReadAgainIsNamed() throws {
    let gate = Gate(token: "first", files: 1)
    let server = try gate.server()
    let home = try Home(lane: "connections: 1\n    credential: files", credentials: Self.credentials)
    try home.write("token", "first\n")
    try home.run()
    try home.enqueue([server.url("/1")])
    try home.wait("one is fetched") { try home.count("completed") == 1 }
    for content in ["", "\u{1}\n"] {
      try home.write("token", content)
      try home.enqueue([server.url("/\(content.count + 2)")])
      try home.wait("the lane says why") {
        try home.sluice("status").out.contains("the credential 'files' could not be read again: ")
      }
      #expect(try home.sluice("resume", "downloads").status == 0)
    }
    gate.take("second")
    try home.write("token", "second\n")
    #expect(try home.sluice("resume", "downloads").status == 0)
    try home.wait("the others are fetched") { try home.count("completed") == 3 }
  }

  @Test func aTokenThatWasReplacedMeanwhilePausesNothing() throws {
    let gate = Gate(token: "first", files: 3)
    let home = try Home(lane: "connections: 1\n    credential: files", credentials: Self.credentials)
    let server = try Server { request, exchange in
      if gate.lets(request) {
        exchange.answer(200, [], sample(1000))
      } else {
        exchange.answer(401)
      }
    }
    try home.write("token", "first\n")
    try home.run()
    try home.enqueue([server.url("/1"), server.url("/2"), server.url("/3")])
    try home.wait("three are fetched") { try home.count("completed") == 3 }
    gate.take("second")
    try home.write("token", "second\n")
    try home.enqueue((4...20).map { server.url("/\($0)") })
    try home.wait("all are fetched") { try home.count("completed") == 20 }
    #expect(gate.refused == 1)
    #expect(!home.said.contains("paused"), "\(home.said)")
  }

  /// What the worker has in hand was given the old one.
  @Test func aTokenThatWasReplacedMeanwhileIsNotSentByThoseThatWait() throws {
    let gate = Gate(token: "first", files: 3)
    let server = try gate.server()
    let home = try Home(
      lane: "connections: 8\n    per-host: 8\n    credential: files", credentials: Self.credentials)
    try home.write("token", "first\n")
    try home.run()
    try home.enqueue((1...3).map { server.url("/\($0)") })
    try home.wait("three are fetched") { try home.count("completed") == 3 }
    gate.take("second")
    try home.write("token", "second\n")
    try home.enqueue((4...20).map { server.url("/\($0)") })
    try home.wait("all are fetched") { try home.count("completed") == 20 }
    // The worker may have been given two more before it was known.
    #expect((1...4).contains(gate.refused), "\(gate.refused)")
    #expect(!home.said.contains("paused"), "\(home.said)")
  }

  // MARK: Names

  @Test func aServerNamesWhatHasNoName() throws {
    let server = try Server { request, exchange in
      let name =
        request.path == "/hostile"
        ? #"attachment; filename="../../etc/\u{1b}[2Jcron.d""# : #"attachment; filename="report.txt""#
      exchange.answer(
        200, ["Content-Disposition: \(name)", "Content-Type: text/plain; charset=utf-8"], Array("text".utf8))
    }
    let home = try Home()
    #expect(try home.sluice("fetch", server.url("/a")).status == 0)
    #expect(try home.sluice("fetch", "--name", "mine.txt", server.url("/b")).status == 0)
    // One that joins what is fetched already.
    #expect(try home.sluice("fetch", "--message", "m", "--conversation", "c", server.url("/a")).status == 0)
    #expect(try home.sluice("fetch", server.url("/hostile")).status == 0)
    let names = try home.records("list").compactMap { $0["fileName"] as? String }
    #expect(names.filter { $0 == "report.txt" }.count == 2 && names.contains("mine.txt"), "\(names)")
    let other = try #require(names.first { $0 != "report.txt" && $0 != "mine.txt" })
    #expect(!other.contains("/") && !other.unicodeScalars.contains { $0.value < 0x20 }, "\(other)")
    #expect(server.requests.count == 3)
    let downloads = try home.records("downloads", "--state", "fetched")
    #expect(
      downloads.allSatisfy { $0["contentType"] as? String == "text/plain; charset=utf-8" }, "\(downloads)")
  }

  // MARK: When

  @Test func whatNobodyAttendsStandsStillAndGoesOn() throws {
    let content = sample(8 << 20)
    let server = try Server { request, exchange in Self.slowly(content, request, exchange) }
    let home = try Home(lane: "only-while: attended")
    try home.run()
    try home.enqueue([server.url("/a")])
    try home.wait("it stands") { try home.sluice("status").out.contains("not-attended") }
    usleep(300_000)
    #expect(server.requests.isEmpty)
    // A client waits for it, and goes while it is under way.
    let client = try home.start(
      ["enqueue", "--wait", "--manifest", "-"], input: #"{"url":"\#(server.url("/b"))"}"#)
    try home.wait("it comes") { server.bodyBytes > 100_000 }
    Glibc.kill(client.processIdentifier, SIGKILL)
    client.waitUntilExit()
    try home.wait("it stands again", seconds: 4) { try home.sluice("status").out.contains("not-attended") }
    let before = server.bodyBytes
    sleep(1)
    #expect(server.bodyBytes <= before + (64 << 10), "no byte after that")
    #expect(try home.count("completed") == 0)
    let last = try home.sluice(
      ["enqueue", "--wait", "--manifest", "-"], input: #"{"url":"\#(server.url("/b"))"}"#)
    #expect(last.status == 0, "\(last.errors)")
    #expect(server.requests.contains { ($0.first ?? 0) > 0 }, "it went on from where it was")
    #expect(
      try home.records("downloads", "--state", "fetched").allSatisfy { $0["attempts"] as? Int ?? 9 <= 1 })
  }

  @Test func atOtherTimesNothingIsFetched() throws {
    let server = try Server { _, exchange in exchange.answer(200, [], sample(1000)) }
    // A minute that is not now.
    let hour = (Calendar.current.component(.hour, from: Date()) + 12) % 24
    let home = try Home(lane: "schedule: \"\(hour):00-\(hour):01\"")
    let outcome = try home.sluice("fetch", server.url("/a"))
    #expect(outcome.status == 75, "\(outcome.errors)")
    #expect(
      outcome.errors.contains("schedule: links are fetched at other times; it goes on"), "\(outcome.errors)")
    #expect(server.requests.isEmpty)
    let open = try Home(lane: "schedule: 00:00-24:00")
    #expect(try open.sluice("fetch", server.url("/a")).status == 0)
  }

  // MARK: Urgency

  @Test func onePrioritizedUnderWayLetsTheOthersStand() throws {
    let content = sample(5 << 20)
    let server = try Server { request, exchange in Self.slowly(content, request, exchange) }
    let home = try Home()
    try home.run()
    try home.enqueue(["/a", "/b", "/c"].map(server.url))
    try home.wait("all three are under way") { server.requests.count == 3 }
    let ids = try home.records("list").compactMap { $0["id"] as? String }
    #expect(try home.sluice("prioritize", ids[1], "--priority", "100").status == 0)
    try home.wait("the others stand still") {
      try home.records("downloads").filter { $0["held"] as? Bool == true }.count == 2
    }
    #expect(try home.sluice("downloads").out.components(separatedBy: "held").count == 3)
    var completed: [String] = []
    try home.wait("the first is there") {
      completed = try home.records("list").filter { $0["status"] as? String == "completed" }
        .compactMap { $0["id"] as? String }
      return !completed.isEmpty
    }
    // On a slow machine others may have followed by now.
    #expect(completed.contains(ids[1]))
    try home.wait("none is held") {
      try home.records("downloads").allSatisfy { $0["held"] as? Bool == false }
    }
    try home.wait("all are there") { try home.count("completed") == 3 }
    #expect(server.requests.count == 3)
  }
}
