import LedgerPort
import LedgerRules
import Platform

extension ModelReader {
  package func conversation(_ id: String, for user: String?) -> ConversationView? {
    rows.conversations.values.first { ByteText($0.row.id) == ByteText(id) }.flatMap {
      view($0.row, for: user)
    }
  }

  package func membership(of id: String, for user: String?) -> ConversationView? {
    guard var view = conversation(id, for: user) else { return nil }
    (view.unread, view.last) = (0, nil)
    return view
  }

  package func conversations(of user: String?, after mark: PageMark?, limit: Int) -> Page<ConversationView> {
    let first = mark.flatMap { Int64($0.text) } ?? 0
    let views = own(user).filter { $0.key > first }.prefix(limit).compactMap { view($0, for: user) }
    return Page(
      views, next: views.count < limit ? nil : views.last.map { PageMark("\($0.conversation.key)") })
  }

  /// The conversations of a user, or all, in order.
  private func own(_ user: String?) -> [Conversation] {
    rows.conversations.values.filter { one in user.map { one.members[ByteText($0)] != nil } ?? true }
      .map(\.row).sorted { $0.key < $1.key }
  }

  private func view(_ conversation: Conversation, for user: String?) -> ConversationView? {
    let members = rows.members(of: conversation.key)
    let own = user.flatMap { user in members.first { ByteText($0.user) == ByteText(user) } }
    if user != nil && own == nil { return nil }
    let unread = own.map { own in
      rows.written(in: conversation.id).count {
        own.isAddressed(by: $0) && $0.number > own.readNumber && $0.deletedAt == nil
      }
    }
    return ConversationView(
      conversation, members: members, unread: Int64(unread ?? 0),
      last: messages(in: conversation, seenBy: own, before: nil, limit: 1).first)
  }

  package func message(writtenAs clientId: String, by sender: String) -> Message? {
    rows.messages.values.lazy.compactMap(\.written).first {
      $0.clientId.map(ByteText.init) == ByteText(clientId) && ByteText($0.senderId) == ByteText(sender)
    }
  }

  package func messages(in conversation: Conversation, seenBy member: Member?, before: Int64?, limit: Int)
    -> [Message]
  {
    let seen = rows.written(in: conversation.id).filter {
      member?.sees($0.number) != false && $0.number < before ?? .max
    }
    return Array(seen.reversed().prefix(limit)).map { self.seen($0, by: member) }
  }

  /// Who has left sees it as it was then.
  private func seen(_ message: Message, by member: Member?) -> Message {
    guard let time = member?.left?.time, message.editedAt ?? 0 > time else { return message }
    var message = message
    let versions = rows.messages[.init(conversation: message.conversationId, message: message.id)]?.versions
    message.editedAt = versions?.last { $0.until <= time }?.until
    if message.deletedAt == nil { message.text = versions?.first { $0.until > time }?.text }
    return message
  }

  package func message(_ number: Int64, in conversation: Conversation, seenBy member: Member?) -> Message? {
    rows.written(in: conversation.id).first { $0.number == number && member?.sees(number) != false }
      .map { seen($0, by: member) }
  }

  package func attachments(
    ofMessages ids: [String], in conversation: String, seenBy member: Member?
  ) -> [String: [AttachmentRecord]] {
    var found: [String: [AttachmentRecord]] = [:]
    for id in ids {
      let keys = rows.attachments.filter {
        $0.value.origin.conversationId == conversation && $0.value.origin.messageId == id
          && $0.value.parent == nil && $0.value.createdAt <= member?.left?.time ?? .max
      }.keys.sorted()
      if keys.isEmpty { continue }
      found[id] = keys.compactMap { key in
        rows.attachments[key].map { record($0, key) }
      }
    }
    return found
  }

  package func changes(of user: String?, after: Int64, upTo: Int64, limit: Int) -> (
    changes: [ConversationChange], upTo: Int64
  ) {
    let touched = own(user).filter { $0.changed > after }
    let numbers = touched.flatMap { rows.written(in: $0.id) }.map(\.changed)
      .filter { $0 > after && $0 <= upTo }.sorted()
    let last = numbers.count > limit ? max(numbers[limit] - 1, numbers[0]) : upTo
    return (touched.compactMap { change(in: $0, for: user, after: after, upTo: last) }, last)
  }

  package func changes(in conversation: String, at number: Int64) -> ConversationChange? {
    rows.conversations.values.first { $0.row.id == conversation }.flatMap {
      change(in: $0.row, for: nil, after: number - 1, upTo: number)
    }
  }

  private func change(in conversation: Conversation, for user: String?, after: Int64, upTo: Int64)
    -> ConversationChange?
  {
    guard let view = view(conversation, for: user) else { return nil }
    func isNew(_ number: Int64) -> Bool { number > after && number <= upTo }
    let own = user.flatMap { user in view.members.first { ByteText($0.user) == ByteText(user) } }
    let members = view.members.filter { isNew($0.changed) }
    let visible = rows.written(in: conversation.id).filter { own?.sees($0.number) != false }
    var messages: [Message] = []
    for message in visible {
      var changed = message.changed
      if let left = own?.left, message.deletedAt == nil { changed = min(changed, left.change) }
      if isNew(changed) { messages.append(seen(message, by: own)) }
    }
    if let left = own?.left, left.change < after {
      return messages.isEmpty ? nil : ConversationChange(view, members: [], messages: messages)
    }
    let isConfigured =
      own.map { isNew($0.configured) || isNew($0.joinedChange) }
      ?? view.members.contains { isNew($0.configured) }
    if members.isEmpty && messages.isEmpty && !isNew(conversation.described) && !isConfigured { return nil }
    return ConversationChange(view, members: members, messages: messages)
  }
}

// Expiry, companions, and the uploads of messages.
extension ModelReader {
  package func companions(of user: String) throws(LedgerError) -> [String] {
    let id = ByteText(user)
    let shared = rows.conversations.values.filter { $0.members[id]?.isPresent == true }
    let all = shared.flatMap { $0.members.filter { $0.value.isPresent && $0.key != id }.keys }
    return Set(all).sorted().map(\.text)
  }

  package func expiredMessages(at now: Int64, limit: Int) throws(LedgerError) -> [Message] {
    let all = rows.messages.values.compactMap(\.written).filter {
      $0.deletedAt == nil && ($0.expiresAt ?? .max) <= now
    }
    return Array(all.sorted { ($0.expiresAt ?? 0) < ($1.expiresAt ?? 0) }.prefix(limit))
  }

  package func uploads(
    ofMessages ids: [String], in conversation: String, at now: Int64
  ) throws(LedgerError) -> [String: [UploadRecord]] {
    let open = rows.openUploads(of: nil, at: now).sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
    return Dictionary(
      grouping: open.filter {
        $0.message?.conversationId == conversation && ids.contains($0.message?.messageId ?? "")
      }
    ) { $0.message?.messageId ?? "" }
  }
}
