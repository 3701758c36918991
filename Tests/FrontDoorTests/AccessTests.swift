import Foundation
import FrontWire
import LedgerPort
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
      .metrics: operators, .report: operators, .events: known, .postAttachment: known, .check: known,
      .fetch: known,
      .transfers: operators,
      .lanes: operators, .pauseLane: admins, .resumeLane: admins, .resetLane: admins, .deliveries: operators,
      .retryDelivery: operators,
      .ready: all, .version: all, .openapi: all, .attachments: known, .attachment: seen, .content: seen,
      .link: seen, .links: known, .hastenAttachment: seen,
      .retryAttachment: changed, .deleteAttachment: changed,
      // Of one's own.
      .uploadOptions: all, .uploads: known, .createUpload: known, .uploadState: known, .appendToUpload: known,
      .endUpload: known,
      .conversations: known, .beginConversation: known, .sync: known, .search: known, .presence: known,
      .conversation: seen,
      .messages: seen,
      .message: seen, .receipts: seen, .writeMessage: seen, .read: seen, .delivered: seen, .typing: seen,
      .settings: seen,
      .removeMember: seen, .renameConversation: changed, .addMember: changed, .editMessage: changed,
      .deleteMessage: changed,
      .signUp: all, .signIn: all, .sessions: known, .endSession: known, .me: known, .users: known,
      .user: seen,
      .changeMe: known.merging([.service: .forbidden]) { $1 }, .setUser: operators,
      .eraseMe: known.merging([.service: .forbidden]) { $1 }, .eraseUser: operators,
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
        // What a conversation answers is done.
        let place = route.facts.needs != .nothing ? try Place() : place
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

  @Test func aSearchFindsWhatOneMayRead() throws {
    _ = try place.say(
      "ann",
      .write(id: "m-search", clientId: "c-search", text: "the word zebra <b>", replyTo: nil, isUrgent: false))
    for (party, isFound) in [
      (Party.stranger, false), (.participant, true), (.sender, true), (.service, true), (.admin, true),
    ] {
      let text = try place.text("GET", "/v1/search?q=zebra", as: party)
      #expect(text.contains("\"senderId\":\"ann\"") == isFound, "\(party): \(text)")
      #expect(text.contains("{\"text\":\"zebra\",\"isMatch\":true}") == isFound, "\(party): \(text)")
    }
    for query in ["?q=!", "?order=newest", "?q=a&order=best", "?q=before:x", "?q=a&limit=0", "?q=a&after=x"] {
      #expect(try place.ask("GET", "/v1/search" + query, as: .sender).status == 400, "\(query)")
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
    let late = try place.ask("GET", "/v1/attachments", authorization: ["Bearer late"])
    #expect(late.status == 401)
    #expect(
      late.fields.first { $0.name == "WWW-Authenticate" }?.value
        == #"Bearer realm="sluice", error="invalid_token", error_description="the token has expired""#)
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
      ("/v1/uploads?after=zzz", 400, "invalid-parameter"),
      ("/v1/attachments?code=a,,b", 400, "invalid-parameter"),
      ("/v1/attachments?code=a b", 400, "invalid-parameter"),
      ("/v1/report?code=a,", 400, "invalid-parameter"),
      ("/v1/deliveries?code=,a", 400, "invalid-parameter"),
      ("/v1/deliveries?code=é", 400, "invalid-parameter"),
      ("/v1/attachments?minSize=x", 400, "invalid-parameter"),
      ("/v1/attachments?maxSize=-1", 400, "invalid-parameter"),
      ("/v1/attachments?order=last", 400, "invalid-parameter"),
      ("/v1/report?order=newest", 400, "no-such-parameter"),
      ("/v1/report?limit=0", 400, "invalid-parameter"), ("/v1/report?limit=100001", 400, "invalid-parameter"),
      ("/v1/report?after=1", 400, "no-such-parameter"), ("/v1/report?status=done", 400, "invalid-parameter"),
      ("/v1/attachments?state=queued", 400, "no-such-parameter"), ("/v2", 404, "no-such-path"),
      ("/", 404, "no-such-path"),
    ]
    for (path, status, code) in cases {
      let reply = try place.ask("GET", path, as: .admin)
      #expect(reply.status == status && reply.text.contains("\"code\":\"\(code)\""), "\(path): \(reply.text)")
    }
    // Contents are left out: pages add to their links what they like.
    for route in Route.allCases where route.path.hasPrefix("/v1/") && ![.uploadOptions].contains(route) {
      let reply = try place.ask(route.method, "\(route.path)?colour=blue", as: .admin)
      let isRefused = reply.status == 400 && reply.text.contains("there is no parameter 'colour' here")
      #expect(isRefused == (route != .content), "\(route): \(reply.text)")
    }
    let story = try place.text("GET", "/v1/attachments/{id}?a=1", as: .sender)
    #expect(story.contains("leave it out; this path has none"), "\(story)")
    let link = try place.text("GET", "/v1/attachments/{id}/link?a=1", as: .sender)
    #expect(link.contains("those are seconds, download"), "\(link)")
    let wrong = try place.ask("PUT", "/v1/attachments/x", as: .admin)
    #expect(wrong.status == 405)
    #expect(wrong.fields.contains(.init("Allow", "GET, DELETE, HEAD, OPTIONS")))
    #expect(try place.ask("OPTIONS", "/v1/attachments", as: .nobody).status == 204)
  }

  @Test func aListIsOfSizesAsTheyAreAskedFor() throws {
    func count(_ query: String) throws -> Int {
      let text = try place.text("GET", "/v1/attachments?\(query)", as: .sender)
      return text.components(separatedBy: #""fileName":"#).count - 1
    }
    #expect(try count("minSize=0") == 0, "its size is not known yet")
    try place.complete()
    for query in ["minSize=5", "maxSize=5", "minSize=5B", "maxSize=1KB", "minSize=1&maxSize=9", "limit=5"] {
      #expect(try count(query) == 1, "\(query)")
    }
    for query in ["minSize=6", "maxSize=4", "minSize=1KB", "minSize=6&maxSize=9"] {
      #expect(try count(query) == 0, "\(query)")
    }
    #expect(try place.text("GET", "/v1/report?minSize=6", as: .admin).contains(#""count":0,"#))
  }

  @Test func aListIsOfTheMessageThatIsAskedFor() throws {
    func ids(_ query: String, _ party: Party = .sender) throws -> Bool {
      try place.text("GET", "/v1/attachments?\(query)", as: party).contains("\"id\":\"\(place.id)\"")
    }
    for query in ["message=m", "message=m&conversation=c", "message=m&status=queued,failed"] {
      #expect(try ids(query) && ids(query, .participant) && ids(query, .service), "\(query)")
      #expect(try !ids(query, .stranger), "\(query)")
    }
    for query in ["message=n", "message=m&conversation=d", "message=m&code=x,y"] {
      #expect(try !ids(query), "\(query)")
    }
    #expect(try place.text("GET", "/v1/report?message=m", as: .admin).contains(#""count":1,"#))
  }

  @Test func whatHasNoLinkIsNotFetchedBeforeOthers() throws {
    for party in [Party.participant, .sender, .service, .admin] {
      #expect(
        try place.text("POST", "/v1/attachments/{id}/now", as: party) == "{\"changed\":false}\n", "\(party)")
    }
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
    case 200, 201, 204: .yes
    case 401: .unauthorized
    case 403: .forbidden
    // Of the content: it is queued.
    case 404: reply.text.contains("\"not-ready\"") ? .yes : .hidden
    default: nil
    }
  }
}
