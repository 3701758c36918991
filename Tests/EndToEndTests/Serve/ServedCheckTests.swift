import Foundation
import Testing

/// Contents that are judged and not kept.
@Suite(.serialized)
struct ServedCheckTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private struct Judgement: Decodable {
    struct Reason: Decodable { var stage, code: String }
    var verdict: String
    var mediaType: String?
    var sizeBytes: Int?
    var reason: Reason?
  }

  private struct Attachments: Decodable { var attachments: [Row] }
  private struct Row: Decodable { var id: String }

  @Test func whatIsJudgedIsNotKept() throws {
    let served = try ServedHome(folder)
    let ann = try served.token("ann")
    func check(_ content: Data, _ query: String = "", _ fields: [String] = []) throws -> ServedHome.Answer {
      try served.ask("POST", "/v1/check" + query, token: ann, fields, body: content)
    }
    let text = try check(Data("hello".utf8), "?filename=a.txt&filetype=text/plain")
    #expect(text.status == 200, "\(text.text)")
    let clean = try text.decoded(Judgement.self)
    #expect(clean.verdict == "clean" && clean.mediaType == "text/plain" && clean.sizeBytes == 5)
    #expect(clean.reason == nil && !text.text.contains("milliseconds"), "\(text.text)")
    let damaged = try check(Data("%PDF-1.4 and no more".utf8), "?filename=a.pdf").decoded(Judgement.self)
    #expect(damaged.verdict == "found" && damaged.reason?.stage == "pdf")
    let form =
      "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\n\r\nhello\r\n--b--\r\n"
    let asForm = try check(Data(form.utf8), "", ["Content-Type: multipart/form-data; boundary=b"])
    #expect(try asForm.decoded(Judgement.self).verdict == "clean")
    let twice = form.replacing(
      "--b--", with: form.replacing("filename=\"x\"", with: "filename*=UTF-8''%C3%A4"))
    #expect(try check(Data(twice.utf8), "", ["Content-Type: multipart/form-data; boundary=b"]).status == 400)
    #expect(try check(Data()).decoded(Judgement.self).sizeBytes == 0)
    #expect(try served.ask("POST", "/v1/check", token: ann).status == 400)
    #expect(try check(Data("hello".utf8), "", ["Content-Encoding: gzip"]).status == 415)
    #expect(try check(Data("hello".utf8), "", ["Content-Encoding: identity"]).status == 200)
    #expect(try check(Data("x".utf8), "?conversationId=c").status == 400)
    #expect(try check(Data(count: 11 << 20)).status == 413)
    #expect(try served.ask("POST", "/v1/check", body: Data("x".utf8)).status == 401)
    let list = try served.ask("GET", "/v1/attachments", token: ann).decoded(Attachments.self)
    #expect(list.attachments.isEmpty)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/home/uploads").isEmpty)
  }

  /// Images have a limit of their own, as uploads do.
  @Test func whatIsTooLongDependsOnWhatItCallsItself() throws {
    try folder.write("serve.yaml", Pipelines.open + "\nserve: { max-size: 100B, max-image-size: 1000B }\n")
    let served = try ServedHome(folder, options: ["--config", "serve.yaml"])
    let ann = try served.token("ann")
    func check(_ count: Int, _ query: String, _ fields: [String] = []) throws -> Int {
      try served.ask("POST", "/v1/check" + query, token: ann, fields, body: Data(count: count)).status
    }
    #expect(try check(500, "?filename=a.txt") == 413)
    #expect(try check(500, "") == 413)
    #expect(try check(500, "?filename=a.png") == 200)
    #expect(try check(500, "", ["Content-Type: image/png"]) == 200)
    #expect(try check(1001, "?filename=a.png") == 413)
    func form(_ name: String) throws -> Int {
      let body =
        Data("--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"\(name)\"\r\n\r\n".utf8)
        + Data(count: 500) + Data("\r\n--b--\r\n".utf8)
      return try served.ask(
        "POST", "/v1/check", token: ann, ["Content-Type: multipart/form-data; boundary=b"], body: body
      ).status
    }
    #expect(try form("a.txt") == 413)
    #expect(try form("a.png") == 200)
    #expect(served.stop() == 0)
  }

  /// One user does not take the place of all.
  @Test func aUserHasSoManyJudgedAtOnce() throws {
    let served = try ServedHome(folder)
    let (ann, ben) = (try served.token("ann"), try served.token("ben"))
    var open: [RawConnection] = []
    func begin() throws {
      let connection = try RawConnection(port: served.port)
      connection.send(
        "POST /v1/check HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(ann)\r\nContent-Length: 5\r\n\r\nhe")
      open.append(connection)
    }
    for _ in 0..<16 { try begin() }
    try Resident.wait("all have begun") {
      if try served.ask("POST", "/v1/check", token: ann, body: Data("x".utf8)).status == 429 { return true }
      // This one may have had the place of the last of them, which was then refused.
      try begin()
      return false
    }
    #expect(try served.ask("POST", "/v1/check", token: ben, body: Data("x".utf8)).status == 200)
    open.removeAll()
    try Resident.wait("they have left") {
      try served.ask("POST", "/v1/check", token: ann, body: Data("x".utf8)).status == 200
    }
  }
}
