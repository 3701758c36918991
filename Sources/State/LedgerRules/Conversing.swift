import LedgerPort
import Platform

// Conversations, their members and messages. All rights of members are checked here.
extension LedgerRows {
  mutating func apply(_ command: ConversationCommand, _ tally: inout ExchangeTally) throws(Failure)
    -> ConversationResult
  {
    if case .begin(let kind, let name, let history, let members) = command.action {
      return try begin(command, kind, name, history, members, &tally)
    }
    guard hasConversations, let conversation = try conversation(command.conversationId) else {
      return .refused(.notFound)
    }
    let member = try member(command.author.user, of: conversation.key)
    // A service sees all, even if its name is also a member.
    let reader = command.author.isService ? nil : member
    // A former member sees the earlier messages, and changes its numbers alone.
    guard command.author.isService || member != nil else { return .refused(.notFound) }
    let isPresent = command.author.isService || member?.isPresent == true
    let isAdmin = command.author.isService || isPresent && member?.role == .admin
    switch command.action {
    case .begin: return .refused(.notFound)
    case .reach(let delivered, let read):
      return try reach(conversation, member, delivered: delivered, read: read, &tally)
    case .write(_, let clientId, _, _, _, _, _):
      // A written message is the answer for ever.
      if let known = try written(clientId, from: command.author.user, in: conversation) { return known }
      if !isPresent { return Self.hasLeft }
    case .edit, .delete, .rename, .expire, .add, .remove, .mute:
      if !isPresent { return Self.hasLeft }
    }
    switch command.action {
    case .begin, .reach: return .refused(.notFound)
    case .rename(let name):
      if conversation.kind == .direct { return .refused(.conflict("a direct conversation has no name")) }
      if !isAdmin { return Self.adminsOnly }
      return try rename(conversation, name, &tally)
    case .expire(let after):
      if conversation.kind == .group && !isAdmin { return Self.adminsOnly }
      return try expire(conversation, after: after, &tally)
    case .add(let user, let role):
      if conversation.kind == .direct {
        return .refused(.conflict("a direct conversation is one of two people; begin a group"))
      }
      if !isAdmin { return Self.adminsOnly }
      return try add(user, role, to: conversation, &tally)
    case .remove(let user):
      if conversation.kind == .direct {
        return .refused(.conflict("nobody leaves a direct conversation; mute it"))
      }
      if !isAdmin && !Self.isSame(user, command.author.user) { return Self.adminsOnly }
      return try remove(user, from: conversation, &tally)
    case .write(let id, let clientId, let text, let replyTo, let isUrgent, let expiresAt, let named):
      var message = Message(
        in: conversation.id, id: id, number: 0, from: command.author.user, clientId: clientId, text: text,
        replyTo: replyTo, isUrgent: isUrgent, createdAt: tally.now, expiresAt: expiresAt)
      if member?.isPresent != true {
        return .refused(
          .invalid(
            "senderId",
            "is no member of the conversation: '\(command.author.user)'; add it first, or name one"))
      }
      return try write(&message, naming: named, in: conversation, reader, &tally)
    case .edit(let number, let text):
      guard var message = try visible(number, in: conversation, reader) else { return .refused(.notFound) }
      if !command.author.isService && !Self.isSame(message.senderId, command.author.user) {
        return .refused(.forbidden("a message is changed by its sender alone"))
      }
      return try edit(&message, text, in: conversation, &tally)
    case .delete(let number):
      guard let message = try visible(number, in: conversation, reader) else { return .refused(.notFound) }
      if !isAdmin && !Self.isSame(message.senderId, command.author.user) {
        return .refused(.forbidden("a message is deleted by its sender, or by an admin of the group"))
      }
      return try delete(message, in: conversation, by: command.author.user, &tally)
    case .mute(let until, let urgentBreaksMute):
      guard var member else { return Self.forWhom }
      let before = member
      if let until { member.mutedUntil = until }
      if let urgentBreaksMute { member.urgentBreaksMute = urgentBreaksMute }
      if member == before { return .done(hasChanged: false) }
      member.configured = tally.number
      try setMember(member, of: conversation.key)
      var conversation = conversation
      try touch(&conversation, &tally)
      return .done(hasChanged: true)
    }
  }

  private static var hasLeft: ConversationResult {
    .refused(.forbidden("who has left a conversation changes nothing in it"))
  }

