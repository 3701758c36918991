import Foundation
import Testing

/// What is fetched is told as it comes: to operators as a transfer, to users as the progress of their own attachments.
@Suite(.serialized)
struct ServedTransferTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private struct Created: Decodable { var id: String }

  private struct Transfer: Decodable {
    var key: Int
    var attachmentId: String
    var link: String
    var state: String
    var bytes: Int
    var total: Int?
  }

  private struct Progress: Decodable {
    var id: String
    var stage: String
    var verdict: String?
    var bytes: Int?
    var size: Int?
  }

  @Test func whoTakesPartInAMessageHasItsLinkFetched() throws {
    let source = try ContentServer()
    try folder.write(
      "serve.yaml",
      Pipelines.open
        + "\nlanes: { downloads: { use: http, prefetch: { messages: 1 }, options: { allow-private: [127.0.0.1] } } }\n"
    )
    let served = try ServedHome(folder, options: ["--config", "serve.yaml"])
    let (ben, eve, shop) = (
      try served.token("ben"), try served.token("eve"), try served.token("shop", "--role", "service")
    )
    // A service's backend hands over what has come; nobody waits for it.
    let lines = (1...2).map {
      #"{"url":"\#(source.url)/content/100\#($0)/a.bin","conversationId":"c","messageId":"m\#($0)","senderId":"ann","participants":["ben"],"fileName":"\#($0)"}"#
    }
    // No claim may see the older link alone.
    #expect(try SluiceCommand.run(["pause", "--home", "home", "downloads"], in: folder).status == 0)
    let taken = try SluiceCommand.run(
      ["enqueue", "--home", "home", "--manifest", "-"], in: folder, input: lines.joined(separator: "\n"))
    #expect(taken.status == 0, "\(taken.err)")
    #expect(try SluiceCommand.run(["resume", "--home", "home", "downloads"], in: folder).status == 0)
    struct List: Decodable { var attachments: [Row] }
    struct Row: Decodable { var id: String, fileName: String, status: String }
    func row(_ name: String) throws -> Row? {
      try served.ask("GET", "/v1/attachments", token: ben).decoded(List.self).attachments
        .first { $0.fileName == name }
    }
    try Resident.wait("the newest is here") { try row("2")?.status == "completed" }
    let older = try #require(try row("1"))
    #expect(older.status == "queued")
    let transfers = try served.ask("GET", "/v1/transfers", token: shop).text
    #expect(transfers.contains("not-prefetched"), "\(transfers)")
    #expect(try served.ask("POST", "/v1/attachments/\(older.id)/now", token: eve).status == 404)
    #expect(try row("1")?.status == "queued")
    let answer = try served.ask("POST", "/v1/attachments/\(older.id)/now", token: ben)
    #expect(answer.status == 200 && answer.text.contains(#""changed":true"#), "\(answer.text)")
    try Resident.wait("the older one is here") { try row("1")?.status == "completed" }
    let again = try served.ask("POST", "/v1/attachments/\(older.id)/now", token: ben)
    #expect(again.status == 200 && again.text.contains(#""changed":false"#), "\(again.text)")
    // Who asks for a link by a request of its own waits for it: all are fetched, and not only the newest.
    let paused = try SluiceCommand.run(["pause", "downloads", "--home", "home"], in: folder)
    #expect(paused.status == 0, "\(paused.err)")
    func ask(for number: Int) throws {
      let body =
        #"{"url":"\#(source.url)/content/90\#(number)/b","conversationId":"c","messageId":"m\#(number)","senderId":"ann","participants":["ben"],"fileName":"\#(number)"}"#
      let asked = try served.ask(
        "POST", "/v1/fetch", token: shop, ["Content-Type: application/json", "Prefer: respond-async"],
        body: Data(body.utf8))
      #expect(asked.status == 202, "\(asked.text)")
    }
    for number in 5...7 { try ask(for: number) }
    // What waits already and is asked for again is as urgent as it was.
    let id = try #require(try row("6")?.id)
    let raised = try SluiceCommand.run(["prioritize", id, "--priority", "7", "--home", "home"], in: folder)
    #expect(raised.status == 0, "\(raised.err)")
    try ask(for: 6)
    let waiting = try served.ask("GET", "/v1/transfers", token: shop).text
    #expect(waiting.contains(#""priority":7"#), "\(waiting)")
    let resumed = try SluiceCommand.run(["resume", "downloads", "--home", "home"], in: folder)
    #expect(resumed.status == 0, "\(resumed.err)")
    try Resident.wait("all three are here") {
      try (5...7).allSatisfy { try row("\($0)")?.status == "completed" }
    }
  }

  /// A server that takes a session no longer: who has it is told, and signed out where the pipeline says so.
  @Test(arguments: [true, false]) func whoseSessionIsRefusedIsToldAndSignedOut(signsOut: Bool) throws {
    let source = try ContentServer()
    let secret = "hush-\(UUID().uuidString)"
    try folder.write(
      "serve.yaml",
      Pipelines.open + """

        lanes:
          downloads: { use: http, credential: files, options: { allow-private: [127.0.0.1] } }
        credentials:
          files:
            header: "authorization: Bearer \(secret)"
            hosts: [127.0.0.1]
            owner: ann
            on-401: \(signsOut ? "sign-out" : "pause")
        """)
    let served = try ServedHome(folder, options: ["--config", "serve.yaml"])
    let (ann, other, ben, admin) = (
      try served.token("ann"), try served.token("ann"), try served.token("ben"),
      try served.token("ann", "--role", "admin")
    )
    let (own, foreign, operating) = (
      try served.listen(ann), try served.listen(ben), try served.listen(admin)
    )
    for listening in [own, foreign, operating] { #expect(listening.next()?.kind == "start") }
    // Another user's link is asked for without it: that user is told of the refusal, and neither is anybody signed out nor does
    // the lane stop.
    let asked = try served.ask(
      "POST", "/v1/fetch", token: ben, ["Content-Type: application/json"],
      body: Data(#"{"url":"\#(source.url)/unauthorized/his"}"#.utf8))
    #expect(asked.status == 401 && asked.text.contains("\"unauthorized\""), "\(asked.text)")
    #expect(try served.ask("GET", "/v1/attachments", token: ann).status == 200)
    #expect(try !SluiceCommand.run(["status", "--home", "home"], in: folder).out.contains("sluice for ann"))
    let line =
      #"{"url":"\#(source.url)/unauthorized/a?token=\#(secret)","conversationId":"c","messageId":"m","senderId":"cid","participants":["ben"]}"#
    let taken = try SluiceCommand.run(
      ["enqueue", "--home", "home", "--manifest", "-"], in: folder, input: line)
    #expect(taken.status == 0, "\(taken.err)")
    struct Told: Decodable { var name: String, paused: Paused }
    struct Paused: Decodable { var code: String, reason: String, by: String? }
    func lane(_ listening: EventClient) throws -> (Told, String)? {
      while let event = listening.next(within: 5000) {
        if event.kind == "lane" {
          return (try JSONDecoder().decode(Told.self, from: Data(event.data.utf8)), event.data)
        }
      }
      return nil
    }
    let (told, text) = try #require(try lane(own))
    #expect(told.name == "downloads" && told.paused.code == "unauthorized" && told.paused.by == nil)
    #expect(told.paused.reason.contains("answered 401"), "\(text)")
    #expect(try #require(try lane(operating)).0.paused.by == "sluice for ann")
    try Resident.wait("ann is signed out") { own.isOver() || !signsOut }
    let statuses = try [ann, other, ben, admin].map {
      try served.ask("GET", "/v1/attachments", token: $0).status
    }
    #expect(statuses == (signsOut ? [401, 401, 200, 200] : [200, 200, 200, 200]))
    #expect(try lane(foreign) == nil && !foreign.isOver() && !operating.isOver())
    let listed = try SluiceCommand.run(["tokens", "list", "--home", "home"], in: folder).out
    #expect(listed.components(separatedBy: "revoked").count - 1 == (signsOut ? 4 : 0), "\(listed)")
    #expect(!served.errors.contains(secret) && !text.contains(secret))
    let status = try SluiceCommand.run(["status", "--home", "home"], in: folder).out
    #expect(status.contains("by sluice for ann since"), "\(status)")
  }

  /// The credential is the server's own. One user's link that answers 401 ends alone, however often; those of two in a row stop
  /// the lane.
  @Test func noUserAloneStopsTheLaneWithALinkThatAnswers401() throws {
    let source = try ContentServer()
    try folder.write(
      "serve.yaml",
      Pipelines.open + """

        lanes:
          downloads: { use: http, credential: files, options: { allow-private: [127.0.0.1] } }
        credentials:
          files: { header: "authorization: Bearer hush", hosts: [127.0.0.1] }
        """)
    let served = try ServedHome(folder, options: ["--config", "serve.yaml"])
    let (ben, eve) = (try served.token("ben"), try served.token("eve"))
    func ask(_ token: String, _ path: String, _ fields: String...) throws -> (status: Int, text: String) {
      let answer = try served.ask(
        "POST", "/v1/fetch", token: token, ["Content-Type: application/json"] + fields,
        body: Data("{\"url\":\"\(source.url)\(path)\"}".utf8))
      return (answer.status, answer.text)
    }
    for number in 1...3 {
      let refused = try ask(eve, "/unauthorized/\(number)")
      #expect(refused.status == 401 && refused.text.contains("answered this link with 401"), "\(refused)")
    }
    let taken = try ask(ben, "/content/1000/a")
    #expect(taken.status == 200, "the lane goes on, and the host takes the credential")
    #expect(try ask(ben, "/unauthorized/4").status == 401)
    #expect(try !SluiceCommand.run(["status", "--home", "home"], in: folder).out.contains("unauthorized"))
    #expect(try ask(eve, "/unauthorized/5", "Prefer: respond-async").status == 202)
    try Resident.wait("the lane is paused") {
      try SluiceCommand.run(["status", "--home", "home"], in: folder).out.contains("unauthorized")
    }
  }

  @Test func whatIsFetchedIsToldAsItComes() throws {
    let source = try ContentServer(rate: 200_000)
    try folder.write(
      "serve.yaml",
      Pipelines.open + "\nlanes: { downloads: { use: http, options: { allow-private: [127.0.0.1] } } }\n")
    let served = try ServedHome(folder, options: ["--config", "serve.yaml"])
    let (ann, eve, admin) = (
      try served.token("ann"), try served.token("eve"), try served.token("root", "--role", "admin")
    )
    let (own, foreign, operating) = (
      try served.listen(ann), try served.listen(eve), try served.listen(admin)
    )
    for listening in [own, foreign, operating] {
      listening.hearsProgress = true
      #expect(listening.next()?.kind == "start")
    }
    // Its size is known from the first checkpoint on, after two seconds.
    let size = 1_000_000
    let began = Date()
    let id = try served.ask(
      "POST", "/v1/fetch", token: ann, ["Content-Type: application/json", "Prefer: respond-async"],
      body: Data("{\"url\":\"\(source.url)/content/\(size)/secret.bin?token=abc\"}".utf8)
    ).decoded(Created.self).id

    var told: [Transfer] = []
    while told.last?.state != "fetched", let event = operating.next() {
      if event.kind == "progress" { #expect(!event.data.contains("\"downloads\""), "\(event.data)") }
      guard event.kind == "transfer" else { continue }
      #expect(event.id.isEmpty)
      told.append(try JSONDecoder().decode(Transfer.self, from: Data(event.data.utf8)))
    }
    let seconds = Date().timeIntervalSince(began)
    #expect(told.allSatisfy { $0.attachmentId == id && $0.key == told[0].key && !$0.link.contains("abc") })
    #expect(told.first?.state == "running" && told.last?.bytes == size)
    // It is told on the way, and no more than four times a second.
    #expect(told.contains { $0.state == "running" && $0.bytes > 0 && $0.bytes < size && $0.total == size })
    #expect(told.map(\.bytes) == told.map(\.bytes).sorted())
    #expect(Double(told.count) <= seconds * 4 + 2, "\(told.count) in \(seconds) s")

    var heard: [Progress] = []
    while let event = own.next() {
      #expect(event.kind != "transfer" && !event.data.contains("127.0.0.1"), "\(event.data)")
      if event.kind == "progress" {
        heard.append(try JSONDecoder().decode(Progress.self, from: Data(event.data.utf8)))
      } else if event.data.contains("\"completed\"") {
        break
      }
    }
    let downloads = heard.filter { $0.stage == "downloads" && $0.bytes != nil }
    #expect(downloads.contains { ($0.bytes ?? 0) > 0 && $0.size == size }, "\(heard)")
    #expect(heard.allSatisfy { $0.id == id })
    #expect(foreign.next(within: 300) == nil)
    #expect(served.stop() == 0)
  }

  @Test func theEndOfAFetchThatFailsIsToldToo() throws {
    let source = try ContentServer()
    try folder.write(
      "serve.yaml",
      Pipelines.open + "\nlanes: { downloads: { use: http, options: { allow-private: [127.0.0.1] } } }\n")
    let served = try ServedHome(folder, options: ["--config", "serve.yaml"])
    let service = try served.token("shop", "--role", "service")
    let listening = try served.listen(service)
    listening.hearsProgress = true
    #expect(listening.next()?.kind == "start")
    _ = try served.ask(
      "POST", "/v1/fetch", token: service, ["Content-Type: application/json"],
      body: Data("{\"url\":\"\(source.url)/missing/a\"}".utf8))
    var states: [String] = []
    while states.last != "failed", let event = listening.next() {
      guard event.kind == "transfer" else { continue }
      states.append(try JSONDecoder().decode(Transfer.self, from: Data(event.data.utf8)).state)
    }
    #expect(states == ["running", "failed"], "\(states)")
    #expect(served.stop() == 0)
  }
}
