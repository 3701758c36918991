import CPlatform
import FrontWire
import Glibc
import Ledger
import Pipeline
import Platform

// Uploads by tus 1.0.0. What is there of an upload is the size of its file; what is known of it besides is its row.
extension API {
  /// How long an upload may take, in milliseconds.
  private static let lifetime: Int64 = 24 * 3_600_000

  /// What a client may find out before it begins.
  func uploadOptions() -> FrontReply {
    FrontReply(
      204,
      [
        Tus.versions, .init("Tus-Extension", Tus.extensions),
        .init("Tus-Max-Size", String(limits.upload)), .init("Tus-Checksum-Algorithm", Tus.algorithms),
      ])
  }

  // MARK: Creation

  func createUpload(_ request: FrontRequest, _ token: AccessToken) throws -> Answer {
    try Tus.check(request)
    let metadata = request.values("upload-metadata").joined(separator: ",")
    let concat = try Tus.concat(request.field("upload-concat"))
    _ = try item(metadata, token.name, token.role)
    if case .final(let parts)? = concat { return try join(parts, request, metadata, token) }
    let length = try newLength(request)
    if let length, length > limits.upload { throw tooLarge }
    var content: Int64 = 0
    if try Tus.hasContent(request) {
      if case .length(let count) = request.body { content = count }
      if let length, content > length { throw tooLarge }
    } else if request.body != .none && request.body != .length(0) {
      throw Self.wrongType
    }
    let checksum = try Tus.checksum(request)
    let record = try begin(length, metadata, request.field("upload-concat"), token)
    let hasContent = try Tus.hasContent(request)
    return .commands([.upload(.begin(record))]) { results in
      guard results.first == .done(hasChanged: true) else { return .reply(Problem.away.reply) }
      // The row has the times.
      if hasContent { return .upload(record.id, .append(offset: 0, checksum, isNew: true)) }
      if length == 0 && concat == nil { return .upload(record.id, .append(offset: 0, nil, isNew: true)) }
      return .reply(Self.created(record))
    }
  }

  private func newLength(_ request: FrontRequest) throws -> Int64? {
    let length = try Tus.number(request, "upload-length")
    let deferred = request.values("upload-defer-length")
    guard deferred.isEmpty ? length != nil : deferred == ["1"] && length == nil else {
      throw Problem(400, "invalid-length", "an upload has either 'Upload-Length' or 'Upload-Defer-Length: 1'")
    }
    return length
  }

  /// Makes the file; the row is still to be written.
  private func begin(
    _ length: Int64?, _ metadata: String, _ concat: String?, _ token: AccessToken
  ) throws -> UploadRecord {
    let id = Hexadecimal.text(try SystemRandom.bytes(16))
    do throws(SystemError) {
      try uploads.make(id, length: length)
    } catch {
      throw error.code == ENOSPC || error.code == EDQUOT ? Self.full : Problem.away
    }
    return UploadRecord(
      id: id, owner: token.name, role: token.role, length: length, metadata: metadata, concat: concat,
      createdAt: Clock.now(), expiresAt: Self.lifetime)
  }

  private static func created(_ record: UploadRecord) -> FrontReply {
    FrontReply(
      201,
      [
        .init("Location", "/v1/uploads/\(record.id)"),
        .init("Upload-Expires", date(Int((Clock.now() + lifetime) / 1000))),
      ])
  }

  // MARK: One upload

  /// What is done with an upload, once no other request is at it.
  enum UploadStep: Sendable {
    case look
    case append(offset: Int64, Tus.Checksum?, isNew: Bool)
    case end
  }

  /// An upload of the asker's.
  private func record(_ id: String, _ token: AccessToken) throws -> UploadRecord {
    guard Tus.isId(id), let record = try ledger.upload(id),
      record.owner == token.name && record.role == token.role
    else {
      throw Problem.notFound
    }
    if record.attachmentId == nil && record.expiresAt <= Clock.now() {
      throw Problem(410, "expired", "the upload took too long, and was given up", remedy: "begin it anew")
    }
    return record
  }

