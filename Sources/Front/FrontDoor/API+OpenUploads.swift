import FrontWire
import LedgerPort
import Platform

// Uploads that are not whole, for clients that have lost an answer, and for those who operate the server.
extension API {
  /// A user sees its own uploads and the uploads for it by a service; a service sees all uploads with their owners.
  func openUploads(_ request: FrontRequest, _ token: AccessToken) throws -> FrontReply {
    let query = try ListQuery(request, .uploads)
    if let mark = query.mark, !Tus.isId(mark.text) { throw Self.noMark }
    let isUser = token.role == .user
    let owner = isUser ? UploadOwner(token.name, token.role) : nil
    let page = try ledger.openUploads(of: owner, at: Clock.now(), after: query.mark, limit: query.limit)
    return Self.page("uploads", page) { write($0, withOwner: !isUser, to: &$1) }
  }

  private func write(_ record: UploadRecord, withOwner: Bool, to writer: inout JSONWriter) {
    // What is on record was read before.
    let metadata = (try? Tus.metadata(record.metadata)) ?? [:]
    writer.member("id", record.id)
    writer.member("url", (rules.publicURL ?? "") + "/v1/uploads/\(record.id)")
    writer.member("fileName", metadata["filename"] ?? metadata["name"])
    writer.member("conversationId", record.message?.conversationId ?? metadata["conversationId"])
    // Those that came with a checksum which they were not compared with may be taken back.
    writer.member("offset", uploads.size(record.id) ?? 0)
    writer.member("length", record.length)
    writer.member("createdAt", Clock.timestamp(record.createdAt))
    writer.member("expiresAt", Clock.timestamp(record.expiresAt))
    guard withOwner else { return }
    writer.member("owner", record.owner)
    writer.member("role", record.role.rawValue)
  }
}