  private static var adminsOnly: ConversationResult {
    .refused(.forbidden("an admin of the group does this"))
  }

  /// The command needs a member.
  private static var forWhom: ConversationResult {
    .refused(.invalid("senderId", "says for which member this is"))
  }

  static func isSame(_ one: String, _ other: String) -> Bool { one.utf8.elementsEqual(other.utf8) }

  /// A visible message; without a member, any message.
  private func visible(_ number: Int64, in conversation: Conversation, _ member: Member?) throws(Failure)
    -> Message?
  {
    if let member, !member.sees(number) { return nil }
    return try message(number, in: conversation.id)
  }

  // MARK: Conversations and members

  private mutating func begin(
    _ command: ConversationCommand, _ kind: Conversation.Kind, _ name: String?,
    _ history: Conversation.History, _ given: [String], _ tally: inout ExchangeTally
  ) throws(Failure) -> ConversationResult {
    var users: [String] = []
    var seen: Set<ByteText> = []
    for user in (command.author.isService ? [] : [command.author.user]) + given {
      if let fault = Self.fault(ofId: user) { return .refused(.invalid("members", fault)) }
      if seen.insert(ByteText(user)).inserted { users.append(user) }
    }
    if let fault = Self.fault(ofId: command.conversationId, isInPath: true) {
      return .refused(.invalid("id", fault))
    }
    if let fault = Self.fault(ofName: name) { return .refused(.invalid("name", fault)) }
    if users.count > Conversation.mostMembers {
      return .refused(.invalid("members", "are \(Conversation.mostMembers) at most"))
    }
    var pair: String?
    if kind == .direct {
      if users.count != 2 { return .refused(.invalid("members", "of a direct conversation are two people")) }
      if name != nil { return .refused(.invalid("name", "is none of a direct conversation's")) }
      pair = Self.pair(users[0], users[1])
      if hasConversations, let pair, let known = try direct(of: pair) {
        return .begun(id: known.id, isNew: false)
      }
    }
    if hasConversations, let known = try conversation(command.conversationId) {
      guard command.author.isService, known.kind == kind else {
        return .refused(.conflict("there is a conversation '\(command.conversationId)' already"))
      }
      return .begun(id: known.id, isNew: false)
    }
    hasConversations = true
    let new = Conversation(
      id: command.conversationId, kind, name: name, history: kind == .direct ? .all : history,
      createdAt: tally.now, described: tally.number, changed: tally.number)
    let key = try addConversation(new, pair: pair)
    for (place, user) in users.enumerated() {
      let isAdmin = kind == .group && place == 0
      try setMember(
        Member(
          user, isAdmin ? .admin : .member, firstNumber: 1, joinedNumber: 0, deliveredNumber: 0,
          readNumber: 0,
          changed: tally.number), of: key)
    }
    tally.changed.add(conversation: key)
    return .begun(id: new.id, isNew: true)
  }

  /// The same text for both orders, and for no other two.
  private static func pair(_ one: String, _ other: String) -> String {
    let (first, last) = ByteText(one) < ByteText(other) ? (one, other) : (other, one)
    return "\(first.utf8.count):\(first)\(last)"
  }

