import LedgerPort
import Platform

// The erasure of a user, in steps.
extension LedgerRows {
  /// A step looks at so many messages of a conversation.
  private static var eraseStep: Int64 { 1000 }

  /// Erases what a user has written and sent. With the first step nothing lets it in any more.
  mutating func erase(_ id: String, byService: Bool, _ tally: inout ExchangeTally) throws(Failure)
    -> UserResult
  {
    if let fault = Self.fault(ofId: id, isInPath: true) { return .refused(.invalid("id", fault)) }
    let known = try row(ofUser: id)
    if byService && known?.user.role == .admin { return .refused(.administrators) }
    tally.hasDeleted = true
    guard var account = known, account.user.erasedAt != nil else {
      try beginErasure(of: id, known, &tally)
      return .erased(isWhole: false)
    }
    guard var mark = account.erasing else { return .erased(isWhole: true) }
    if let conversation = try nextConversation(of: id, from: mark.conversation) {
      if conversation.key != mark.conversation { mark = EraseMark(conversation: conversation.key) }
      mark.number = try eraseMessages(of: id, in: conversation, after: mark.number, &tally)
      if mark.number >= conversation.lastNumber {
        try leave(conversation, id, &tally)
        mark = EraseMark(conversation: conversation.key + 1)
      }
    } else {
      let (ids, last) = try attachments(from: id, after: mark.attachment)
      _ = try apply(ids.map { AttachmentCommand($0, .delete(by: id)) }, &tally)
      mark.attachment = last ?? mark.attachment
      account.erasing = last == nil ? nil : mark
      try setAccount(account)
      return .erased(isWhole: last == nil)
    }
    account.erasing = mark
    try setAccount(account)
    return .erased(isWhole: false)
  }

  private mutating func beginErasure(of id: String, _ known: Account?, _ tally: inout ExchangeTally)
    throws(Failure)
  {
    var user = User(id, name: "", createdAt: known?.user.createdAt ?? tally.now)
    (user.disabledAt, user.erasedAt) = (tally.now, tally.now)
    var account = Account(user, password: nil)
    account.erasing = EraseMark(conversation: 0)
    try setAccount(account)
    try tellName(of: user, &tally)
    try removeSessions(of: id, only: nil)
    let tokens = try facts(ofTokensOf: ByteText(id)).filter { !$0.value.isRevoked }
    for token in tokens.keys.sorted() { try revokeToken(token, at: tally.now) }
    tally.uploadsToDelete += try removeUploads(of: UploadOwner(id, .user))
  }

  /// - Returns: the last number that it looked at.
  private mutating func eraseMessages(
    of id: String, in conversation: Conversation, after number: Int64, _ tally: inout ExchangeTally
  ) throws(Failure) -> Int64 {
    let last = min(number + Self.eraseStep, conversation.lastNumber)
    for message in try messages(from: id, in: conversation.id, after: number, upTo: last) {
      // Each deletion changes the conversation.
      guard let conversation = try self.conversation(conversation.id) else { break }
      var message = message
      message.clientId = nil
      if message.deletedAt == nil {
        _ = try delete(message, in: conversation, by: id, &tally)
      } else {
        try set(message, in: conversation, &tally)
      }
    }
    return last
  }

  /// An erased user leaves direct conversations, too.
  private mutating func leave(_ conversation: Conversation, _ id: String, _ tally: inout ExchangeTally)
    throws(Failure)
  {
    guard let conversation = try self.conversation(conversation.id),
      let member = try member(id, of: conversation.key)
    else { return }
    // The other members are told of the missing name.
    if !member.isPresent { return _ = try set(member, of: conversation, &tally) }
    _ = try remove(id, from: conversation, &tally)
  }
}
