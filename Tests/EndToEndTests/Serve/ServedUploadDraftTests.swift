import Foundation
import Testing

/// Uploads by the IETF's draft, over real connections: what a client hears before its answer, and what a cut leaves.
@Suite(.serialized)
struct ServedUploadDraftTests {
  private let folder: TemporaryFolder
  private static let version = "Upload-Draft-Interop-Version: 8"
  private static let part = "Content-Type: application/partial-upload"

  init() throws { folder = try TemporaryFolder() }

  private func served(_ settings: String) throws -> ServedHome {
    try folder.write("serve.yaml", Pipelines.open + "\nserve: \(settings)\n")
    return try ServedHome(folder, options: ["--config", "serve.yaml"])
  }

  /// The heads of the answers to a request whose body ends after so many bytes.
  private func begin(
    _ served: ServedHome, _ token: String, _ content: Data, complete: String, leaving: Int, minor: Int = 1
  ) throws -> RawConnection {
    let connection = try RawConnection(port: served.port)
    let lines = [
      "POST /v1/attachments?filename=a.txt HTTP/1.\(minor)", "Host: x", "Authorization: Bearer \(token)",
      "Content-Length: \(content.count)", "Content-Type: text/plain", "Upload-Complete: \(complete)",
      Self.version,
    ]
    connection.send(lines.joined(separator: "\r\n") + "\r\n\r\n")
    connection.send(Array(content.prefix(leaving)))
    return connection
  }

  private func head(_ bytes: [UInt8]) -> [String] {
    String(decoding: bytes, as: UTF8.self).components(separatedBy: "\r\n")
  }

  @Test func anUploadThatIsCutGoesOnAtThePlaceThatItWasTold() throws {
    let served = try served("{ upload-draft: true }")
    let token = try served.token("ann")
    let content = Data((0..<50_000).map { "\($0)\n" }.joined().utf8)
    let cut = content.count / 3
    let connection = try begin(served, token, content, complete: "?1", leaving: cut)
    let told = head(connection.some(4096))
    #expect(told.first == "HTTP/1.1 104 Upload Resumption Supported", "\(told)")
    #expect(told.contains(Self.version) && !told.contains { $0.hasPrefix("Content-Length") }, "\(told)")
    let location = try #require(told.first { $0.hasPrefix("Location: ") })
    let place = String(location.dropFirst("Location: ".count))
    #expect(place.hasPrefix("/v1/uploads/"))
    connection.close()

    let state = try served.ask("HEAD", place, token: token, [Self.version])
    #expect(state.status == 204 && state.fields["upload-complete"] == "?0")
    #expect(state.fields["upload-length"] == "\(content.count)" && state.fields["tus-resumable"] == nil)
    // What came before the cut is kept, as far as it had been read.
    let offset = try #require(state.fields["upload-offset"].flatMap { Int($0) })
    #expect(offset <= cut)
    func append(_ part: Range<Int>, offset: Int, complete: String) throws -> ServedHome.Answer {
      try served.ask(
        "PATCH", place, token: token,
        [Self.version, Self.part, "Upload-Offset: \(offset)", "Upload-Complete: \(complete)"],
        body: content.subdata(in: part))
    }
    let wrong = try append(offset..<offset + 10, offset: offset + 1, complete: "?0")
    #expect(wrong.status == 409 && wrong.fields["upload-offset"] == "\(offset)")
    #expect(wrong.fields["content-type"] == "application/problem+json")
    #expect(try JSON(wrong.text)["type"].text?.hasSuffix("#mismatching-upload-offset") == true)
    let some = try append(offset..<cut * 2, offset: offset, complete: "?0")
    #expect(some.status == 201 && some.fields["upload-offset"] == "\(cut * 2)")
    let last = try append(cut * 2..<content.count, offset: cut * 2, complete: "?1")
    #expect(last.status == 201 && last.fields["upload-complete"] == "?1", "\(last.text)")
    let id = try #require(last.fields["attachment-id"])
    try Resident.wait("it is completed") {
      try served.ask("GET", "/v1/attachments/\(id)/content", token: token).body == content
    }
    #expect(served.stop() == 0)
  }

  @Test func aWholeRequestIsAnsweredOverTheSameConnection() throws {
    let served = try served("{ upload-draft: true, public-url: \"https://files.example.com/x\" }")
    let token = try served.token("ann")
    let content = Data("text\n".utf8)
    let connection = try begin(served, token, content, complete: "?1", leaving: content.count)
    let answer = try #require(connection.answer())
    #expect(connection.interim == [104] && answer.status == 201)
    #expect(answer.field("upload-complete") == "?1" && answer.field("attachment-id") != nil)
    #expect(answer.field("location")?.hasPrefix("https://files.example.com/x/v1/uploads/") == true)
    // Its end is where the next request begins.
    connection.send("GET /version HTTP/1.1\r\nHost: x\r\n\r\n")
    #expect(connection.answer()?.status == 200)
    // A client of HTTP/1.0 would take what comes before for the answer.
    let old = try begin(served, token, Data("other\n".utf8), complete: "?1", leaving: 6, minor: 0)
    #expect(old.answer()?.status == 201 && old.interim.isEmpty)
    #expect(served.stop() == 0)
  }

  @Test func anUploadThatIsGivenUpIsGone() throws {
    let served = try served("{ upload-draft: true }")
    let token = try served.token("ann")
    let connection = try begin(served, token, Data("te".utf8), complete: "?0", leaving: 2)
    let answer = try #require(connection.answer())
    #expect(answer.status == 201 && answer.field("upload-complete") == "?0")
    let place = try #require(answer.field("location"))
    #expect(try served.ask("DELETE", place, token: token, [Self.version]).status == 204)
    #expect(try served.ask("HEAD", place, token: token, [Self.version]).status == 404)
    #expect(served.stop() == 0)
  }

  /// A proxy may take a 104 for the answer: none is sent unless the pipeline file asks for it.
  @Test func itIsOffByDefault() throws {
    let served = try served("{}")
    let token = try served.token("ann")
    let connection = try begin(served, token, Data("text\n".utf8), complete: "?1", leaving: 5)
    #expect(connection.answer()?.status == 201 && connection.interim.isEmpty)
    let part = try begin(served, token, Data("te".utf8), complete: "?0", leaving: 2)
    #expect(part.answer()?.status == 400 && part.interim.isEmpty)
    #expect(served.stop() == 0)
  }
}
