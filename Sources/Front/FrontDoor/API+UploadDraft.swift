import FrontWire
import LedgerPort
import Pipeline
import Platform

// The uploads of tus in the words of the IETF's draft: begun with a request that would do without it, too.
extension API {
  /// - Parameter values: what the query says of the attachment.
  func createUpload(
    _ draft: UploadDraft, isLast: Bool, _ values: [String: String], _ request: FrontRequest,
    _ token: AccessToken
  ) throws -> Answer {
    var values = values
    if values["filename"] == nil, let name = UploadDraft.fileName(request) { values["filename"] = name }
    if let type = request.field("content-type") { Self.add(type: type, to: &values) }
    let metadata = Tus.header(values)
    let item = try item(metadata, token.name, token.role)
    try refuse(["upload-offset"], request)
    let length = try UploadDraft.length(request, from: 0, isLast: isLast)
    if let length, length > rules.longest(item) { throw tooLarge(item) }
    try check(request.body, room: length ?? rules.longest(item), of: length, item)
    // That of the representation is of the whole upload.
    let checksum = try Tus.checksum(request, isPart: !isLast)
    let record = try begin(length, metadata, UploadDraft.mark, token)
    let place = FrontReply(
      104,
      [
        Self.place(record), .init("Upload-Draft-Interop-Version", String(draft.version)),
        draft.limits(rules.longest(item), left: rules.uploadTime),
      ])
    return makeRow(record) {
      let next = Answer.upload(
        record.id,
        .appendPart(
          UploadDraft.Part(
            offset: 0, isLast: isLast, isNew: true, checksum: checksum, trace: request.traceparent)))
      // The answer has it as well; what comes before it is for bodies that may be cut.
      return request.hasBody ? .inform(place, next) : next
    }
  }

  private static func place(_ record: UploadRecord) -> FrontRequest.Pair {
    .init("Location", "/v1/uploads/\(record.id)")
  }

  private func refuse(_ names: [String], _ request: FrontRequest) throws(Problem) {
    for name in names where !request.values(name).isEmpty {
      throw Problem(400, "invalid-header", "'\(name)' has no place in this request")
    }
  }

  private func check(
    _ body: FrontRequest.Body, room: Int64, of length: Int64?, _ item: IntakeItem
  ) throws(Problem) {
    if case .length(let count) = body, count > room {
      throw length == nil ? tooLarge(item) : UploadDraft.otherLength
    }
  }

  // MARK: One upload

  func upload(
    _ draft: UploadDraft, _ record: UploadRecord, _ route: Route, _ request: FrontRequest
  ) throws -> Answer {
    guard record.isOfDraft || record.concat == nil else {
      throw Problem(403, "final", "an upload that is made of others, or a part of one, is for tus alone")
    }
    switch route {
    case .uploadState:
      try refuse(["upload-offset", "upload-complete", "upload-length"], request)
      return .upload(record.id, .look)
    case .endUpload:
      try refuse(["upload-offset", "upload-complete"], request)
      return .upload(record.id, .end)
    default: break
    }
    guard request.field("content-type")?.lowercased() == UploadDraft.contentType else {
      throw UploadDraft.wrongType
    }
    guard let offset = UploadDraft.integer(request, "upload-offset") else {
      throw Problem(400, "invalid-header", "'Upload-Offset' says where the bytes go")
    }
    let part = UploadDraft.Part(
      offset: offset, isLast: UploadDraft.isLast(request) ?? false, checksum: try Tus.checksum(request),
      trace: request.traceparent)
    return .upload(record.id, .appendPart(part))
  }

  func look(_ record: UploadRecord, _ draft: UploadDraft) throws -> Answer {
    let longest = rules.longest(try item(record.metadata, record.owner, record.role))
    let limits = draft.limits(longest, left: record.expiresAt - Clock.now())
    return try look(record) { record, size, attachment in
      var fields: [FrontRequest.Pair] = [
        .init("Cache-Control", "no-store"), .init("Upload-Offset", String(size)),
        UploadDraft.isComplete(attachment != nil), limits,
      ]
      if let length = record.length { fields.append(.init("Upload-Length", String(length))) }
      if let attachment { fields.append(.init("Attachment-Id", attachment)) }
      return FrontReply(204, fields)
    }
  }

  // MARK: Bytes

  func append(_ part: UploadDraft.Part, to record: UploadRecord, _ request: FrontRequest) throws -> Answer {
    if record.attachmentId != nil { throw UploadDraft.completed }
    let file = SharedDescriptor(try open(record.id))
    let size = try uploads.size(file.number).size
    if size != part.offset { throw UploadDraft.otherOffset(part.offset, size) }
    let item = try item(record.metadata, record.owner, record.role)
    let longest = rules.longest(item)
    if let length = try UploadDraft.length(request, from: size, isLast: part.isLast),
      length != record.length
    {
      if record.length != nil || length < size { throw UploadDraft.otherLength }
      if length > longest { throw tooLarge(item) }
      return .commands([.upload(.lengthen(id: record.id, length))]) { results in
        if case .done? = results.first { return .upload(record.id, .appendPart(part)) }
        return .reply(UploadDraft.otherLength.reply)
      }
    }
    let room = (record.length ?? longest) - size
    try check(request.body, room: room, of: record.length, item)
    guard request.hasBody else { return try appended(part, to: record, Stored(bytes: 0, isWhole: true)) }
    return try store(record.id, file, from: size, room: room, part.checksum) { api, stored in
      try api.appended(part, to: record, stored)
    }
  }

  private func appended(
    _ part: UploadDraft.Part, to record: UploadRecord, _ stored: Stored
  ) throws -> Answer {
    if stored.isTooLong {
      try cut(record.id, to: part.offset)
      if record.length != nil { throw UploadDraft.otherLength }
    }
    if let problem = try fault(of: stored, record) { throw problem }
    let size = part.offset + stored.bytes
    let place = part.isNew ? [Self.place(record)] : []
    let offset = FrontRequest.Pair("Upload-Offset", String(size))
    guard part.isLast || (size == record.length && record.endsWithItsLastByte) else {
      return .reply(FrontReply(201, place + [offset, UploadDraft.isComplete(false)]))
    }
    if let length = record.length, length != size { throw UploadDraft.otherLength }
    return try finish(record, size, part.trace) { attachment in
      guard let attachment else { return .reply(Problem.away.reply) }
      var reply = Self.accepted(attachment, 201)
      // The place of the upload is that of all answers to the request, also of those before this one.
      reply.fields.removeAll { $0.name == "Location" }
      reply.fields += place + [offset, UploadDraft.isComplete(true), .init("Attachment-Id", attachment)]
      return .reply(reply)
    }
  }
}

extension FrontRequest {
  /// Whether bytes follow.
  fileprivate var hasBody: Bool { body != .none && body != .length(0) }
}
