import Foundation
import FrontWire
import Ledger
import Pipeline
import Platform
import Testing
import Wire

@testable import FrontDoor

/// Who may do what: each route for each party, against a table written by hand.
struct AccessTests {
  /// What a party is answered.
  enum Answer: String, Sendable {
    case yes, unauthorized, forbidden, hidden
  }

  private static let table: [Route: [Party: Answer]] = {
    let all: [Party: Answer] = Dictionary(uniqueKeysWithValues: Party.allCases.map { ($0, .yes) })
    let known = all.merging([.nobody: .unauthorized]) { $1 }
    let seen = known.merging([.stranger: .hidden]) { $1 }
    let changed = seen.merging([.participant: .forbidden]) { $1 }
    let operators = known.merging([.stranger: .forbidden, .participant: .forbidden, .sender: .forbidden]) {
      $1
    }
    let admins = operators.merging([.service: .forbidden]) { $1 }
    return [
      .metrics: operators, .report: operators, .events: known, .postAttachment: known, .fetch: known,
      .transfers: operators,
      .lanes: operators, .pauseLane: admins, .resumeLane: admins, .resetLane: admins, .deliveries: operators,
      .retryDelivery: operators,
      .ready: all, .version: all, .openapi: all, .attachments: known, .attachment: seen, .content: seen,
      .link: seen, .hastenAttachment: seen,
      .retryAttachment: changed, .deleteAttachment: changed,
      // Of one's own.
      .uploadOptions: all, .uploads: known, .createUpload: known, .uploadState: known, .appendToUpload: known,
      .endUpload: known,
    ]
  }()

  private let place: Place

  init() throws { place = try Place() }

  @Test func theTableOfRoutesIsThatOfTheTest() {
    for route in Route.allCases {
      let allowed = Set(Party.allCases.filter { Self.table[route]?[$0] == .yes })
      #expect(route.parties == allowed, "\(route)")
    }
  }

  @Test func eachPartyIsAnsweredAsTheTableSays() throws {
    for (route, answers) in Self.table {
      for (party, expected) in answers {
        let id =
          route.path.hasPrefix("/v1/uploads/")
          ? place.uploads[party] : route.path.hasPrefix("/v1/lanes/") ? "attachments" : nil
        var found = Self.meaning(try place.ask(route.method, route.path, id: id, as: party))
        // There is none to be queued again.
        if route == .retryDelivery && found == .hidden { found = .yes }
        #expect(found == expected, "\(party) asks for \(route)")
      }
    }
  }

  /// By the answer one cannot tell what is another's from what is not there.
  @Test func aStrangerCannotTellWhatIsThere() throws {
    for (route, answers) in Self.table where answers[.stranger] == .hidden {
      let there = try place.ask(route.method, route.path, as: .stranger)
      let missing = try place.ask(route.method, route.path, id: UUID().uuidString.lowercased(), as: .stranger)
      #expect(there == missing, "\(route)")
      let part = String(place.id.prefix(13))
      #expect(try place.ask(route.method, route.path, id: part, as: .stranger) == missing)
      #expect(try place.ask(route.method, route.path, id: part, as: .admin).status == 404, "ids are whole")
    }
  }

  /// Not even an administrator goes on with what another has begun. It may give it up, so that its room is free.
  @Test func anUploadIsItsOwnersAlone() throws {
    for route in [Route.uploadState, .appendToUpload, .endUpload] {
      for owner in Party.allCases where owner != .nobody {
        for other in Party.allCases where other != .nobody {
          let reply = try place.ask(route.method, route.path, id: place.uploads[owner], as: other)
          // Of users the stranger has a name of its own, as all have.
          let isAllowed = owner == other || other == .admin && route == .endUpload
          #expect(reply.status == (isAllowed ? 200 : 404), "\(other) asks \(route) of \(owner)")
        }
      }
    }
  }