  /// - Parameter isInPath: the id is a segment of paths, without a slash.
  static func fault(ofId id: String, isInPath: Bool = false) -> String? {
    if id.isEmpty { return "is not empty" }
    if isInPath && (id.contains("/") || id == "." || id == "..") {
      return "has no '/', and is not '.' or '..'"
    }
    if id.utf8.count > Conversation.longestId { return "has at most \(Conversation.longestId) bytes" }
    return id.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }
      ? "has no control characters" : nil
  }

  private static func fault(ofName name: String?) -> String? {
    guard let name else { return nil }
    if name.isEmpty { return "is not empty; leave it out" }
    return name.utf8.count > Conversation.longestName ? "has at most \(Conversation.longestName) bytes" : nil
  }

  private mutating func rename(
    _ conversation: Conversation, _ name: String?, _ tally: inout ExchangeTally
  ) throws(Failure) -> ConversationResult {
    if let fault = Self.fault(ofName: name) { return .refused(.invalid("name", fault)) }
    if name.map({ Array($0.utf8) }) == conversation.name.map({ Array($0.utf8) }) {
      return .done(hasChanged: false)
    }
    var conversation = conversation
    (conversation.name, conversation.described) = (name, tally.number)
    try touch(&conversation, &tally)
    return .done(hasChanged: true)
  }

  private mutating func expire(
    _ conversation: Conversation, after time: Int64?, _ tally: inout ExchangeTally
  ) throws(Failure) -> ConversationResult {
    if let time, !Conversation.expiries.contains(time) {
      return .refused(.invalid("expireAfter", "is from five seconds to a hundred years, in seconds"))
    }
    if time == conversation.expireAfter { return .done(hasChanged: false) }
    var conversation = conversation
    (conversation.expireAfter, conversation.described) = (time, tally.number)
    try touch(&conversation, &tally)
    return .done(hasChanged: true)
  }

  private mutating func add(
    _ user: String, _ role: Member.Role?, to conversation: Conversation, _ tally: inout ExchangeTally
  ) throws(Failure) -> ConversationResult {
    if let fault = Self.fault(ofId: user) { return .refused(.invalid("user", fault)) }
    let last = conversation.lastNumber
    if var known = try member(user, of: conversation.key), known.isPresent {
      guard let role, known.role != role else { return .done(hasChanged: false) }
      known.role = role
      let result = try set(known, of: conversation, &tally)
      try keepAdmin(of: conversation, &tally)
      return result
    }
    if try members(of: conversation.key).count(where: \.isPresent) >= Conversation.mostMembers {
      return .refused(.conflict("a conversation has \(Conversation.mostMembers) members at most"))
    }
    // With `joined`, a returning member does not see the messages in between.
    let first = conversation.history == .all ? 1 : last + 1
    let new = Member(
      user, role ?? .member, firstNumber: first, joinedNumber: last, joinedChange: tally.number,
      deliveredNumber: last, readNumber: last)
    let result = try set(new, of: conversation, &tally)
    // The first member of an empty group becomes its admin.
    try keepAdmin(of: conversation, &tally)
    return result
  }

  mutating func remove(
    _ user: String, from conversation: Conversation, _ tally: inout ExchangeTally
  ) throws(Failure) -> ConversationResult {
    guard var member = try member(user, of: conversation.key) else { return .refused(.notFound) }
    if !member.isPresent { return .done(hasChanged: false) }
    member.left = .init(number: conversation.lastNumber, change: tally.number - 1, time: tally.now)
    let result = try set(member, of: conversation, &tally)
    try keepAdmin(of: conversation, &tally)
    return result
  }

  /// A group with members has an admin.
  private mutating func keepAdmin(of conversation: Conversation, _ tally: inout ExchangeTally) throws(Failure)
  {
    let present = try members(of: conversation.key).filter(\.isPresent)
    if present.contains(where: { $0.role == .admin }) { return }
    guard
      var next = present.min(by: {
        ($0.joinedNumber, ByteText($0.user)) < ($1.joinedNumber, ByteText($1.user))
      })
    else { return }
    next.role = .admin
    _ = try set(next, of: conversation, &tally)
  }

  private mutating func reach(
    _ conversation: Conversation, _ member: Member?, delivered: Int64, read: Int64,
    _ tally: inout ExchangeTally
  ) throws(Failure) -> ConversationResult {
    guard var member else { return Self.forWhom }
    // The others count present members alone.
    if !member.isPresent { return .done(hasChanged: false) }
    let last = conversation.lastNumber
    let read = max(member.readNumber, min(read, last))
    let delivered = max(member.deliveredNumber, read, min(delivered, last))
    if read == member.readNumber && delivered == member.deliveredNumber { return .done(hasChanged: false) }
    (member.readNumber, member.deliveredNumber) = (read, delivered)
    return try set(member, of: conversation, &tally)
  }

  mutating func set(
    _ member: Member, of conversation: Conversation, _ tally: inout ExchangeTally
  ) throws(Failure) -> ConversationResult {
    var (member, conversation) = (member, conversation)
    member.changed = tally.number
    try setMember(member, of: conversation.key)
    try touch(&conversation, &tally)
    return .done(hasChanged: true)
  }

  /// Notes a change.
  private mutating func touch(_ conversation: inout Conversation, _ tally: inout ExchangeTally)
    throws(Failure)
  {
    conversation.changed = tally.number
    try setConversation(conversation)
    tally.changed.add(conversation: conversation.key)
  }

  // MARK: Messages

  private mutating func write(
    _ message: inout Message, naming named: NamedAttachments, in conversation: Conversation,
    _ member: Member?, _ tally: inout ExchangeTally
  ) throws(Failure) -> ConversationResult {
    let clientId = message.clientId ?? ""
    if let fault = Self.fault(ofId: clientId) { return .refused(.invalid("id", fault)) }
    if let fault = Self.fault(ofId: message.senderId) { return .refused(.invalid("senderId", fault)) }
    if let fault = Self.fault(ofText: message.text) { return .refused(.invalid("text", fault)) }
    if let number = message.replyTo, try visible(number, in: conversation, member) == nil {
      return .refused(.invalid("replyTo", "is the number of a message of this conversation"))
    }
    if let time = message.expiresAt, time <= tally.now {
      return .refused(.invalid("expiresAt", "is a time that is still to come"))
    }
    if let refusal = named.refusal { return .refused(refusal) }
    if let refusal = try refusal(of: named, by: message.senderId) { return .refused(refusal) }
    var conversation = conversation
    try number(&message, in: &conversation, &tally)
    try writeMessage(message)
    try attach(named, to: message, &tally)
    try makeFindable(message)
    return .written(message, isNew: true)
  }

  /// The answer for a repeated message; `nil`: a new message.
  private func written(
    _ clientId: String, from sender: String, in conversation: Conversation
  ) throws(Failure) -> ConversationResult? {
    guard let known = try message(ofClient: clientId, from: sender) else { return nil }
    if Self.isSame(known.conversationId, conversation.id) { return .written(known, isNew: false) }
    return .refused(.conflict("this sender has a message '\(clientId)' in another conversation"))
  }

  mutating func number(
    _ message: inout Message, in conversation: inout Conversation, _ tally: inout ExchangeTally
  ) throws(Failure) {
    conversation.lastNumber += 1
    (message.number, message.changed) = (conversation.lastNumber, tally.number)
    if let after = conversation.expireAfter {
      message.expiresAt = min(message.expiresAt ?? .max, message.createdAt + after)
    }
    try touch(&conversation, &tally)
  }

  private static func fault(ofText text: String?) -> String? {
    guard let text else { return nil }
    if text.isEmpty { return "is not empty; leave it out" }
    return text.utf8.count > Message.longestText ? "has at most \(Message.longestText) bytes" : nil
  }

  private mutating func edit(
    _ message: inout Message, _ text: String, in conversation: Conversation, _ tally: inout ExchangeTally
  ) throws(Failure) -> ConversationResult {
    if message.deletedAt != nil { return .refused(.conflict("the message was deleted")) }
    if text.isEmpty { return .refused(.invalid("text", "is not empty; delete the message to take it away")) }
    if let fault = Self.fault(ofText: text) { return .refused(.invalid("text", fault)) }
    if message.text.map({ Self.isSame($0, text) }) == true { return .done(hasChanged: false) }
    if let before = message.text { try addVersion(of: message, before, at: tally.now) }
    (message.text, message.editedAt) = (text, tally.now)
    try set(message, in: conversation, &tally)
    return .done(hasChanged: true)
  }

  mutating func delete(
    _ message: Message, in conversation: Conversation, by person: String, _ tally: inout ExchangeTally
  ) throws(Failure) -> ConversationResult {
    if message.deletedAt != nil { return .done(hasChanged: false) }
    var message = message
    (message.text, message.deletedAt) = (nil, tally.now)
    try removeVersions(of: message)
    try set(message, in: conversation, &tally)
    tally.hasDeleted = true
    let uploads = try openUploads(ofMessage: message.id, in: conversation.id)
    for id in uploads { try removeUpload(id) }
    tally.uploadsToDelete += uploads
    let attachments = try attachmentIds(ofMessage: message.id, in: conversation.id)
    _ = try apply(attachments.map { AttachmentCommand($0, .delete(by: person)) }, &tally)
    return .done(hasChanged: true)
  }

  mutating func set(
    _ message: Message, in conversation: Conversation, _ tally: inout ExchangeTally
  ) throws(Failure) {
    var (message, conversation) = (message, conversation)
    message.changed = tally.number
    try setMessage(message)
    try makeFindable(message)
    try touch(&conversation, &tally)
  }
}
