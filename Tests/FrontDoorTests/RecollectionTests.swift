import FrontWire
import LedgerPort
import Platform
import Testing

@testable import FrontDoor

/// Answers that are remembered hold until the ledger changes, and for those alone whom they were given to.
struct RecollectionTests {
  @Test func aTokenThatIsRevokedIsWorthNothingAtOnce() throws {
    let place = try Place()
    try place.complete()
    try place.add("one")
    for _ in 0..<3 {
      #expect(try place.ask("GET", "/v1/attachments/{id}", authorization: ["Bearer one"]).status == 200)
    }
    try place.revoke("one")
    #expect(try place.ask("GET", "/v1/attachments/{id}", authorization: ["Bearer one"]).status == 401)
  }

  @Test func aRecordIsThatOfNow() throws {
    let place = try Place()
    let queued = try place.ask("GET", "/v1/attachments/{id}", as: .sender)
    try place.complete()
    #expect(try place.ask("GET", "/v1/attachments/{id}", as: .sender) != queued)
    let first = try place.ask("GET", "/v1/attachments/{id}", as: .sender)
    #expect(try place.ask("GET", "/v1/attachments/{id}", as: .sender) == first)
    try place.apply(.attachment(AttachmentCommand(place.id, .delete(by: "ann"))))
    #expect(try place.ask("GET", "/v1/attachments/{id}", as: .sender).status == 404)
  }

  /// Two names that Swift takes for one are two people.
  @Test func whatOneMaySeeIsNotGivenToAnother() throws {
    let place = try Place(participants: ["ann", "j\u{F6}rg"])
    try place.complete()
    try place.add("composed", name: "j\u{F6}rg")
    try place.add("decomposed", name: "jo\u{308}rg")
    try place.add("service", name: "j\u{F6}rg", role: .service)
    let path = "/v1/attachments/{id}"
    #expect(try place.ask("GET", path, authorization: ["Bearer composed"]).status == 200)
    #expect(try place.ask("GET", path, authorization: ["Bearer decomposed"]).status == 404)
    let (own, operators) = (
      try place.ask("GET", path, authorization: ["Bearer composed"]).text,
      try place.ask("GET", path, authorization: ["Bearer service"]).text
    )
    #expect(own != operators, "a service sees where the file came from")
    #expect(try place.ask("GET", path, as: .stranger).status == 404)
  }

  /// A token whose time has come is not remembered as one that is valid.
  @Test func aTokenExpiresWhileNothingChanges() async throws {
    let place = try Place()
    try place.add("short", expiresAt: Clock.now() + 300)
    #expect(try place.ask("GET", "/v1/attachments/{id}", authorization: ["Bearer short"]).status == 200)
    try await Task.sleep(for: .milliseconds(400))
    #expect(try place.ask("GET", "/v1/attachments/{id}", authorization: ["Bearer short"]).status == 401)
  }

  /// Several requests of a frame are answered as each alone would be.
  @Test func requestsOfOneFrameAreAnsweredEachForItself() throws {
    let place = try Place()
    func request(_ serial: UInt64, _ token: String?) -> FrontRequest {
      FrontRequest(
        serial: serial, method: "GET", segments: ["v1", "attachments", place.id],
        fields: token.map { [.init("authorization", "Bearer \($0)")] } ?? [])
    }
    let answers = place.api.answers([
      request(1, place.token(.sender)), request(2, nil), request(3, place.token(.stranger)),
      request(4, place.token(.sender)),
    ])
    let statuses = answers.map { answer -> Int in
      if case .reply(let reply) = answer.next { reply.status } else { 0 }
    }
    #expect(statuses == [200, 401, 404, 200])
    #expect(answers.map { $0.asker?.name } == ["ann", nil, "eve", "ann"])
  }
}
