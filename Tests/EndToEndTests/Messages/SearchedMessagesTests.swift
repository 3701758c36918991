import Foundation
import Glibc
import Testing

/// The search among messages, over HTTP.
struct SearchedMessagesTests {
  private static let pipeline = """
    version: 1
    stages:
      - use: mime
        options: { allow: [text/plain, message/rfc822] }
      - use: mail
      - use: text
        options: { as: derived }
      - use: store
        options: { path: "documents/{conversationId}/{attachmentId}.{extension}" }
    serve: { messages: true }
    """

  private let folder: TemporaryFolder
  private var served: ServedHome
  private let ann, ben: String

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Self.pipeline)
    served = try ServedHome(folder, options: ["--config", "pipeline.yaml"])
    (ann, ben) = (try served.token("ann"), try served.token("ben"))
  }

  private func ask(_ method: String, _ path: String, _ token: String, _ body: String? = nil) throws -> JSON {
    let fields = body == nil ? [] : ["Content-Type: application/json"]
    let answer = try served.ask(method, path, token: token, fields, body: body.map { Data($0.utf8) })
    try #require(answer.status / 100 == 2, "\(method) \(path): \(answer.text)")
    return try JSON(answer.text)
  }

  private func begin(_ members: String) throws -> String {
    try #require(try ask("POST", "/v1/conversations", ann, #"{"members":[\#(members)]}"#)["id"].text)
  }

  private func send(_ name: String, _ room: String, _ content: String) throws {
    let answer = try served.ask(
      "POST", "/v1/attachments?filename=\(name)&conversationId=\(room)", token: ann,
      ["Content-Type: application/octet-stream"], body: Data(content.utf8))
    try #require(answer.status == 201)
  }

  private func hits(_ query: String, _ token: String) throws -> [JSON] {
    try ask("GET", "/v1/search?q=\(query)", token)["hits"].elements
  }

  @Test mutating func textsNamesAndContentsAreFoundAndAfterADeletionAreNowhere() throws {
    let room = try begin(#""ben""#)
    let other = try begin(#""cid""#)
    _ = try ask("PUT", "/v1/conversations/\(room)/messages/1", ann, #"{"text":"Die schöne Wombatstraße"}"#)
    try send("Jahresbericht.txt", room, "Im Wald lebt ein Numbatzwerg.\n")
    try send(
      "post.eml", room,
      "From: a@example.com\r\nTo: b@example.com\r\nSubject: x\r\nMIME-Version: 1.0\r\n"
        + "Content-Type: text/plain; charset=utf-8\r\n\r\nEin Bilbykuchen im Brief.\r\n")
    try send("fremd.txt", other, "Ein Numbatzwerg der anderen.\n")
    try Resident.wait("the texts are found") {
      let found = try ["Numbatzwerg", "Bilbykuchen"].map { try hits($0, ben).count }
      let all = try hits("Numbatzwerg", ann)
      return found == [1, 1] && all.count == 2
    }
    let hit = try #require(try hits("schone+wombat", ben).first)
    #expect(hit["message"]["number"] == .number(1) && hit["message"]["conversationId"].text == room)
    #expect(hit["excerpts"].elements.first?["field"].text == "text")
    let parts = hit["excerpts"].elements.first?["parts"].elements ?? []
    #expect(
      parts.filter { $0["isMatch"] == .boolean(true) }.map { $0["text"].text } == ["schöne", "Wombatstraße"])
    #expect(try hits("jahresb", ben).first?["excerpts"].elements.first?["field"].text == "fileNames")
    #expect(try hits("has:txt", ben).count == 1 && hits("has:eml+from:ann", ben).count == 1)
    #expect(try hits("numbatzwerg", ben).first?["excerpts"].elements.first?["field"].text == "contents")
    #expect(try hits("numbatzwerg+in:\(other)", ben).isEmpty)
    // Killed, and still found.
    _ = served.stop(SIGKILL)
    served = try ServedHome(folder, options: ["--config", "pipeline.yaml"])
    #expect(try hits("numbatzwerg", ben).count == 1)
    for number in 1...3 { _ = try ask("DELETE", "/v1/conversations/\(room)/messages/\(number)", ann) }
    #expect(try hits("wombatstra", ben).isEmpty && hits("numbatzwerg", ben).isEmpty)
    #expect(served.stop() == 0)
    let home = folder.path + "/home"
    for path in try FileManager.default.subpathsOfDirectory(atPath: home) {
      guard let bytes = FileManager.default.contents(atPath: "\(home)/\(path)") else { continue }
      // The stem of a word: an index shares beginnings, and keeps words in small letters.
      let text = String(decoding: bytes, as: UTF8.self).lowercased()
      for word in ["wombatstr", "bilbykuchen"] { #expect(!text.contains(word), "\(path): \(word)") }
    }
    let checked = try SluiceCommand.run(["verify", "--home", "home"], in: folder)
    #expect(checked.status == 0, "\(checked.out)\(checked.err)")
  }
}
