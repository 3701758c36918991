import CPlatform
import Foundation
import Glibc
import Synchronization
import Testing

/// People who write to each other over HTTP.
struct ServedMessagesTests {
  let folder: TemporaryFolder
  let served: ServedHome
  let ann, ben, eve, shop: String

  init() throws { try self.init("messages: true") }

  /// - Parameter rules: of the server.
  init(_ rules: String) throws {
    folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open + "\nserve: { \(rules) }\n")
    served = try ServedHome(folder, options: ["--config", "pipeline.yaml"])
    (ann, ben) = (try served.token("ann"), try served.token("ben"))
    (eve, shop) = (try served.token("eve"), try served.token("shop", "--role", "service"))
  }

  func ask(
    _ method: String, _ path: String, _ token: String, _ body: String? = nil
  ) throws -> (status: Int, json: JSON) {
    let fields = body == nil ? [] : ["Content-Type: application/json"]
    let answer = try served.ask(method, path, token: token, fields, body: body.map { Data($0.utf8) })
    return (answer.status, (try? JSON(answer.text)) ?? .null)
  }

  /// Begins a conversation.
  func begin(_ body: String) throws -> String {
    let (status, json) = try ask("POST", "/v1/conversations", ann, body)
    try #require(status == 201 && json["members"].elements.first?["user"].text == "ann")
    return try #require(json["id"].text)
  }

  func upload(_ name: String, _ token: String, _ query: String, _ content: String) throws -> Int {
    try served.ask(
      "POST", "/v1/attachments?filename=\(name)&filetype=text/plain&\(query)", token: token,
      ["Content-Type: application/octet-stream"], body: Data(content.utf8)
    ).status
  }

  @Test func twoPeopleWriteAndReadAndSeeWhatTheOtherHasRead() throws {
    let room = try begin(#"{"kind":"direct","members":["ben"]}"#)
    #expect(
      try ask("POST", "/v1/conversations", ben, #"{"kind":"direct","members":["ann"]}"#).json["id"].text
        == room)
    let path = "/v1/conversations/\(room)"
    let stream = try served.listen(ben)
    #expect(stream.next()?.kind == "start")
    let sent = try ask("PUT", "\(path)/messages/c-1", ann, #"{"text":"Hello \"Ben\" \u00e9"}"#)
    #expect(sent.status == 201 && sent.json["number"] == .number(1))
    #expect(sent.json["attachments"].elements.isEmpty && sent.json["receipts"]["of"] == .number(1))
    #expect(sent.json["status"].text == "sent")
    let again = try ask("PUT", "\(path)/messages/c-1", ann, #"{"text":"other"}"#)
    #expect(again.status == 200 && again.json["text"].text == "Hello \"Ben\" é")
    let told = try #require(stream.next())
    let heard = try JSON(told.data)
    #expect(told.kind == "message" && heard["text"].text == "Hello \"Ben\" é")
    #expect(heard["clientId"].text == "c-1" && heard["senderId"].text == "ann")
    #expect(try ask("GET", path, ben).json["unread"] == .number(1))
    #expect(try ask("GET", path, ann).json["unread"] == .number(0))
    #expect(try ask("GET", path, eve).status == 404 && ask("GET", "\(path)/messages", eve).status == 404)
    let whole = try ask("GET", "/v1/sync", ann).json
    #expect(try ask("PUT", "\(path)/delivered", ben, #"{"number":1}"#).json["changed"] == .boolean(true))
    #expect(try ask("GET", "\(path)/messages/1", ann).json["status"].text == "delivered")
    #expect(try ask("PUT", "\(path)/read", ben, #"{"number":1}"#).json["changed"] == .boolean(true))
    #expect(try ask("GET", "\(path)/messages/1", ann).json["status"].text == "read")
    #expect(try ask("PUT", "\(path)/read", ben, #"{"number":1}"#).json["changed"] == .boolean(false))
    let since = try #require(whole["position"].text)
    let synced = try ask("GET", "/v1/sync?since=\(since)", ann).json
    let change = try #require(synced["conversations"].elements.first)
    #expect(change["members"].elements.map { $0["user"].text } == ["ben"])
    #expect(change["members"].elements.first?["readNumber"] == .number(1))
    let message = try ask("GET", "\(path)/messages/1", ann).json
    #expect(message["receipts"]["of"] == .number(1) && message["receipts"]["read"] == .number(1))
    let receipts = try ask("GET", "\(path)/messages/1/receipts", ann).json
    #expect(receipts["read"].elements.map(\.text) == ["ben"])
    #expect(try ask("GET", path, ben).json["unread"] == .number(0))
    // Edited, and deleted.
    #expect(try ask("PATCH", "\(path)/messages/1", ben, #"{"text":"x"}"#).status == 403)
    #expect(try ask("PATCH", "\(path)/messages/1", ann, #"{"text":"Hi"}"#).status == 200)
    #expect(try ask("DELETE", "\(path)/messages/1", ann).json["changed"] == .boolean(true))
    let gone = try ask("GET", "\(path)/messages", ben).json["messages"].elements
    #expect(gone.count == 1 && gone[0]["text"] == .null && gone[0]["deletedAt"] != .null)
    #expect(served.stop() == 0)
  }

  @Test func syncWaitsForAChangeOfOnesOwn() throws {
    let room = try begin(#"{"members":["ben"]}"#)
    let position = try #require(try ask("GET", "/v1/sync", ben).json["position"].text)
    // Changes of others do not count.
    #expect(try ask("POST", "/v1/conversations", ann, #"{"members":["eve"]}"#).status == 201)
    let start = ContinuousClock.now
    let empty = try ask("GET", "/v1/sync?since=\(position)&wait=1", ben).json
    #expect(ContinuousClock.now - start > .milliseconds(900))
    #expect(empty["conversations"].elements.isEmpty && empty["position"].text != position)
    let (port, token) = (served.port, ben)
    let answer = Mutex<JSON?>(nil)
    let waiting = Thread {
      let reply = try? ServedHome.ask(port, "GET", "/v1/sync?since=\(position)&wait=60", token: token)
      let json = reply.flatMap { try? JSON($0.text) }
      answer.withLock { $0 = json ?? .null }
    }
    waiting.start()
    usleep(300_000)
    #expect(answer.withLock { $0 } == nil, "it waits")
    #expect(try ask("PUT", "/v1/conversations/\(room)/messages/1", ann, #"{"text":"now"}"#).status == 201)
    try Resident.wait("it is answered") { answer.withLock { $0 } != nil }
    let conversations = answer.withLock { $0 }?["conversations"].elements ?? []
    #expect(conversations.count == 1)
    #expect(conversations.first?["messages"].elements.map { $0["text"].text } == ["now"])
    #expect(try ask("GET", "/v1/sync?since=\(position)&wait=61", ben).status == 400)
    #expect(served.stop() == 0)
  }

  /// Nobody waits when the server ends.
  @Test func aWaitEndsWithTheServer() throws {
    let position = try #require(try ask("GET", "/v1/sync", ben).json["position"].text)
    let (port, token) = (served.port, ben)
    let status = Mutex<Int?>(nil)
    let waiting = Thread {
      let reply = try? ServedHome.ask(port, "GET", "/v1/sync?since=\(position)&wait=60", token: token)
      status.withLock { $0 = reply?.status ?? 0 }
    }
    waiting.start()
    usleep(300_000)
    #expect(served.stop() == 0)
    try Resident.wait("it is answered") { status.withLock { $0 } != nil }
    #expect(status.withLock { $0 } == 200)
  }

  @Test func companionsSeeWhoIsOnline() throws {
    let room = "/v1/conversations/\(try begin(#"{"members":["ben"]}"#))"
    let stream = try served.listen(ann)
    #expect(stream.next()?.kind == "start")
    func online(_ token: String) throws -> [String?] {
      try ask("GET", "/v1/presence", token).json["users"].elements
        .filter { $0["online"] == .boolean(true) }.map { $0["user"].text }
    }
    #expect(try online(ben) == ["ann"] && online(eve).isEmpty && online(shop) == ["ann"])
    // Eve shares no conversation with Ann.
    let stranger = try served.listen(eve)
    #expect(stranger.next()?.kind == "start")
    var bens: EventClient? = try served.listen(ben)
    #expect(bens?.next()?.kind == "start")
    let come = try #require(stream.next())
    #expect(come.kind == "presence")
    #expect(try JSON(come.data)["user"].text == "ben" && JSON(come.data)["online"] == .boolean(true))
    bens = nil
    let gone = try #require(stream.next())
    #expect(gone.kind == "presence" && gone.data.contains(#""online":false"#), "\(gone)")
    #expect(try ask("GET", "/v1/presence", ann).json["users"].elements.first?["lastSeenAt"] != .null)
    // A member that was taken out is no companion any more.
    _ = try ask("DELETE", "\(room)/members/ben", ann)
    #expect(try online(ben).isEmpty)
    #expect(served.stop() == 0)
  }

  @Test func whoReadsAnAttachmentFollowsItsConversation() throws {
    let room = try begin(#"{"members":["ben"],"name":"Team","history":"joined"}"#)
    let path = "/v1/conversations/\(room)"
    let message = try #require(try ask("PUT", "\(path)/messages/1", ann, #"{"text":"see"}"#).json["id"].text)
    let query = "conversationId=\(room)&messageId=\(message)"
    #expect(try upload("a.txt", ann, query, "one") == 201)
    #expect(try upload("b.txt", ann, "conversationId=\(room)", "two") == 201)
    // Neither into the message of another, nor into a conversation of others.
    #expect(try upload("x.txt", ben, query, "three") == 422)
    #expect(try upload("x.txt", eve, "conversationId=\(room)", "four") == 422)
    #expect(try upload("x.txt", eve, "conversationId=to-come", "five") == 422)
    func attachments(_ token: String) throws -> [JSON] {
      try ask("GET", "\(path)/messages", token).json["messages"].elements.flatMap {
        $0["attachments"].elements
      }
    }
    try Resident.wait("both are completed") {
      let states = (try? attachments(ben))?.map { $0["status"].text } ?? []
      return states == ["completed", "completed"]
    }
    let all = try ask("GET", "\(path)/messages", ben).json["messages"].elements
    #expect(all.map { $0["number"] } == [.number(2), .number(1)] && all[0]["text"] == .null)
    let ids = try attachments(ben).compactMap { $0["id"].text }
    func status(_ token: String) throws -> [Int] {
      try ids.map { try served.ask("GET", "/v1/attachments/\($0)/content", token: token).status }
    }
    #expect(try status(ben) == [200, 200] && status(eve) == [404, 404] && status(shop) == [200, 200])
    #expect(try ask("GET", "/v1/attachments", eve).json["attachments"].elements.isEmpty)
    #expect(try ask("GET", "/v1/attachments", ben).json["attachments"].elements.count == 2)
    // Who comes sees what comes; who goes, nothing more.
    #expect(try ask("PUT", "\(path)/members/eve", ann, "{}").status == 200)
    #expect(try ask("DELETE", "\(path)/members/ben", ann).status == 200)
    #expect(try upload("c.txt", ann, "conversationId=\(room)", "five") == 201)
    try Resident.wait("the third is completed") {
      (try? attachments(eve))?.map { $0["status"].text } == ["completed"]
    }
    #expect(try status(eve) == [404, 404] && status(ben) == [200, 200])
    let third = try #require(try attachments(eve).first?["id"].text)
    #expect(try served.ask("GET", "/v1/attachments/\(third)/content", token: ben).status == 404)
    #expect(try ask("PUT", "\(path)/messages/2", ben, #"{"text":"x"}"#).status == 403)
    let left = try ask("GET", path, ben).json
    #expect(left["lastNumber"] == .number(2) && left["members"].elements.count == 1)
    // The channel tells its members, and nobody else.
    try Resident.wait("the members are told") { told(of: third) == ["eve"] && told(of: ids[0]) == ["ben"] }
    #expect(served.stop() == 0)
  }

  /// Whom the channel has told of an attachment.
  private func told(of id: String) -> Set<String> {
    let lines = ((try? folder.read("home/events.jsonl")) ?? "").split(separator: "\n")
    let events = lines.compactMap { try? JSON(String($0)) }.filter { $0["data"]["attachmentId"].text == id }
    return Set(events.compactMap { $0["data"]["recipientId"].text })
  }

  @Test func aProductThatOwnsMembershipSaysWhoTakesPart() throws {
    try Self("messages: true, conversations-by: services").membersAreTheProducts()
  }

  private func membersAreTheProducts() throws {
    #expect(try ask("POST", "/v1/conversations", ann, #"{"members":["ben"]}"#).status == 403)
    let made = try ask("POST", "/v1/conversations", shop, #"{"id":"order 7","members":["ann","ben"]}"#)
    #expect(made.status == 201 && made.json["id"].text == "order 7")
    let path = "/v1/conversations/order%207"
    #expect(try ask("PUT", "\(path)/messages/c", ben, #"{"text":"mine"}"#).status == 201)
    #expect(try ask("PUT", "\(path)/messages/c", shop, #"{"text":"for ann","senderId":"ann"}"#).status == 201)
    #expect(try ask("PUT", "\(path)/messages/d", ben, #"{"text":"no","senderId":"ann"}"#).status == 403)
    #expect(try ask("DELETE", "\(path)/members/ben", ben).status == 403)
    #expect(try ask("DELETE", "\(path)/members/ben", shop).status == 200)
    let senders = try ask("GET", "\(path)/messages", ann).json["messages"].elements.map {
      $0["senderId"].text
    }
    #expect(senders == ["ann", "ben"])
    #expect(served.stop() == 0)
  }

  @Test func whatIsWrongIsSaid() throws {
    let room = try begin(#"{"members":[]}"#)
    let path = "/v1/conversations/\(room)"
    for (method, place, body, status) in [
      ("POST", "/v1/conversations", #"{"members":"ben"}"#, 400),
      ("POST", "/v1/conversations", #"{"members":[1]}"#, 400),
      ("POST", "/v1/conversations", #"{"members":["ben"],"colour":1}"#, 400),
      ("POST", "/v1/conversations", #"{"members":["ben"],"id":"x"}"#, 403),
      ("POST", "/v1/conversations", #"{"kind":"pair","members":["ben"]}"#, 400),
      ("POST", "/v1/conversations", "[]", 400), ("POST", "/v1/conversations", "{}", 400),
      ("PUT", "\(path)/messages/a", #"{"text":"a\u0000b"}"#, 400),
      ("PUT", "\(path)/messages/a", #"{"text":"a\ud800b"}"#, 400),
      ("PUT", "\(path)/messages/a", #"{"text":"\udc00"}"#, 400),
      ("PUT", "\(path)/messages/a", #"{"text":5}"#, 400), ("PUT", "\(path)/messages/a", #"{"text":""}"#, 400),
      ("PUT", "\(path)/messages/a", #"{"text":"x","replyTo":1}"#, 400),
      ("PUT", "\(path)/messages/\(String(repeating: "i", count: 257))", #"{"text":"x"}"#, 400),
      ("PATCH", "\(path)/messages/01", #"{"text":"x"}"#, 400), ("PATCH", path, "{}", 400),
      ("PUT", "\(path)/members/ben", #"{"role":"owner"}"#, 400), ("PUT", "\(path)/read", "{}", 400),
      ("PUT", "\(path)/settings", #"{"mutedUntil":"soon"}"#, 400),
    ] {
      let answer = try ask(method, place, ann, body)
      #expect(answer.status == status, "\(method) \(place) \(body): \(answer)")
      #expect(answer.json["detail"].text != nil)
    }
    #expect(try served.ask("PUT", "\(path)/messages/a", token: ann, body: Data("{}".utf8)).status == 415)
    for (query, status) in [
      ("since=1-1", 410), ("since=x", 400), ("limit=0", 400), ("limit=1001", 400), ("colour=1", 400),
    ] { #expect(try ask("GET", "/v1/sync?\(query)", ann).status == status, "\(query)") }
    #expect(try ask("GET", "\(path)/messages?before=0", ann).status == 400)
    #expect(served.stop() == 0)
  }

  /// A product's backend begins with all that there is, and goes on from what it was told last: a position, or the id of an event.
  @Test func aBackendFollowsAllConversations() throws {
    let rooms = try (1...3).map { try begin(#"{"members":["ben"],"name":"\#($0)"}"#) }
    for (number, room) in rooms.enumerated() {
      for one in 0...number {
        let path = "/v1/conversations/\(room)/messages/\(number)-\(one)"
        #expect(try ask("PUT", path, ann, #"{"text":"x"}"#).status == 201)
      }
    }
    var seen: [String] = []
    var position: String?
    while true {
      let since = position.map { "&since=\($0)" } ?? ""
      let page = try ask("GET", "/v1/sync?limit=2\(since)", shop).json
      #expect(page["isWhole"] == .boolean(position == nil))
      for conversation in page["conversations"].elements {
        seen += conversation["messages"].elements.compactMap { $0["clientId"].text }
      }
      position = page["position"].text
      if page["more"] != .boolean(true) { break }
    }
    #expect(seen.sorted() == ["0-0", "1-0", "1-1", "2-0", "2-1", "2-2"])
    // A user reads all of its history so, too.
    let all = try ask("GET", "/v1/sync?since=0&limit=1000", ben).json["conversations"].elements
    #expect(all.flatMap { $0["messages"].elements }.count == 6)
    #expect(try ask("GET", "/v1/sync?since=\(position ?? "")%2B1", ben).status == 200)
    let stream = try served.listen(shop, ["Last-Event-ID: \(position ?? "")"])
    #expect(try ask("PUT", "/v1/conversations/\(rooms[0])/messages/z", ben, #"{"text":"y"}"#).status == 201)
    #expect(try JSON(#require(stream.next()).data)["clientId"].text == "z")
    #expect(served.stop() == 0)
  }

  /// Typing is told to the others who listen, and is on no record.
  @Test func typingIsToldToTheOtherMembersAlone() throws {
    let room = try begin(#"{"members":["ben"]}"#)
    let path = "/v1/conversations/\(room)"
    let position = try ask("GET", "/v1/sync", ben).json["position"]
    let streams = try [ben, ann, eve].map { try served.listen($0) }
    for stream in streams { #expect(stream.next()?.kind == "start") }
    #expect(try ask("PUT", "\(path)/typing", ann, "{}").status == 204)
    let told = try #require(streams[0].next())
    #expect(told.kind == "typing" && told.id.isEmpty)
    #expect(try JSON(told.data) == .object(["conversationId": .string(room), "user": .string("ann")]))
    #expect(try ask("PUT", "\(path)/typing", shop, #"{"senderId":"ben"}"#).status == 204)
    #expect(streams[1].next()?.kind == "typing")
    #expect(try ask("PUT", "\(path)/typing", shop, "{}").status == 400)
    #expect(try ask("PUT", "\(path)/typing", eve, "{}").status == 404)
    #expect(try ask("GET", "/v1/sync", ben).json["position"] == position)
    #expect(try ask("DELETE", "\(path)/members/ben", ann).status == 200)
    #expect(try ask("PUT", "\(path)/typing", ben, "{}").status == 403)
    // The stranger has heard of nothing, the one who typed of its own leaving alone.
    #expect(streams[2].next(within: 500) == nil)
    #expect(streams[0].next()?.kind == "conversation")
    #expect(served.stop() == 0)
  }

  /// The client on the page, as it stands there.
  @Test func theClientOfThePagePrintsMessagesAndMarksThemAsRead() throws {
    let page = try String(contentsOfFile: SluiceCommand.projectFolder + "/docs/messages.md", encoding: .utf8)
    let start = try #require(page.range(of: "```python\n"))
    let end = try #require(page.range(of: "\n```", range: start.upperBound..<page.endIndex))
    try folder.write("client.py", String(page[start.upperBound..<end.lowerBound]))
    let room = try begin(#"{"kind":"direct","members":["ben"]}"#)
    let path = "/v1/conversations/\(room)"
    let client = try SluiceCommand.start(
      ["client.py", "http://127.0.0.1:\(served.port)", ben], in: folder, out: folder.path + "/said",
      err: folder.path + "/wrong", program: "/usr/bin/python3")
    defer { kill(client.processIdentifier, SIGKILL) }
    var number = 0
    try Resident.wait("it listens, and has read what came since") {
      number += 1
      let text = #"{"text":"Hello \#(number)"}"#
      #expect(try ask("PUT", "\(path)/messages/\(number)", ann, text).status == 201)
      return try ask("GET", "\(path)/messages/\(number)", ann).json["receipts"]["read"] == .number(1)
    }
    #expect(try folder.read("said").contains("ann: Hello \(number)"))
    #expect(served.stop() == 0)
  }

  /// A client that takes its time with a long answer gets all of it.
  @Test func aLongAnswerIsWholeHoweverSlowlyItIsRead() throws {
    let room = try begin(#"{"members":[]}"#)
    let path = "/v1/conversations/\(room)/messages"
    let text = String(repeating: "x", count: 60_000)
    for number in 1...40 {
      #expect(try ask("PUT", "\(path)/\(number)", ann, #"{"text":"\#(text)"}"#).status == 201)
    }
    let socket = try served.connected()
    defer { close(socket) }
    sluice_limit_receiving(socket, 20_000)
    let request =
      "GET \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer \(ann)\r\n\r\n"
    #expect(send(socket, request, request.utf8.count, Int32(MSG_NOSIGNAL)) == request.utf8.count)
    usleep(500_000)
    var bytes = Data()
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    while case let count = recv(socket, &piece, piece.count, 0), count > 0 {
      bytes += piece[..<count]
      usleep(2000)
    }
    let blank = try #require(bytes.range(of: Data("\r\n\r\n".utf8)))
    let page = try JSON(String(decoding: bytes[blank.upperBound...], as: UTF8.self))
    #expect(page["messages"].elements.count == 40)
    #expect(served.stop() == 0)
  }

  /// The longest text fits into a request.
  @Test func aTextOf64KiBIsTaken() throws {
    let room = try begin(#"{"members":[]}"#)
    let text = String(repeating: "ä", count: 32 << 10)
    let path = "/v1/conversations/\(room)/messages"
    #expect(try ask("PUT", "\(path)/a", ann, #"{"text":"\#(text)"}"#).json["text"].text == text)
    #expect(try ask("PUT", "\(path)/b", ann, #"{"text":"\#(text)x"}"#).status == 400)
    #expect(try ask("PUT", "\(path)/c", ann, #"{"text":"\#(text + text)"}"#).status == 413)
    #expect(served.stop() == 0)
  }

  /// Without `messages` nothing of it is there.
  @Test func withoutMessagesThereAreNone() throws {
    try Self("messages: false").hasNone()
  }

  private func hasNone() throws {
    for path in ["/v1/conversations", "/v1/sync", "/v1/conversations/x/messages"] {
      let answer = try ask("GET", path, ann)
      #expect(answer.status == 404 && answer.json["code"].text == "no-such-path")
    }
    #expect(try !served.ask("GET", "/openapi.json").text.contains("/v1/conversations"))
    #expect(served.stop() == 0)
  }

  /// What was answered is there after a kill; the same request is answered the same then.
  @Test func anAnsweredMessageSurvivesAKill() throws {
    let room = try begin(#"{"members":["ben"]}"#)
    let path = "/v1/conversations/\(room)"
    for number in 1...20 {
      #expect(try ask("PUT", "\(path)/messages/c\(number)", ann, #"{"text":"\#(number)"}"#).status == 201)
    }
    _ = served.stop(SIGKILL)
    let next = try ServedHome(folder, options: ["--config", "pipeline.yaml"])
    let again = try next.ask(
      "PUT", "\(path)/messages/c7", token: ann, ["Content-Type: application/json"],
      body: Data(#"{"text":"7"}"#.utf8))
    #expect(again.status == 200 && again.text.contains(#""number":7,"#))
    let page = try JSON(next.ask("GET", "\(path)/messages?limit=200", token: ben).text)
    #expect(page["messages"].elements.map { $0["number"] } == (1...20).reversed().map { .number(Double($0)) })
    #expect(next.stop() == 0)
  }
}
