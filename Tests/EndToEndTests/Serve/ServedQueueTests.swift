import CPlatform
import Foundation
import Glibc
import Testing

/// The queue over HTTP: contents in one request, links, lanes, deliveries, figures, and what happens as it happens.
@Suite(.serialized)
struct ServedQueueTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private struct Created: Decodable { var id: String }

  private func post(
    _ served: ServedHome, _ token: String, _ content: Data, _ query: String = "?filename=a.txt",
    _ fields: [String] = []
  ) throws -> ServedHome.Answer {
    try served.ask("POST", "/v1/attachments" + query, token: token, fields, body: content)
  }

  @Test func aContentIsTakenInWithOneRequest() throws {
    let served = try ServedHome(folder)
    let (ann, service) = (try served.token("ann"), try served.token("shop", "--role", "service"))
    let created = try post(served, ann, Data("text\n".utf8))
    #expect(created.status == 201, "\(created.text)")
    let id = try created.decoded(Created.self).id
    #expect(created.fields["location"] == "/v1/attachments/\(id)")
    try Resident.wait("it is completed") {
      try served.ask("GET", "/v1/attachments/\(id)/content", token: ann).text == "text\n"
    }
    // It is called as its sender calls it, and not as the server's file is.
    let listed = try SluiceCommand.run(["list", "--home", "home"], in: folder)
    #expect(
      listed.out.contains("completed    a.txt  text/plain") && !listed.out.contains("uploads/"),
      "\(listed.out)")
    let ofBen = try post(
      served, service, Data("text\n".utf8), "?filename=b.txt&senderId=ben&participants=%5B%22ann%22%5D")
    #expect(ofBen.status == 201)
    let record = try served.ask(
      "GET", "/v1/attachments/\(try ofBen.decoded(Created.self).id)", token: ann)
    #expect(record.text.contains("\"senderId\":\"ben\""))
    for query in ["sender=ben", "reference=none", "sender=ann&name=a.txt"] {
      let found = try served.ask("GET", "/v1/attachments?" + query, token: service).text
      #expect(found.contains("\"senderId\":\"ben\"") == (query == "sender=ben"), "\(query): \(found)")
      #expect(found.contains("\"senderId\":\"ann\"") == query.hasSuffix("a.txt"), "\(query): \(found)")
    }
    #expect(try post(served, ann, Data("x".utf8), "?senderId=ben").status == 403)
    #expect(try post(served, ann, Data("x".utf8), "?colour=blue").status == 400)
    #expect(try post(served, ann, Data("x".utf8), "", ["Content-Type: multipart/form-data"]).status == 400)
    #expect(try post(served, ann, Data(count: (10 << 20) + 1)).status == 413)
    #expect(try post(served, ann, Data(count: (2 << 20) + 1), "?filename=a.png").status == 413)
    waitBriefly(5) { folder.files(below: "home/uploads").isEmpty }
    #expect(folder.files(below: "home/uploads").isEmpty)
    #expect(served.stop() == 0)
  }

  @Test func lanesArePausedResumedAndEmptied() throws {
    let served = try ServedHome(folder)
    let (admin, service) = (
      try served.token("root", "--role", "admin"), try served.token("shop", "--role", "service")
    )
    #expect(try served.ask("POST", "/v1/lanes/attachments/pause", token: service).status == 403)
    let paused = try served.ask("POST", "/v1/lanes/attachments/pause?reason=a%20move", token: admin)
    #expect(paused.text == "{\"changed\":1,\"more\":false}\n")
    let lanes = try served.ask("GET", "/v1/lanes", token: service).text
    #expect(lanes.contains("\"reason\":\"a move\"") && lanes.contains("\"by\":\"root\""))
    var ids: [String] = []
    for number in 0..<3 {
      let created = try post(served, service, Data("text \(number)\n".utf8), "?filename=\(number).txt")
      ids.append(try created.decoded(Created.self).id)
    }
    let emptied = try served.ask("POST", "/v1/lanes/attachments/reset", token: admin)
    #expect(emptied.text == "{\"changed\":3,\"more\":false}\n")
    #expect(
      try served.ask("POST", "/v1/lanes/attachments/resume", token: admin).text
        == "{\"changed\":1,\"more\":false}\n")
    for id in ids {
      try Resident.wait("it is cancelled") {
        try served.ask("GET", "/v1/attachments/\(id)", token: service).text.contains("\"cancelled\"")
      }
    }
    #expect(try served.ask("POST", "/v1/lanes/nothing/pause", token: admin).status == 404)
    #expect(try served.ask("POST", "/v1/attachments/\(ids[0])/retry", token: service).status == 200)
    try Resident.wait("it is completed") {
      try served.ask("GET", "/v1/attachments/\(ids[0])/content", token: service).text == "text 0\n"
    }
    let deliveries = try served.ask("GET", "/v1/deliveries?status=delivered&limit=5", token: service)
    #expect(deliveries.status == 200 && deliveries.text.contains("\"deliveries\":["))
    #expect(try served.ask("POST", "/v1/deliveries/nothing/retry", token: service).status == 404)
    #expect(served.stop() == 0)
  }

  @Test func figuresAreThoseOfTheQueue() throws {
    let served = try ServedHome(folder)
    let service = try served.token("prometheus", "--role", "service")
    #expect(try post(served, service, Data("text\n".utf8)).status == 201)
    try Resident.wait("one is completed") {
      try served.ask("GET", "/metrics", token: service).text.contains(
        "sluice_attachments{status=\"completed\"} 1\n")
    }
    let text = try served.ask("GET", "/metrics", token: service).text
    #expect(text.contains("# TYPE sluice_http_requests_total counter\n"))
    #expect(text.contains("sluice_http_requests_total{status=\"201\"} 1\n"))
    #expect(text.contains("sluice_lane_paused{lane=\"attachments\"} 0\n"))
    #expect(try served.ask("GET", "/metrics").status == 401)
    #expect(served.stop() == 0)
  }

  @Test func aLinkIsAnsweredWithItsContent() throws {
    let source = try ContentServer()
    var content = Data()
    ContentServer.pieces(of: "/content/5000/a.bin", from: 0, to: 5000) { piece in
      content.append(contentsOf: piece)
      return true
    }
    try folder.write(
      "serve.yaml",
      Pipelines.open + "\nlanes: { downloads: { use: http, options: { allow-private: [127.0.0.1] } } }\n")
    let served = try ServedHome(folder, options: ["--config", "serve.yaml"])
    let ann = try served.token("ann")
    func fetch(_ body: String, _ fields: [String] = []) throws -> ServedHome.Answer {
      try served.ask(
        "POST", "/v1/fetch", token: ann, ["Content-Type: application/json"] + fields, body: Data(body.utf8))
    }
    let answer = try fetch("{\"url\":\"\(source.url)/content/5000/a.bin\",\"conversationId\":\"c\"}")
    #expect(answer.status == 200 && answer.body == content, "\(answer.status) \(answer.text)")
    let place = try #require(answer.fields["content-location"])
    #expect(try served.ask("GET", place, token: ann).body == content)
    #expect(try fetch("{\"url\":\"\(source.url)/missing/a\"}").status == 404)
    let later = try fetch("{\"url\":\"\(source.url)/content/5000/a.bin\"}", ["Prefer: respond-async"])
    #expect(later.status == 202 && later.fields["location"]?.hasPrefix("/v1/attachments/") == true)
    for (body, status) in [
      ("", 400), ("{", 400), ("{\"url\":\"ftp://x/y\"}", 400), ("{\"path\":\"/etc/passwd\"}", 400),
      ("{\"url\":\"http://x/y\",\"senderId\":\"ben\"}", 403),
      ("{\"url\":\"http://x/y\",\"credential\":\"files\"}", 403),
      (String(repeating: " ", count: 70_000) + "{}", 413),
    ] {
      let answer = try fetch(body)
      #expect(answer.status == status, "\(body.prefix(60)): \(answer.status) \(answer.text)")
    }
    #expect(served.stop() == 0)
  }

  /// What one user's link brought is no other's, and neither is how that failed.
  @Test func eachUserFetchesForItself() throws {
    let source = try ContentServer()
    try folder.write(
      "serve.yaml",
      Pipelines.open + "\nlanes: { downloads: { use: http, options: { allow-private: [127.0.0.1] } } }\n")
    let served = try ServedHome(folder, options: ["--config", "serve.yaml"])
    let (ann, ben) = (try served.token("ann"), try served.token("ben"))
    func fetch(_ token: String, _ path: String, _ more: String = "") throws -> ServedHome.Answer {
      try served.ask(
        "POST", "/v1/fetch", token: token, ["Content-Type: application/json"],
        body: Data("{\"url\":\"\(source.url)\(path)\"\(more)}".utf8))
    }
    let first = try fetch(ann, "/content/5000/a.bin")
    let asked = source.requests(of: "/content/5000/a.bin").count
    let second = try fetch(ben, "/content/5000/a.bin")
    #expect(first.status == 200 && second.status == 200 && first.body == second.body)
    #expect(source.requests(of: "/content/5000/a.bin").count > asked)
    let (one, other) = (first.fields["content-location"], second.fields["content-location"])
    #expect(one != other)
    #expect(try served.ask("GET", try #require(one), token: ben).status == 404)
    #expect(try served.ask("GET", try #require(other), token: ben).status == 200)
    // The same user is not answered by the source again.
    let again = try fetch(ann, "/content/5000/a.bin")
    #expect(again.fields["content-location"] == one)
    #expect(try fetch(ann, "/missing/b").status == 404)
    let failed = source.requests(of: "/missing/b").count
    #expect(try fetch(ann, "/missing/b").status == 404)
    #expect(source.requests(of: "/missing/b").count > failed, "who asks again wants it to be tried again")
    // A link that is said to be large stops nobody.
    let large = try fetch(ann, "/content/5000/c.bin", ",\"size\":1000000000000000")
    #expect(large.status == 413 && large.text.contains("too-large-to-fetch"), "\(large.text)")
    #expect(try fetch(ben, "/content/5000/d.bin").status == 200)
    #expect(try served.ask("GET", "/readyz").status == 200)
    #expect(served.stop() == 0)
  }

  @Test func withoutALaneNoLinkIsFetched() throws {
    try folder.write("serve.yaml", Pipelines.open)
    let served = try ServedHome(folder, options: ["--config", "serve.yaml"])
    let answer = try served.ask(
      "POST", "/v1/fetch", token: try served.token("ann"), ["Content-Type: application/json"],
      body: Data("{\"url\":\"https://files.example/a\"}".utf8))
    #expect(answer.status == 409 && answer.text.contains("no-downloads"))
    #expect(served.stop() == 0)
  }

  @Test func whatHappensIsToldAtOnce() throws {
    let served = try ServedHome(folder)
    let (ann, ben) = (try served.token("ann"), try served.token("ben"))
    let (listening, other) = (try served.listen(ann), try served.listen(ben))
    #expect(listening.next()?.kind == "start" && other.next()?.kind == "start")
    let began = Date()
    let id = try post(served, ann, Data("text\n".utf8)).decoded(Created.self).id
    var kinds: [String] = []
    while let event = listening.next() {
      #expect(event.kind == "attachment" && event.data.contains(id) && !event.data.contains("\"source\""))
      kinds.append(event.data.contains("\"completed\"") ? "completed" : "queued")
      if kinds.last == "completed" { break }
    }
    #expect(kinds.last == "completed")
    #expect(Date().timeIntervalSince(began) < 60)
    // A cut client is told what it has missed.
    let last = try #require(listening.lastId)
    listening.close()
    let second = try post(served, ann, Data("another\n".utf8)).decoded(Created.self).id
    try Resident.wait("it is completed") {
      try served.ask("GET", "/v1/attachments/\(second)/content", token: ann).status == 200
    }
    let again = try served.listen(ann, ["Last-Event-ID: \(last)"])
    #expect(again.next()?.data.contains(second) == true)
    // Of all that ben is told nothing.
    #expect(other.next(within: 300) == nil)
    // Whose token is revoked is told nothing more.
    let listed = try SluiceCommand.run(["tokens", "list", "--home", "home"], in: folder).out
    let line = try #require(listed.split(separator: "\n").first { $0.contains("  ann  ") })
    _ = try SluiceCommand.run(["tokens", "revoke", String(line.prefix(12)), "--home", "home"], in: folder)
    try Resident.wait("the stream is closed", seconds: 5) { again.isOver() }
    #expect(served.stop() == 0)
  }
}
