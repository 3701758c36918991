import FrontWire
import LedgerPort
import Pipeline
import Testing

@testable import FrontDoor

/// Uploads by the IETF's draft: what its headers say, and what becomes of them.
struct UploadDraftTests {
  private static let type = "application/partial-upload"

  private func desk(isOn: Bool = true) throws -> UploadDesk {
    var rules = ServeRules()
    (rules.uploadDraft, rules.maxSize, rules.uploads) = (isOn, 100, 3)
    let desk = try UploadDesk(rules: rules)
    try desk.addToken("a", "ann")
    try desk.addToken("b", "ben")
    return desk
  }

  private func post(
    _ desk: UploadDesk, complete: String, _ body: [UInt8]?, _ more: [String: String] = [:],
    version: String = "8", query: String = "?filename=a.txt", fate: UploadDesk.Fate = .whole
  ) throws -> FrontReply? {
    let fields = ["upload-draft-interop-version": version, "upload-complete": complete].merging(more) { $1 }
    return try desk.ask("POST", "/v1/attachments\(query)", "a", fields, body, fate)
  }

  private func patch(
    _ desk: UploadDesk, _ place: String, at offset: Int, complete: String?, _ body: [UInt8]?,
    _ more: [String: String] = [:], token: String = "a"
  ) throws -> FrontReply? {
    var fields = [
      "upload-draft-interop-version": "8", "upload-offset": "\(offset)", "content-type": Self.type,
    ]
    if let complete { fields["upload-complete"] = complete }
    return try desk.ask("PATCH", place, token, fields.merging(more) { $1 }, body)
  }

  private func head(_ desk: UploadDesk, _ place: String, token: String = "a") throws -> FrontReply? {
    try desk.ask("HEAD", place, token, ["upload-draft-interop-version": "8"])
  }

  // MARK: Headers

