import Foundation
import Testing

/// What browsers and libraries send in their own ways.
@Suite(.serialized)
struct OtherClientTests {
  private let folder: TemporaryFolder
  private let served: ServedHome
  private let token: String

  init() throws {
    folder = try TemporaryFolder()
    try folder.write(
      "serve.yaml",
      Pipelines.open
        + "\nserve: { origins: [\"https://app.example\", \"capacitor://localhost\"], origin-headers: X-App-Version }\n"
    )
    served = try ServedHome(folder, options: ["--config", "serve.yaml"])
    token = try served.token("ann")
  }

  private struct Created: Decodable { var id: String }
  private struct Record: Decodable { var fileName: String }

  private func record(_ answer: ServedHome.Answer) throws -> Record {
    #expect(answer.status == 201, "\(answer.text)")
    let id = try answer.decoded(Created.self).id
    return try served.ask("GET", "/v1/attachments/\(id)", token: token).decoded(Record.self)
  }

  /// A browser that does not know the type of a file says that it has none.
  @Test func anEmptyTypeIsNone() throws {
    let body = Data("a text\n".utf8)
    let posted = try served.ask("POST", "/v1/attachments?filename=a.txt&filetype=", token: token, body: body)
    #expect(try record(posted).fileName == "a.txt")
    // As tus-js-client writes a file without a type.
    let metadata = "Upload-Metadata: filename \(Data("a.xyz".utf8).base64EncodedString()),filetype "
    let begun = try served.ask(
      "POST", "/v1/uploads", token: token, ["Tus-Resumable: 1.0.0", "Upload-Length: 7", metadata],
      body: Data())
    #expect(begun.status == 201, "\(begun.text)")
    let checked = try served.ask(
      "POST", "/v1/check?filetype=", token: try served.token("s", "--role", "service"), body: body)
    #expect(checked.status == 200, "\(checked.text)")
  }

  private func form(_ parts: [(head: String, body: String)]) throws -> ServedHome.Answer {
    let body =
      parts.map { "--b\r\nContent-Disposition: form-data; \($0.head)\r\n\r\n\($0.body)\r\n" }.joined()
      + "--b--\r\n"
    return try served.ask(
      "POST", "/v1/attachments", token: token, ["Content-Type: multipart/form-data; boundary=b"],
      body: Data(body.utf8))
  }

  @Test func aFileInputThatNobodyHasFilledInIsNoFile() throws {
    let answer = try form([
      ("name=\"file\"; filename=\"a.txt\"", "a text"), ("name=\"second\"; filename=\"\"", ""),
      ("name=\"filetype\"", ""),
    ])
    #expect(try record(answer).fileName == "a.txt")
    let two = try form([("name=\"file\"; filename=\"a.txt\"", "a"), ("name=\"second\"; filename=\"\"", "b")])
    #expect(two.status == 400 && two.text.contains("no-form"), "\(two.text)")
  }

  /// .NET writes both, the first of them as a word of mail (RFC 6266, 4.3).
  @Test func theExtendedNameOfAFormCounts() throws {
    let answer = try form([
      ("name=\"file\"; filename=\"=?utf-8?B?w6QudHh0?=\"; filename*=utf-8''%C3%A4.txt", "a text")
    ])
    #expect(try record(answer).fileName == "ä.txt")
  }

  @Test func anEncodedBodyIsRefused() throws {
    let answer = try served.ask(
      "POST", "/v1/attachments?filename=a.txt", token: token, ["Content-Encoding: gzip"],
      body: Data([0x1F, 0x8B]))
    #expect(answer.status == 415 && answer.text.contains("encoded"), "\(answer.text)")
  }

  @Test func moreBytesForAWholeUploadAreAConflict() throws {
    let tus = ["Tus-Resumable: 1.0.0"]
    let begun = try served.ask("POST", "/v1/uploads", token: token, tus + ["Upload-Length: 3"], body: Data())
    let place = try #require(begun.fields["location"])
    func patch(_ offset: Int, _ bytes: String) throws -> ServedHome.Answer {
      try served.ask(
        "PATCH", place, token: token,
        tus + ["Upload-Offset: \(offset)", "Content-Type: application/offset+octet-stream"],
        body: Data(bytes.utf8))
    }
    #expect(try patch(0, "abc").status == 204)
    let more = try patch(3, "d")
    #expect(more.status == 409 && more.fields["upload-offset"] == "3", "\(more.status) \(more.text)")
  }

