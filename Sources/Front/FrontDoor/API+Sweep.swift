import LedgerPort
import Objects
import Platform

// What is left of uploads that no client goes on with.
extension API {
  private static let sweepPage = 500
  /// Milliseconds for which a file without a row is left alone: its row may be on the way.
  private static let strayTime: Int64 = 3_600_000
  /// Milliseconds that the row of one that is sent in a single request may be there before its first byte comes.
  private static let loneTime: Int64 = 60_000

  /// Deletes files of uploads that are not needed, and says what is to become of the others: those that took too long are given up,
  /// and those that are whole are taken in.
  ///
  /// - Parameters:
  ///   - begun: when this coordinator began, in milliseconds since 1970: no request of it is at what is older.
  ///   - isUsed: whether a request is at the upload: it is left alone.
  func sweepUploads(begun: Int64, isUsed: (String) -> Bool) throws -> [Command] {
    var commands: [Command] = []
    var mark: PageMark?
    repeat {
      let page = try ledger.uploads(after: mark, limit: Self.sweepPage)
      for record in page.rows where !isUsed(record.id) {
        if let command = try sweep(record) { commands.append(.upload(command)) }
      }
      mark = page.next
    } while mark != nil
    let files = UploadFiles(home)
    for id in try files.unneeded(ledger, before: max(begun, Clock.now() - Self.strayTime)) {
      files.delete(id)
    }
    return commands
  }

  /// Deletes messages whose time is over.
  func sweepMessages() throws(LedgerError) -> [Command] {
    try ledger.expiredMessages(at: Clock.now(), limit: Self.sweepPage).map {
      .conversation(ConversationCommand($0.conversationId, .service("expiry"), .delete($0.number)))
    }
  }

  private func sweep(_ record: UploadRecord) throws -> UploadCommand? {
    let now = Clock.now()
    // The request that sent it is gone, and no other can go on with it.
    let isLost = record.concat == Self.inOneRequest && record.createdAt < now - Self.loneTime
    let isOver = record.expiresAt <= now || (isLost && record.attachmentId == nil)
    guard let attachment = record.attachmentId else {
      if isOver {
        try uploads.settle(record.id)
        return .end(id: record.id)
      }
      // Its last bytes came, and the one who had them was killed.
      guard let length = record.length, record.endsWithItsLastByte, uploads.size(record.id) == length,
        !uploads.isDoubted(record.id)
      else {
        return nil
      }
      return try finishing(record)
    }
    switch try ledger.attachments(idPrefix: attachment).first?.outcome.status {
    // It may be tried again, from this file.
    case .queued, .rejected, .failed, .quarantined, .cancelled: return nil
    case .completed: if !isOver { uploads.delete(record.id) }
    case nil: break
    }
    return isOver ? .end(id: record.id) : nil
  }
}
