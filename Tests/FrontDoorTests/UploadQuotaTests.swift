import Foundation
import FrontWire
import LedgerPort
import Pipeline
import Platform
import Testing
import Wire

@testable import FrontDoor

/// How many uploads a user may have at once.
struct UploadQuotaTests {
  private static func desk() throws -> UploadDesk {
    var rules = ServeRules()
    rules.uploads = 2
    let desk = try UploadDesk(rules: rules)
    try desk.addToken("t", "ann")
    try desk.addToken("s", "shop", .service)
    try desk.addToken("root", "eve", .admin)
    return desk
  }

  private static func creation(_ token: String) -> FrontRequest {
    FrontRequest(
      serial: 1, method: "POST", segments: ["v1", "uploads"], query: [],
      fields: [
        .init("authorization", "Bearer \(token)"), .init("tus-resumable", "1.0.0"),
        .init("upload-length", "5"),
      ],
      body: .none)
  }

  /// Each looks before the others are on record.
  @Test(arguments: [("t", 2), ("s", 8)])
  func requestsThatComeAtOnceBeginNoMoreThanAreAllowed(token: String, allowed: Int) throws {
    let desk = try Self.desk()
    let answers = (0..<8).map { _ in desk.api.answer(Self.creation(token)) }
    #expect(desk.files.count == 8)
    var statuses: [Int] = []
    for case .commands(let commands, let next) in answers {
      guard case .reply(let reply) = next(try desk.apply(commands)) else { continue }
      statuses.append(reply.status)
      if reply.status == 429 { #expect(reply.text.contains("GET /v1/uploads"), "\(reply.text)") }
    }
    #expect(statuses.count { $0 == 201 } == allowed && statuses.count { $0 == 429 } == 8 - allowed)
    #expect(desk.files.count == allowed, "nothing is left of those that were refused")
  }

  /// A user may have two uploads here: a part, another, and what is made of the part are within that.
  @Test func aPartDoesNotCountForWhatIsMadeOfIt() throws {
    let desk = try Self.desk()
    let octets = ["content-type": "application/offset+octet-stream"]
    let part = try #require(
      try desk.ask(
        "POST", "/v1/uploads", "t",
        octets.merging(["upload-length": "1", "upload-concat": "partial"]) { $1 }, [1])?.field("Location"))
    var creation = Self.creation("t")
    creation.fields.removeLast()
    creation.fields.append(.init("upload-concat", "final;\(part)"))
    guard case .upload(let id, let step) = desk.api.answer(creation) else { throw FrameError("no step") }
    let final = try desk.api.take(step, id, creation)
    // Another is begun before that is on record.
    #expect(try desk.ask("POST", "/v1/uploads", "t", ["upload-length": "5"])?.status == 201)
    guard case .commands(let commands, let next) = final, case .commands = next(try desk.apply(commands))
    else { return #expect(Bool(false), "\(final)") }
  }

  @Test func whoLostAnAnswerFindsTheUploadAndAnAdministratorGivesItUp() throws {
    let desk = try Self.desk()
    let metadata = "filename \(Base64.text(Array("a b.pdf".utf8)))"
    for _ in 0..<2 {
      let fields = ["upload-length": "5", "upload-metadata": metadata]
      #expect(try desk.ask("POST", "/v1/uploads", "t", fields)?.status == 201)
    }
    #expect(try desk.ask("POST", "/v1/uploads", "t", ["upload-length": "5"])?.status == 429)
    let id = desk.files[0]
    let octets = ["upload-offset": "0", "content-type": "application/offset+octet-stream"]
    #expect(try desk.ask("PATCH", "/v1/uploads/\(id)", "t", octets, [1, 2, 3])?.status == 204)
    let own = try #require(try desk.ask("GET", "/v1/uploads", "t")).text
    #expect(
      own.contains(
        #"{"id":"\#(id)","url":"/v1/uploads/\#(id)","fileName":"a b.pdf","conversationId":null,"offset":3,"length":5,"#
      ), "\(own)")
    #expect(!own.contains("owner"))
    let all = try #require(try desk.ask("GET", "/v1/uploads", "root")).text
    #expect(all.contains(#""owner":"ann","role":"user"}"#), "\(all)")
    #expect(try desk.ask("DELETE", "/v1/uploads/\(id)", "s")?.status == 404)
    #expect(try desk.ask("DELETE", "/v1/uploads/\(id)", "root")?.status == 204)
    #expect(desk.files.count == 1)
    #expect(try desk.ask("POST", "/v1/uploads", "t", ["upload-length": "5"])?.status == 201)
  }

  @Test func theNewestAttachmentsAreFirstWhereThatIsAskedFor() throws {
    let desk = try Self.desk()
    struct List: Decodable {
      struct Row: Decodable { var fileName: String }
      var attachments: [Row]
      var next: String?
    }
    func add(_ name: String) throws {
      let fields = [
        "upload-length": "1", "content-type": "application/offset+octet-stream",
        "upload-metadata": "filename \(Base64.text(Array(name.utf8)))",
      ]
      let reply = try desk.ask("POST", "/v1/uploads", "t", fields, [1])
      #expect(reply?.status == 201)
    }
    func list(_ query: String) throws -> [String] {
      var (names, after) = ([String](), "")
      while true {
        let text = try desk.ask("GET", "/v1/attachments?\(query)\(after)", "t")?.text ?? ""
        let page = try JSONDecoder().decode(List.self, from: Data(text.utf8))
        names += page.attachments.map(\.fileName)
        guard let next = page.next else { return names }
        // What comes meanwhile is before what has been read.
        if after.isEmpty && query.contains("newest") { try add("later") }
        after = "&after=\(next)"
      }
    }
    let names = (0..<7).map { "\($0)" }
    for name in names { try add(name) }
    #expect(try list("limit=3") == names)
    #expect(try list("limit=3&order=oldest") == names)
    #expect(try list("limit=3&order=newest") == names.reversed())
    #expect(try list("order=newest&status=queued&limit=200") == ["later"] + names.reversed())
  }

  /// What it has become is an attachment, which is deleted as such.
  @Test func anAdministratorDoesNotGiveUpWhatIsWhole() throws {
    let desk = try Self.desk()
    let fields = ["upload-length": "1", "content-type": "application/offset+octet-stream"]
    let place = try #require(try desk.ask("POST", "/v1/uploads", "t", fields, [1])?.field("Location"))
    #expect(try desk.ask("DELETE", place, "root")?.status == 404)
    #expect(try #require(try desk.ask("GET", "/v1/uploads", "root")).text.contains(#""uploads":[],"#))
  }
}
