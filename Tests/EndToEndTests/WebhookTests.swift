import CCrypto
import Foundation
import Testing

/// Delivery of events to real endpoints on the loopback address.
@Suite(.serialized)
struct WebhookTests {
  static let secret = "whsec_" + Data("the secret of these tests, 32 b.".utf8).base64EncodedString()
  private static let older = "whsec_" + Data("the one that it takes over from.".utf8).base64EncodedString()

  // MARK: Delivered events

  @Test func everyEventArrivesSignedAndWithItsId() throws {
    let receiver = try WebhookReceiver()
    let inbox = try inbox(files: 5, channels: ["hook": receiver.url])
    let run = try inbox.run()
    #expect(run.outcome.status == 0, "\(run.outcome.err)")
    #expect(receiver.requests.count == 5)
    #expect(Set(receiver.requests.map(\.id)) == Set(try deliveries(inbox, "status = 'delivered'")))
    for request in receiver.requests {
      #expect(request.line == "POST /hook HTTP/1.1")
      #expect(request.headers["content-type"] == "application/json")
      let sent = Double(request.headers["webhook-timestamp"] ?? "") ?? 0
      #expect(abs(request.time.timeIntervalSince1970 - sent) < 10, "it was signed as it was sent")
      #expect(
        request.headers["webhook-signature"]?.contains(" ") == false, "one signature for the one secret")
      #expect(try signatures(of: request) == [try signature(of: request, with: Self.secret)])

      let members = try JSON(String(decoding: request.body, as: UTF8.self)).members
      #expect(Set(members.keys) == ["id", "type", "timestamp", "data"])
      let event = try request.event
      #expect(event.id == request.id)
      #expect(event.type == "attachment.completed")
      #expect(event.timestamp.hasSuffix("Z"))
      #expect(event.data.recipientId == "ben")
      #expect(event.data.status == "completed")
    }
    let told = try receiver.requests.map { try $0.event.data.attachmentId }.sorted()
    #expect(told == run.outcome.attachments.map(\.id).sorted())
    try inbox.checkWhole(run)
  }

  @Test func thereAreTwoSignaturesWhileASecretRotates() throws {
    let receiver = try WebhookReceiver()
    let inbox = try inbox(
      files: 1, channels: ["hook": receiver.url], secrets: [Self.secret, Self.older])
    #expect(try inbox.run().outcome.status == 0)
    let request = try #require(receiver.requests.first)
    #expect(
      try signatures(of: request)
        == [try signature(of: request, with: Self.secret), try signature(of: request, with: Self.older)])
  }

  /// Whatever a sender writes into a name.
  @Test func aTraceGoesAlongAndNoneIsMadeUp() throws {
    let receiver = try WebhookReceiver()
    let inbox = try inbox(files: 1, channels: ["hook": receiver.url])
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    let file = inbox.folder.path + "/in/file-0"
    let hostile = #"x\",\"traceparent\":\"00-11111111111111111111111111111111-1111111111111111-01"#
    try inbox.folder.write(
      "list.jsonl",
      """
      {"path":"\(file)","fileName":"traced","traceparent":"\(trace)","participants":["ben"]}
      {"path":"\(file)","fileName":"\(hostile)","conversationId":"c2","participants":["ben"]}
      {"path":"\(file)","traceparent":"00-0000","conversationId":"c3"}

      """)
    let run = try SluiceCommand.run(
      ["ingest", "--home", "home", "--manifest", "list.jsonl", "--format", "json"], in: inbox.folder)
    #expect(run.out.contains("list.jsonl:3") && run.out.contains("traceparent"), "\(run.out)\(run.err)")
    let traces = try receiver.requests.map { request in
      let event = try JSON(String(decoding: request.body, as: UTF8.self))
      return (request.headers["traceparent"], event["data"]["fileName"].text)
    }
    #expect(traces.count == 2)
    for (found, name) in traces { #expect(found == (name == "traced" ? trace : nil), "\(name)") }
  }

  // MARK: Undelivered events

  @Test func anEndpointThatFailsDoesNotHoldUpTheIngestAndGetsTheEventLaterUnderTheSameId() throws {
    let receiver = try WebhookReceiver([.status(500)])
    let inbox = try inbox(files: 1, channels: ["hook": receiver.url])
    let before = Date()
    let run = try inbox.run()
    #expect(run.outcome.status == 75, "it is owed: \(run.outcome.err)")
    #expect(try run.record("file-0").status == "completed")
    #expect(
      run.outcome.err.contains("channel 'hook': the endpoint answered 500; scheduled again"),
      "\(run.outcome.err)")
    #expect(receiver.requests.count == 1, "it is not tried again at once")
    let wait = try dueIn(inbox, since: before)
    #expect(wait > 4 && wait < 20, "the second try is due five seconds after the first")

    let status = try look(inbox, "status")
    #expect(status.contains("0 due, 1 scheduled, 0 leased"), "\(status)")
    #expect(status.contains("channel:hook"), "\(status)")
    let id = try run.record("file-0").id
    let story = try look(inbox, "show", id)
    #expect(
      story.contains("to ben  pending, 1 try begun, next at ") && story.contains("the endpoint answered 500"),
      "\(story)")

    receiver.answer(.status(204))
    let tooEarly = try inbox.run()
    #expect(tooEarly.outcome.status == 75)
    #expect(receiver.requests.count == 1, "a run before it is due leaves it alone")

    try makeDue(inbox)
    let second = try inbox.run()
    #expect(second.outcome.status == 0, "\(second.outcome.err)")
    #expect(receiver.requests.count == 2)
    #expect(Set(receiver.requests.map(\.id)).count == 1)
    #expect(receiver.requests[0].body == receiver.requests[1].body, "it says the same")
    #expect(
      try signatures(of: receiver.requests[1])
        == [try signature(of: receiver.requests[1], with: Self.secret)])
    #expect(try look(inbox, "show", id).contains("to ben  delivered"))
    try inbox.checkWhole(second)
  }

  @Test func anEndpointThatIsGonePausesItsLaneUntilTheNextIngest() throws {
    let receiver = try WebhookReceiver([.status(410)])
    let inbox = try inbox(files: 100, channels: ["hook": receiver.url])
    let run = try inbox.run()
    #expect(run.outcome.status == 75)
    #expect(run.outcome.attachments.count == 100)
    #expect(run.outcome.attachments.allSatisfy { $0.isCompleted })
    #expect(
      run.outcome.err.contains("channel:hook paused (endpoint-gone: the endpoint answered 410"),
      "\(run.outcome.err)")
    #expect(run.outcome.err.contains("run the same command again to go on, nothing is lost"))
    let asked = receiver.requests.count
    #expect(asked < 10, "one for each batch that was in hand; the others are not sent")
    let status = try look(inbox, "status")
    #expect(status.contains("paused: endpoint-gone: the endpoint answered 410"), "\(status)")

    receiver.answer(.status(200))
    let second = try inbox.run()
    #expect(second.outcome.status == 0, "\(second.outcome.err)")
    #expect(receiver.requests.count == asked + 100)
    #expect(Set(receiver.requests.map(\.id)).count == 100)
    #expect(try !look(inbox, "status").contains("paused"))
    #expect(try deliveries(inbox, "status = 'delivered'").count == 100)
    #expect(try inbox.ledger("SELECT count(*) FROM jobs") == "0")
  }

  @Test func aRedirectIsAFailureAndIsNotFollowed() throws {
    let other = try WebhookReceiver()
    let receiver = try WebhookReceiver([.status(302, ["Location": other.url])])
    let inbox = try inbox(files: 1, channels: ["hook": receiver.url])
    let run = try inbox.run()
    #expect(run.outcome.status == 75)
    #expect(
      run.outcome.err.contains("answered 302; redirects are not followed, so give their target"),
      "\(run.outcome.err)")
    #expect(receiver.requests.count == 1)
    #expect(other.requests.isEmpty)
    #expect(try deliveries(inbox, "status = 'pending' AND reason_code = 'endpoint-refused'").count == 1)
  }

  @Test(arguments: [429, 500, 503])
  func theEndpointSaysHowLongToWait(status: Int) throws {
    let receiver = try WebhookReceiver([.status(status, ["Retry-After": "1000"])])
    let inbox = try inbox(files: 1, channels: ["hook": receiver.url])
    let before = Date()
    let run = try inbox.run()
    #expect(run.outcome.err.contains("answered \(status) and asks to wait 1000 s"), "\(run.outcome.err)")
    let wait = try dueIn(inbox, since: before)
    #expect(wait >= 999 && wait < 1060, "due in \(wait) s")
  }

  /// RFC 9112, section 5.2: the fold is a space.
  @Test func theWaitMayStandInASecondLine() throws {
    let receiver = try WebhookReceiver([.status(503, ["X-A": "a\r\n b", "Retry-After": "\r\n\t1000 "])])
    let inbox = try inbox(files: 1, channels: ["hook": receiver.url])
    let run = try inbox.run()
    #expect(run.outcome.err.contains("answered 503 and asks to wait 1000 s"), "\(run.outcome.err)")
  }

  @Test(arguments: ["Fri, 31 Dec 9999 23:59:59 GMT", "999999999999", "9223372036854775807"])
  func anEndpointThatAsksForYearsIsTriedAgainWithinADay(wait: String) throws {
    let receiver = try WebhookReceiver([.status(503, ["Retry-After": wait])])
    let inbox = try inbox(files: 1, channels: ["hook": receiver.url])
    let before = Date()
    let run = try inbox.run()
    #expect(
      run.outcome.err.contains(
        "answered 503 and asks to wait longer than a day; it is asked again after a day"),
      "\(run.outcome.err)")
    let due = try dueIn(inbox, since: before)
    #expect(due >= 86_399 && due < 86_460, "due in \(due) s")
  }

  @Test func aPrivateAddressThatIsNotAllowedGetsNothingAndTheEventIsADeadLetter() throws {
    let receiver = try WebhookReceiver()
    let inbox = try inbox(
      files: 2, channels: ["hook": "http://localhost:\(receiver.port)/hook"], allowed: [])
    let run = try inbox.run()
    #expect(run.outcome.status == 1, "what cannot be told is told by the exit code: \(run.outcome.err)")
    #expect(run.outcome.err.contains("if it is meant, write `channels: { hook: { options: { allow-private: "))
    #expect(receiver.requests.isEmpty)
    #expect(try deliveries(inbox, "status = 'dead' AND reason_code = 'address-not-allowed'").count == 2)
    #expect(try look(inbox, "status").contains("dead letters 2"))
    try inbox.checkWhole(run)
  }

  @Test func aPrivateAddressInTheFileItselfIsAConfigurationError() throws {
    let receiver = try WebhookReceiver()
    let inbox = try inbox(files: 1, channels: ["hook": receiver.url], allowed: [])
    let run = try inbox.run()
    #expect(run.outcome.status == 78)
    #expect(
      run.outcome.err.contains("channel 'hook': url: 127.0.0.1 is not an address of the public Internet"),
      "\(run.outcome.err)")
    #expect(receiver.requests.isEmpty)
  }

  @Test func aDeadEndpointBesideALiveOneDoesNotStopIt() throws {
    let live = try WebhookReceiver()
    let dead = try WebhookReceiver.closedPort()
    let inbox = try inbox(
      files: 20, channels: ["dead": "http://127.0.0.1:\(dead)/", "live": live.url])
    let run = try inbox.run()
    #expect(run.outcome.status == 75, "\(run.outcome.err)")
    #expect(live.requests.count == 20)
    #expect(try deliveries(inbox, "channel = 'live' AND status = 'delivered'").count == 20)
    let waiting = "channel = 'dead' AND status = 'pending' AND reason_code = 'unreachable'"
    #expect(try deliveries(inbox, waiting).count == 20)
    #expect(try inbox.ledger("SELECT count(*) FROM jobs WHERE state = 'scheduled'") == "20")
  }

  // MARK: Killed

  @Test func everyEventArrivesUnderOneIdHoweverOftenTheIngestIsKilled() throws {
    let receiver = try WebhookReceiver(pause: 3000)
    let inbox = try inbox(files: 150, channels: ["hook": receiver.url])
    var kills = 0
    for wanted in [5, 40, 90] {
      let underway = try inbox.start()
      #expect(receiver.wait(for: wanted), "\(receiver.requests.count) requests")
      if underway.process.isRunning {
        kill(underway.process.processIdentifier, SIGKILL)
        kills += 1
      }
      underway.process.waitUntilExit()
    }
    #expect(kills == 3, "it was killed with deliveries under way")
    let before = receiver.requests.count
    #expect(before < 150, "not all had arrived by then")
    let run = try inbox.run()
    #expect(run.outcome.status == 0, "\(run.outcome.err)")

    let requests = receiver.requests
    #expect(Set(requests.map(\.id)) == Set(try deliveries(inbox, "status = 'delivered'")))
    var ids: [String: Set<String>] = [:]
    for request in requests {
      ids[try request.event.data.attachmentId, default: []].insert(request.id)
    }
    let forged = try requests.filter { try signatures(of: $0) != [try signature(of: $0, with: Self.secret)] }
    #expect(forged.isEmpty, "each is signed anew")
    #expect(ids.count == 150, "every event arrived")
    #expect(ids.values.allSatisfy { $0.count == 1 }, "and none under two ids")
    try inbox.checkWhole(run)
  }

  // MARK: Setting up

  /// Files whose events go to these endpoints.
  private func inbox(
    files: Int, channels: [String: String], secrets: [String] = [secret], allowed: [String] = ["127.0.0.1"]
  ) throws -> Inbox {
    let inbox = try Inbox()
    let list = secrets.map { "\"\($0)\"" }.joined(separator: ", ")
    let hooks = channels.mapValues { url in
      "{ use: webhook, options: { url: \"\(url)\", secrets: [\(list)], "
        + (allowed.isEmpty ? "" : "allow-private: [\(allowed.joined(separator: ", "))], ") + "timeout: 5s } }"
    }
    try inbox.folder.write("pipeline.yaml", Pipelines.telling(channels: hooks))
    for number in 0..<files { try inbox.add("file-\(number)", "the content of file \(number)\n") }
    return inbox
  }

  // MARK: Looking

  private func look(_ inbox: Inbox, _ command: String...) throws -> String {
    let outcome = try SluiceCommand.run(command + ["--home", "home"], in: inbox.folder)
    #expect(outcome.status == 0, "\(outcome.err)")
    return outcome.out
  }

  /// The ids of deliveries in the ledger.
  private func deliveries(_ inbox: Inbox, _ condition: String) throws -> [String] {
    let ids = try inbox.ledger("SELECT json_group_array(id) FROM deliveries WHERE \(condition)") ?? "[]"
    return try JSON(ids).elements.compactMap(\.text)
  }

  /// Seconds until the one scheduled delivery is due.
  private func dueIn(_ inbox: Inbox, since: Date) throws -> Double {
    let due = try #require(try inbox.ledger("SELECT due_at FROM jobs WHERE state = 'scheduled'"))
    return try #require(Double(due)) / 1000 - since.timeIntervalSince1970
  }

  private func makeDue(_ inbox: Inbox) throws {
    try Inbox.execute(
      "UPDATE jobs SET due_at = 1 WHERE state = 'scheduled'", on: inbox.folder.path + "/home/sluice.db")
  }

  // MARK: Signatures (Standard Webhooks 1.0.0, "Signature scheme")

  /// The signatures a request carries, without `v1,`.
  private func signatures(of request: WebhookReceiver.Request) throws -> [String] {
    let texts = try #require(request.headers["webhook-signature"]).components(separatedBy: " ")
    #expect(texts.allSatisfy { $0.hasPrefix("v1,") }, "\(texts)")
    return texts.map { String($0.dropFirst(3)) }
  }

  /// The one it should carry.
  private func signature(of request: WebhookReceiver.Request, with secret: String) throws -> String {
    let key = [UInt8](try #require(Data(base64Encoded: String(secret.dropFirst(6)))))
    let timestamp = try #require(request.headers["webhook-timestamp"])
    let message = Array("\(request.id).\(timestamp).".utf8) + request.body
    var digest = [UInt8](repeating: 0, count: 32)
    var length: UInt32 = 0
    try #require(
      HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, &digest, &length) != nil)
    return Data(digest.prefix(Int(length))).base64EncodedString()
  }
}
