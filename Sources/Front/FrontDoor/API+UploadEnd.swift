import FrontWire
import LedgerPort
import Platform

// An upload that is whole becomes an attachment.
extension API {
  /// Makes the attachment. Repeated, it is the same.
  ///
  /// - Parameter trace: that of the request that brought the last bytes.
  func finish(
    _ record: UploadRecord, _ size: Int64, _ trace: String? = nil,
    then answer: @escaping @Sendable (_ attachment: String?) -> Answer
  ) throws -> Answer {
    // Its length may have been left open to the end.
    let uploads = uploads
    let length: [Command] = record.length == nil ? [.upload(.lengthen(id: record.id, size))] : []
    return .commands(length + [.upload(try finishing(record, trace))]) { results in
      guard case .takenIn(let report)? = results.last else { return .reply(Problem.away.reply) }
      if let id = report.outcomes.first?.id { return answer(id) }
      // Nothing makes it another, so that it would only be in the way.
      let problem = Problem.refused(report, record.role)
      return uploads.end(record.id, problem)
    }
  }

  /// The command that takes in an upload that is whole.
  func finishing(_ record: UploadRecord, _ trace: String? = nil) throws -> UploadCommand {
    var item = try item(record.metadata, record.owner, record.role)
    let file = try open(record.id)
    item.source = try uploads.absolutePath(of: record.id)
    item.traceparent = trace
    (item.sourceSize, item.sourceModified) = try uploads.size(file.number)
    return .finish(id: record.id, item)
  }

  /// What an upload is to be taken in as.
  func item(_ header: String, _ owner: String, _ role: AccessToken.Role) throws -> IntakeItem {
    // A browser that does not know the type of a file sends an empty one.
    let values = try Tus.metadata(header).filter { !$0.value.isEmpty }
    var item = IntakeItem()
    item.conversationId = values["conversationId"] ?? "default"
    // No user can leave files under the id of a later conversation of others.
    item.isOfMember = rules.messages && role == .user && values["conversationId"] != nil
    item.isOfUser = role == .user
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
        (item.participants, item.checksParticipants) = (names, true)
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
}

extension UploadsFolder {
  /// Forgets an upload that is of no use. Its file is gone once that is told: the coordinator may be killed before it deletes it.
  func end(_ id: String, _ problem: Problem) -> API.Answer {
    .commands([.upload(.end(id: id))]) { results in
      if results.first == .done(hasChanged: true) { delete(id) }
      return .reply(problem.reply)
    }
  }
}
