import CPlatform
import Foundation
import FrontWire
import Glibc
import Testing
import Wire

/// The process that speaks HTTP is taken over. It gets what the tokens allow that it saw, and the coordinator takes no harm.
@Suite(.serialized)
struct HostileServerTests {
  private let folder: TemporaryFolder
  private let server: HostileServer

  init() throws {
    (folder, server) = (try TemporaryFolder(), try HostileServer())
    try folder.write("pipeline.yaml", Pipelines.open + "\nserve: { max-size: 1MB, connections: 100 }\n")
  }

  private func served() throws -> ServedHome {
    try ServedHome(folder, options: ["--config", "pipeline.yaml"], program: server.program)
  }

  /// Takes a file in for somebody.
  private func takeIn(_ name: String, of sender: String) throws -> String {
    try folder.write("\(sender)/\(name)", "a text of \(sender)'s\n")
    let taken = try SluiceCommand.run(
      [
        "ingest", "--home", "home", "--config", "pipeline.yaml", "--format", "json", "--sender", sender,
        "--participants", sender, sender,
      ], in: folder)
    return try #require(taken.attachments.first?.id, "\(taken.err)")
  }

  private func expectWhole() throws {
    let verified = try SluiceCommand.run(["verify", "--home", "home"], in: folder)
    #expect(verified.status == 0, "\(verified.out) \(verified.err)")
  }

  private func text(_ reply: FrontReply) -> String {
    if case .bytes(let bytes) = reply.content { String(decoding: bytes, as: UTF8.self) } else { "" }
  }

  private func field(_ name: String, _ reply: FrontReply) -> String? {
    reply.fields.first { $0.name.lowercased() == name }?.value
  }

  private static let octets = ("content-type", "application/offset+octet-stream")

  @Test func aTokenGetsWhatItsOwnerMaySeeAndNothingElse() throws {
    let (own, others) = (try takeIn("a.txt", of: "ann"), try takeIn("e.txt", of: "eve"))
    let served = try served()
    let (ann, eve) = (try served.token("ann"), try served.token("eve"))
    let upload = try server.reply(server.request("POST", "/v1/uploads", eve, [("upload-length", "10")]))
    let place = try #require(field("location", upload))
    #expect(try server.reply(server.request("GET", "/v1/attachments/\(own)", ann)).status == 200)

    var tries = 0
    func expect(
      _ status: Int, _ method: String, _ path: String, _ token: String?, _ fields: [(String, String)] = [],
      body: FrontRequest.Body = .none
    ) throws {
      tries += 1
      let reply = try server.reply(server.request(method, path, token, fields, body: body))
      #expect(reply.status == status, "\(method) \(path): \(reply.status) \(text(reply))")
    }
    let absent = "00000000-0000-7000-8000-000000000000"
    for id in [others, absent, String(own.dropLast()), own + "x", "", "%", "../" + own, own.uppercased()] {
      for (method, end) in [
        ("GET", ""), ("GET", "/content"), ("GET", "/link"), ("POST", "/retry"), ("DELETE", ""), ("HEAD", ""),
      ] {
        var request = server.request(method, "/v1/attachments/x\(end)", ann)
        request.segments[2] = id
        tries += 1
        let reply = try server.reply(request)
        #expect(reply.status == 404, "\(method) '\(id)'\(end): \(reply.status)")
      }
    }
    for (method, fields) in [
      ("HEAD", []), ("DELETE", []), ("PATCH", [Self.octets, ("upload-offset", "0")]),
    ] {
      try expect(404, method, place, ann, fields, body: method == "PATCH" ? .length(10) : .none)
    }
    for (method, path) in [
      ("POST", "/v1/lanes/attachments/pause"), ("POST", "/v1/lanes/attachments/reset"), ("GET", "/metrics"),
      ("GET", "/v1/lanes"), ("GET", "/v1/transfers"), ("GET", "/v1/deliveries"),
      ("POST", "/v1/deliveries/x/retry"),
    ] {
      try expect(403, method, path, ann)
      try expect(401, method, path, nil)
    }
    // Nobody is who it says without a token, and a token says who.
    for token in [
      "", "ann", String(ann.dropLast()), ann + "0", "sluice_" + String(repeating: "0", count: 64),
    ] {
      try expect(401, "GET", "/v1/attachments", token)
    }
    try expect(401, "GET", "/v1/attachments", ann, [("authorization", "Bearer \(eve)")])
    for other in ["senderId ZXZl", "participants WyJldmUiXQ=="] {
      try expect(
        403, "POST", "/v1/uploads", ann, [("upload-length", "1"), ("upload-metadata", other)])
    }
    // A link is good for what it was made for.
    let link = text(try server.reply(server.request("GET", "/v1/attachments/\(own)/link", ann)))
    struct Link: Decodable { var url: String }
    let url = try JSONDecoder().decode(Link.self, from: Data(link.utf8)).url
    try expect(200, "GET", url, nil)
    try expect(401, "GET", url.replacingOccurrences(of: own, with: others), nil)
    try expect(401, "GET", url.replacingOccurrences(of: "expires=", with: "expires=9"), nil)
    try expect(401, "DELETE", String(url.replacingOccurrences(of: "/content", with: "")), nil)
    Soak.row("what a taken over HTTP server may not have", tries: tries, failures: 0)
    #expect(served.stop(SIGKILL) == SIGKILL)
    try expectWhole()
  }

