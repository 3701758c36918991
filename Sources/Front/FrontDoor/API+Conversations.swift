import FrontWire
import LedgerPort
import Platform

// Changes of conversations. The rules check the rights, in the transaction of the change.
extension API {
  /// Bytes of a body, which comes in one frame: the longest text fits, unless most of its characters are escaped.
  private static let messageLimit = FrontReply.bodyLimit

  func converse(
    _ route: Route, _ ids: [String], _ request: FrontRequest, _ token: AccessToken
  ) throws -> Answer {
    let isOfServices = [.beginConversation, .renameConversation, .addMember, .removeMember].contains(route)
    if isOfServices && token.role == .user && rules.conversationsBy == .services { throw Problem.owned }
    if route == .removeMember {
      return Self.done(ConversationCommand(ids[0], Self.author(token, nil), .remove(ids[1])))
    }
    if route == .deleteMessage {
      let number = try Self.number(ids[1])
      return Self.done(ConversationCommand(ids[0], Self.author(token, nil), .delete(number)))
    }
    try Self.requireJSON(request)
    return .body(limit: Self.messageLimit) { api, bytes in try api.converse(route, ids, bytes, token) }
  }

  static func requireJSON(_ request: FrontRequest) throws(Problem) {
    let type = request.field("content-type")?.split(separator: ";").first?.lowercased()
    if type == "application/json" { return }
    throw Problem(415, "wrong-type", "the body is JSON, with 'Content-Type: application/json'")
  }

  private func converse(
    _ route: Route, _ ids: [String], _ body: [UInt8], _ token: AccessToken
  ) throws -> Answer {
    func members(_ names: String...) throws(Problem) -> BodyMembers {
      try BodyMembers(body, names, parser)
    }
    switch route {
    case .beginConversation:
      return try begin(try members("kind", "members", "name", "history", "id"), token)
    case .renameConversation:
      let given = try members("name", "expireAfter")
      if given.has("name") == given.has("expireAfter") {
        throw Problem(
          400, "invalid-body", "in the body: one of 'name' and 'expireAfter' has to be said, and not both")
      }
      let action: ConversationCommand.Action =
        given.has("name")
        ? .rename(try given.text("name"))
        : .expire(
          after: try given.number("expireAfter", least: 5).map {
            min($0, Conversation.expiries.upperBound) * 1000
          })
      return Self.done(ConversationCommand(ids[0], Self.author(token, nil), action))
    case .addMember:
      let role: Member.Role? = try members("role").choice("role")
      return Self.done(
        ConversationCommand(ids[0], Self.author(token, nil), .add(ids[1], role)))
    case .writeMessage:
      let given = try members(
        "text", "replyTo", "urgent", "senderId", "expiresAt", "attachments", "uploads", "links")
      let sender = try sender(given, token)
      return Self.written(
        ConversationCommand(
          ids[0], Self.author(token, sender),
          .write(
            id: newIds.next(), clientId: ids[1], text: try given.text("text"),
            replyTo: try given.number("replyTo", least: 1), isUrgent: try given.boolean("urgent") ?? false,
            expiresAt: try given.time("expiresAt"),
            try named(given, in: ids[0], token))))
    case .editMessage:
      let given = try members("text")
      let text = try given.required("text", try given.text("text"))
      let number = try Self.number(ids[1])
      return Self.done(ConversationCommand(ids[0], Self.author(token, nil), .edit(number, text: text)))
    case .read, .delivered:
      let given = try members("number", "senderId")
      let number = try given.required("number", try given.number("number", least: 0))
      let author = Self.author(token, try sender(given, token))
      return Self.done(
        ConversationCommand(
          ids[0], author, .reach(delivered: number, read: route == .read ? number : 0)))
    case .typing: return try type(ids[0], try members("senderId"), token)
    case .settings:
      let given = try members("mutedUntil", "urgentBreaksMute", "senderId")
      return Self.done(
        ConversationCommand(
          ids[0], Self.author(token, try sender(given, token)),
          .mute(
            until: given.has("mutedUntil") ? .some(try given.time("mutedUntil")) : nil,
            urgentBreaksMute: try given.boolean("urgentBreaksMute"))))
    default: throw Problem.notFound
    }
  }

  private static func author(_ token: AccessToken, _ person: String?) -> ConversationCommand.Author {
    token.role == .user ? .user(token.name) : .service(token.name, for: person)
  }