  func upload(_ id: String, _ route: Route, _ request: FrontRequest, _ token: AccessToken) throws -> Answer {
    try Tus.check(request)
    let record = try record(id, token)
    switch route {
    case .uploadState: return .upload(id, .look)
    case .endUpload: return .upload(id, .end)
    default: break
    }
    guard try Tus.hasContent(request) else { throw Self.wrongType }
    if case .final? = try Tus.concat(record.concat) {
      throw Problem(403, "final", "an upload that is made of others takes no bytes")
    }
    guard let offset = try Tus.number(request, "upload-offset") else {
      throw Problem(400, "invalid-header", "'Upload-Offset' says where the bytes go")
    }
    let checksum = try Tus.checksum(request)
    let step = UploadStep.append(offset: offset, checksum, isNew: false)
    guard record.length == nil, let length = try Tus.number(request, "upload-length") else {
      return .upload(id, step)
    }
    if length > limits.upload || length < offset { throw tooLarge }
    return .commands([.upload(.lengthen(id: id, length))]) { results in
      if case .done? = results.first { return .upload(id, step) }
      return .reply(Problem(400, "invalid-length", "the length of an upload is said once").reply)
    }
  }

  /// Does a step. No other request is at this upload meanwhile.
  func take(_ step: UploadStep, _ id: String, _ request: FrontRequest) throws -> Answer {
    guard let record = try ledger.upload(id) else { throw Problem.notFound }
    switch step {
    case .look: return try look(record)
    case .end:
      return .commands([.upload(.end(id: id))]) { _ in .reply(FrontReply(204)) }
    case .append(let offset, let checksum, let isNew):
      return try append(record, at: offset, checksum, isNew: isNew, request)
    }
  }

  private func look(_ record: UploadRecord) throws -> Answer {
    let size: Int64
    if record.attachmentId != nil {
      size = record.length ?? 0
    } else {
      let file = try open(record.id)
      size = try uploads.size(file).size
      // Its last bytes came, and the one who had them was killed.
      if size == record.length && record.concat != "partial" {
        return try finish(record, size) { .reply(Self.state(record, size, $0)) }
      }
    }
    return .reply(Self.state(record, size, record.attachmentId))
  }

  private static func state(_ record: UploadRecord, _ size: Int64, _ attachment: String?) -> FrontReply {
    var fields: [FrontRequest.Pair] = [
      .init("Cache-Control", "no-store"), .init("Upload-Offset", String(size)),
    ]
    if let length = record.length {
      fields.append(.init("Upload-Length", String(length)))
    } else {
      fields.append(.init("Upload-Defer-Length", "1"))
    }
    if !record.metadata.isEmpty { fields.append(.init("Upload-Metadata", record.metadata)) }
    if let concat = record.concat { fields.append(.init("Upload-Concat", concat)) }
    if let attachment { fields.append(.init("Attachment-Id", attachment)) }
    if attachment == nil { fields.append(.init("Upload-Expires", date(Int(record.expiresAt / 1000)))) }
    return FrontReply(200, fields)
  }

  // MARK: Bytes

  private func append(
    _ record: UploadRecord, at offset: Int64, _ checksum: Tus.Checksum?, isNew: Bool, _ request: FrontRequest
  ) throws -> Answer {
    let file = try open(record.id)
    let size = record.attachmentId == nil ? try uploads.size(file).size : record.length ?? 0
    if size != offset {
      throw Problem(
        409, "other-offset", "the upload has \(size) bytes", fields: [.init("Upload-Offset", String(size))])
    }
    let room = (record.length ?? limits.upload) - offset
    if case .length(let count) = request.body, count > room { throw tooLarge }
    if record.attachmentId != nil { return .reply(Self.taken(record, size, record.attachmentId, isNew)) }
    if request.body == .none || request.body == .length(0) {
      return try appended(record, at: offset, Stored(bytes: 0, isWhole: true), checksum, isNew)
    }
    let order = StoreOrder(offset: offset, limit: room, digest: checksum?.algorithm)
    return .store(record.id, order, SharedDescriptor(file)) { api, stored in
      try api.appended(record, at: offset, stored, checksum, isNew)
    }
  }

  private func appended(
    _ record: UploadRecord, at offset: Int64, _ stored: Stored, _ checksum: Tus.Checksum?, _ isNew: Bool
  ) throws -> Answer {
    let isWrong = checksum.map { !stored.isWhole || stored.digest != $0.digest && stored.bytes > 0 } ?? false
    if isWrong || stored.isTooLong {
      // Nothing of it counts.
      let file = try open(record.id)
      if ftruncate(file.number, off_t(offset)) != 0 || fdatasync(file.number) != 0 { throw Problem.away }
      if stored.isTooLong { throw tooLarge }
      throw Problem(
        460, "other-checksum", "the bytes are not those of the checksum",
        fields: [.init("Upload-Offset", String(offset))])
    }
    let size = offset + stored.bytes
    if stored.error != 0 {
      throw stored.error == ENOSPC || stored.error == EDQUOT || stored.error == EFBIG
        ? Self.full : Problem(500, "fault", "the bytes could not be written")
    }
    if !stored.isWhole { throw Problem(400, "cut", "the body ended too early") }
    guard size == record.length, record.concat != "partial" else {
      return .reply(Self.taken(record, size, nil, isNew))
    }
    return try finish(record, size) { .reply(Self.taken(record, size, $0, isNew)) }
  }