  /// Parts count no more once they are joined, and a user may have no more than so many uploads.
  @Test func asManyPartsAsAUserMayHaveAreJoined() throws {
    let tus = ["Tus-Resumable: 1.0.0"]
    let places = try (0..<20).map { number in
      let begun = try served.ask(
        "POST", "/v1/uploads", token: token,
        tus + [
          "Upload-Length: 1", "Upload-Concat: partial", "Content-Type: application/offset+octet-stream",
        ],
        body: Data("\(number % 10)".utf8))
      #expect(begun.status == 201, "\(begun.text)")
      return try #require(begun.fields["location"])
    }
    let more = try served.ask(
      "POST", "/v1/uploads", token: token, tus + ["Upload-Length: 1", "Upload-Concat: partial"], body: Data())
    #expect(more.status == 429)
    let joined = try served.ask(
      "POST", "/v1/uploads", token: token, tus + ["Upload-Concat: final;\(places.joined(separator: " "))"],
      body: Data())
    #expect(joined.status == 201, "\(joined.status) \(joined.text)")
    let id = try #require(joined.fields["attachment-id"])
    try Resident.wait("it is completed") {
      try served.ask("GET", "/v1/attachments/\(id)/content", token: token).text == "01234567890123456789"
    }
  }

  /// What a name resolves to, and how a lane is configured, are the operator's.
  @Test func aUserIsToldNoAddressesAndNoSettings() throws {
    let place = try TemporaryFolder()
    try place.write("serve.yaml", Pipelines.open + "\nlanes: { downloads: { use: http } }\n")
    let other = try ServedHome(place, options: ["--config", "serve.yaml"])
    let (user, service) = (try other.token("ann"), try other.token("shop", "--role", "service"))
    func fetch(_ token: String) throws -> ServedHome.Answer {
      try other.ask(
        "POST", "/v1/fetch", token: token, ["Content-Type: application/json"],
        body: Data(#"{"url":"http://localhost/"}"#.utf8))
    }
    let answer = try fetch(user)
    #expect(answer.status == 403 && answer.text.contains("address-not-allowed"), "\(answer.text)")
    let shown =
      answer.text
      + (try other.ask("GET", try #require(answer.fields["content-location"]), token: user)).text
    for secret in ["::1", "127.0.0.1", "allow-private"] { #expect(!shown.contains(secret), "\(shown)") }
    #expect(try fetch(service).text.contains("allow-private"))
    #expect(other.stop() == 0)
  }

  @Test func theEventSourcePolyfillGoesOnWhereItWas() throws {
    let stream = try served.listen(token)
    #expect(stream.next()?.kind == "start")
    _ = try served.ask("POST", "/v1/attachments?filename=a.txt", token: token, body: Data("a text\n".utf8))
    #expect(stream.next()?.kind == "attachment")
    let last = try #require(stream.lastId)
    let socket = try served.connected()
    let request =
      "GET /v1/events?lastEventId=\(last) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n\r\n"
    try #require(send(socket, request, request.utf8.count, Int32(MSG_NOSIGNAL)) == request.utf8.count)
    let again = EventClient(socket)
    #expect(again.next()?.kind != nil, "it is a stream")
    #expect(try served.ask("HEAD", "/v1/events?lastEventId=\(last)", token: token).status == 200)
  }

  @Test(arguments: ["https://app.example", "capacitor://localhost"]) func aPageOfAnotherOriginMayAsk(
    origin: String
  ) throws {
    let asked = try served.ask(
      "OPTIONS", "/v1/uploads", ["Origin: \(origin)", "Access-Control-Request-Method: POST"])
    #expect(asked.fields["access-control-allow-origin"] == origin)
    // tus-js-client with `addRequestId`.
    #expect(asked.fields["access-control-allow-headers"]?.contains("X-Request-ID") == true)
    #expect(
      asked.fields["access-control-allow-headers"]?.hasSuffix(", X-App-Version") == true,
      "as the operator says")
    // pdf.js asks for pieces only where it can read this.
    let answer = try served.ask("GET", "/version", ["Origin: \(origin)"])
    #expect(answer.fields["access-control-expose-headers"]?.contains("Accept-Ranges") == true)
  }
}
