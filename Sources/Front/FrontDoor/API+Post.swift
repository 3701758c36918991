import FrontWire
import Ledger
import Platform

// An attachment in one request, for clients that are small.
extension API {
  private static let names = [
    "filename", "filetype", "conversationId", "messageId", "reference", "senderId", "participants",
  ]

  func postAttachment(_ request: FrontRequest, _ token: AccessToken) throws -> Answer {
    var values: [String: String] = [:]
    for pair in request.query {
      guard Self.names.contains(pair.name), values.updateValue(pair.value, forKey: pair.name) == nil else {
        throw Problem(
          400, "no-such-parameter", "there is no parameter '\(pair.name)' here, or it is there twice",
          remedy: "those are \(Self.names.joined(separator: ", "))")
      }
    }
    if let type = request.field("content-type"), values["filetype"] == nil {
      if type.hasPrefix("multipart/") {
        throw Problem(
          415, "wrong-type", "the body is the content itself", remedy: "with curl, use --data-binary @FILE")
      }
      if !Self.anyType.contains(type) { values["filetype"] = type }
    }
    let metadata = Tus.header(values)
    let item = try item(metadata, token.name, token.role)
    if request.body == .none { throw Problem(400, "empty", "the body is the content, and there is none") }
    if case .length(let count) = request.body, count > rules.longest(item) { throw tooLarge(item) }
    // Its length is left open: only this request can make it whole.
    let record = try begin(nil, metadata, nil, token)
    return .commands([.upload(.begin(record))]) { results in
      guard results.first == .done(hasChanged: true) else { return .reply(Problem.away.reply) }
      return .upload(record.id, .post)
    }
  }

  /// What clients say that know no better.
  private static let anyType = ["application/octet-stream", "application/x-www-form-urlencoded"]

  func store(_ record: UploadRecord) throws -> Answer {
    let longest = rules.longest(try item(record.metadata, record.owner, record.role))
    let file = SharedDescriptor(try open(record.id))
    return .store(record.id, StoreOrder(offset: 0, limit: longest), file) { api, stored in
      try api.posted(record, stored)
    }
  }

  private func posted(_ record: UploadRecord, _ stored: Stored) throws -> Answer {
    if let problem = try fault(of: stored, record) {
      return .commands([.upload(.end(id: record.id))]) { _ in .reply(problem.reply) }
    }
    let commands: [Command] = [
      .upload(.lengthen(id: record.id, stored.bytes)), .upload(try finishing(record)),
    ]
    return .commands(commands) { results in
      guard results.count == 2, case .takenIn(let report) = results[1] else {
        return .reply(Problem.away.reply)
      }
      if let id = report.outcomes.first?.id { return .reply(Self.accepted(id, 201)) }
      let problem = Problem(422, "refused", report.problems.first?.message ?? "it cannot be taken in")
      return .commands([.upload(.end(id: record.id))]) { _ in .reply(problem.reply) }
    }
  }
}