  @Test func aFieldThatIsNotOfItsKindIsIgnored() {
    func request(_ name: String, _ values: String...) -> FrontRequest {
      FrontRequest(serial: 1, method: "POST", segments: [], fields: values.map { .init(name, $0) })
    }
    let numbers: [(String, Int64?)] = [
      ("0", 0), ("15", 15), (" 7 ", 7), ("7;a=1", 7), ("999999999999999", 999_999_999_999_999),
      ("1000000000000000", nil), ("-1", nil), ("1.0", nil), ("", nil), ("x", nil), ("+1", nil),
    ]
    for (text, number) in numbers {
      #expect(
        UploadDraft.integer(request("upload-offset", text), "upload-offset") == number, "'\(text)'")
    }
    #expect(UploadDraft.integer(request("upload-offset", "1", "1"), "upload-offset") == nil)
    let words: [(String, Bool?)] = [
      ("?1", true), ("?0", false), ("?1;a", true), ("1", nil), ("true", nil), ("?2", nil), ("", nil),
    ]
    for (text, isLast) in words {
      #expect(UploadDraft.isLast(request("upload-complete", text)) == isLast, "'\(text)'")
    }
    let names: [(String, String?)] = [
      ("attachment; filename=\"a b.pdf\"", "a b.pdf"), ("attachment;filename=a.pdf; x=y", "a.pdf"),
      ("attachment", nil), ("filename=a.pdf", nil), ("attachment; filename=\"\"", nil),
      ("attachment; filename*=UTF-8''a", nil),
    ]
    for (text, name) in names {
      #expect(UploadDraft.fileName(request("content-disposition", text)) == name, "'\(text)'")
    }
  }

  @Test func theLengthIsSaidOrShown() throws {
    func length(_ said: String?, _ body: FrontRequest.Body, isLast: Bool) throws -> Int64? {
      let request = FrontRequest(
        serial: 1, method: "PATCH", segments: [], fields: said.map { [.init("upload-length", $0)] } ?? [],
        body: body)
      return try UploadDraft.length(request, from: 10, isLast: isLast)
    }
    #expect(try length(nil, .length(5), isLast: true) == 15)
    #expect(try length(nil, .none, isLast: true) == 10)
    #expect(try length(nil, .length(5), isLast: false) == nil)
    #expect(try length(nil, .unknown, isLast: true) == nil)
    #expect(try length("20", .length(5), isLast: false) == 20)
    #expect(try length("15", .length(5), isLast: true) == 15)
    #expect(try length(nil, .length(.max), isLast: true) == .max)
    #expect(throws: Problem.self) { try length("16", .length(5), isLast: true) }
  }

  @Test func onlyItsVersionsAreSpokenAndOnlyWhereTheyAreWished() {
    var rules = ServeRules()
    func version(_ text: String, _ more: [FrontRequest.Pair] = []) -> Int64? {
      let fields = [FrontRequest.Pair("upload-draft-interop-version", text)] + more
      return UploadDraft(FrontRequest(serial: 1, method: "HEAD", segments: [], fields: fields), rules)?
        .version
    }
    #expect(version("8") == nil)
    rules.uploadDraft = true
    for text in ["6", "7", "8"] { #expect(version(text) == Int64(text)) }
    for text in ["3", "5", "9", "x", ""] { #expect(version(text) == nil, "'\(text)'") }
    #expect(version("8", [.init("tus-resumable", "1.0.0")]) == nil)
  }

  // MARK: Uploads

  @Test func oneRequestIsEnough() throws {
    let desk = try desk()
    let reply = try #require(try post(desk, complete: "?1", [1, 2, 3], ["content-type": "text/plain"]))
    #expect(reply.status == 201 && reply.field("Upload-Complete") == "?1")
    #expect(reply.field("Upload-Offset") == "3")
    let told = try #require(desk.told.first)
    #expect(told.status == 104 && told.field("Upload-Draft-Interop-Version") == "8")
    #expect(told.field("Upload-Limit") == "max-size=100, max-age=86400")
    #expect(told.field("Location")?.hasPrefix("/v1/uploads/") == true)
    #expect(told.field("Location") == reply.field("Location"))
    let made = try #require(try desk.attachments().first)
    #expect(made.origin.id == reply.field("Attachment-Id") && made.origin.fileName == "a.txt")
    #expect(made.origin.senderId == "ann")
    // An older version calls a limit otherwise.
    _ = try post(desk, complete: "?1", [1, 2, 3, 4], version: "6")
    #expect(desk.told.last?.field("Upload-Limit") == "max-size=100, expires=86400")
  }

  @Test func oneThatWasCutGoesOnWhereItWas() throws {
    let desk = try desk()
    _ = try post(desk, complete: "?1", Array(0..<10), fate: .cut(4))
    let place = try #require(desk.told.first?.field("Location"))
    let state = try #require(try head(desk, place))
    #expect(state.status == 204 && state.field("Upload-Offset") == "4")
    #expect(state.field("Upload-Complete") == "?0" && state.field("Upload-Length") == "10")
    #expect(state.field("Cache-Control") == "no-store" && state.field("Attachment-Id") == nil)
    #expect(try head(desk, place, token: "b")?.status == 404)
    #expect(try patch(desk, place, at: 4, complete: "?0", [4, 5], token: "b")?.status == 404)

    let some = try #require(try patch(desk, place, at: 4, complete: "?0", [4, 5]))
    #expect(some.status == 201 && some.field("Upload-Complete") == "?0" && some.field("Upload-Offset") == "6")
    let wrong = try #require(try patch(desk, place, at: 5, complete: "?1", Array(5..<10)))
    #expect(wrong.status == 409 && wrong.field("Upload-Offset") == "6")
    #expect(wrong.text.contains("#mismatching-upload-offset\""))
    #expect(wrong.text.contains("\"expected-offset\":6,\"provided-offset\":5"))
    #expect(try desk.attachments().isEmpty)

    let last = try #require(try patch(desk, place, at: 6, complete: "?1", Array(6..<10)))
    #expect(last.status == 201 && last.field("Upload-Complete") == "?1")
    #expect(try desk.attachments().map(\.origin.id) == [try #require(last.field("Attachment-Id"))])
    let end = try #require(try head(desk, place))
    #expect(end.field("Upload-Complete") == "?1" && end.field("Upload-Offset") == "10")
    #expect(end.field("Attachment-Id") == last.field("Attachment-Id"))
    let again = try #require(try patch(desk, place, at: 10, complete: "?1", nil))
    #expect(again.status == 400 && again.text.contains("#completed-upload\""))
    #expect(try desk.attachments().count == 1)
  }

  /// Its bytes may all be there: only the client knows whether more will come.
  @Test func itEndsWhereTheClientSaysSo() throws {
    let desk = try desk()
    let begun = try #require(try post(desk, complete: "?0", [1, 2, 3], ["upload-length": "3"]))
    #expect(begun.status == 201 && begun.field("Upload-Complete") == "?0")
    let place = try #require(begun.field("Location"))
    try desk.apply(try desk.api.sweepUploads(begun: 0, isUsed: { _ in false }))
    #expect(try head(desk, place)?.field("Upload-Complete") == "?0")
    #expect(try desk.attachments().isEmpty)
    let end = try patch(desk, place, at: 3, complete: "?1", nil)
    #expect(end?.status == 201 && end?.field("Upload-Complete") == "?1")
    #expect(try desk.attachments().count == 1)
  }

  /// All its bytes came, and nobody heard that they were the last.
  @Test func oneThatWasKilledBeforeItEndedIsEndedByTheClient() throws {
    let desk = try desk()
    #expect(try post(desk, complete: "?1", [1, 2, 3], fate: .killed(3)) == nil)
    let place = try #require(desk.told.first?.field("Location"))
    let state = try head(desk, place)
    #expect(state?.field("Upload-Offset") == "3" && state?.field("Upload-Complete") == "?0")
    #expect(try patch(desk, place, at: 3, complete: "?1", nil)?.field("Upload-Complete") == "?1")
    #expect(try desk.attachments().count == 1)
  }

  @Test func oneOfNoKnownLengthEndsToo() throws {
    let desk = try desk()
    let place = try #require(try post(desk, complete: "?0", nil)?.field("Location"))
    #expect(desk.told.isEmpty, "where no body follows the answer comes at once")
    #expect(try head(desk, place)?.field("Upload-Length") == nil)
    #expect(try patch(desk, place, at: 0, complete: nil, [1, 2])?.field("Upload-Complete") == "?0")
    #expect(try patch(desk, place, at: 2, complete: "?1", [3])?.field("Upload-Complete") == "?1")
    #expect(try head(desk, place)?.field("Upload-Length") == "3")
  }

  /// A service begins it by tus, and an app goes on by the draft.
  @Test func bothDialectsAreOfTheSameUploads() throws {
    let desk = try desk()
    let begun = try desk.ask("POST", "/v1/uploads", "a", ["upload-length": "4"])
    let place = try #require(begun?.field("Location"))
    #expect(try head(desk, place)?.field("Upload-Length") == "4")
    #expect(try patch(desk, place, at: 0, complete: "?0", [1, 2])?.status == 201)
    #expect(try desk.ask("HEAD", place, "a")?.field("Upload-Offset") == "2")
    #expect(try patch(desk, place, at: 2, complete: "?1", [3, 4])?.field("Attachment-Id") != nil)
    // And the other way round.
    let other = try #require(try post(desk, complete: "?0", [1], ["upload-length": "2"])?.field("Location"))
    let fields = ["upload-offset": "1", "content-type": "application/offset+octet-stream"]
    #expect(try desk.ask("PATCH", other, "a", fields, [2])?.field("Attachment-Id") != nil)
    #expect(try desk.attachments().count == 2)
    let part = try desk.ask("POST", "/v1/uploads", "a", ["upload-length": "4", "upload-concat": "partial"])
    #expect(try patch(desk, try #require(part?.field("Location")), at: 0, complete: "?1", [1])?.status == 403)
  }

  @Test func whatCannotBeIsRefused() throws {
    let desk = try desk()
    func status(_ reply: FrontReply?) -> Int? { reply?.status }
    #expect(try status(post(desk, complete: "?1", [UInt8](repeating: 0, count: 101))) == 413)
    #expect(try status(post(desk, complete: "?0", [1], ["upload-length": "101"])) == 413)
    #expect(try status(post(desk, complete: "?1", [1], ["upload-length": "2"])) == 400)
    #expect(try status(post(desk, complete: "?0", [1, 2], ["upload-length": "1"])) == 400)
    #expect(try status(post(desk, complete: "?0", [1], ["upload-offset": "0"])) == 400)
    #expect(try status(post(desk, complete: "?0", [1], query: "?senderId=ben")) == 403)
    #expect(try status(post(desk, complete: "?0", [1], query: "?other=x")) == 400)
    let place = try #require(try post(desk, complete: "?0", [1], ["upload-length": "3"])?.field("Location"))
    #expect(try status(patch(desk, place, at: 1, complete: "?0", [2, 3, 4])) == 400)
    #expect(try status(patch(desk, place, at: 1, complete: "?1", [2])) == 400, "it would be too short")
    #expect(try status(patch(desk, place, at: 1, complete: "?0", [2], ["content-type": "text/plain"])) == 415)
    #expect(try status(patch(desk, place, at: 1, complete: "?0", [2], ["upload-offset": "x"])) == 400)
    #expect(try head(desk, place)?.field("Upload-Offset") == "1")
    let more = ["upload-draft-interop-version": "8", "upload-complete": "?0"]
    #expect(try status(desk.ask("HEAD", place, "a", more)) == 400)
    #expect(try status(desk.ask("DELETE", place, "a", more)) == 400)
    _ = try post(desk, complete: "?0", [1])
    _ = try post(desk, complete: "?0", [1])
    #expect(try status(post(desk, complete: "?0", [1])) == 429)
    let draft = ["upload-draft-interop-version": "8"]
    #expect(try status(desk.ask("DELETE", place, "a", draft)) == 204)
    #expect(try head(desk, place)?.status == 404)
    #expect(try status(post(desk, complete: "?0", [1])) == 201)
    #expect(try desk.attachments().isEmpty)
  }

  @Test func aPartIsNotTakenForTheWhole() throws {
    for isOn in [false, true] {
      let desk = try desk(isOn: isOn)
      for fields in [
        ["upload-complete": "?0"], ["upload-complete": "?0", "upload-draft-interop-version": "5"],
        ["upload-incomplete": "?1", "upload-draft-interop-version": "3"],
      ] {
        let reply = try desk.ask("POST", "/v1/attachments?filename=a", "a", fields, [1])
        #expect(reply?.status == 400 && reply?.text.contains("\"other-version\"") == true, "\(fields)")
      }
      #expect(try desk.attachments().isEmpty)
      // All of it is as good as ever.
      let fields = ["upload-complete": "?1", "upload-draft-interop-version": "3"]
      #expect(try desk.ask("POST", "/v1/attachments?filename=a", "a", fields, [1])?.status == 201)
      #expect(try desk.attachments().count == 1 && desk.told.isEmpty)
    }
  }

  @Test func itIsOffUnlessItIsWished() throws {
    let desk = try desk(isOn: false)
    let reply = try #require(try post(desk, complete: "?1", [1, 2]))
    #expect(reply.status == 201 && reply.field("Upload-Complete") == nil && desk.told.isEmpty)
    let place = try #require(
      try desk.ask("POST", "/v1/uploads", "a", ["upload-length": "4"])?.field("Location"))
    #expect(try head(desk, place)?.status == 412)
    #expect(try patch(desk, place, at: 0, complete: "?0", [1])?.status == 412)
    #expect(try desk.ask("OPTIONS", "/v1/attachments", "a")?.field("Accept-Patch") == nil)
    #expect(try self.desk().ask("OPTIONS", "/v1/attachments", "a")?.field("Accept-Patch") == Self.type)
  }
}