  /// A descriptor that it gets for a content reads only; and one that it keeps of an upload changes no object.
  @Test func whatItKeepsOpenChangesNothing() throws {
    let own = try takeIn("a.txt", of: "ann")
    let served = try served()
    let ann = try served.token("ann")
    let content = try #require(
      try server.ask(server.request("GET", "/v1/attachments/\(own)/content", ann)).file)
    defer { close(content) }
    #expect(fcntl(content, F_GETFL) & O_ACCMODE == O_RDONLY)
    #expect(pwrite(content, "changed", 7, 0) < 0 && ftruncate(content, 0) < 0)

    let made = try server.reply(server.request("POST", "/v1/uploads", ann, [("upload-length", "5")]))
    let place = try #require(field("location", made))
    let patch = server.request(
      "PATCH", place, ann, [Self.octets, ("upload-offset", "0")], body: .length(5))
    let file = try #require(try server.ask(patch).file)
    defer { close(file) }
    #expect(pwrite(file, "hello", 5, 0) == 5)
    server.send(.stored(serial: patch.serial, Stored(bytes: 5, isWhole: true)))
    guard case .reply(_, let reply) = try server.receive().message else { throw HostileServer.Silent() }
    let id = try #require(field("attachment-id", reply))
    try Resident.wait("it is completed") {
      text(try server.reply(server.request("GET", "/v1/attachments/\(id)", ann))).contains("\"completed\"")
    }
    #expect(pwrite(file, "HELLO", 5, 0) == 5)
    // That goes once the attachment is on record; after a kill before that, the next start takes it away.
    try Resident.wait("the upload's file is gone") {
      try FileManager.default.contentsOfDirectory(atPath: folder.path + "/home/uploads").isEmpty
    }
    #expect(served.stop(SIGKILL) == SIGKILL)
    try expectWhole()
    let got = try SluiceCommand.run(["get", id, "--home", "home"], in: folder)
    #expect(got.out == "hello")
  }

  @Test func whatItSaysThatItStoredIsComparedWithTheFile() throws {
    let served = try served()
    let ann = try served.token("ann")
    let made = try server.reply(server.request("POST", "/v1/uploads", ann, [("upload-length", "100")]))
    let place = try #require(field("location", made))
    var offset = 0
    for (claim, written) in [(90, 10), (Int64.max, 0), (0, 5), (85, 1), (-1, 0)] as [(Int64, Int)] {
      let patch = server.request(
        "PATCH", place, ann, [Self.octets, ("upload-offset", String(offset))],
        body: .length(Int64(100 - offset)))
      let heard = try server.ask(patch)
      let file = try #require(heard.file, "\(heard.message)")
      #expect(pwrite(file, String(repeating: "x", count: 20), written, off_t(offset)) == written)
      close(file)
      let lives = server.lives
      server.send(.stored(serial: patch.serial, Stored(bytes: claim, isWhole: true)))
      offset += written
      if claim < 0 {
        // No number of bytes is that.
        try Resident.wait("another takes its place") { server.lives > lives }
        usleep(100_000)
        continue
      }
      guard case .reply(_, let reply) = try server.receive().message else { throw HostileServer.Silent() }
      #expect(reply.status == 500, "\(claim) bytes, and \(written) are: \(reply.status)")
      server.end(patch)
      let state = try server.reply(server.request("HEAD", place, ann))
      #expect(field("upload-offset", state) == String(offset) && field("attachment-id", state) == nil)
    }
    // In one request there is no second look.
    let post = server.request("POST", "/v1/attachments?filename=a", ann, body: .length(100))
    let heard = try server.ask(post)
    close(try #require(heard.file))
    server.send(.stored(serial: post.serial, Stored(bytes: 100, isWhole: true)))
    guard case .reply(_, let reply) = try server.receive().message else { throw HostileServer.Silent() }
    #expect(reply.status == 500)
    #expect(served.stop(SIGKILL) == SIGKILL)
    try expectWhole()
    #expect(try SluiceCommand.run(["list", "--home", "home", "--format", "json"], in: folder).out.isEmpty)
  }

  /// Answers to what it was not asked change nothing, and keep nobody from anything.
  @Test func whatNobodyAskedForIsNotTaken() throws {
    let served = try served()
    let ann = try served.token("ann")
    let made = try server.reply(server.request("POST", "/v1/uploads", ann, [("upload-length", "5")]))
    let place = try #require(field("location", made))
    for serial in [0, 1, 1 << 40, (1 << 40) + 1, 1 << 63, .max] as [UInt64] {
      server.send(.stored(serial: serial, Stored(bytes: 5, isWhole: true)))
      server.send(.body(serial: serial, Array("{\"url\":\"http://127.0.0.1/\"}".utf8)))
      server.send(.cut(serial: serial, isTooLong: true))
    }
    // Twice is once.
    let patch = server.request("PATCH", place, ann, [Self.octets, ("upload-offset", "0")], body: .length(5))
    let file = try #require(try server.ask(patch).file)
    #expect(pwrite(file, "hello", 5, 0) == 5)
    close(file)
    for _ in 0..<3 { server.send(.stored(serial: patch.serial, Stored(bytes: 5, isWhole: true))) }
    guard case .reply(_, let reply) = try server.receive().message else { throw HostileServer.Silent() }
    #expect(reply.status == 204 && field("attachment-id", reply) != nil)
    server.end(patch)
    // Many wait for an upload that one keeps: all are answered when it is done.
    let other = try #require(
      field(
        "location", try server.reply(server.request("POST", "/v1/uploads", ann, [("upload-length", "5")]))))
    let keeper = server.request("PATCH", other, ann, [Self.octets, ("upload-offset", "0")], body: .length(5))
    close(try #require(try server.ask(keeper).file))
    var waiting: Set<UInt64> = []
    for _ in 0..<150 {
      let head = server.request("HEAD", other, ann)
      waiting.insert(head.serial)
      server.send(.request(head))
    }
    server.send(.stored(serial: keeper.serial, Stored(bytes: 0, isWhole: false)))
    while !waiting.isEmpty {
      if case .reply(let serial, _) = try server.receive().message { waiting.remove(serial) }
    }
    #expect(server.lives == 1, "\(served.errors)")
    // What is in hand leaves an object in the incoming folder where it is killed.
    try Resident.wait("what was uploaded has ended") {
      try SluiceCommand.run(
        ["list", "--home", "home", "--status", "queued", "--format", "json"], in: self.folder
      ).out.isEmpty
    }
    #expect(served.stop(SIGKILL) == SIGKILL)
    try expectWhole()
  }

  /// Each ends the process; the next is served.
  @Test func oneThatSaysWhatItMayNotIsEnded() throws {
    let served = try served()
    let ann = try served.token("ann")
    func number(_ value: Int64) -> [UInt8] { withUnsafeBytes(of: value.littleEndian) { Array($0) } }
    let request = server.request("GET", "/v1/events", ann)
    let end = FrontEnd(status: 200, received: 0, sent: 0, microseconds: 0, isWhole: true)
    func ended(_ status: Int, _ received: Int64) -> [UInt8] {
      FromFront.ended([
        1: FrontEnd(status: status, received: received, sent: 0, microseconds: 0, isWhole: true)
      ]).frame
    }
    let one = FromFront.ended([1: end]).frame.dropFirst(5)
    let twice = [Frame.Kind.ended.rawValue, 2, 0, 0, 0] + one + one
    var faults: [(String, [[UInt8]])] = [
      ("an empty frame", [[]]), ("a byte", [[7]]), ("zeros", [[UInt8](repeating: 0, count: 4000)]),
      ("a frame of the other side", [ToFront.drain.frame]),
      ("one that is too long", [[UInt8](repeating: 1, count: Frame.limit + 1)]),
      ("one that is cut", [Array(FromFront.request(request).frame.dropLast(3))]),
      ("one with more behind it", [FromFront.request(request).frame + [0]]),
      ("an end with a status that is none", [ended(7, 0)]), ("less than nothing", [ended(200, -1)]),
      ("the same request twice", [FromFront.request(request).frame, FromFront.request(request).frame]),
      ("ends of nothing", (1...1100).map { FromFront.ended([$0: end]).frame }),
      ("the same end twice", [twice]),
      (
        "more ends than a frame may have",
        [FromFront.ended(Dictionary(uniqueKeysWithValues: (1...1001).map { ($0, end) })).frame]
      ),
    ]
    var many: [[UInt8]] = []
    for _ in 0..<1200 { many.append(FromFront.request(server.request("GET", "/v1/events", ann)).frame) }
    faults.append(("more requests than connections", many))
    for (fault, frames) in faults {
      let lives = server.lives
      let before = served.server
      for frame in frames where server.lives == lives {
        var tries = 0
        while !server.send(bytes: frame, waits: false), server.lives == lives, tries < 2000 {
          tries += 1
          usleep(1000)
        }
      }
      try Resident.wait("another takes the place of one that says \(fault)") { server.lives > lives }
      #expect(before == 0 || kill(before, 0) != 0, "\(fault)")
    }
    Soak.row("what a taken over HTTP server may not say", tries: faults.count, failures: 0)
    #expect(try server.reply(server.request("GET", "/v1/attachments", ann)).status == 200)
    #expect(served.stop(SIGKILL) == SIGKILL)
    try expectWhole()
  }

  /// What goes on without it goes on, and it is ended.
  @Test func oneThatTakesNothingHoldsUpNobody() throws {
    let served = try served()
    let ann = try served.token("ann", "--role", "admin")
    for _ in 0..<90 {
      let request = server.request("GET", "/openapi.json", ann)
      if !server.send(bytes: FromFront.request(request).frame, waits: false) { break }
    }
    let began = Date()
    try folder.write("in/a.txt", "a text\n")
    let taken = try SluiceCommand.run(["enqueue", "--home", "home", "--wait", "in"], in: folder)
    #expect(taken.status == 0 && Date().timeIntervalSince(began) < 80, "\(taken.out) \(taken.err)")
    try Resident.wait("it is ended") { server.lives == 2 }
    #expect(try server.reply(server.request("GET", "/v1/attachments", ann)).status == 200)
    #expect(served.stop(SIGKILL) == SIGKILL)
    try expectWhole()
  }
}
