import Foundation
import Platform
import Testing

/// `Content-Digest` and `Repr-Digest` (RFC 9530) of what clients send.
@Suite(.serialized)
struct ServedDigestTests {
  private struct Fault: Decodable { var code: String }

  private static let content = Data("a text that is sent\n".utf8)

  private static func digest(_ content: Data) throws -> String {
    let digest = try #require(Hexadecimal.bytes(Inbox.sha256(content)))
    return "sha-256=:\(Data(digest).base64EncodedString()):"
  }

  private let right: String
  private let wrong: String

  init() throws {
    right = try Self.digest(Self.content)
    wrong = try Self.digest(Data("another\n".utf8))
  }

  @Test func aContentInOneRequestIsComparedWithThem() throws {
    let served = try ServedHome(TemporaryFolder())
    let ann = try served.token("ann")
    func post(_ fields: [String], _ body: Data = Self.content) throws -> (Int, String) {
      let answer = try served.ask("POST", "/v1/attachments?filename=a.txt", token: ann, fields, body: body)
      return (answer.status, answer.status < 300 ? "" : try answer.decoded(Fault.self).code)
    }
    for name in ["Content-Digest", "Repr-Digest"] {
      #expect(try post(["\(name): \(wrong)"]) == (460, "other-checksum"))
      #expect(try post(["\(name): sha-256=:AAAA:"]) == (400, "invalid-checksum"))
      #expect(try post(["\(name): sha-256=AAAA"]) == (400, "invalid-checksum"))
      #expect(try post(["\(name): md5=:AAAA:, \(right);q=1, sha-512=:AAAA:"]) == (201, ""))
      #expect(try post(["\(name): sha-512=:AAAA:"]) == (201, ""), "what is not known is passed over")
    }
    #expect(
      try post(["Content-Digest: \(right)", "Repr-Digest: \(wrong)"]) == (400, "invalid-checksum"))
    let form =
      Data(
        ("--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n").utf8)
      + Self.content + Data("\r\n--x--\r\n".utf8)
    let type = "Content-Type: multipart/form-data; boundary=x"
    #expect(
      try post([type, "Content-Digest: \(try Self.digest(form))"], form) == (201, ""),
      "it is that of the body")
    #expect(try post([type, "Content-Digest: \(right)"], form) == (460, "other-checksum"))
    #expect(served.stop() == 0)
  }

  /// Its client believes that the body is compared.
  @Test func oneThatIsNoneIsNotPassedOver() throws {
    let served = try ServedHome(TemporaryFolder())
    let ann = try served.token("ann")
    struct Detail: Decodable { var code, detail: String }
    for name in ["Content-Digest", "Repr-Digest"] {
      for (value, words) in [
        ("sha-256", "'sha-256' in '\(name.lowercased())' is no algorithm with its digest"),
        ("SHA-256=:AAAA:", "is no algorithm with its digest"), ("garbage", "'garbage'"),
        ("\(right),", "is no algorithm"), (",\(right)", "is no algorithm"),
        ("sha-256=:A?:", "'sha-256' is no digest in base64"),
        ("sha-256=", "'sha-256' is no digest in base64"),
        ("sha-512=AAAA", "'sha-512' is no digest in base64"), ("sha-256=:AAAA:", "has 3 bytes, and not 32"),
      ] {
        for path in ["/v1/attachments?filename=a.txt", "/v1/check"] {
          let answer = try served.ask("POST", path, token: ann, ["\(name): \(value)"], body: Self.content)
          let detail = try answer.decoded(Detail.self)
          #expect(
            answer.status == 400 && detail.code == "invalid-checksum" && detail.detail.contains(words),
            "\(value): \(answer.status) \(answer.text)")
        }
      }
    }
    #expect(
      try served.ask(
        "POST", "/v1/attachments?filename=a.txt", token: ann, ["Content-Digest:"], body: Self.content
      ).status == 201, "an empty field says nothing")
    #expect(served.stop() == 0)
  }

  /// Whether it is taken is for the pipeline to say.
  @Test func aContentOfNoBytesIsOneLikeOthers() throws {
    let served = try ServedHome(TemporaryFolder())
    let ann = try served.token("ann")
    struct Created: Decodable { var id: String }
    struct Record: Decodable {
      var status: String
      var sizeBytes: Int?
    }
    let empty = try Self.digest(Data())
    func end(_ id: String) throws -> Record {
      var record = Record(status: "queued")
      try Resident.wait("it has ended") {
        record = try served.ask("GET", "/v1/attachments/\(id)", token: ann).decoded(Record.self)
        return record.status != "queued"
      }
      return record
    }
    var ends: [String] = []
    for (number, fields) in [[], ["Content-Digest: \(empty)"]].enumerated() {
      let answer = try served.ask(
        "POST", "/v1/attachments?filename=a\(number).txt", token: ann, fields, body: Data())
      #expect(answer.status == 201, "\(answer.text)")
      ends.append(try end(try answer.decoded(Created.self).id).status)
    }
    let client = TusClient(served: served, token: ann)
    let begun = try served.ask(
      "POST", "/v1/uploads", token: client.token, ["Tus-Resumable: 1.0.0", "Upload-Length: 0"], body: Data())
    ends.append(try end(try #require(begun.fields["attachment-id"], "\(begun.status)")).status)
    #expect(Set(ends).count == 1 && !ends.contains("failed"), "\(ends)")
    #expect(
      try served.ask(
        "POST", "/v1/attachments?filename=b.txt", token: ann, ["Content-Digest: \(right)"], body: Data()
      ).status == 460)
    #expect(
      try served.ask("POST", "/v1/attachments?filename=c.txt", token: ann).status == 400, "it says no length")
    #expect(served.stop() == 0)
  }

  /// Nothing counts of bytes that are not those of their digest.
  @Test func thePartsOfAnUploadAreComparedWithThem() throws {
    let folder = try TemporaryFolder()
    try folder.write("serve.yaml", Pipelines.open + "\nserve: { upload-draft: true }\n")
    let served = try ServedHome(folder, options: ["--config", "serve.yaml"])
    let ann = try served.token("ann")
    let client = TusClient(served: served, token: ann)
    let bytes = ["Tus-Resumable: 1.0.0", "Content-Type: application/offset+octet-stream"]
    func patch(_ place: String, _ fields: [String]) throws -> ServedHome.Answer {
      try served.ask("PATCH", place, token: ann, bytes + ["Upload-Offset: 0"] + fields, body: Self.content)
    }
    let place = try client.begin(Self.content, name: "a.txt")
    for name in ["Content-Digest", "Repr-Digest"] {
      let refused = try patch(place, ["\(name): \(wrong)"])
      #expect(refused.status == 460 && refused.fields["upload-offset"] == "0", "\(refused.text)")
      #expect(try client.state(place).offset == 0)
    }
    #expect(try patch(place, ["Content-Digest: \(right)", "Upload-Checksum: sha1 AAAA"]).status == 400)
    #expect(try patch(place, ["Content-Digest: \(right)"]).status == 204)
    let length = "Upload-Length: \(Self.content.count)"
    #expect(
      try served.ask(
        "POST", "/v1/uploads", token: ann, bytes + [length, "Content-Digest: \(wrong)"], body: Self.content
      ).status == 460)

    func post(_ fields: [String], _ body: Data) throws -> Int? {
      let connection = try RawConnection(port: served.port)
      let head =
        [
          "POST /v1/attachments HTTP/1.1", "Host: x", "Authorization: Bearer \(ann)",
          "Content-Length: \(body.count)",
        ]
        + ["Upload-Draft-Interop-Version: 8"] + fields
      connection.send(Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8) + Array(body))
      return connection.answer()?.status
    }
    let part = Self.content.prefix(5)
    #expect(try post(["Upload-Complete: ?1", "Content-Digest: \(wrong)"], Self.content) == 460)
    #expect(try post(["Upload-Complete: ?1", "Repr-Digest: \(right)"], Self.content) == 201)
    #expect(try post(["Upload-Complete: ?0", "Content-Digest: \(right)"], part) == 460)
    #expect(
      try post(["Upload-Complete: ?0", "Repr-Digest: \(right)"], part) == 201, "it is that of the whole")
    #expect(served.stop() == 0)
  }
}
