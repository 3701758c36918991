import FrontWire
import LedgerPort
import Platform

// An attachment in one request, for clients that are small.
extension API {
  private static let names = Route.postAttachment.parameters.map(\.name)

  func postAttachment(_ request: FrontRequest, _ token: AccessToken) throws -> Answer {
    var values: [String: String] = [:]
    try Self.add(request.query, to: &values)
    let isForm = Self.isForm(request)
    try Self.checkCoding(of: request)
    if let draft = UploadDraft(request, rules), let isLast = UploadDraft.isLast(request), !isForm {
      return try createUpload(draft, isLast: isLast, values, request, token)
    }
    // A part must not be taken for the whole.
    if UploadDraft.isPart(request) { throw UploadDraft.otherVersion }
    if let type = request.field("content-type"), !isForm { Self.add(type: type, to: &values) }
    let metadata = Tus.header(values)
    let item = try item(metadata, token.name, token.role)
    try Self.checkBody(of: request)
    // What a form says comes with its body.
    let longest = isForm ? rules.longest + Self.formRoom : rules.longest(item)
    if case .length(let count) = request.body, count > longest { throw tooLarge(item) }
    let checksum = try Tus.checksum(request)
    // Its length is left open: only this request can make it whole.
    let record = try begin(nil, metadata, Self.inOneRequest, token)
    return makeRow(record) {
      return .upload(record.id, .post(checksum))
    }
  }

  /// An encoded body would be kept as it is, under the name and type of what it is made of.
  static func checkCoding(of request: FrontRequest) throws {
    if let coding = request.field("content-encoding"), coding.lowercased() != "identity" {
      throw Problem(
        415, "encoded", "the body is the content itself, and 'Content-Encoding' says that it is encoded",
        remedy: "send the bytes as they are, without 'Content-Encoding'")
    }
  }

  /// A content of no bytes is one like others, where its client says so.
  static func checkBody(of request: FrontRequest) throws {
    try checkCoding(of: request)
    if request.body == .none && request.values("content-length").isEmpty {
      throw Problem(
        400, "empty", "the body is the content, and there is none",
        remedy: "a content of no bytes comes with 'Content-Length: 0'")
    }
  }

  /// In the place of `Upload-Concat`: it is sent with the request that begins it, and no other goes on with it.
  static let inOneRequest = "single"

  private static func add(_ pairs: [FrontRequest.Pair], to values: inout [String: String]) throws {
    for pair in pairs {
      guard names.contains(pair.name), values.updateValue(pair.value, forKey: pair.name) == nil else {
        throw Problem(
          400, "no-such-parameter", "there is no parameter '\(pair.name)' here, or it is there twice",
          remedy: "those are \(names.joined(separator: ", "))")
      }
    }
  }

  static func add(type: String, to values: inout [String: String]) {
    if values["filetype"] == nil && !anyType.contains(type) { values["filetype"] = type }
  }

  /// What clients say that know no better.
  static let anyType = ["application/octet-stream", "application/x-www-form-urlencoded"]

  static func isForm(_ request: FrontRequest) -> Bool {
    request.field("content-type")?.lowercased().hasPrefix("multipart/") ?? false
  }

  static let noForm = Problem(
    400, "no-form", "the body is no form with one file (multipart/form-data), or has too much beside it",
    remedy: "with curl: -F file=@report.pdf -F conversationId=c1")

  /// Bytes of a form beside its file.
  static let formRoom = Int64(Form.textLimit * 2)

  func store(_ record: UploadRecord, _ checksum: Tus.Checksum?, _ request: FrontRequest) throws -> Answer {
    let isForm = Self.isForm(request)
    let longest =
      isForm ? rules.longest : rules.longest(try item(record.metadata, record.owner, record.role))
    let file = SharedDescriptor(try open(record.id))
    let order = StoreOrder(offset: 0, limit: longest, digest: checksum?.algorithm, isForm: isForm)
    return .store(record.id, order, file) { api, stored in
      var record = record
      do {
        if isForm { try api.read(stored.form, into: &record) }
        return try api.posted(record, stored, checksum, request.traceparent)
      } catch let problem as Problem {
        return api.uploads.end(record.id, problem)
      }
    }
  }

  /// Adds what a form says to what the query said.
  private func read(_ form: Form, into record: inout UploadRecord) throws {
    var values = try Tus.metadata(record.metadata)
    try Self.add(form.fields, to: &values)
    if let name = form.fileName, !name.isEmpty, values["filename"] == nil { values["filename"] = name }
    if let type = form.contentType { Self.add(type: type, to: &values) }
    record.metadata = Tus.header(values)
  }

  /// The digest of what was stored. Of nothing the process that serves HTTP computes none.
  private static func digest(of stored: Stored, _ algorithm: MessageDigest.Algorithm) throws -> [UInt8] {
    if stored.bytes > 0 || !stored.digest.isEmpty { return stored.digest }
    let digest = try MessageDigest(algorithm)
    digest.begin()
    return digest.finish()
  }

  private func posted(
    _ record: UploadRecord, _ stored: Stored, _ checksum: Tus.Checksum?, _ trace: String?
  ) throws -> Answer {
    if let problem = try fault(of: stored, record) { throw problem }
    if stored.isMalformed {
      throw Self.noForm
    }
    if let checksum, try Self.digest(of: stored, checksum.algorithm) != checksum.digest {
      throw Self.otherChecksum
    }
    let item = try item(record.metadata, record.owner, record.role)
    if stored.bytes > rules.longest(item) { throw tooLarge(item) }
    _ = try written(record.id, 0, stored)
    let uploads = uploads
    let commands: [Command] = [
      .upload(.lengthen(id: record.id, stored.bytes)), .upload(try finishing(record, trace)),
    ]
    return .commands(commands) { results in
      guard results.count == 2, case .takenIn(let report) = results[1] else {
        return .reply(Problem.away.reply)
      }
      if let id = report.outcomes.first?.id { return .reply(Self.accepted(id, 201)) }
      let problem = Problem.refused(report, record.role)
      return uploads.end(record.id, problem)
    }
  }
}
