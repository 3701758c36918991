import Foundation
import Testing

/// Uploads by tus 1.0.0: cut, resumed, refused; and a server that is killed meanwhile.
@Suite(.serialized)
struct UploadTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private struct Record: Decodable {
    var status: String
    var sha256: String?
    var sizeBytes: Int?
    var senderId: String
    var pages: Int?
  }

  /// Waits until an attachment has ended.
  private func record(_ id: String, _ served: ServedHome, _ token: String) throws -> Record {
    var record: Record?
    try Resident.wait("it has ended") {
      let answer = try? served.ask("GET", "/v1/attachments/\(id)", token: token)
      record = try? answer?.decoded(Record.self)
      return record.map { $0.status != "queued" } ?? false
    }
    return try #require(record)
  }

  private var uploads: [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: folder.path + "/home/uploads")) ?? []
  }

  @Test func uploadsGoOnWhereTheyWereCut() throws {
    let served = try ServedHome(folder)
    let client = TusClient(served: served, token: try served.token("ann"))
    for name in ["report.pdf", "photo.jpg"] {
      let content = try Samples.data(name)
      let place = try client.begin(content, name: name, [("conversationId", "c1")])
      for tenth in 1..<10 {
        let state = try client.state(place)
        #expect(state.attachment == nil)
        let next = content.count * tenth / 10
        if next <= state.offset { continue }
        #expect(throws: ServedHome.Lost.self) {
          try client.append(content, at: state.offset, to: place, leaving: next - state.offset)
        }
        // What was sent is kept. It is told once it is synced.
        #expect(try client.state(place).offset <= next)
      }
      let id = try client.finish(content, place)
      let record = try record(id, served, client.token)
      #expect(record.status == "completed" && record.sizeBytes == content.count && record.senderId == "ann")
      let answer = try served.ask("GET", "/v1/attachments/\(id)/content", token: client.token)
      #expect(
        answer.status == 200 && answer.body == content,
        "\(answer.status), \(answer.body.count) of \(content.count) bytes: \(answer.text.prefix(200))")
    }
    // Their files are not needed any more.
    waitBriefly(5) { uploads.isEmpty }
    #expect(uploads.isEmpty)
    #expect(served.stop() == 0)
  }

  @Test func whatCannotBeIsSaidBeforeTheBytes() throws {
    try folder.write("serve.yaml", Pipelines.open + "\nserve: { max-size: 1000B, uploads: 2 }\n")
    let served = try ServedHome(folder, options: ["--config", "serve.yaml"])
    let client = TusClient(served: served, token: try served.token("ann"))
    func begin(_ length: Int, _ fields: [String] = []) throws -> Int {
      try served.ask(
        "POST", "/v1/uploads", token: client.token,
        ["Tus-Resumable: 1.0.0", "Upload-Length: \(length)"] + fields, body: Data()
      ).status
    }
    #expect(try begin(1001) == 413)
    #expect(try begin(10, ["Upload-Metadata: senderId \(Data("ben".utf8).base64EncodedString())"]) == 403)
    #expect(try begin(10, ["Upload-Metadata: filename ?"]) == 400)
    #expect(try begin(10, ["Upload-Concat: final;/v1/uploads/x"]) == 400)
    #expect(try served.ask("POST", "/v1/uploads", token: client.token, ["Upload-Length: 1"]).status == 412)
    let place = try client.begin(Data(count: 10), name: "a.txt")
    #expect(try begin(10) == 201)
    #expect(try begin(10) == 429)
    #expect(try client.append(Data(count: 11), at: 0, to: place).status == 413)
    #expect(try client.append(Data(count: 10), at: 3, to: place).status == 409)
    let other = TusClient(served: served, token: try served.token("ben"))
    #expect(try other.append(Data(count: 10), at: 0, to: place).status == 404)
    #expect(try served.ask("DELETE", place, token: client.token, ["Tus-Resumable: 1.0.0"]).status == 204)
    #expect(try begin(10) == 201)
    #expect(uploads.count == 2)
    #expect(
      try served.ask("GET", "/v1/uploads", token: client.token).text.contains("\"offset\":0,\"length\":10,"))
    let status = try SluiceCommand.run(["status", "--home", "home"], in: folder)
    #expect(status.out.contains("\nuploads      2 not whole\n"), "\(status.out)")
    #expect(served.stop() == 0)
  }

  /// A coordinator that is killed between the completion of an attachment and the deletion of its upload's file leaves that. It goes with
  /// the next command that has the home for itself; what is still needed stays.
  @Test(arguments: ["ingest", "run", "verify"]) func aFileThatAKilledCoordinatorLeftIsDeleted(
    next: String
  ) throws {
    try folder.write("pipeline.yaml", Pipelines.open)
    let served = try ServedHome(folder)
    let client = TusClient(served: served, token: try served.token("ann"))
    let content = Data("a text\n".utf8)
    let whole = try client.begin(content, name: "a.txt")
    #expect(try record(try client.finish(content, whole), served, client.token).status == "completed")
    let partial = try client.begin(content, name: "b.txt")
    try client.append(content.prefix(3), at: 0, to: partial)
    waitBriefly(5) { uploads.count == 1 }
    #expect(served.stop(SIGKILL) != 0)

    let (id, stray) = (String(whole.suffix(32)), String(repeating: "7", count: 32))
    for name in [id, stray, stray + ".doubt", "notes.txt"] {
      try folder.write("home/uploads/\(name)", content)
    }
    let found = try SluiceCommand.run(["verify", "--home", "home", "--format", "json"], in: folder)
    let places = found.records(Printed.Finding.self).map { "\($0.code) \($0.place)" }
    #expect(found.status == 1)
    #expect(places.sorted() == ["leftover uploads/\(id)", "leftover uploads/\(stray)"].sorted())
    switch next {
    case "run":
      let resident = try Resident(folder)
      waitBriefly(5) { uploads.count == 2 }
      #expect(resident.stop() == 0)
    case "verify":
      let repaired = try SluiceCommand.run(["verify", "--home", "home", "--repair"], in: folder)
      #expect(repaired.status == 0, "\(repaired.out)\(repaired.err)")
    default:
      let ingested = try SluiceCommand.run(
        ["ingest", "--home", "home", "--manifest", "/dev/null"], in: folder)
      #expect(ingested.status == 0, "\(ingested.err)")
    }
    #expect(uploads.sorted() == [String(partial.suffix(32)), "notes.txt"].sorted())
    #expect(try SluiceCommand.run(["verify", "--home", "home"], in: folder).status == 0)
  }

  /// Who completes an attachment deletes the file that its upload came in, whether it serves or not; and no other file.
  @Test func aFileGoesWithTheCompletionOfItsAttachment() throws {
    let served = try ServedHome(folder)
    let client = TusClient(served: served, token: try served.token("ann"))
    #expect(try SluiceCommand.run(["pause", "attachments", "--home", "home"], in: folder).status == 0)
    let content = Data("a text\n".utf8)
    let place = try client.begin(content, name: "a.txt")
    _ = try client.finish(content, place)
    #expect(served.stop() == 0)
    #expect(uploads.count == 1)
    // Its name is like that of an upload.
    let own = "in/0123456789abcdef0123456789abcdef"
    try folder.write(own, "mine\n")
    try folder.write("pipeline.yaml", Pipelines.open)
    #expect(try SluiceCommand.run(["resume", "attachments", "--home", "home"], in: folder).status == 0)
    let ingest = try SluiceCommand.run(["ingest", "--home", "home", "in"], in: folder)
    #expect(ingest.status == 0 && ingest.out.contains("2 completed"), "\(ingest.out)\(ingest.err)")
    #expect(uploads.isEmpty)
    #expect(try folder.read(own) == "mine\n")
  }

  /// Whatever is killed at whatever moment: what a client was told is there, what is there is the beginning of its content, and
  /// each upload becomes one attachment.
  @Test(arguments: [false, true])
  func uploadsOutliveKills(ofTheCoordinator: Bool) throws {
    let rounds = Soak.isOn ? 250 : 6
    var served: ServedHome? = try ServedHome(folder)
    let port = try #require(served?.port)
    let token = try #require(try served?.token("ann"))
    var random = SystemRandomNumberGenerator()
    let text = Data((0..<400_000).map { "\($0)\n" }.joined().utf8)
    var (kills, ids) = (0, Set<String>())
    for round in 0..<rounds {
      let content =
        Data("round \(round)\n".utf8) + text.prefix(Int.random(in: 200_000...2_000_000, using: &random))
      let place = try Self.again { try client(served, token).begin(content, name: "\(round).txt") }
      let id = place.split(separator: "/").last.map(String.init) ?? ""
      let delay = UInt32.random(in: 0...30_000, using: &random)
      let server = served?.server ?? 0
      let victim = ofTheCoordinator ? served?.coordinator ?? 0 : server
      try #require(victim > 0)
      let killer = Thread {
        usleep(delay)
        kill(victim, SIGKILL)
      }
      killer.start()
      kills += 1
      var told = 0
      if let answer = try? client(served, token).append(content, at: 0, to: place), answer.status == 204 {
        told = Int(answer.fields["upload-offset"] ?? "") ?? 0
      }
      waitBriefly(1) { killer.isFinished }
      if ofTheCoordinator {
        served = nil
        // It holds the port until it has noticed.
        waitBriefly(5) { kill(server, 0) != 0 }
        served = try ServedHome(folder, port: port)
      }
      let state = try Self.again { try client(served, token).state(place) }
      #expect(state.offset >= told)
      if state.attachment == nil {
        let there = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/home/uploads/" + id))
        #expect(there.count == state.offset && content.starts(with: there))
      }
      let attachment = try client(served, token).finish(content, place)
      ids.insert(attachment)
      let running = try #require(served)
      let record = try record(attachment, running, token)
      #expect(record.status == "completed" && record.sizeBytes == content.count)
    }
    #expect(ids.count == rounds)
    let running = try #require(served)
    struct List: Decodable {
      var attachments: [Record]
    }
    let listed = try running.ask("GET", "/v1/attachments?limit=200", token: token).decoded(List.self)
    #expect(listed.attachments.count == min(rounds, 200))
    waitBriefly(5) { uploads.isEmpty }
    #expect(uploads.isEmpty)
    #expect(running.stop() == 0)
    let verified = try SluiceCommand.run(["verify", "--home", "home"], in: folder)
    #expect(verified.status == 0, "\(verified.out)")
    Soak.row("kill -9 in the middle of an upload", tries: kills, failures: 0)
  }

  private func client(_ served: ServedHome?, _ token: String) throws -> TusClient {
    TusClient(served: try #require(served), token: token)
  }

  private static func again<Value>(_ body: () throws -> Value) throws -> Value {
    for _ in 0..<2000 {
      do { return try body() } catch is ServedHome.Lost { usleep(20_000) }
    }
    return try body()
  }
}
