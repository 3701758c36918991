import Foundation
import FrontWire
import HomeFolder
import Identity
import LedgerPort
import LedgerSQLite
import Pipeline
import Platform
import Testing
import Wire

@testable import FrontDoor

/// A home with an attachment of ann's in which ben takes part, and a token for each party; and with a group `room` of theirs, whose admin
/// ann is, with a message of hers.
final class Place {
  private let folder: String
  private let ledger: any LedgerWriter
  let api: API
  private let hash: SHA256
  private var number: Int64 = 0
  let id: String
  /// One of each.
  private(set) var uploads: [Party: String] = [:]

  /// All that there may be.
  static var rules: ServeRules {
    var rules = ServeRules()
    (rules.messages, rules.accounts) = (true, .everyone)
    return rules
  }

  init(_ rules: ServeRules = Place.rules, participants: [String] = ["ann", "ben"]) throws {
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
    for action in [
      ConversationCommand.Action.begin(.group, name: "Room", .all, members: ["ben"]),
      .write(id: "m1", clientId: "c1", text: "hello"),
    ] { _ = try say("ann", action) }
    let account = UserCommand.Action.add(
      name: "Ben", email: "ben@example.com", password: Self.password, role: .user,
      session: nil)
    _ = try self.results([.user(UserCommand("ben", account))])
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

  /// The hash of Ben's password, made once: a hash takes long.
  private static let password = try? PasswordHash.make("correct horse")

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
            id: id, owner: owner, role: role, length: 5, metadata: metadata, createdAt: 0, expiresAt: 100_000,
            forUser: role == .user ? nil : try Tus.metadata(metadata)["senderId"])
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

  func apply(_ command: Command) throws { try #require(try results([command]) == [.done(hasChanged: true)]) }

  private func results(_ commands: [Command]) throws -> [CommandResult] {
    number += 1
    var exchange = Exchange(number: number)
    exchange.commands = commands
    return try ledger.exchange(exchange).results
  }

  @discardableResult
  func say(_ user: String, _ action: ConversationCommand.Action, in id: String = "room") throws
    -> ConversationResult
  {
    let command = ConversationCommand(id, .user(user), action)
    guard case .conversation(let result)? = try results([.conversation(command)]).first else {
      throw FrameError("no result of a conversation")
    }
    return result
  }

  func ask(_ method: String, _ path: String, id: String? = nil, as party: Party) throws -> FrontReply {
    try ask(method, path, id: id, authorization: party == .nobody ? [] : ["Bearer \(token(party))"])
  }

  func ask(
    _ method: String, _ path: String, id: String? = nil, authorization: [String]
  ) throws -> FrontReply {
    let isOfUsers = ["/v1/users", "/v1/sessions", "/v1/me"].contains { path.hasPrefix($0) }
    let isOfMessages = path.hasPrefix("/v1/conversations") || isOfUsers
    let path =
      method == "GET"
      ? ["/v1/users": path + "?query=be", "/v1/search": path + "?q=hello"][path] ?? path : path
    let parts = path.replacingOccurrences(of: "{id}", with: id ?? (isOfMessages ? "room" : self.id))
      .replacingOccurrences(of: "{user}", with: isOfUsers ? id ?? "ben" : "ben").replacingOccurrences(
        of: "{session}", with: "all"
      )
      .replacingOccurrences(of: "{message}", with: "1")
      .split(separator: "?")
    let query = parts.count < 2 ? [] : parts[1].split(separator: "&").map { $0.split(separator: "=") }
    let request = FrontRequest(
      serial: 1, method: method, segments: (parts.first ?? "").split(separator: "/").map(String.init),
      query: query.map { FrontRequest.Pair(String($0[0]), String($0[1])) },
      fields: authorization.map { FrontRequest.Pair("authorization", $0) } + Self.upload
        + [
          .init(
            "content-type",
            ["/v1/fetch", "/v1/links"].contains(path) || isOfMessages
              ? "application/json" : "application/offset+octet-stream")
        ],
      body: ["/v1/attachments", "/v1/check"].contains(path) && method == "POST" ? .length(5) : .none)
    if isOfMessages || ["/v1/search", "/v1/sync"].contains(where: { path.hasPrefix($0) }) {
      return try converse(method, path, api.answer(request), authorization)
    }
    switch api.answer(request) {
    case .reply(let reply): return reply
    case .file(let reply, _): return reply
    // They are allowed, and not applied here.
    case .commands, .inform, .upload, .store, .check, .await, .wait, .body, .hash, .search, .look, .tell,
      .stream:
      return FrontReply(200)
    }
  }

  /// Bodies of requests about conversations, as the end of a path and the method say.
  private static let bodies = [
    "PATCH {id}": #"{"name":"Other"}"#, "PUT {user}": #"{"role":"admin"}"#, "PUT {message}": #"{"text":"x"}"#,
    "PATCH {message}": #"{"text":"y"}"#, "PUT read": #"{"number":1}"#, "PUT delivered": #"{"number":1}"#,
    "PUT settings": #"{"mutedUntil":null}"#, "POST conversations": #"{"members":["cid"]}"#,
    "PUT /v1/users/{user}": #"{"name":"Other"}"#,
    "POST users": #"{"email":"new@example.com","password":"correct horse"}"#,
    "POST sessions": #"{"email":"ben@example.com","password":"correct horse"}"#,
    "PATCH me": #"{"name":"Other"}"#, "DELETE me": #"{"currentPassword":"correct horse"}"#,
  ]

  /// What is decided by the ledger is done.
  private func converse(
    _ method: String, _ path: String, _ answer: API.Answer, _ authorization: [String]
  ) throws -> FrontReply {
    switch answer {
    case .reply(let reply): return reply
    case .tell(_, let reply): return reply
    case .hash(let next): return try converse(method, path, API.answer(next), authorization)
    case .search(_, let next): return try converse(method, path, API.answer { try next(api) }, authorization)
    case .look(let next): return try converse(method, path, API.answer { try next(api) }, authorization)
    case .body(_, let next):
      let last = path.prefix { $0 != "?" }.split(separator: "/").last ?? ""
      var body = Self.bodies["\(method) \(path)"] ?? Self.bodies["\(method) \(last)"] ?? "{}"
      let isOfService = authorization.contains { $0.hasSuffix("service") || $0.hasSuffix("admin") }
      if isOfService && ["read", "delivered", "typing", "settings", "{message}"].contains(last)
        && method == "PUT"
      {
        body = body == "{}" ? #"{"senderId":"ann"}"# : #"{"senderId":"ann","# + body.dropFirst()
      }
      return try converse(method, path, API.answer { try next(api, Array(body.utf8)) }, authorization)
    case .commands(let commands, let next):
      return try converse(method, path, next(try results(commands)), authorization)
    default: throw FrameError("a conversation is not answered so")
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
