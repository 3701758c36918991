import LedgerPort
import Manifest
import Platform

// Attachments that a new message names.
extension API {
  /// The attachments that the body of a message names. A repeated message is answered whatever it names, so that an asker without the
  /// right gets its refusal from the rules.
  func named(_ given: BodyMembers, in conversation: String, _ token: AccessToken) throws -> NamedAttachments {
    var named = NamedAttachments(
      ids: try given.texts("attachments") ?? [], uploads: try given.texts("uploads") ?? [])
    let links = try given.texts("links") ?? []
    if named.count + links.count > NamedAttachments.most {
      throw Problem(
        400, "invalid-body", "in the body: a message names at most \(NamedAttachments.most) attachments")
    }
    if !links.isEmpty && token.role == .user && rules.uploadsBy == .services { throw Problem.prepared }
    named.links = try links.map { try item($0, token) }
    named.refusal = try refusal(of: named, in: conversation, token)
    return named
  }

  private func refusal(
    of named: NamedAttachments, in conversation: String, _ token: AccessToken
  ) throws -> ConversationResult.Refusal? {
    if !named.links.isEmpty && !fetches { return .conflict("the pipeline fetches no links") }
    for id in named.ids where try found({ try record(id, .attachment, token) }) == nil {
      return .invalid("attachments", "has an id that is no attachment of yours: '\(PrintableText.of(id))'")
    }
    for id in named.uploads {
      guard let upload = try found({ try record(id, token) }) else {
        return .invalid("uploads", "has an id that is no upload of yours: '\(PrintableText.of(id))'")
      }
      // A service may have prepared it for others.
      let place = try Tus.metadata(upload.metadata)
      let isElsewhere = place["conversationId"].map { ByteText($0) != ByteText(conversation) } ?? false
      if upload.attachmentId == nil, isElsewhere || place["messageId"] != nil || place["participants"] != nil
      {
        return .conflict("the upload '\(id)' was begun for another message")
      }
    }
    return nil
  }

  /// - Returns: `nil`: it is not there, or not the asker's to know of.
  private func found<Record>(_ find: () throws -> Record) throws -> Record? {
    do { return try find() } catch is Problem { return nil }
  }

  private func item(_ link: String, _ token: AccessToken) throws -> IntakeItem {
    var defaults = IntakeDefaults()
    (defaults.senderId, defaults.participants) = (token.name, [token.name])
    let line = Self.text { $0.member("url", link) }
    switch lines.read(Array(line.utf8)[...], "the body", defaults) {
    case .success(var item):
      if let fault = item.fault { throw Problem(400, "invalid-body", "in the body: 'links': \(fault)") }
      // The content that the link of a user brings is not shared with others.
      if token.role == .user { item.linkScope = token.name }
      if prefetches { item.priority = TransferPriority.asked }
      return item
    case .failure(let problem):
      throw Problem(400, "invalid-body", "in the body: 'links': \(problem.message)")
    }
  }
}

extension LedgerQueries {
  /// The unfinished uploads of messages, by the id of the message.
  func namedUploads(ofMessages ids: [String], in conversation: String) throws(LedgerError)
    -> [String: [NamedUpload]]
  {
    try uploads(ofMessages: ids, in: conversation, at: Clock.now()).mapValues { records in
      records.map { record in
        let metadata = (try? Tus.metadata(record.metadata)) ?? [:]
        return NamedUpload(
          id: record.id, fileName: metadata["filename"] ?? metadata["name"], length: record.length)
      }
    }
  }
}
