import Foundation
import Testing

/// Nothing of an erased user is left on the disk.
struct ErasureTests {
  private let folder: TemporaryFolder
  private let served: ServedHome

  init() throws {
    folder = try TemporaryFolder()
    let rules = "serve: { messages: true, accounts: everyone }"
    try folder.write("pipeline.yaml", Pipelines.open + "\n\(rules)\n")
    served = try ServedHome(folder, options: ["--config", "pipeline.yaml"])
  }

  private func ask(_ method: String, _ path: String, _ token: String?, _ body: String? = nil) throws -> (
    status: Int, json: JSON
  ) {
    let fields = body == nil ? [] : ["Content-Type: application/json"]
    let answer = try served.ask(method, path, token: token, fields, body: body.map { Data($0.utf8) })
    return (answer.status, (try? JSON(answer.text)) ?? .null)
  }

  /// The words in the files of the home.
  private func left(_ words: [String]) throws -> [String] {
    var found: Set<String> = []
    let home = "\(folder.path)/\(served.home)"
    for path in try FileManager.default.subpathsOfDirectory(atPath: home) {
      guard let bytes = FileManager.default.contents(atPath: "\(home)/\(path)") else { continue }
      for word in words where bytes.range(of: Data(word.utf8)) != nil { found.insert(word) }
    }
    return found.sorted()
  }

  private static let words = [
    "quokkaperson", "zebrafinch.example", "numbatmessage", "wombatedited", "kiwiattachment", "emuprivate",
  ]

  @Test func aPersonErasesItselfAndAnOperatorAnybody() throws {
    let made = try ask(
      "POST", "/v1/users", nil,
      #"{"email":"a@zebrafinch.example","password":"correct horse","name":"Quokkaperson quokkaperson"}"#)
    let token = try #require(made.json["token"].text)
    let id = try #require(made.json["user"]["id"].text)
    let ben = try served.token("ben")
    let begun = try ask("POST", "/v1/conversations", token, #"{"kind":"direct","members":["ben"]}"#)
    let room = try #require(begun.json["id"].text)
    let path = "/v1/conversations/\(room)/messages"
    #expect(try ask("PUT", "\(path)/1", token, #"{"text":"a numbatmessage"}"#).status == 201)
    #expect(try ask("PATCH", "\(path)/1", token, #"{"text":"now wombatedited"}"#).status == 200)
    #expect(try ask("PUT", "\(path)/1", ben, #"{"text":"the other's words"}"#).status == 201)
    for (query, content) in [("conversationId=\(room)&messageId=1", "kiwiattachment"), ("", "emuprivate")] {
      let sent = try served.ask(
        "POST", "/v1/attachments?filename=a.txt&\(query)", token: token,
        ["Content-Type: application/octet-stream"], body: Data("text \(content)\n".utf8))
      #expect(sent.status == 201)
    }
    try Resident.wait("both are completed") {
      let all = try ask("GET", "/v1/attachments", token).json["attachments"].elements
      return all.map { $0["status"].text } == ["completed", "completed"]
    }
    try Resident.wait("all of it is on the disk") { try left(Self.words).count == Self.words.count }

    for (body, status) in [("{}", 400), (#"{"currentPassword":"wrong horse"}"#, 403)] {
      #expect(try ask("DELETE", "/v1/me", token, body).status == status)
    }
    #expect(try ask("DELETE", "/v1/me", token, #"{"currentPassword":"correct horse"}"#).status == 204)
    #expect(try ask("GET", "/v1/me", token).status == 401)
    let messages = try ask("GET", path, ben).json["messages"].elements
    #expect(messages.map { $0["text"].text } == ["the other's words", nil])
    #expect(messages.last?["senderId"].text == id && messages.last?["attachments"].elements.isEmpty == true)
    let members = try ask("GET", "/v1/conversations/\(room)", ben).json["members"].elements
    #expect(members.first { $0["user"].text == id }?["name"] == .null)
    try Resident.wait("no byte is left") { try left(Self.words).isEmpty }

    // By the command line, a user of a token.
    #expect(try ask("PUT", "\(path)/2", ben, #"{"text":"ben's emuprivate"}"#).status == 201)
    func erase(_ name: String) throws -> SluiceCommand.Outcome {
      try SluiceCommand.run(["users", "erase", name, "--home", served.home], in: folder)
    }
    let erased = try erase("ben")
    #expect(erased.status == 0 && erased.out == "ben  erased\n", "\(erased.err)")
    #expect(try ask("GET", "/v1/me", ben).status == 401)
    let unknown = try erase("bne")
    #expect(unknown.status == 2 && unknown.err.contains("there is no trace of a user 'bne'"))
    #expect(try erase(id).status == 0, "once more")
    try Resident.wait("no byte is left") { try left(Self.words + ["other's words"]).isEmpty }
    #expect(served.stop() == 0)
    #expect(try Witness(folder: folder, home: "home").faults([]).map(\.rule) == [])
  }
}