  /// For whom a service does it.
  private func sender(_ given: BodyMembers, _ token: AccessToken) throws(Problem) -> String? {
    guard let sender = try given.text("senderId") else { return nil }
    if token.role == .user && ByteText(sender) != ByteText(token.name) {
      throw Problem(403, "forbidden", "'senderId' is for a service's token to say")
    }
    return sender
  }

  /// Tells the other present members that somebody is typing.
  private func type(_ id: String, _ given: BodyMembers, _ token: AccessToken) throws -> Answer {
    let author = Self.author(token, try sender(given, token))
    guard let view = try ledger.membership(of: id, for: token.role == .user ? token.name : nil) else {
      throw Problem.notFound
    }
    guard let member = view.member(author.user) else {
      throw Problem(400, "invalid-body", "'senderId' says for which member this is")
    }
    if !member.isPresent { throw Problem(403, "forbidden", "a former member is not told to others") }
    let others = view.members.filter { $0.isPresent && $0 != member }.map { ByteText($0.user) }
    let text = Self.text { writer in
      writer.member("conversationId", view.conversation.id)
      writer.member("user", member.user)
    }
    let event = EventFeed.Event(kind: "typing", audience: .users(Set(others)), full: text, short: text)
    return .tell(rules.presence ? [event] : [], FrontReply(204))
  }

  /// The number of a message in a path.
  static func number(_ text: String) throws(Problem) -> Int64 {
    guard let number = Int64(text), number > 0, String(number) == text else {
      throw invalid("message", "is the number of a message here, such as 7, and not the client's name for it")
    }
    return number
  }

  private func begin(_ given: BodyMembers, _ token: AccessToken) throws -> Answer {
    let id = try given.text("id")
    if id != nil && token.role == .user {
      throw Problem(403, "forbidden", "'id' is for a service's token to say; leave it out")
    }
    let kind: Conversation.Kind? = try given.choice("kind")
    let history: Conversation.History? = try given.choice("history")
    let members = try given.required("members", try given.texts("members"))
    let command = ConversationCommand(
      id ?? newIds.next(), Self.author(token, nil),
      .begin(kind ?? .group, name: try given.text("name"), history ?? .joined, members: members))
    return Self.command(command) { result in
      guard case .begun(let id, let isNew) = result else { return nil }
      return .look { api in
        let user = token.role == .user ? token.name : nil
        guard let view = try api.ledger.conversation(id, for: user) else { throw Problem.notFound }
        var reply = Self.json(try api.text(view, user), isNew ? 201 : 200)
        reply.fields.append(.init("Location", "/v1/conversations/\(PercentEncoding.text(id))"))
        return .reply(reply)
      }
    }
  }

  private static func written(_ command: ConversationCommand) -> Answer {
    let user: String? = if case .user(let user) = command.author { user } else { nil }
    return Self.command(command) { result in
      guard case .written(let message, let isNew) = result else { return nil }
      return .look { api in
        guard let view = try api.ledger.membership(of: message.conversationId, for: user) else {
          throw Problem.notFound
        }
        let own = view.member(user)
        // To a former member it is what it was.
        let seen = try api.ledger.message(message.number, in: view.conversation, seenBy: own) ?? message
        return .reply(json(try api.text([seen], view, own, isForUser: user != nil)[0], isNew ? 201 : 200))
      }
    }
  }

  private static func done(_ command: ConversationCommand) -> Answer {
    Self.command(command) { result in
      guard case .done(let hasChanged) = result else { return nil }
      return .reply(json("{\"changed\":\(hasChanged)}"))
    }
  }

  private static func command(
    _ command: ConversationCommand, _ answer: @escaping @Sendable (ConversationResult) -> Answer?
  ) -> Answer {
    .commands([.conversation(command)]) { results in
      guard case .conversation(let result)? = results.first else { return .reply(Problem.away.reply) }
      if case .refused(let refusal) = result { return .reply(Problem(refusal).reply) }
      return answer(result) ?? .reply(Problem.away.reply)
    }
  }

  static func text(_ members: (inout JSONWriter) -> Void) -> String {
    var writer = JSONWriter()
    writer.object { members(&$0) }
    return writer.text
  }
}

extension Problem {
  fileprivate init(_ refusal: ConversationResult.Refusal) {
    switch refusal {
    case .notFound: self = .notFound
    case .forbidden(let reason): self.init(403, "forbidden", reason)
    case .conflict(let reason): self.init(409, "conflict", reason)
    case .invalid(let name, let reason): self.init(400, "invalid-body", "'\(name)' \(reason)")
    }
  }
}
