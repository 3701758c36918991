import Foundation
import Glibc
import Synchronization
import Testing

/// Each deadline of the HTTP server as it is set, with the real program: 75 seconds.
@Suite(.serialized)
struct DeadlineSoakTests {
  /// What a client saw: after how many seconds its connection ended, and with which answer.
  private struct Ending: Sendable {
    var seconds: Double
    var status: Int?
    var bytes = 0
  }

  private final class Endings: Sendable {
    private let all = Mutex<[String: Ending]>([:])

    subscript(name: String) -> Ending? { all.withLock { $0[name] } }

    func note(_ name: String, _ ending: Ending) { all.withLock { $0[name] = ending } }

    var count: Int { all.withLock(\.count) }
  }

  @Test(.enabled(if: Soak.isOn, Soak.skipped)) func eachDeadlineActs() throws {
    let folder = try TemporaryFolder()
    try folder.write("serve.yaml", Pipelines.open + "\nserve: { max-size: 10MB }\n")
    let served = try ServedHome(folder, options: ["--config", "serve.yaml"])
    let token = try served.token("ann")
    struct Created: Decodable { var id: String }
    let id = try served.ask(
      "POST", "/v1/attachments?filename=a.bin", token: token, body: Data(count: 8_000_000)
    ).decoded(Created.self).id
    let long = "/v1/attachments/\(id)/content"
    try Resident.wait("there is a content") { try served.ask("HEAD", long, token: token).status == 200 }

    let post = "POST /v1/attachments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n"
    let get = "GET \(long) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n\r\n"
    let endings = Endings()
    var names: [String] = []
    /// A client that begins with something, and each second sends more, until there is an answer or an end.
    func sender(_ name: String, _ beginning: String, each: String = "", for seconds: Int = 75) throws {
      names.append(name)
      let connection = try RawConnection(port: served.port)
      connection.send(beginning)
      Self.detach {
        let began = Date()
        var answer: RawConnection.Answer?
        for _ in 0..<seconds where answer == nil && !connection.isOver {
          answer = connection.answer(within: 1000)
          if answer == nil { connection.send(each) }
        }
        endings.note(name, Ending(seconds: Date().timeIntervalSince(began), status: answer?.status))
      }
    }
    try sender("nothing", "")
    try sender("half a head", "GET / HTTP/1.1\r\nHo")
    try sender("a field a second", "GET / HTTP/1.1\r\n", each: "X: y\r\n")
    try sender("a byte of a head a second", "GET /", each: "a")
    try sender("half a body", post + "Content-Length: 50000\r\n\r\nhello")
    try sender("100 bytes of a body a second", post + "Content-Length: 50000\r\n\r\n", each: Self.text(100))
    try sender("a byte of a chunk's size a second", post + "Transfer-Encoding: chunked\r\n\r\n", each: "0")
    try sender("a trailer a second", post + "Transfer-Encoding: chunked\r\n\r\n0\r\n", each: "X: y\r\n")
    try sender(
      "2,000 bytes of a body a second", post + "Content-Length: 60000\r\n\r\n", each: Self.text(2000))
    try sender("a body that stops", post + "Content-Length: 50000\r\n\r\n" + Self.text(20_000))

    /// A client that reads so much each 100 milliseconds, and in the end all that is left.
    func reader(_ name: String, _ count: Int, for seconds: Int) throws {
      names.append(name)
      let connection = try RawConnection(port: served.port, receiveBuffer: 8192)
      connection.send(get)
      Self.detach {
        let began = Date()
        var bytes = 0
        for _ in 0..<seconds * 10 {
          bytes += connection.some(count, within: 0).count
          usleep(100_000)
        }
        while case let more = connection.some(1 << 20), !more.isEmpty { bytes += more.count }
        endings.note(name, Ending(seconds: Date().timeIntervalSince(began), bytes: bytes))
      }
    }
    try reader("5 bytes of an answer at a time", 5, for: 65)
    try reader("2,000 bytes of an answer at a time", 2000, for: 65)

    // An answer that came early, to a client that sends on, and to one that does not close.
    names.append("an early answer")
    let early = try RawConnection(port: served.port)
    early.send("POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n")
    #expect(early.answer()?.status == 404)
    Self.detach {
      let began = Date()
      while Date().timeIntervalSince(began) < 20 && early.isHeard { usleep(100_000) }
      endings.note("an early answer", Ending(seconds: Date().timeIntervalSince(began)))
    }
    // One that was answered, and asks no more.
    try sender("idle", "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
    names.append("kept")
    let kept = try RawConnection(port: served.port)
    kept.send("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
    #expect(kept.answer()?.status == 200)
    Self.detach {
      let began = Date()
      _ = kept.isClosed(within: 75_000)
      endings.note("kept", Ending(seconds: Date().timeIntervalSince(began)))
    }

    let began = Date()
    while endings.count < names.count && Date().timeIntervalSince(began) < 90 {
      let asked = Date()
      #expect(try served.ask("GET", "/readyz").status == 200)
      #expect(Date().timeIntervalSince(asked) < 1)
      usleep(250_000)
    }
    func expect(_ name: String, _ status: Int?, within seconds: ClosedRange<Double>) {
      guard let ending = endings[name] else {
        Issue.record("\(name): it never ended")
        return
      }
      print("\(name): \(ending)")
      #expect(ending.status == status && seconds.contains(ending.seconds), "\(name): \(ending)")
    }
    expect("nothing", nil, within: 59...63)
    expect("kept", nil, within: 59...63)
    for name in ["half a head", "a field a second", "a byte of a head a second"] {
      expect(name, 408, within: 9...14)
    }
    for name in [
      "half a body", "100 bytes of a body a second", "a byte of a chunk's size a second",
      "a trailer a second",
    ] {
      expect(name, 408, within: 9...14)
    }
    expect("a body that stops", 408, within: 19...24)
    expect("2,000 bytes of a body a second", 201, within: 28...40)
    expect("an early answer", nil, within: 4...8)
    expect("idle", 200, within: 0...2)
    #expect((endings["5 bytes of an answer at a time"]?.bytes ?? .max) < 8_000_000)
    #expect((endings["2,000 bytes of an answer at a time"]?.bytes ?? 0) > 8_000_000)
    Soak.row("slow clients, each until its deadline", tries: names.count, failures: 0)
    #expect(served.stop() == 0)
  }

  private static func text(_ count: Int) -> String { String(repeating: "x", count: count) }

  private static func detach(_ body: @escaping () -> Void) {
    nonisolated(unsafe) let body = body
    Thread.detachNewThread { body() }
  }
}
