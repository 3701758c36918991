import Foundation
import FrontWire
import HomeFolder
import LedgerPort
import LedgerSQLite
import Pipeline
import Platform
import Testing
import Wire

@testable import FrontDoor

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
      body: ["/v1/attachments", "/v1/check"].contains(path) && method == "POST" ? .length(5) : .none)
    switch api.answer(request) {
    case .reply(let reply): return reply
    case .file(let reply, _): return reply
    // They are allowed, and not applied here.
    case .commands, .inform, .upload, .store, .check, .await, .body, .stream: return FrontReply(200)
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
