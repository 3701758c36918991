import FrontWire
import LedgerPort
import Pipeline
import Platform
import Testing

@testable import FrontDoor

/// What a service says of a message must be what is on record of it.
struct MessageConflictTests {
  private let desk: UploadDesk

  init() throws {
    desk = try UploadDesk()
    try desk.addToken("s", "shop", .service)
    try desk.addToken("a", "ann")
    try #require(try post("s", "m", sender: "ann", participants: ["ann", "ben"]).status == 201)
  }

  private func metadata(_ message: String, sender: String?, participants: [String]?) -> [String: String] {
    var values = ["messageId": message]
    values["senderId"] = sender
    values["participants"] = participants.map(JSONWriter.array)
    return values
  }

  private func begin(
    _ token: String, _ message: String, sender: String? = nil, participants: [String]? = nil
  ) throws -> FrontReply {
    let header = Tus.header(metadata(message, sender: sender, participants: participants))
    let fields = ["upload-length": "3", "upload-metadata": header]
    return try #require(try desk.ask("POST", "/v1/uploads", token, fields))
  }

  private func post(
    _ token: String, _ message: String, sender: String? = nil, participants: [String]? = nil
  ) throws -> FrontReply {
    let query = metadata(message, sender: sender, participants: participants).map { "\($0.key)=\($0.value)" }
    let path = "/v1/attachments?" + query.sorted().joined(separator: "&")
    return try #require(try desk.ask("POST", path, token, [:], [1, 2, 3]))
  }

  private func fetch(_ body: String) throws -> FrontReply {
    let fields = ["content-type": "application/json", "prefer": "respond-async"]
    return try #require(try desk.ask("POST", "/v1/fetch", "s", fields, Array(body.utf8)))
  }

  private static let cases: [(sender: String?, participants: [String]?, code: String?)] = [
    ("ann", ["ann", "ben"], nil), ("ann", ["ben", "ann"], nil), ("ann", nil, nil),
    ("ann", ["ann"], "other-participants"), ("ann", ["ann", "ben", "eve"], "other-participants"),
    ("ann", [], "other-participants"), ("eve", nil, "other-sender"), ("eve", ["eve"], "other-sender"),
  ]

  @Test func whatDiffersIsSaidBeforeTheBytes() throws {
    for (sender, participants, code) in Self.cases {
      for reply in [
        try begin("s", "m", sender: sender, participants: participants),
        try post("s", "m", sender: sender, participants: participants),
      ] {
        #expect(
          reply.status == (code == nil ? 201 : 409), "\(sender ?? "") \(participants ?? []) \(reply.text)")
        if let code { #expect(reply.text.contains("\"\(code)\"") && reply.text.contains("\"remedy\"")) }
      }
    }
    // Of a new message all may be said.
    #expect(try begin("s", "n", sender: "eve", participants: ["eve"]).status == 201)
  }

  @Test func aLinkIsNoOther() throws {
    func body(_ more: String) -> String {
      #"{"url":"https://files.example.com/a","messageId":"m","conversationId":"default","senderId":"ann"\#(more)}"#
    }
    #expect(try fetch(body(#","participants":["ann"]"#)).text.contains("\"other-participants\""))
    // Links need a key here, which there is none of: this is what is looked at next.
    #expect(try fetch(body(#","participants":["ben","ann"]"#)).status == 422)
    #expect(try fetch(body("")).status == 422)
  }

  /// Two uploads may be begun before the message is there.
  @Test func whatDiffersInTheEndIsNotTakenIn() throws {
    let place = try #require(
      try begin("s", "new", sender: "ann", participants: ["ann", "eve"]).field("Location"))
    #expect(try post("s", "new", sender: "ann", participants: ["ann", "ben"]).status == 201)
    let count = try desk.attachments().count
    let fields = ["upload-offset": "0", "content-type": "application/offset+octet-stream"]
    let reply = try #require(try desk.ask("PATCH", place, "s", fields, [1, 2, 3]))
    #expect(reply.status == 409 && reply.text.contains("\"other-participants\""), "\(reply.text)")
    #expect(try desk.attachments().count == count)
  }

  /// Whose a message is that is not its own is none of a user's business.
  @Test func aUserIsNotToldWhoseAMessageIs() throws {
    try desk.addToken("e", "eve")
    let reply = try post("e", "m")
    #expect(reply.status == 422 && !reply.text.contains("ann") && !reply.text.contains("\"other-sender\""))
    #expect(try post("a", "m").status == 201)
  }
}
