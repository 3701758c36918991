import Foundation
import FrontWire
import Glibc
import HomeFolder
import LedgerPort
import LedgerSQLite
import Pipeline
import Platform
import Testing
import Wire

@testable import FrontDoor

/// Uploads in a home of their own, with what answers them and without the process that speaks HTTP: requests are handed over as
/// values, and bodies are written here.
final class UploadDesk {
  /// What becomes of a body on its way.
  enum Fate {
    case whole
    /// The client leaves after so many bytes.
    case cut(Int)
    /// So many bytes are written, then the disk is full.
    case full(Int)
    /// So many bytes are written, then all is killed: nobody gets an answer, or is told what came.
    case killed(Int)
  }

  private let folder: String
  private let ledger: any LedgerWriter
  private let hash: SHA256
  private var number: Int64 = 0
  /// What clients were told before their answers.
  private(set) var told: [FrontReply] = []
  let home: Home
  var api: API

  init(rules: ServeRules = ServeRules()) throws {
    // Each step syncs: in memory that costs nothing.
    let base = access("/dev/shm", W_OK) == 0 ? "/dev/shm/" : NSTemporaryDirectory()
    folder = base + "sluice-uploads-\(UUID())"
    home = Home(folder)
    try home.create()
    ledger = try home.join()
    hash = try SHA256()
    api = try API(home, version: "1", rules: rules)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  func addToken(_ text: String, _ name: String, _ role: AccessToken.Role = .user) throws {
    hash.begin()
    Array(text.utf8).withUnsafeBytes { hash.add($0) }
    let command = TokenCommand.add(hash: hash.finish(), name: name, role: role)
    try #require(try apply([.token(command)]) == [.done(hasChanged: true)])
  }

  @discardableResult
  func apply(_ commands: [Command]) throws -> [CommandResult] {
    if commands.isEmpty { return [] }
    number += 1
    var exchange = Exchange(number: number)
    exchange.commands = commands
    let reply = try ledger.exchange(exchange)
    for id in reply.uploadsToDelete { unlink("\(home.uploadsPath)/\(id)") }
    return reply.results
  }

  /// Has the attachment that is due end as completed.
  func complete() throws {
    number += 1
    var exchange = Exchange(number: number)
    exchange.wanted = [Want(.attachments, 1)]
    let lease = try #require(try ledger.exchange(exchange).leases.first)
    guard case .attachment(let attachment) = lease.work else { throw FrameError("it is no attachment") }
    number += 1
    exchange = Exchange(number: number)
    let outcome = AttachmentOutcome(
      .completed, mediaType: "text/plain", sizeBytes: 3, sha256: [UInt8](repeating: 9, count: 32), url: "a")
    let ended = EndedAttachment(attachment, outcome, attempt: lease.attempt, steps: [], events: [])
    exchange.settlements = [Settlement(lease, .attachment(ended))]
    try #require(try ledger.exchange(exchange).settled == [.counted])
  }

  /// - Returns: `nil` where the client gets no answer.
  func ask(
    _ method: String, _ path: String, _ token: String, _ fields: [String: String] = [:],
    _ body: [UInt8]? = nil,
    _ fate: Fate = .whole
  ) throws -> FrontReply? {
    var pairs = [FrontRequest.Pair("authorization", "Bearer \(token)")]
    // Without it a request speaks the IETF's draft.
    if fields["upload-draft-interop-version"] == nil { pairs.append(.init("tus-resumable", "1.0.0")) }
    pairs += fields.map { FrontRequest.Pair($0.key, $0.value) }
    let parts = path.split(separator: "?")
    let query = parts.count < 2 ? [] : parts[1].split(separator: "&").map { $0.split(separator: "=") }
    let request = FrontRequest(
      serial: 1, method: method, segments: (parts.first ?? "").split(separator: "/").map(String.init),
      query: query.map { FrontRequest.Pair(String($0[0]), String($0[1])) }, fields: pairs,
      body: body.map { .length(Int64($0.count)) } ?? .none)
    var answer = api.answer(request)
    while true {
      switch answer {
      case .reply(let reply), .file(let reply, _), .stream(let reply, _): return reply
      case .inform(let reply, let next):
        told.append(reply)
        answer = next
      case .await, .wait: throw FrameError("it waits for an attachment")
      case .body(_, let next): answer = API.answer { try next(api, body ?? []) }
      case .tell(_, let reply): return reply
      case .hash(let next): answer = API.answer(next)
      case .search(_, let next): answer = API.answer { try next(api) }
      case .look(let next): answer = API.answer { try next(api) }
      case .commands(let commands, let next): answer = next(try apply(commands))
      case .check: throw FrameError("it is no upload")
      case .upload(let id, let step): answer = API.answer { try api.take(step, id, request) }
      case .store(_, let order, let file, let next):
        guard let stored = try store(body ?? [], order, file.number, fate) else { return nil }
        answer = API.answer { try next(api, stored) }
      }
    }
  }

  private func store(_ body: [UInt8], _ order: StoreOrder, _ file: Int32, _ fate: Fate) throws -> Stored? {
    var count = min(body.count, Int(order.limit))
    var stored = Stored(bytes: 0, isWhole: true, isTooLong: body.count > count)
    switch fate {
    case .whole: break
    case .cut(let place):
      count = min(count, place)
      (stored.isWhole, stored.isTooLong) = (false, false)
    case .full(let place):
      count = min(count, place)
      stored.error = ENOSPC
    case .killed(let place): count = min(count, place)
    }
    let digest = try order.digest.map { try MessageDigest($0) }
    let written = body.withUnsafeBytes { bytes in
      digest?.add(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
      return pwrite(file, bytes.baseAddress, count, off_t(order.offset))
    }
    try #require(written == count || count == 0)
    if case .killed = fate { return nil }
    stored.bytes = Int64(count)
    stored.digest = digest?.finish() ?? []
    return stored
  }

  var files: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: home.uploadsPath)) ?? []).sorted()
  }

  func attachments() throws -> [AttachmentRecord] {
    var records: [AttachmentRecord] = []
    try api.ledger.attachments { record in
      records.append(record)
      return true
    }
    return records
  }
}

extension FrontReply {
  /// The value of a field; names as they were sent.
  func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }

  var text: String {
    if case .bytes(let bytes) = content { String(decoding: bytes, as: UTF8.self) } else { "" }
  }
}
