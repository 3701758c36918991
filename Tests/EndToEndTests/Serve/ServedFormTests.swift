import Foundation
import Testing

/// Contents as browsers' forms send them, and as old backends read them.
@Suite(.serialized)
struct ServedFormTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private struct Created: Decodable { var id: String }
  private struct Record: Decodable {
    var fileName: String
    var conversationId: String
    var senderId: String
    var sizeBytes: Int?
  }

  /// A form of these fields and files.
  private static func form(
    _ fields: [(String, String)], _ files: [(name: String, type: String, content: Data)]
  ) -> Data {
    var form = Data()
    for (name, value) in fields {
      form += Data("--b0undary\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(value)\r\n".utf8)
    }
    for file in files {
      let head =
        "Content-Disposition: form-data; name=\"file\"; filename=\"\(file.name)\"\r\nContent-Type: \(file.type)"
      form += Data("--b0undary\r\n\(head)\r\n\r\n".utf8) + file.content + Data("\r\n".utf8)
    }
    return form + Data("--b0undary--\r\n".utf8)
  }

  private func post(_ served: ServedHome, _ token: String, _ form: Data, _ query: String = "") throws
    -> ServedHome.Answer
  {
    try served.ask(
      "POST", "/v1/attachments" + query, token: token,
      ["Content-Type: multipart/form-data; boundary=b0undary"],
      body: form)
  }

  @Test func aFormsFileIsTakenInWithWhatTheFormSays() throws {
    let served = try ServedHome(folder)
    let (ann, service) = (try served.token("ann"), try served.token("shop", "--role", "service"))
    // Longer than what is in memory at once, with all that may look like a delimiter.
    var content = Data("line\r\n--b0undar\r\n--\r\n".utf8)
    while content.count < 3_000_000 { content += content }
    let created = try post(
      served, ann, Self.form([("conversationId", "c1")], [("a b.txt", "text/plain", content)]))
    #expect(created.status == 201, "\(created.text)")
    let id = try created.decoded(Created.self).id
    try Resident.wait("it is completed") {
      try served.ask("GET", "/v1/attachments/\(id)/content", token: ann).body == content
    }
    let record = try served.ask("GET", "/v1/attachments/\(id)", token: ann).decoded(Record.self)
    #expect(
      record.fileName == "a b.txt" && record.conversationId == "c1" && record.sizeBytes == content.count)
    // What belongs to it may come after the file, too, and in the query.
    let fields = Self.form([], [("b.txt", "text/plain", Data("text\n".utf8))]).dropLast(
      "--b0undary--\r\n".utf8.count)
    let ofBen = try post(
      served, service, fields + Self.form([("senderId", "ben"), ("participants", "[\"ann\"]")], []),
      "?conversationId=c2")
    #expect(ofBen.status == 201, "\(ofBen.text)")
    let other = try served.ask("GET", "/v1/attachments/\(try ofBen.decoded(Created.self).id)", token: ann)
      .decoded(Record.self)
    #expect(other.senderId == "ben" && other.conversationId == "c2" && other.fileName == "b.txt")
    #expect(served.stop() == 0)
  }

  @Test func aFormThatIsNoneIsRefusedAndLeavesNothing() throws {
    let served = try ServedHome(folder)
    let ann = try served.token("ann")
    let file = (name: "a.txt", type: "text/plain", content: Data("text\n".utf8))
    func code(_ form: Data, _ query: String = "") throws -> String {
      let answer = try post(served, ann, form, query)
      let code = answer.text.firstMatch(of: /"code":"([a-z-]+)"/)?.1
      return "\(answer.status) \(code ?? "")"
    }
    #expect(try code(Self.form([], [])) == "400 no-form")
    #expect(try code(Data("no form".utf8)) == "400 no-form")
    #expect(try code(Self.form([], [file, file])) == "400 no-form")
    #expect(try code(Self.form([], [file]).dropLast(5)) == "400 no-form")
    #expect(try code(Self.form([("conversationId", "a\0b")], [file])) == "400 no-form")
    #expect(
      try code(Self.form([("conversationId", String(repeating: "a", count: 40_000))], [file]))
        == "400 no-form")
    #expect(try code(Self.form([("colour", "blue")], [file])) == "400 no-such-parameter")
    #expect(
      try code(Self.form([("conversationId", "c")], [file]), "?conversationId=d") == "400 no-such-parameter")
    #expect(try code(Self.form([("senderId", "ben")], [file])) == "403 forbidden")
    let large = (name: "a.png", type: "image/png", content: Data(count: (2 << 20) + 1))
    #expect(try code(Self.form([], [large])) == "413 too-large")
    let larger = (name: "a.pdf", type: "application/pdf", content: Data(count: (10 << 20) + 1))
    #expect(try code(Self.form([], [larger])) == "413 too-large")
    // None of it is left, and the server is the one that it was.
    #expect(
      try served.ask("GET", "/v1/attachments", token: ann).text == "{\"attachments\":[],\"next\":null}\n")
    waitBriefly(5) { folder.files(below: "home/uploads").isEmpty }
    #expect(folder.files(below: "home/uploads").isEmpty)
    #expect(!served.errors.contains("HTTP server ended"))
    #expect(served.stop() == 0)
  }

  @Test func aContentIsGivenInBase64() throws {
    let served = try ServedHome(folder)
    let ann = try served.token("ann")
    for size in [2, 3, 4, 5, 49_151, 49_152, 49_153, 1_000_000] {
      let content = Data(
        repeatElement(Array("a line of text\n".utf8), count: size / 15 + 1).joined().prefix(size))
      let id = try served.ask("POST", "/v1/attachments?filename=a.txt", token: ann, body: content)
        .decoded(Created.self).id
      let place = "/v1/attachments/\(id)/content?encoding=base64"
      try Resident.wait("it is completed") { try served.ask("GET", place, token: ann).status == 200 }
      let answer = try served.ask("GET", place, token: ann, ["Range: bytes=0-0"])
      #expect(answer.status == 200 && answer.text == content.base64EncodedString(), "\(size)")
      #expect(answer.fields["content-length"] == "\((size + 2) / 3 * 4)")
      #expect(answer.fields["content-type"] == "text/plain; charset=utf-8")
      let tag = try #require(answer.fields["etag"])
      #expect(tag.hasSuffix("-base64\""))
      #expect(try served.ask("GET", place, token: ann, ["If-None-Match: \(tag)"]).status == 304)
      #expect(try served.ask("HEAD", place, token: ann).fields["content-length"] == "\((size + 2) / 3 * 4)")
    }
    let any = try #require(
      try served.ask("GET", "/v1/attachments?limit=1", token: ann).text.firstMatch(of: /"id":"([^"]+)"/)?.1)
    #expect(try served.ask("GET", "/v1/attachments/\(any)/content?encoding=hex", token: ann).status == 400)
    #expect(served.stop() == 0)
  }
}
