import FrontWire
import LedgerPort
import Platform

// Reads of conversations.
extension API {
  func history(
    _ route: Route, _ ids: [String], _ request: FrontRequest, _ token: AccessToken
  ) throws -> FrontReply {
    let user = token.role == .user ? token.name : nil
    if route == .conversations { return try conversations(request, user) }
    if route == .conversation {
      guard let view = try ledger.conversation(ids[0], for: user) else { throw Problem.notFound }
      return Self.json(try text(view, user))
    }
    guard let view = try ledger.membership(of: ids[0], for: user) else { throw Problem.notFound }
    let own = view.member(user)
    switch route {
    case .messages: return try messages(request, view, own)
    case .message, .receipts:
      let number = try Self.number(ids[1])
      guard let message = try ledger.message(number, in: view.conversation, seenBy: own) else {
        throw Problem.notFound
      }
      if route == .message { return Self.json(try text([message], view, own, isForUser: user != nil)[0]) }
      // A former member does not see the other members.
      let receipts = Receipts(of: message, own?.left == nil ? view.members : [])
      return Self.json(
        Self.text { writer in
          for (name, users) in [
            ("of", receipts.members), ("delivered", receipts.delivered), ("read", receipts.read),
          ] {
            writer.key(name)
            writer.array { writer in for user in users { writer.value(user) } }
          }
        })
    default: throw Problem.notFound
    }
  }

  private func conversations(_ request: FrontRequest, _ user: String?) throws -> FrontReply {
    let query = try ListQuery(request, .conversations)
    let page = try marked(query.mark) { () throws(LedgerError) in
      try ledger.conversations(of: user, after: query.mark, limit: query.limit)
    }
    let rows = try page.rows.map { try text($0, user) }
    return Self.json(
      Self.text { writer in
        writer.key("conversations")
        writer.array { writer in for row in rows { writer.raw(row) } }
        writer.member("next", page.next?.text)
      })
  }

  /// A conversation with its last message.
  func text(_ view: ConversationView, _ user: String?) throws -> String {
    let last = try view.last.map { try text([$0], view, view.member(user), isForUser: user != nil)[0] }
    return Self.text { writer in
      view.write(to: &writer, for: user)
      writer.key("last")
      if let last { writer.raw(last) } else { writer.value(nil as String?) }
    }
  }

  /// Messages with their attachments.
  ///
  /// - Parameter own: who asks, as a member.
  func text(
    _ messages: [Message], _ view: ConversationView, _ own: Member?, isForUser: Bool
  ) throws -> [String] {
    let attachments = try ledger.attachments(
      ofMessages: messages.map(\.id), in: view.conversation.id, seenBy: own)
    let uploads =
      own?.left == nil
      ? try ledger.namedUploads(ofMessages: messages.map(\.id), in: view.conversation.id) : [:]
    return messages.map { message in
      Self.text {
        message.write(
          to: &$0, members: own?.left == nil ? view.members : nil, attachments: attachments[message.id] ?? [],
          uploads: uploads[message.id] ?? [], isForUser: isForUser)
      }
    }
  }

  private func messages(_ request: FrontRequest, _ view: ConversationView, _ own: Member?) throws
    -> FrontReply
  {
    let query = try ListQuery(request, .messages)
    let before = try query.number("before", 1...Int64.max)
    let found = try ledger.messages(
      in: view.conversation, seenBy: own, before: before, limit: query.limit + 1)
    let rows = try text(Array(found.prefix(query.limit)), view, own, isForUser: own != nil)
    return Self.json(
      Self.text { writer in
        writer.key("messages")
        writer.array { writer in for row in rows { writer.raw(row) } }
        writer.member("more", found.count > query.limit)
      })
  }

  // MARK: Changes

  private static let usualChanges = 200

  /// The changes since a position; or all conversations.
  func sync(_ request: FrontRequest, _ token: AccessToken) throws -> Answer {
    let query = try ListQuery(request, .sync, most: 1000, usual: Self.usualChanges)
    let user = token.role == .user ? token.name : nil
    let seconds = try query.number("wait", 1...60)
    let now = try ledger.position()
    var since = Position(history: now.history, number: 0)
    if let given = query.values["since"] {
      // The id of an event can lie within an exchange: the answer repeats that exchange.
      guard let place = given == "0" ? since : EventFeed.Mark(given)?.position else {
        throw Self.invalid(
          "since", "is the 'position' of the answer before, or 0 for all; leave it out to begin")
      }
      since = place
    } else if let user {
      return .reply(try whole(now, user))
    }
    let (reply, isEmpty) = try changes(since, user, query.limit)
    guard isEmpty, let seconds else { return .reply(reply) }
    return .wait(seconds: Int(seconds), seen: now) { [since] api, isLast in
      let (reply, isEmpty) = try api.changes(since, user, query.limit)
      return isEmpty && !isLast ? nil : .reply(reply)
    }
  }

  /// The changes since a position, in whole exchanges.
  private func changes(_ since: Position, _ user: String?, _ limit: Int) throws -> (FrontReply, isEmpty: Bool)
  {
    let now = try ledger.position()
    guard since.history == now.history, since.number <= now.number else {
      throw Problem(
        410, "position-gone", "what was recorded after this position is not known any more",
        remedy: "ask without 'since', and take what is told for all that there is")
    }
    let (changes, upTo) = try ledger.changes(
      of: user, after: since.number, upTo: now.number, limit: limit)
    let rows = try changes.map { change in
      // A new member knows nothing of the conversation yet.
      let own = change.view.member(user)
      let isNew = own.map { $0.joinedChange > max(since.number, 1) && $0.joinedChange <= upTo } ?? false
      let told = isNew && since.number > 0 ? change.view.last.map { [$0] } ?? [] : change.messages
      let messages = try text(told, change.view, own, isForUser: user != nil)
      return Self.text { writer in
        change.view.write(to: &writer, for: user, members: isNew ? nil : change.members)
        writer.member("isNew", isNew && since.number > 0)
        writer.key("messages")
        writer.array { writer in for message in messages { writer.raw(message) } }
      }
    }
    let reply = Self.synced(
      Position(history: now.history, number: upTo), upTo < now.number, isWhole: since.number == 0, rows)
    return (reply, rows.isEmpty && upTo == now.number)
  }

  /// All conversations of a user with the last message of each.
  private func whole(_ now: Position, _ user: String) throws -> FrontReply {
    var rows: [String] = []
    var mark: PageMark?
    repeat {
      let page = try ledger.conversations(of: user, after: mark, limit: Self.usualChanges)
      for view in page.rows {
        let last = try view.last.map { try text([$0], view, view.member(user), isForUser: true) } ?? []
        rows.append(
          Self.text { writer in
            view.write(to: &writer, for: user)
            writer.member("isNew", true)
            writer.key("messages")
            writer.array { writer in for message in last { writer.raw(message) } }
          })
      }
      mark = page.next
    } while mark != nil
    return Self.synced(now, false, isWhole: true, rows)
  }

  private static func synced(_ position: Position, _ hasMore: Bool, isWhole: Bool, _ rows: [String])
    -> FrontReply
  {
    json(
      text { writer in
        writer.member("position", position.text)
        writer.member("more", hasMore)
        writer.member("isWhole", isWhole)
        writer.key("conversations")
        writer.array { writer in for row in rows { writer.raw(row) } }
      })
  }
}
