import Platform

// Conversations as JSON, for answers over HTTP and for events.

extension ConversationView {
  /// Writes its members.
  ///
  /// - Parameters:
  ///   - user: the reader, for its own settings and its unread messages. `nil`: the product, or all members together.
  ///   - changed: the members to write; `nil`: all.
  public func write(to writer: inout JSONWriter, for user: String?, members changed: [Member]? = nil) {
    let own = user.flatMap { user in members.first { $0.user.utf8.elementsEqual(user.utf8) } }
    writer.member("id", conversation.id)
    writer.member("kind", conversation.kind.rawValue)
    let left = own?.left
    // A former member sees no later name and no other member.
    writer.member("name", left.map { $0.change < conversation.described } == true ? nil : conversation.name)
    writer.member("history", conversation.history.rawValue)
    // In seconds, as in requests.
    writer.member("expireAfter", conversation.expireAfter.map { $0 / 1000 })
    writer.member("createdAt", Clock.timestamp(conversation.createdAt))
    writer.member("lastNumber", min(conversation.lastNumber, own?.leftNumber ?? .max))
    writer.key("members")
    writer.array { writer in
      for member in changed ?? members
      where left == nil || member.user.utf8.elementsEqual(own?.user.utf8 ?? "".utf8) {
        writer.object { member.write(to: &$0) }
      }
    }
    guard let own else { return }
    writer.member("unread", unread)
    writer.member("mutedUntil", own.mutedUntil.map(Clock.timestamp))
    writer.member("urgentBreaksMute", own.urgentBreaksMute)
    writer.member("firstNumber", own.firstNumber)
  }
}

extension Member {
  /// Writes its members, without the settings of the member.
  public func write(to writer: inout JSONWriter) {
    writer.member("user", user)
    writer.member("name", name)
    writer.member("role", role.rawValue)
    writer.member("joinedNumber", joinedNumber)
    writer.member("leftNumber", leftNumber)
    writer.member("deliveredNumber", deliveredNumber)
    writer.member("readNumber", readNumber)
  }
}

extension Message {
  /// Writes its members.
  ///
  /// - Parameters:
  ///   - members: the members of its conversation, for the receipts; `nil`: without receipts.
  ///   - attachments: `nil`: without attachments.
  ///   - uploads: its unfinished uploads.
  ///   - isForUser: for a member, and not for an operator of the server.
  public func write(
    to writer: inout JSONWriter, members: [Member]? = nil, attachments: [AttachmentRecord]? = nil,
    uploads: [NamedUpload] = [], isForUser: Bool = true
  ) {
    writer.member("conversationId", conversationId)
    writer.member("number", number)
    writer.member("id", id)
    writer.member("clientId", clientId)
    writer.member("senderId", senderId)
    writer.member("text", text)
    writer.member("replyTo", replyTo)
    writer.member("urgent", isUrgent)
    writer.member("createdAt", Clock.timestamp(createdAt))
    writer.member("editedAt", editedAt.map(Clock.timestamp))
    writer.member("deletedAt", deletedAt.map(Clock.timestamp))
    writer.member("expiresAt", expiresAt.map(Clock.timestamp))
    if let attachments {
      writer.key("attachments")
      writer.array { writer in
        for one in attachments { writer.object { one.write(to: &$0, isForUser: isForUser) } }
      }
    }
    if !uploads.isEmpty {
      writer.key("uploads")
      writer.array { writer in
        for upload in uploads {
          writer.object {
            $0.member("id", upload.id)
            $0.member("fileName", upload.fileName)
            $0.member("length", upload.length)
          }
        }
      }
    }
    guard let members else { return }
    let receipts = Receipts(of: self, members)
    writer.member("status", MessageStatus(receipts, attachments ?? []).rawValue)
    writer.key("receipts")
    writer.object { receipts.write(to: &$0) }
  }
}

/// An unfinished upload of a message, as the members of the conversation see it.
public struct NamedUpload: Sendable {
  public var id: String
  public var fileName: String?
  /// In bytes; `nil`: the client says it later.
  public var length: Int64?

  public init(id: String, fileName: String?, length: Int64?) {
    (self.id, self.fileName, self.length) = (id, fileName, length)
  }
}

/// How far a message is, in one word for clients.
public enum MessageStatus: String, Sendable, CaseIterable {
  /// On record.
  case sent
  /// Delivered to all recipients.
  case delivered
  /// Read by all recipients.
  case read
  /// An attachment ended without being completed.
  case failed

  init(_ receipts: Receipts, _ attachments: [AttachmentRecord]) {
    let count = receipts.members.count
    if attachments.contains(where: { $0.outcome.status.isFinal && $0.outcome.status != .completed }) {
      self = .failed
    } else if count > 0 && receipts.read.count == count {
      self = .read
    } else {
      self = count > 0 && receipts.delivered.count == count ? .delivered : .sent
    }
  }
}

/// The recipients of a message by their progress.
public struct Receipts: Sendable, Equatable {
  public var delivered: [String] = []
  public var read: [String] = []
  /// All of them.
  public var members: [String] = []

  public init(of message: Message, _ members: [Member]) {
    for member in members where member.isAddressed(by: message) {
      self.members.append(member.user)
      if member.deliveredNumber >= message.number { delivered.append(member.user) }
      if member.readNumber >= message.number { read.append(member.user) }
    }
  }

  fileprivate func write(to writer: inout JSONWriter) {
    writer.member("of", Int64(members.count))
    writer.member("delivered", Int64(delivered.count))
    writer.member("read", Int64(read.count))
  }
}

extension SearchHit.Excerpt {
  /// Writes an object.
  public func write(to writer: inout JSONWriter) {
    writer.object { writer in
      writer.member("field", field.rawValue)
      writer.key("parts")
      writer.array { writer in
        for part in parts {
          writer.object { writer in
            writer.member("text", part.text)
            writer.member("isMatch", part.isMatch)
          }
        }
      }
    }
  }
}
