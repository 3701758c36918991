import Foundation
import Testing

// Attachments that messages name, and their end.
extension ServedMessagesTests {
  @Test func aMessageNamesItsAttachments() throws {
    let room = "/v1/conversations/\(try begin(#"{"members":["ben"]}"#))"
    let other = try ask("POST", "/v1/conversations", ben, #"{"members":["eve"]}"#)
    let away = "/v1/conversations/\(try #require(other.json["id"].text))"
    func post(_ name: String, _ content: String) throws -> String {
      let answer = try served.ask(
        "POST", "/v1/attachments?filename=\(name)&filetype=text/plain", token: ann,
        ["Content-Type: application/octet-stream"], body: Data(content.utf8))
      return try #require(try JSON(answer.text)["id"].text)
    }
    func ids(_ json: JSON) -> [String?] { json["attachments"].elements.map { $0["id"].text } }
    func content(_ id: String, _ token: String) throws -> String {
      try served.ask("GET", "/v1/attachments/\(id)/content", token: token).text
    }
    // Ann's own attachment becomes that of the message.
    let mine = try post("a.txt", "one")
    let sent = try ask("PUT", "\(room)/messages/1", ann, #"{"attachments":["\#(mine)"]}"#)
    #expect(sent.status == 201 && ids(sent.json) == [mine], "\(sent.json)")
    try Resident.wait("it is completed") {
      try self.ask("GET", "/v1/attachments/\(mine)", self.ben).json["status"].text == "completed"
    }
    #expect(try content(mine, ben) == "one")
    // Ben forwards it without another upload.
    let forwarded = try ask("PUT", "\(away)/messages/1", ben, #"{"text":"see","attachments":["\#(mine)"]}"#)
    let copy = try #require(ids(forwarded.json).first ?? nil)
    #expect(copy != mine && forwarded.json["attachments"].elements[0]["status"].text == "completed")
    #expect(try content(copy, eve) == "one")
    #expect(try ask("GET", "/v1/attachments/\(mine)", eve).status == 404)
    // Nobody names what it may not read, and a refused message is not there.
    for body in [#"{"attachments":["\#(mine)"]}"#, #"{"attachments":["none"]}"#, #"{"uploads":["none"]}"#] {
      #expect(try ask("PUT", "\(away)/messages/2", eve, body).status == 400, "\(body)")
    }
    #expect(
      try ask("PUT", "\(away)/messages/2", eve, #"{"links":["https://example.com/a"]}"#).status == 409)
    #expect(try ask("GET", "\(away)/messages", eve).json["messages"].elements.count == 1)
    // An upload is named before its last byte.
    let metadata = "filename " + Data("b.txt".utf8).base64EncodedString()
    let begun = try served.ask(
      "POST", "/v1/uploads", token: ann,
      ["Tus-Resumable: 1.0.0", "Upload-Length: 5", "Upload-Metadata: \(metadata)"])
    let place = try #require(begun.fields["location"])
    let upload = try #require(place.split(separator: "/").last)
    let body = #"{"uploads":["\#(upload)"]}"#
    #expect(try ask("PUT", "\(away)/messages/3", ben, body).status == 400, "it is not Ben's")
    let named = try ask("PUT", "\(room)/messages/2", ann, body)
    #expect(named.status == 201 && ids(named.json).isEmpty)
    let seen = try ask("GET", "\(room)/messages/2", ben).json["uploads"].elements
    #expect(seen.map { $0["fileName"].text } == ["b.txt"] && seen.first?["length"] == .number(5))
    let whole = try served.ask(
      "PATCH", "/v1/uploads/\(upload)", token: ann,
      ["Tus-Resumable: 1.0.0", "Upload-Offset: 0", "Content-Type: application/offset+octet-stream"],
      body: Data("bytes".utf8))
    #expect(whole.status == 204)
    let message = try ask("GET", "\(room)/messages/2", ben).json
    #expect(message["uploads"].elements.isEmpty && ids(message) == [whole.fields["attachment-id"]])
    #expect(served.stop() == 0)
  }

  /// A message takes no upload that a service has begun for others, and no link where services alone send contents.
  @Test func aMessageNamesNothingThatAServiceMeantForOthers() throws {
    let bound = try ServedMessagesTests("messages: true, uploads-by: services")
    let room = try bound.begin(#"{"members":["ben"]}"#)
    let other = try bound.begin(#"{"members":["eve"]}"#)
    func prepared(_ members: String) throws -> String {
      let pairs = (members + ",filename a.txt,senderId ann").split(separator: ",").map { pair in
        let words = pair.split(separator: " ", maxSplits: 1)
        return "\(words[0]) \(Data(words[1].utf8).base64EncodedString())"
      }
      let begun = try bound.served.ask(
        "POST", "/v1/uploads", token: bound.shop,
        ["Tus-Resumable: 1.0.0", "Upload-Length: 5", "Upload-Metadata: \(pairs.joined(separator: ","))"])
      return String(try #require(begun.fields["location"]?.split(separator: "/").last))
    }
    func name(_ client: String, _ body: String) throws -> Int {
      try bound.ask("PUT", "/v1/conversations/\(room)/messages/\(client)", bound.ann, body).status
    }
    for members in [
      "conversationId \(other)", "conversationId \(room),messageId m", "participants [\"eve\"]",
    ] {
      #expect(try name("1", #"{"uploads":["\#(prepared(members))"]}"#) == 409, "\(members)")
    }
    #expect(try name("2", #"{"uploads":["\#(prepared("conversationId \(room)"))"]}"#) == 201)
    #expect(try name("3", #"{"links":["https://example.com/a"]}"#) == 403)
    #expect(bound.served.stop() == 0 && served.stop() == 0)
  }

  @Test func aMessageExpiresWithItsAttachments() throws {
    let room = "/v1/conversations/\(try begin(#"{"kind":"direct","members":["ben"]}"#))"
    #expect(try ask("PATCH", room, ben, #"{"expireAfter":5}"#).status == 200)
    for body in [#"{"expireAfter":4}"#, #"{"expireAfter":0}"#, #"{}"#, #"{"name":"x","expireAfter":9}"#] {
      #expect(try ask("PATCH", room, ben, body).status == 400, "\(body)")
    }
    #expect(try ask("GET", room, ann).json["expireAfter"] == .number(5))
    let stay = #"{"text":"stays","expiresAt":"2099-01-31T08:00:00Z"}"#
    let sent = try ask("PUT", "\(room)/messages/1", ann, stay).json
    #expect(sent["expiresAt"].text?.hasPrefix("2099") == false, "the conversation bounds it")
    #expect(
      try upload("a.txt", ann, "conversationId=\(room.split(separator: "/")[2])&messageId=1", "x") == 201)
    #expect(
      try ask("PUT", "\(room)/messages/2", ann, #"{"text":"x","expiresAt":"2020-01-31T08:00:00Z"}"#).status
        == 400)
    try Resident.wait("it is deleted") {
      try self.ask("GET", "\(room)/messages/1", self.ben).json["deletedAt"] != .null
    }
    let gone = try ask("GET", "\(room)/messages/1", ben).json
    #expect(gone["text"] == .null && gone["attachments"].elements.isEmpty)
    #expect(served.stop() == 0)
  }
}