  private static func taken(
    _ record: UploadRecord, _ size: Int64, _ attachment: String?, _ isNew: Bool
  ) -> FrontReply {
    var reply = isNew ? created(record) : FrontReply(204)
    reply.fields.append(.init("Upload-Offset", String(size)))
    if let attachment { reply.fields.append(.init("Attachment-Id", attachment)) }
    return reply
  }

  // MARK: The end of an upload

  /// Makes the attachment. Repeated, it is the same.
  func finish(
    _ record: UploadRecord, _ size: Int64, then answer: @escaping @Sendable (_ attachment: String?) -> Answer
  ) throws -> Answer {
    var item = try item(record.metadata, record.owner, record.role)
    let file = try open(record.id)
    item.source = try uploads.absolutePath(of: record.id)
    (item.sourceSize, item.sourceModified) = try uploads.size(file)
    return .commands([.upload(.finish(id: record.id, item))]) { results in
      guard case .takenIn(let report)? = results.first else { return .reply(Problem.away.reply) }
      if let id = report.outcomes.first?.id { return answer(id) }
      let reason = report.problems.first?.message ?? "it cannot be taken in"
      return .reply(Problem(422, "refused", reason).reply)
    }
  }

  /// What an upload is to be taken in as.
  private func item(_ header: String, _ owner: String, _ role: AccessToken.Role) throws -> IntakeItem {
    let values = try Tus.metadata(header)
    var item = IntakeItem()
    item.conversationId = values["conversationId"] ?? "default"
    item.messageId = values["messageId"]
    item.fileName = values["filename"] ?? values["name"] ?? "upload"
    item.declaredType = values["filetype"] ?? values["type"]
    item.reference = values["reference"]
    (item.senderId, item.participants) = (owner, [owner])
    if role != .user {
      item.senderId = values["senderId"] ?? owner
      if let text = values["participants"] {
        guard let names = JSONStrings.read(text) else {
          throw Problem(400, "invalid-metadata", "'participants' is a JSON array of texts")
        }
        item.participants = names
      }
    } else if values["senderId"] != nil || values["participants"] != nil {
      throw Problem(403, "forbidden", "'senderId' and 'participants' are for a service's token to say")
    }
    item.origin = "upload"
    // Its file is not known yet.
    item.source = Array("/".utf8)
    if let fault = item.fault { throw Problem(400, "invalid-metadata", fault) }
    return item
  }

  // MARK: Concatenation

  /// Makes an upload of others, in their order.
  private func join(
    _ parts: [String], _ request: FrontRequest, _ metadata: String, _ token: AccessToken
  ) throws -> Answer {
    if !request.values("upload-length").isEmpty {
      throw Problem(
        400, "invalid-length", "an upload that is made of others has the length that they have together")
    }
    var records: [(record: UploadRecord, file: SharedDescriptor)] = []
    var length: Int64 = 0
    for id in parts {
      let record = try record(id, token)
      let file = try open(id)
      let size = try uploads.size(file).size
      guard record.concat == "partial", size == record.length else {
        throw Problem(400, "invalid-concat", "'\(id)' is no part, or is not whole")
      }
      length += size
      records.append((record, SharedDescriptor(file)))
    }
    if length > limits.upload { throw tooLarge }
    let new = try begin(length, metadata, request.field("upload-concat"), token)
    let target = try open(new.id)
    var place: Int64 = 0
    for (record, file) in records {
      let size = record.length ?? 0
      if sluice_copy_to(file.number, size, target.number, place) != 0 { throw Self.full }
      place += size
    }
    if fdatasync(target.number) != 0 { throw Problem.away }
    let end = length
    return .commands([.upload(.begin(new))]) { results in
      guard results.first == .done(hasChanged: true) else { return .reply(Problem.away.reply) }
      return .upload(new.id, .append(offset: end, nil, isNew: true))
    }
  }

  // MARK: What goes wrong

  private func open(_ id: String) throws -> Descriptor {
    do throws(SystemError) { return try uploads.open(id) } catch { throw Problem.away }
  }

  private var tooLarge: Problem {
    Problem(
      413, "too-large", "an upload has at most \(limits.upload) bytes, and not more than it was begun with")
  }

  private static let full = Problem(
    507, "no-room", "there is no room for it on this server", remedy: "try again later")

  private static let wrongType = Problem(
    415, "wrong-type", "bytes of an upload come as \(Tus.contentType)")
}
