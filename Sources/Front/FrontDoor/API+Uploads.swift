import CPlatform
import FrontWire
import Glibc
import LedgerPort
import Pipeline
import Platform

// Uploads by tus 1.0.0. What is there of an upload is the size of its file; what is known of it besides is its row.
extension API {
  /// What a client may find out before it begins.
  func uploadOptions() -> FrontReply {
    FrontReply(
      204,
      [
        Tus.versions, .init("Tus-Extension", Tus.extensions),
        .init("Tus-Max-Size", String(rules.longest)), .init("Tus-Checksum-Algorithm", Tus.algorithms),
      ])
  }

  // MARK: Creation

  func createUpload(_ request: FrontRequest, _ token: AccessToken) throws -> Answer {
    try Tus.check(request)
    let metadata = request.values("upload-metadata").joined(separator: ",")
    let concat = try Tus.concat(request.field("upload-concat"))
    let item = try item(metadata, token.name, token.role)
    if case .final(let parts)? = concat {
      if !request.values("upload-length").isEmpty {
        throw Problem(
          400, "invalid-length", "an upload that is made of others has the length that they have together")
      }
      // Requests for the same parts come one after the other.
      guard let first = parts.min() else { throw Problem.notFound }
      _ = try record(first, token)
      return .upload(first, .join(parts, metadata: metadata, token))
    }
    let length = try newLength(request)
    if let length, length > rules.longest(item) { throw tooLarge(item) }
    var content: Int64 = 0
    if try Tus.hasContent(request) {
      if case .length(let count) = request.body { content = count }
      if content > length ?? rules.longest(item) { throw tooLarge(item) }
    } else if request.body != .none && request.body != .length(0) {
      throw Self.wrongType
    }
    let checksum = try Tus.checksum(request, isPart: request.body != length.map { .length($0) })
    let record = try begin(length, metadata, request.field("upload-concat"), token)
    let hasContent = try Tus.hasContent(request)
    let created = created(record)
    return makeRow(record) {
      // The row has the times.
      if hasContent || (length == 0 && concat == nil) {
        return .upload(
          record.id, .append(Bytes(offset: 0, checksum: checksum, isNew: true, trace: request.traceparent)))
      }
      return .reply(created)
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

  /// Makes the file; the row is still to be written, with ``makeRow(_:replacing:then:)``.
  ///
  /// - Parameter parts: how many uploads go when this one is there, and so do not count.
  func begin(
    _ length: Int64?, _ metadata: String, _ concat: String?, _ token: AccessToken, replacing parts: Int = 0
  ) throws -> UploadRecord {
    // The ledger has the last word. Until then no file is made for what it would refuse.
    if let limit = limit(token.role),
      try ledger.openUploads(of: UploadOwner(token.name, token.role), at: Clock.now()) >= limit + parts
    {
      throw Problem.tooManyUploads(limit)
    }
    try check(try item(metadata, token.name, token.role), token.role)
    let id = Hexadecimal.text(try SystemRandom.bytes(16))
    try reached { () throws(SystemError) in try uploads.make(id, length: length) }
    return UploadRecord(
      id: id, owner: token.name, role: token.role, length: length, metadata: metadata, concat: concat,
      createdAt: Clock.now(), expiresAt: rules.uploadTime,
      forUser: token.role == .user ? nil : try Tus.metadata(metadata)["senderId"])
  }

  /// How many uploads that are not whole one of this role may have; `nil`: any number.
  private func limit(_ role: AccessToken.Role) -> Int? { role == .user ? Int(rules.uploads) : nil }

  /// Has the row of an upload written whose file is there.
  ///
  /// - Parameter parts: how many uploads go when this one is there, and so do not count.
  func makeRow(
    _ record: UploadRecord, replacing parts: Int = 0, then answer: @escaping @Sendable () -> Answer
  ) -> Answer {
    let (limit, uploads) = (limit(record.role), uploads)
    return .commands([.upload(.begin(record, atMost: limit.map { $0 + parts }))]) { results in
      switch results.first {
      case .done(hasChanged: true): return answer()
      case .refused:
        uploads.delete(record.id)
        return .reply(limit.map(Problem.tooManyUploads)?.reply ?? Problem.away.reply)
      default: return .reply(Problem.away.reply)
      }
    }
  }

  private func created(_ record: UploadRecord) -> FrontReply {
    FrontReply(
      201,
      [
        .init("Location", "/v1/uploads/\(record.id)"),
        .init("Upload-Expires", Self.date(Int((Clock.now() + rules.uploadTime) / 1000))),
      ])
  }

  // MARK: One upload

  /// What is done with an upload, once no other request is at it.
  enum UploadStep: Sendable {
    case look
    case append(Bytes)
    /// A part, as the IETF's draft has it.
    case appendPart(UploadDraft.Part)
    /// All of it, with the request that began it.
    case post(Tus.Checksum?)
    case end
    /// Another upload is made of it and others.
    case join([String], metadata: String, AccessToken)
  }

  /// What a request says of the bytes that it brings.
  struct Bytes: Sendable {
    var offset: Int64
    /// Of the whole upload, where it was left open.
    var length: Int64?
    var checksum: Tus.Checksum?
    /// The upload was begun with the same request.
    var isNew = false
    /// The trace that the request belongs to.
    var trace: String?
  }

  /// An upload of the asker's.
  ///
  /// - Parameter isToEnd: it is to be given up, which administrators may do with any that is not an attachment yet.
  func record(_ id: String, _ token: AccessToken, isToEnd: Bool = false) throws -> UploadRecord {
    guard Tus.isId(id), let record = try ledger.upload(id),
      try isOwn(record, token) || isToEnd && token.role == .admin && record.attachmentId == nil
    else {
      throw Problem.notFound
    }
    if record.attachmentId == nil && record.expiresAt <= Clock.now() {
      throw Problem(410, "expired", "the upload took too long, and was given up", remedy: "begin it anew")
    }
    return record
  }

  /// Who began it may go on with it; and the user for whom a service or an administrator did.
  private func isOwn(_ record: UploadRecord, _ token: AccessToken) throws -> Bool {
    let name = ByteText(token.name)
    if ByteText(record.owner) == name && record.role == token.role { return true }
    guard token.role == .user, record.role != .user else { return false }
    return record.forUser.map(ByteText.init) == name
  }

  func upload(_ id: String, _ route: Route, _ request: FrontRequest, _ token: AccessToken) throws -> Answer {
    let draft = UploadDraft(request, rules)
    if draft == nil { try Tus.check(request) }
    let record = try record(id, token, isToEnd: route == .endUpload)
    try Self.checkCoding(of: request)
    if let draft { return try upload(draft, record, route, request) }
    switch route {
    case .uploadState: return .upload(id, .look)
    case .endUpload: return .upload(id, .end)
    default: break
    }
    guard try Tus.hasContent(request) else { throw Self.wrongType }
    if !record.isOfDraft, case .final? = try Tus.concat(record.concat) {
      throw Problem(403, "final", "an upload that is made of others takes no bytes")
    }
    guard let offset = try Tus.number(request, "upload-offset") else {
      throw Problem(400, "invalid-header", "'Upload-Offset' says where the bytes go")
    }
    var length = try Tus.number(request, "upload-length")
    if let known = record.length {
      if let length, length != known { throw Self.otherLength }
      length = nil
    }
    return .upload(
      id,
      .append(
        Bytes(
          offset: offset, length: length, checksum: try Tus.checksum(request), trace: request.traceparent)))
  }

  /// Does a step. No other request is at this upload meanwhile.
  func take(_ step: UploadStep, _ id: String, _ request: FrontRequest) throws -> Answer {
    guard let record = try ledger.upload(id) else { throw Problem.notFound }
    switch step {
    case .look:
      if let draft = UploadDraft(request, rules) { return try look(record, draft) }
      return try look(record) { Self.state($0, $1, $2) }
    case .end:
      if let attachment = record.attachmentId { throw Self.isAttachment(attachment) }
      let uploads = uploads
      try reached { () throws(SystemError) in try uploads.settle(id) }
      return .commands([.upload(.giveUp(id: id))]) { results in
        switch results.first {
        case .done(hasChanged: true):
          uploads.delete(id)
          return .reply(FrontReply(204))
        // Another request has given it up.
        case .done(hasChanged: false): return .reply(Problem.notFound.reply)
        // Its last byte came first.
        case .takenIn(let report): return .reply(Self.isAttachment(report.outcomes.first?.id ?? "").reply)
        default: return .reply(Problem.away.reply)
        }
      }
    case .join(let parts, let metadata, let token): return try join(parts, request, metadata, token)
    case .post(let checksum): return try store(record, checksum, request)
    case .append(let bytes): return try append(bytes, to: record, request)
    case .appendPart(let part): return try append(part, to: record, request)
    }
  }

  /// - Parameter state: the answer, from the bytes that are there and the attachment that they have become.
  func look(
    _ record: UploadRecord, _ state: @escaping @Sendable (UploadRecord, Int64, String?) -> FrontReply
  ) throws -> Answer {
    let size: Int64
    if record.attachmentId != nil {
      size = record.length ?? 0
    } else {
      let file = try open(record.id)
      size = try uploads.size(file.number).size
      // Its last bytes came, and the one who had them was killed.
      if size == record.length && record.endsWithItsLastByte {
        return try finish(record, size) { .reply(state(record, size, $0)) }
      }
    }
    return .reply(state(record, size, record.attachmentId))
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
    if let concat = record.concat, !record.isOfDraft { fields.append(.init("Upload-Concat", concat)) }
    if let attachment { fields.append(.init("Attachment-Id", attachment)) }
    if attachment == nil { fields.append(.init("Upload-Expires", date(Int(record.expiresAt / 1000)))) }
    return FrontReply(200, fields)
  }

  // MARK: Bytes

  private func append(_ bytes: Bytes, to record: UploadRecord, _ request: FrontRequest) throws -> Answer {
    // Its file may be gone already, once it is an attachment.
    let file = record.attachmentId == nil ? SharedDescriptor(try open(record.id)) : nil
    let size = try file.map { try uploads.size($0.number).size } ?? record.length ?? 0
    if size != bytes.offset {
      throw Problem(
        409, "other-offset", "the upload has \(size) bytes", fields: [.init("Upload-Offset", String(size))])
    }
    let item = try item(record.metadata, record.owner, record.role)
    let longest = rules.longest(item)
    if record.length == nil, let length = bytes.length {
      if length > longest || length < size { throw tooLarge(item) }
      return .commands([.upload(.lengthen(id: record.id, length))]) { results in
        if case .done? = results.first { return .upload(record.id, .append(bytes)) }
        return .reply(Self.otherLength.reply)
      }
    }
    let room = (record.length ?? longest) - size
    if case .length(let count) = request.body, count > 0, record.length == size {
      throw Problem(
        409, "upload-complete", "the upload is whole already, with \(size) bytes",
        fields: [.init("Upload-Offset", String(size))])
    }
    if case .length(let count) = request.body, count > room { throw tooLarge(item) }
    guard let file else { return .reply(taken(record, size, record.attachmentId, bytes.isNew)) }
    if request.body == .none || request.body == .length(0) {
      return try appended(bytes, to: record, Stored(bytes: 0, isWhole: true))
    }
    return try store(record.id, file, from: size, room: room, bytes.checksum) { api, stored in
      try api.appended(bytes, to: record, stored)
    }
  }

  /// Stores the body behind what is there. Until it was compared with its checksum, nothing of it counts.
  func store(
    _ id: String, _ file: SharedDescriptor, from offset: Int64, room: Int64, _ checksum: Tus.Checksum?,
    _ next: @escaping @Sendable (API, Stored) throws -> Answer
  ) throws -> Answer {
    if checksum != nil { try doubt(id, from: offset) }
    return .store(id, StoreOrder(offset: offset, limit: room, digest: checksum?.algorithm), file) {
      api, stored in
      let isRight =
        checksum.map {
          stored.isWhole && stored.error == 0 && (stored.bytes == 0 || stored.digest == $0.digest)
        } ?? true
      if !isRight {
        try api.cut(id, to: offset)
        // What is wrong besides goes first.
        if stored.isWhole && stored.error == 0 && !stored.isTooLong {
          var problem = Self.otherChecksum
          problem.fields = [.init("Upload-Offset", String(offset))]
          throw problem
        }
      } else if checksum != nil {
        try api.trust(id)
      }
      return try next(api, stored)
    }
  }

  static let otherChecksum = Problem(460, "other-checksum", "the bytes are not those of the checksum")

  private func appended(_ bytes: Bytes, to record: UploadRecord, _ stored: Stored) throws -> Answer {
    let offset = bytes.offset
    // Nothing of it counts.
    if stored.isTooLong { try cut(record.id, to: offset) }
    if let problem = try fault(of: stored, record) { throw problem }
    let size = try written(record.id, offset, stored)
    guard size == record.length, record.concat != "partial" else {
      return .reply(taken(record, size, nil, bytes.isNew))
    }
    let reply = taken(record, size, nil, bytes.isNew)
    return try finish(record, size, bytes.trace) { .reply(reply.adding($0)) }
  }

  /// What is wrong with what came; `nil`: nothing.
  func fault(of stored: Stored, _ record: UploadRecord) throws -> Problem? {
    try Self.fault(of: stored, tooLong: tooLarge(try item(record.metadata, record.owner, record.role)))
  }

  static func fault(of stored: Stored, tooLong: @autoclosure () throws -> Problem) rethrows -> Problem? {
    if stored.isTooLong { return try tooLong() }
    if [ENOSPC, EDQUOT, EFBIG].contains(stored.error) { return full }
    if stored.error != 0 { return Problem(500, "fault", "the bytes could not be written") }
    return stored.isWhole ? nil : Problem(400, "cut", "the body ended too early")
  }

  private func taken(
    _ record: UploadRecord, _ size: Int64, _ attachment: String?, _ isNew: Bool
  ) -> FrontReply {
    var reply = isNew ? created(record) : FrontReply(204)
    reply.fields.append(.init("Upload-Offset", String(size)))
    return reply.adding(attachment)
  }

  // MARK: What goes wrong

  func tooLarge(_ item: IntakeItem) -> Problem { Self.tooLarge(rules.longest(item)) }

  static func tooLarge(_ limit: Int64) -> Problem {
    Problem(
      413, "too-large",
      "an upload like this has at most \(limit) bytes here, and not more than it was begun with",
      remedy:
        "'max-size' and 'max-image-size' of 'serve' in the pipeline file say how many; images have their own")
  }

  /// Of an upload that cannot be given up any more.
  private static func isAttachment(_ id: String) -> Problem {
    Problem(
      409, "in-use", "it is the attachment '\(id)' by now, which is made of it",
      remedy: "delete that, at /v1/attachments/\(id)")
  }

  static let full = Problem(
    507, "no-room", "there is no room for it on this server", remedy: "try again later")

  private static let otherLength = Problem(400, "invalid-length", "the length of an upload is said once")

  private static let wrongType = Problem(
    415, "wrong-type", "bytes of an upload come as \(Tus.contentType)")
}

extension FrontReply {
  /// The same, with what has become of the upload.
  fileprivate func adding(_ attachment: String?) -> FrontReply {
    var reply = self
    if let attachment { reply.fields.append(.init("Attachment-Id", attachment)) }
    return reply
  }
}