  @Test func aUserIsShownItsOwnUploadsAndOthersAllWithTheirOwners() throws {
    for party in Party.allCases where party != .nobody {
      let text = try place.text("GET", "/v1/uploads", as: party)
      let isOperator = [.service, .admin].contains(party)
      for (owner, id) in place.uploads {
        #expect(text.contains("\"/v1/uploads/\(id)\"") == (isOperator || owner == party), "\(party): \(text)")
      }
      #expect(text.contains("\"owner\"") == isOperator, "\(text)")
      #expect(text.contains("\"offset\":0,\"length\":5,"), "\(text)")
    }
    let page = try place.text("GET", "/v1/uploads?limit=1", as: .admin)
    let next = try #require(page.split(separator: "\"next\":\"").last?.prefix { $0 != "\"" })
    #expect(
      try place.text("GET", "/v1/uploads?limit=200&after=\(next)", as: .admin).contains("\"next\":null"))
  }

  /// Two names that look the same, and are the same to Swift, are two users.
  @Test func aNameIsItsBytes() throws {
    let (one, other) = ("\u{E9}ve", "e\u{301}ve")
    try #require(one == other)
    #expect(
      Party(AccessToken(id: "", name: one, role: .user, createdAt: 0), sender: other, participants: [other])
        == .stranger)
    #expect(
      Party(AccessToken(id: "", name: one, role: .user, createdAt: 0), sender: one, participants: [])
        == .sender)
    #expect(
      Party(AccessToken(id: "", name: one, role: .user, createdAt: 0), sender: other, participants: [one])
        == .participant)
    try place.add("one", name: one)
    try place.add("other", name: other)
    let upload = try place.begin(owner: one, role: .user, metadata: "")
    func status(_ token: String) throws -> Int {
      try place.ask("HEAD", "/v1/uploads/{id}", id: upload, authorization: ["Bearer \(token)"]).status
    }
    #expect(try status("one") == 200 && status("other") == 404)
  }

  /// A service begins an upload for a user, who goes on with it.
  @Test func anUploadThatWasBegunForAUserIsTheUsersToo() throws {
    let metadata = "senderId \(Base64.text(Array("ann".utf8)))"
    for role in [AccessToken.Role.service, .admin] {
      let upload = try place.begin(owner: "shop", role: role, metadata: metadata)
      for route in [Route.uploadState, .appendToUpload, .endUpload] {
        func status(_ party: Party) throws -> Int {
          try place.ask(route.method, route.path, id: upload, as: party).status
        }
        #expect(try status(.sender) == 200 && status(.participant) == 404 && status(.stranger) == 404)
      }
    }
    // A user cannot give its own away.
    let upload = try place.begin(owner: "eve", role: .user, metadata: metadata)
    #expect(try place.ask("HEAD", "/v1/uploads/{id}", id: upload, as: .sender).status == 404)
  }

  @Test func whereServicesBeginUploadsUsersDoNot() throws {
    var rules = ServeRules()
    rules.uploadsBy = .services
    let place = try Place(rules)
    for route in [Route.createUpload, .postAttachment, .fetch] {
      for party in [Party.sender, .service, .admin] {
        let status = try place.ask(route.method, route.path, as: party).status
        #expect(status == (party == .sender ? 403 : 200), "\(party) asks \(route)")
      }
    }
    #expect(try place.ask("HEAD", "/v1/uploads/{id}", id: place.uploads[.sender], as: .sender).status == 200)
  }

  @Test func aTokenThatIsWorthNothingIsNone() throws {
    for text in ["", "Bearer", "Bearer x", "Basic \(place.token(.admin))", "Bearer \(place.token(.admin)) x"]
    {
      let reply = try place.ask("GET", "/v1/attachments", authorization: [text])
      #expect(reply.status == 401, "'\(text)'")
      #expect(reply.fields.contains { $0.name == "WWW-Authenticate" })
      // Not even what all may ask for: the client believes that it is known.
      #expect(try place.ask("GET", "/version", authorization: [text]).status == 401)
    }
    let twice = ["Bearer \(place.token(.admin))", "Bearer \(place.token(.admin))"]
    #expect(try place.ask("GET", "/v1/attachments", authorization: twice).status == 401)
    let lower = ["bearer  \(place.token(.admin))"]
    #expect(try place.ask("GET", "/v1/attachments", authorization: lower).status == 200)
  }

  @Test func aTokenThatExpiredOrWasRevokedIsNone() throws {
    try place.add("late", expiresAt: 1)
    #expect(try place.ask("GET", "/v1/attachments", authorization: ["Bearer late"]).status == 401)
    try place.add("gone")
    #expect(try place.ask("GET", "/v1/attachments", authorization: ["Bearer gone"]).status == 200)
    try place.revoke("gone")
    #expect(try place.ask("GET", "/v1/attachments", authorization: ["Bearer gone"]).status == 401)
  }

  @Test func aUserIsShownItsOwnWithoutWhereItCameFrom() throws {
    for party in Party.allCases where party != .nobody {
      let text = try place.text("GET", "/v1/attachments", as: party)
      #expect(text.contains(place.id) == (party != .stranger), "\(party)")
      #expect(text.contains("\"source\"") == [.service, .admin].contains(party), "\(party)")
    }
  }

  @Test func whatIsNotUnderstoodIsTold() throws {
    let cases = [
      ("/v1/attachments?status=done", 400, "invalid-parameter"),
      ("/v1/attachments?limit=0", 400, "invalid-parameter"),
      ("/v1/attachments?limit=201", 400, "invalid-parameter"),
      ("/v1/attachments?since=x", 400, "invalid-parameter"),
      ("/v1/attachments?sha256=x", 400, "invalid-parameter"),
      ("/v1/attachments?after=x", 400, "invalid-parameter"),
      ("/v1/report?limit=0", 400, "invalid-parameter"), ("/v1/report?limit=100001", 400, "invalid-parameter"),
      ("/v1/report?after=1", 400, "no-such-parameter"), ("/v1/report?status=done", 400, "invalid-parameter"),
      ("/v1/attachments?state=queued", 400, "no-such-parameter"), ("/v2", 404, "no-such-path"),
      ("/", 404, "no-such-path"),
    ]
    for (path, status, code) in cases {
      let reply = try place.ask("GET", path, as: .admin)
      #expect(reply.status == status && reply.text.contains("\"code\":\"\(code)\""), "\(path): \(reply.text)")
    }
    let wrong = try place.ask("PUT", "/v1/attachments/x", as: .admin)
    #expect(wrong.status == 405)
    #expect(wrong.fields.contains(.init("Allow", "GET, DELETE, HEAD, OPTIONS")))
    #expect(try place.ask("OPTIONS", "/v1/attachments", as: .nobody).status == 204)
  }

  @Test func oneReportIsMadeAtATime() throws {
    #expect(place.api.reporting.begin())
    let busy = try place.ask("GET", "/v1/report", as: .admin)
    #expect(busy.status == 503 && busy.text.contains("\"busy\""), "\(busy.text)")
    #expect(busy.fields.contains(.init("Retry-After", "1")))
    place.api.reporting.end()
    for _ in 0..<2 { #expect(try place.ask("GET", "/v1/report", as: .admin).status == 200) }
  }

  private static func meaning(_ reply: FrontReply) -> Answer? {
    switch reply.status {
    case 200, 204: .yes
    case 401: .unauthorized
    case 403: .forbidden
    // Of the content: it is queued.
    case 404: reply.text.contains("\"not-ready\"") ? .yes : .hidden
    default: nil
    }
  }
}

