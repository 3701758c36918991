import CPlatform
import Foundation
import Glibc
import Testing

/// `sluice serve` among other programs: systemd, a proxy, a program that signs tokens, one that collects figures.
@Suite(.serialized)
struct ServeOperationTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private struct Created: Decodable { var id: String }

  /// A pipeline whose server has these settings.
  private func served(_ settings: String, environment: [String: String] = [:]) throws -> ServedHome {
    try folder.write("pipeline.yaml", Pipelines.open + "\nserve: \(settings)\n")
    return try ServedHome(folder, options: ["--config", "pipeline.yaml"], environment: environment)
  }

  @Test func systemdIsToldWhenItIsReadyThatItLivesAndThatItEnds() throws {
    let systemd = try NotifySocket()
    let served = try served(
      "{}", environment: ["NOTIFY_SOCKET": systemd.place, "WATCHDOG_USEC": "400000"])
    var heard: Set<String> = []
    let deadline = Date(timeIntervalSinceNow: 20)
    while heard != ["READY=1", "WATCHDOG=1"], Date() < deadline { heard.insert(systemd.next()) }
    #expect(heard == ["READY=1", "WATCHDOG=1"])
    // It goes on telling while it has nothing to do.
    let began = Date()
    for _ in 0..<5 { #expect(systemd.next() == "WATCHDOG=1") }
    #expect(Date().timeIntervalSince(began) > 0.5)
    #expect(served.stop() == 0)
    while heard.insert(systemd.next()).inserted == false {}
    #expect(heard.contains("STOPPING=1"))
  }

  @Test func eachRequestHasALineInTheAccessLog() throws {
    let served = try served(
      "{ access-log: access.log, trust-proxy: [127.0.0.1], public-url: https://files.example.com/ }")
    let ann = try served.token("ann")
    let id = try served.ask(
      "POST", "/v1/attachments?filename=a.txt", token: ann, ["X-Forwarded-For: 203.0.113.9, 198.51.100.7"],
      body: Data("text\n".utf8)
    ).decoded(Created.self).id
    #expect(try served.ask("GET", "/v1/attachments/\(id)", token: "nonsense").status == 401)
    let link = try served.ask("GET", "/v1/attachments/\(id)/link", token: ann).text
    #expect(
      link.contains("\"url\":\"https://files.example.com/v1/attachments/\(id)/content?expires="), "\(link)")
    struct Line: Decodable {
      var method: String
      var path: String
      var peer: String
      var status: Int
      var name: String?
      var receivedBytes: Int
    }
    func lines() throws -> [Line] {
      try folder.read("home/access.log").split(separator: "\n").map {
        try JSONDecoder().decode(Line.self, from: Data($0.utf8))
      }
    }
    try Resident.wait("all are in the log") { try lines().count == 3 }
    let all = try lines()
    #expect(all.map(\.path) == ["/v1/attachments", "/v1/attachments/\(id)", "/v1/attachments/\(id)/link"])
    #expect(all.map(\.status) == [201, 401, 200] && all.map(\.name) == ["ann", nil, "ann"])
    #expect(all.map(\.peer) == ["198.51.100.7", "127.0.0.1", "127.0.0.1"] && all[0].receivedBytes == 5)
    #expect(try !folder.read("home/access.log").contains(ann))
    // As logrotate does.
    try FileManager.default.moveItem(
      atPath: folder.path + "/home/access.log", toPath: folder.path + "/home/access.log.1")
    try Resident.wait("it goes on in a new file") {
      _ = try served.ask("GET", "/version")
      if !FileManager.default.fileExists(atPath: folder.path + "/home/access.log") { return false }
      return try lines().contains { $0.path == "/version" }
    }
    #expect(served.stop() == 0)
  }

  /// More connections than one address may have come from a proxy, where many clients are behind it.
  @Test func aProxyThatIsTrustedMayHaveManyConnections() throws {
    func open(_ served: ServedHome) throws -> Int {
      var sockets: [Int32] = []
      defer { for socket in sockets { close(socket) } }
      for _ in 0..<10 { sockets.append(try served.connected()) }
      return sockets.count { socket in
        let text = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
        _ = send(socket, text, text.utf8.count, Int32(MSG_NOSIGNAL))
        sluice_limit_receiving(socket, 5000)
        var room = [UInt8](repeating: 0, count: 500)
        let count = recv(socket, &room, room.count, 0)
        return String(decoding: room[..<max(count, 0)], as: UTF8.self).hasPrefix("HTTP/1.1 200")
      }
    }
    let strict = try served("{ per-address: 3 }")
    #expect(try open(strict) == 3)
    #expect(strict.stop() == 0)
    let trusting = try served("{ per-address: 3, trust-proxy: 127.0.0.0/8 }")
    #expect(try open(trusting) == 10)
    #expect(trusting.stop() == 0)
  }

  /// The keys and tokens were made once, with OpenSSL; the first two are good until the year 2100.
  private enum Signed {
    static let keys =
      #"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"8qhi2T2MPqcAvtPI9XNpQcCyysfVrvKKnEA1kYSaNN0","kid":"k1"}]}"#
    private static let head = "eyJhbGciOiJFZERTQSIsInR5cCI6IkpXVCIsImtpZCI6ImsxIn0."
    private static let issuer = "eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUuY29tIiwiYXVkIjoic2x1aWNlIiwic3ViIjoi"
    static let ann =
      head + issuer + "YW5uIiwiZXhwIjo0MTAyNDQ0ODAwfQ."
      + "mvuVKALUKMtN7kEBLzCPYn7PFZKkKWsH4m0EShXQYlUQGVSM17z64W9UbQG1nWIPVvNVT6Oy3TBKyY6UHX9tCw"
    static let eve =
      head + issuer + "ZXZlIiwiZXhwIjo0MTAyNDQ0ODAwfQ."
      + "PIcFucS_nuE-vDmCs-pCYOPjwZQjdyVcyo0FqO-ZJquUg0nQmBxREGdpkH8RVHvZvvcgS3ARhhL6NIXMQRzRBg"
    static let late =
      head + issuer + "YW5uIiwiZXhwIjoxMDAwMDAwMDAwfQ."
      + "nvtFXv0MwkNHbWhjZ8NEzTnZ_kLto8bMKMT9IqZrGMQSznX6GYOffGhNRzC92yW8lakEdOrB3QYDYqpWKkeYDg"
  }

  @Test func aTokenThatTheProductSignsNamesAUser() throws {
    try folder.write("jwks.json", Signed.keys)
    let served = try served(
      "{ identity: { issuer: \"https://id.example.com\", audience: sluice, keys: jwks.json } }"
    )
    let created = try served.ask(
      "POST", "/v1/attachments?filename=a.txt", token: Signed.ann, body: Data("text\n".utf8))
    #expect(created.status == 201, "\(created.text)")
    let place = "/v1/attachments/\(try created.decoded(Created.self).id)"
    try Resident.wait("it is completed") {
      try served.ask("GET", "\(place)/content", token: Signed.ann).text == "text\n"
    }
    // It is the same user as with a token of this server's.
    #expect(try served.ask("GET", place, token: try served.token("ann")).status == 200)
    #expect(try served.ask("GET", place, token: Signed.eve).status == 404)
    #expect(try served.ask("GET", place, token: Signed.late).status == 401)
    #expect(try served.ask("GET", "/v1/lanes", token: Signed.ann).status == 403)
    struct Link: Decodable { var url: String }
    let link = try served.ask("GET", "\(place)/link", token: Signed.ann).decoded(Link.self).url
    #expect(try served.ask("GET", link).text == "text\n")
    #expect(try served.ask("GET", link.replacing("participant=ann", with: "participant=eve")).status == 401)
    let listening = try served.listen(Signed.ann)
    #expect(listening.next()?.kind == "start")
    // An empty set takes all keys back: streams and links that were begun with one end with it.
    try folder.write("jwks.json", "{\"keys\": []}")
    try Resident.wait("the stream has ended") { listening.isOver() }
    #expect(try served.ask("GET", place, token: Signed.ann).status == 401)
    #expect(try served.ask("GET", link).status == 401)
    try folder.write("jwks.json", Signed.keys)
    try Resident.wait("the key is there again") { try served.ask("GET", link).text == "text\n" }
    #expect(served.stop() == 0)
    try folder.write("jwks.json", "{}")
    let refused = try SluiceCommand.run(
      ["serve", "--home", "home", "--listen", "127.0.0.1:0", "--config", "pipeline.yaml"], in: folder)
    #expect(refused.status == 78 && refused.err.contains("has no keys for tokens"), "\(refused.err)")
  }

  /// They are there from the start; where a token names another one they are asked for again; and an answer that is of no use, or none,
  /// leaves them as they are.
  @Test func keysMayComeByALink() throws {
    try folder.write("www/jwks.json", Signed.keys.replacing("\"k1\"", with: "\"k0\""))
    let site = try Site(of: folder.path + "/www", logging: folder.path + "/www.log")
    defer { site.stop() }
    let served = try served(
      "{ identity: { issuer: \"https://id.example.com\", audience: sluice, allow-private: [127.0.0.1], "
        + "keys: \"http://127.0.0.1:\(site.port)/jwks.json\" } }")
    #expect(try site.requests == 1)
    try folder.write("www/jwks.json", Signed.keys)
    // It names a key that is not there.
    #expect(try served.ask("GET", "/v1/attachments", token: Signed.ann).status == 401)
    try Resident.wait("the new keys are there") {
      try served.ask("GET", "/v1/attachments", token: Signed.ann).status == 200
    }
    #expect(try site.requests == 2)
    // Within the minute nobody has more requests made; one takes less than these three seconds.
    for _ in 0..<60 {
      let other = Signed.ann.replacing("Imsx", with: "Imsy")
      #expect(try served.ask("GET", "/v1/attachments", token: other).status == 401)
      usleep(50_000)
    }
    #expect(try site.requests == 2)
    #expect(served.stop() == 0)
    try folder.write("www/jwks.json", "<html>")
    let again = try self.served(
      "{ identity: { issuer: \"https://id.example.com\", audience: sluice, allow-private: [127.0.0.1], "
        + "keys: \"http://127.0.0.1:\(site.port)/jwks.json\" } }")
    #expect(again.errors.contains("the keys of tokens stay as they were"), "\(again.errors)")
    #expect(try again.ask("GET", "/v1/attachments", token: Signed.ann).status == 401)
    #expect(try again.ask("GET", "/v1/attachments", token: try again.token("ann")).status == 200)
  }

  /// Files over HTTP.
  private final class Site {
    private let process = Process()
    private let log: String
    let port: Int

    init(of folder: String, logging log: String) throws {
      self.log = log
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = [
        "sh", "-c", "exec python3 -u -m http.server 0 --bind 127.0.0.1 --directory \"$0\" >\"$1\" 2>&1",
        folder, log,
      ]
      try process.run()
      try Resident.wait("it says its port") {
        (try? String(contentsOfFile: log, encoding: .utf8))?.contains("port ") == true
      }
      let words = try String(contentsOfFile: log, encoding: .utf8).split(separator: " ")
      port = try #require(words.firstIndex(of: "port").flatMap { Int(words[$0 + 1]) })
    }

    var requests: Int {
      get throws {
        try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").count {
          $0.contains("\"GET ")
        }
      }
    }

    /// Other signals may be blocked in the thread that starts it.
    func stop() {
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
  }

  @Test func whatStagesSayIsToldAsTheySayIt() throws {
    let served = try served("{}")
    let (ann, eve) = (try served.token("ann"), try served.token("eve"))
    let (listening, other) = (try served.listen(ann), try served.listen(eve))
    (listening.hearsProgress, other.hearsProgress) = (true, true)
    #expect(listening.next()?.kind == "start" && other.next()?.kind == "start")
    let id = try served.ask("POST", "/v1/attachments?filename=a.txt", token: ann, body: Data("text\n".utf8))
      .decoded(Created.self).id
    var stages: [String] = []
    var end: EventClient.Event?
    while end == nil, let event = listening.next() {
      if event.kind == "progress" {
        struct Step: Decodable {
          var id: String
          var stage: String
          var verdict: String
        }
        let step = try JSONDecoder().decode(Step.self, from: Data(event.data.utf8))
        #expect(step.id == id && event.id.isEmpty)
        stages.append(step.stage)
      } else if event.data.contains("\"status\":\"completed\"") {
        end = event
      }
    }
    #expect(stages.contains("mime") && stages.contains("size") && stages.contains("store"), "\(stages)")
    #expect(end != nil)
    #expect(other.next(within: 300) == nil)
    let admin = try served.token("root", "--role", "admin")
    let figures = try served.ask("GET", "/metrics", token: admin).text
    #expect(
      figures.contains("sluice_stage_duration_seconds_bucket{stage=\"mime\",le=\"+Inf\"} 1\n"), "\(figures)")
    #expect(figures.contains("sluice_attachments_ended_total{status=\"completed\",stage=\"\",code=\"\"} 1\n"))
    #expect(served.stop() == 0)
  }

  @Test func theDescriptionIsServed() throws {
    let served = try served("{ public-url: \"https://files.example.com\" }")
    let answer = try served.ask("GET", "/openapi.json")
    #expect(answer.status == 200 && answer.fields["content-type"] == "application/json")
    #expect(try JSON(answer.text)["servers"].elements.first?["url"].text == "https://files.example.com")
    #expect(served.stop() == 0)
  }
}
