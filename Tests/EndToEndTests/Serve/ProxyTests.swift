import Foundation
import Testing

/// Behind nginx and HAProxy, with the recipes of docs/http.md.
@Suite(.serialized)
struct ProxyTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test(.enabled(if: Proxy.Kind.nginx.isThere, "skipped: no nginx here")) func probesBehindNginx() throws {
    try probe(.nginx)
  }

  @Test(.enabled(if: Proxy.Kind.haproxy.isThere, "skipped: no haproxy here")) func probesBehindHAProxy()
    throws
  {
    try probe(.haproxy)
  }

  @Test(.enabled(if: Proxy.Kind.nginx.isThere, "skipped: no nginx here")) func transfersBehindNginx() throws {
    try transfer(.nginx)
  }

  @Test(.enabled(if: Proxy.Kind.haproxy.isThere, "skipped: no haproxy here"))
  func transfersBehindHAProxy() throws { try transfer(.haproxy) }

  /// Whatever one client sends, the others get their own answers.
  private func probe(_ kind: Proxy.Kind) throws {
    try folder.write("serve.yaml", ProbeRun.pipeline + "\n")
    let served = try ServedHome(folder, options: ["--config", "serve.yaml"])
    let proxy = try Proxy(kind, in: folder, to: served.port)
    let (run, server) = (try ProbeRun(served, port: proxy.port, isSecure: true), served.server)
    for (theme, probes) in Probe.themes {
      for probe in probes {
        for fault in try run.faultsBehindProxy(probe) {
          Issue.record("\(kind): \(theme): \(probe.name): \(fault)")
        }
      }
    }
    #expect(try run.client.state(run.upload).offset == 0)
    #expect(served.server == server)
    #expect(served.stop() == 0)
  }

  private struct Created: Decodable { var id: String }

  /// Large contents, and what must not wait in the proxy.
  private func transfer(_ kind: Proxy.Kind) throws {
    try folder.write(
      "serve.yaml",
      Pipelines.open + "\nserve: { max-size: 60MB, max-image-size: 60MB, per-address: 10000 }\n")
    let served = try ServedHome(folder, options: ["--config", "serve.yaml"])
    let token = try served.token("ann")
    let proxy = try Proxy(kind, in: folder, to: served.port)
    let client = ProxiedClient(port: proxy.port, token: token)

    let events = try client.connect()
    events.send(client.head("GET", "/v1/events"))
    #expect(Self.wait(for: "event: start", of: events), "events come at once")

    let content = [UInt8](unsafeUninitializedCapacity: 30_000_000) { room, count in
      for place in 0..<30_000_000 { room[place] = UInt8(truncatingIfNeeded: (place &* 2_654_435_761) >> 13) }
      count = room.count
    }
    try upload(content[..<8_000_000], client, events)

    let posted = try client.ask("POST", "/v1/attachments?filename=large.bin", body: content[...])
    #expect(posted.status == 201, "\(posted.text)")
    let id = try JSONDecoder().decode(Created.self, from: Data(posted.body)).id
    let place = "/v1/attachments/\(id)/content"
    try Resident.wait("it is completed") { try client.ask("HEAD", place).status == 200 }
    let got = try client.ask("GET", place)
    #expect(got.status == 200 && got.body == content)
    let part = try client.ask("GET", place, ["Range: bytes=29999990-"])
    #expect(part.status == 206 && part.body == Array(content.suffix(10)))
    #expect(part.field("content-range") == "bytes 29999990-29999999/30000000")
    let tag = try #require(got.field("etag"))
    #expect(try client.ask("GET", place, ["If-None-Match: \(tag)"]).status == 304)

    // What is refused before its bytes is told, though they are under way.
    for _ in 0..<10 {
      let large = try client.connect()
      large.send(client.head("POST", "/v1/attachments", ["Content-Length: 70000000"]))
      large.send([UInt8](repeating: 1, count: 500_000))
      #expect(large.answer()?.status == 413)
    }
    #expect(served.stop() == 0)
    try tellsWhereFrom(kind)
  }

  /// An upload by tus: cut, and gone on with.
  private func upload(_ content: ArraySlice<UInt8>, _ client: ProxiedClient, _ events: RawConnection) throws {
    let tus = ["Tus-Resumable: 1.0.0"]
    let octets = tus + ["Content-Type: application/offset+octet-stream"]
    let created = try client.ask("POST", "/v1/uploads", tus + ["Upload-Length: \(content.count)"], body: [])
    #expect(created.status == 201, "\(created.text)")
    let place = try #require(created.field("location"))
    let id = try #require(place.split(separator: "/").last.map(String.init))
    let file = folder.path + "/home/uploads/" + id
    func size() -> Int {
      (try? FileManager.default.attributesOfItem(atPath: file)[.size] as? Int).flatMap(\.self) ?? 0
    }
    let cut = try client.connect()
    cut.send(client.head("PATCH", place, octets + ["Upload-Offset: 0", "Content-Length: \(content.count)"]))
    cut.send(Array(content.prefix(5_000_000)))
    waitBriefly(5) { size() > 4_000_000 }
    #expect(size() > 4_000_000, "the bytes do not wait in the proxy")
    cut.close()
    var attachment: String?
    for _ in 0..<20 where attachment == nil {
      let state = try client.ask("HEAD", place, tus)
      #expect(state.status == 200)
      let offset = try #require(state.field("upload-offset").flatMap { Int($0) })
      #expect(offset > 4_000_000, "what was sent is kept")
      let rest = try client.ask(
        "PATCH", place, octets + ["Upload-Offset: \(offset)"], body: content.dropFirst(offset))
      #expect([204, 409].contains(rest.status), "\(rest.status) \(rest.text)")
      attachment = rest.field("attachment-id")
    }
    let got = try #require(attachment)
    #expect(Self.wait(for: got, of: events), "it is told of at once")
    try Resident.wait("it is completed") {
      try client.ask("GET", "/v1/attachments/\(got)/content").body == Array(content)
    }
  }

  /// The client's address, and not one that it claims.
  private func tellsWhereFrom(_ kind: Proxy.Kind) throws {
    let echo = try HeadEcho()
    let proxy = try Proxy(kind, in: folder, to: echo.port)
    let client = ProxiedClient(port: proxy.port, token: "x")
    let head = try client.ask("GET", "/version", ["X-Forwarded-For: 192.0.2.1", "X-Forwarded-Proto: http"])
      .text
    let lines = head.lowercased().components(separatedBy: "\r\n")
    #expect(lines.filter { $0.hasPrefix("x-forwarded-for:") } == ["x-forwarded-for: 127.0.0.1"], "\(head)")
    #expect(lines.filter { $0.hasPrefix("x-forwarded-proto:") } == ["x-forwarded-proto: https"], "\(head)")
  }

  private static func wait(for text: String, of events: RawConnection) -> Bool {
    var all: [UInt8] = []
    let end = Date().addingTimeInterval(5)
    while Date() < end {
      all += events.some(10_000, within: 100)
      if String(decoding: all, as: UTF8.self).contains(text) { return true }
    }
    return false
  }
}

/// Asks through a proxy, with TLS.
private struct ProxiedClient {
  let port: UInt16
  let token: String

  func connect() throws -> RawConnection { try RawConnection(port: port, isSecure: true) }

  func head(_ method: String, _ path: String, _ fields: [String] = []) -> String {
    let lines =
      ["\(method) \(path) HTTP/1.1", "Host: files.example.com", "Authorization: Bearer \(token)"] + fields
    return lines.joined(separator: "\r\n") + "\r\n\r\n"
  }

  func ask(
    _ method: String, _ path: String, _ fields: [String] = [], body: ArraySlice<UInt8>? = nil
  ) throws -> RawConnection.Answer {
    let connection = try connect()
    let length = body.map { ["Content-Length: \($0.count)"] } ?? []
    connection.send(head(method, path, fields + length))
    if let body { connection.send(Array(body)) }
    guard let answer = connection.answer(isHead: method == "HEAD", within: 20_000) else {
      throw ServedHome.Lost()
    }
    return answer
  }
}