/// A home with an attachment of ann's in which ben takes part, and a token for each party.
final class Place {
  private let folder: String
  private let ledger: any LedgerWriter
  let api: API
  private let hash: SHA256
  private var number: Int64 = 0
  let id: String
  /// One of each.
  private(set) var uploads: [Party: String] = [:]

  init(_ rules: ServeRules = ServeRules(), participants: [String] = ["ann", "ben"]) throws {
    folder = NSTemporaryDirectory() + "sluice-door-\(UUID())"
    let home = Home(folder)
    try home.create()
    ledger = try home.join()
    hash = try SHA256()
    var item = IntakeItem()
    (item.conversationId, item.messageId, item.senderId) = ("c", "m", "ann")
    (item.participants, item.fileName, item.source) = (participants, "a.pdf", Array("/a.pdf".utf8))
    var exchange = Exchange(number: 1)
    exchange.commands = [.takeIn([item])]
    number = 1
    let results = try ledger.exchange(exchange).results
    guard case .takenIn(let report)? = results.first, case .added(let id)? = report.outcomes.first else {
      throw FrameError("it is not taken in: \(results)")
    }
    self.id = id
    api = try API(home, version: "1", rules: rules)
    for party in Party.allCases where party != .nobody {
      let role: AccessToken.Role = party == .service ? .service : party == .admin ? .admin : .user
      try add(token(party), name: Self.name(party), role: role)
      let upload = String(Party.allCases.firstIndex(of: party) ?? 0) + String(repeating: "0", count: 31)
      uploads[party] = upload
      try apply(
        .upload(
          .begin(
            UploadRecord(
              id: upload, owner: Self.name(party), role: role, length: 5, metadata: "", createdAt: 0,
              expiresAt: 100_000))))
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private static func name(_ party: Party) -> String {
    switch party {
    case .sender: "ann"
    case .participant: "ben"
    default: "eve"
    }
  }

  func token(_ party: Party) -> String { "token-\(party)" }

  private func digest(_ text: String) -> [UInt8] {
    hash.begin()
    Array(text.utf8).withUnsafeBytes { hash.add($0) }
    return hash.finish()
  }

  func add(
    _ text: String, name: String = "ann", role: AccessToken.Role = .user, expiresAt: Int64? = nil
  ) throws {
    try apply(.token(.add(hash: digest(text), name: name, role: role, expiresAt: expiresAt)))
  }

  /// Begins an upload.
  func begin(owner: String, role: AccessToken.Role, metadata: String) throws -> String {
    let id = String(UUID().uuidString.lowercased().filter { $0 != "-" })
    try apply(
      .upload(
        .begin(
          UploadRecord(
            id: id, owner: owner, role: role, length: 5, metadata: metadata, createdAt: 0, expiresAt: 100_000)
        )))
    return id
  }

  func revoke(_ text: String) throws { try apply(.token(.revoke(AccessToken.id(of: digest(text))))) }

  /// Has the attachment end.
  func complete() throws {
    number += 1
    var exchange = Exchange(number: number)
    exchange.wanted = [Want(.attachments, 1)]
    let lease = try #require(try ledger.exchange(exchange).leases.first)
    guard case .attachment(let attachment) = lease.work else { return }
    number += 1
    exchange = Exchange(number: number)
    let outcome = AttachmentOutcome(
      .completed, mediaType: "application/pdf", sizeBytes: 5, sha256: [UInt8](repeating: 9, count: 32),
      url: "a")
    exchange.settlements = [
      Settlement(
        lease,
        .attachment(EndedAttachment(attachment, outcome, attempt: lease.attempt, steps: [], events: [])))
    ]
    try #require(try ledger.exchange(exchange).settled == [.counted])
  }

  func apply(_ command: Command) throws {
    number += 1
    var exchange = Exchange(number: number)
    exchange.commands = [command]
    let results = try ledger.exchange(exchange).results
    try #require(results == [.done(hasChanged: true)])
  }

  func ask(_ method: String, _ path: String, id: String? = nil, as party: Party) throws -> FrontReply {
    try ask(method, path, id: id, authorization: party == .nobody ? [] : ["Bearer \(token(party))"])
  }

  func ask(
    _ method: String, _ path: String, id: String? = nil, authorization: [String]
  ) throws -> FrontReply {
    let parts = path.replacingOccurrences(of: "{id}", with: id ?? self.id).split(separator: "?")
    let query = parts.count < 2 ? [] : parts[1].split(separator: "&").map { $0.split(separator: "=") }
    let request = FrontRequest(
      serial: 1, method: method, segments: (parts.first ?? "").split(separator: "/").map(String.init),
      query: query.map { FrontRequest.Pair(String($0[0]), String($0[1])) },
      fields: authorization.map { FrontRequest.Pair("authorization", $0) } + Self.upload
        + [
          .init("content-type", path == "/v1/fetch" ? "application/json" : "application/offset+octet-stream")
        ],
      body: path == "/v1/attachments" && method == "POST" ? .length(5) : .none)
    switch api.answer(request) {
    case .reply(let reply): return reply
    case .file(let reply, _): return reply
    // They are allowed, and not applied here.
    case .commands, .inform, .upload, .store, .await, .body, .stream: return FrontReply(200)
    }
  }

  /// What requests about uploads say.
  private static let upload: [FrontRequest.Pair] = [
    .init("tus-resumable", "1.0.0"), .init("upload-length", "5"), .init("upload-offset", "0"),
  ]

  func text(_ method: String, _ path: String, as party: Party) throws -> String {
    try ask(method, path, as: party).text
  }
}
