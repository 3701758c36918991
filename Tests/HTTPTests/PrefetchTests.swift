import Foundation
import Synchronization
import Testing

/// Requirement: the attachments of the newest messages are here before anybody asks, and older ones as soon as somebody does.
struct PrefetchTests {
  /// A server that can be turned off.
  private final class Source: Sendable {
    private let isOff = Mutex(false)

    func server() throws -> Server {
      try Server { [self] request, exchange in
        if isOff.withLock({ $0 }) { return exchange.close() }
        exchange.answer(200, [], Self.content(request.path))
      }
    }

    func turn(off: Bool) { isOff.withLock { $0 = off } }

    static func content(_ path: String) -> [UInt8] { Array("the content of \(path)".utf8) }
  }

  private static let lane = "connections: 1\n    prefetch: { messages: 50 }"

  /// Links of a message each, the oldest first.
  private func enqueue(_ numbers: ClosedRange<Int>, _ home: Home, _ server: Server) throws {
    let lines = numbers.map {
      #"{"url":"\#(server.url("/\($0)"))","conversationId":"c","messageId":"m\#($0)","senderId":"ann","fileName":"\#($0)"}"#
    }
    let outcome = try home.sluice(["enqueue", "--manifest", "-"], input: lines.joined(separator: "\n"))
    #expect(outcome.status == 0, "\(outcome.errors)")
  }

  private func ids(_ home: Home) throws -> [String: String] {
    Dictionary(
      uniqueKeysWithValues: try home.records("list").compactMap { record in
        (record["fileName"] as? String).flatMap { name in (record["id"] as? String).map { (name, $0) } }
      })
  }

  @Test func theNewestFiftyMessagesOpenWithoutTheirServer() throws {
    let source = Source()
    let server = try source.server()
    let home = try Home(lane: Self.lane)
    try home.run()
    // All are taken in before the lane looks.
    try home.wait("the lane is paused") { try home.sluice("pause", "downloads").status == 0 }
    try enqueue(1...80, home, server)
    #expect(try home.sluice("resume", "downloads").status == 0)
    try home.wait("fifty are here") { try home.count("completed") >= 50 }
    usleep(500_000)
    #expect(server.requests.map(\.path) == (31...80).reversed().map { "/\($0)" })
    #expect(try home.count("completed") == 50)
    let waiting = try home.records("downloads")
    #expect(waiting.count == 30)
    #expect(
      waiting.allSatisfy { $0["code"] as? String == "not-prefetched" && $0["state"] as? String == "waiting" })
    #expect(try home.sluice("status").out.contains("30 fetched once somebody asks"))

    source.turn(off: true)
    let ids = try ids(home)
    for number in 31...80 {
      let outcome = try home.sluice("get", try #require(ids["\(number)"]))
      #expect(outcome.status == 0 && Array(outcome.out.utf8) == Source.content("/\(number)"))
    }
    #expect(server.requests.count == 50)

    source.turn(off: false)
    let older = try #require(ids["7"])
    #expect(try home.sluice("now", older).status == 0)
    try home.wait("the older one is here") { try home.count("completed") == 51 }
    #expect(Array(try home.sluice("get", older).out.utf8) == Source.content("/7"))
    #expect(server.requests.last?.path == "/7" && server.requests.count == 51)
    // A newer message: one more is fetched, and none of the older ones.
    try enqueue(81...81, home, server)
    try home.wait("the new one is here") { try home.count("completed") == 52 }
    // Where two of the newest are deleted, one of those behind moves up: the other is here already.
    #expect(try home.sluice("delete", try #require(ids["80"])).status == 0)
    #expect(try home.sluice("delete", try #require(ids["79"])).status == 0)
    try home.wait("one has moved up") { server.requests.last?.path == "/30" }
    usleep(300_000)
    #expect(server.requests.count == 53)
    // Who takes all of them back takes back those that wait, too.
    #expect(try home.sluice("reset", "downloads").status == 0)
    try home.wait("nothing waits") { try home.records("downloads").isEmpty }
  }

  @Test func whoWaitsForALinkAsksForIt() throws {
    let server = try Source().server()
    let home = try Home(lane: "prefetch: { messages: 1 }")
    // Two of one conversation, by a command of their own.
    let lines = (1...3).map {
      #"{"url":"\#(server.url("/\($0)"))","conversationId":"c","messageId":"m\#($0)","senderId":"ann"}"#
    }
    let fetched = try home.sluice(["fetch", "--manifest", "-"], input: lines.joined(separator: "\n"))
    #expect(fetched.status == 0 && server.requests.count == 3, "\(fetched.errors)")
    // What is only taken in waits, and a run that is to end does not wait for it.
    let more = (4...6).map {
      #"{"url":"\#(server.url("/\($0)"))","conversationId":"c","messageId":"m\#($0)","senderId":"ann"}"#
    }
    let taken = try home.sluice(["ingest", "--manifest", "-"], input: more.joined(separator: "\n"))
    #expect(taken.status == 0, "\(taken.errors)")
    #expect(taken.errors.contains("2 downloads wait until somebody asks"), "\(taken.errors)")
    #expect(server.requests.count == 4)
    try home.run()
    let waited = try home.sluice(
      ["enqueue", "--wait", "--manifest", "-"], input: more.joined(separator: "\n"))
    #expect(waited.status == 0 && server.requests.count == 6, "\(waited.errors)")
  }
}
