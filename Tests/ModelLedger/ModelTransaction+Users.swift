import LedgerPort
import LedgerRules
import Platform

// Users and their sessions.
extension ModelTransaction {
  func row(ofUser id: String) -> Account? { rows.accounts[ByteText(id)] }

  func row(ofEmail key: String) -> Account? { rows.account(ofEmail: key) }

  mutating func setAccount(_ account: Account) { rows.accounts[ByteText(account.user.id)] = account }

  func conversationIds(of user: String) -> [String] {
    rows.conversations.sorted { $0.key < $1.key }.map(\.value).filter { $0.members[ByteText(user)] != nil }
      .map(\.row.id)
  }

  func nextConversation(of user: String, from key: Int64) -> Conversation? {
    rows.conversations.sorted { $0.key < $1.key }.first {
      $0.key >= key && $0.value.members[ByteText(user)] != nil
    }?.value.row
  }

  func messages(from sender: String, in conversationId: String, after: Int64, upTo last: Int64) -> [Message] {
    rows.written(in: conversationId).filter {
      ByteText($0.senderId) == ByteText(sender) && $0.number > after && $0.number <= last
        && ($0.deletedAt == nil || $0.clientId != nil)
    }
  }

  func attachments(from sender: String, after key: Int64) -> (ids: [String], last: Int64?) {
    let found = rows.attachments.filter {
      $0.key > key && ByteText($0.value.origin.senderId) == ByteText(sender)
    }
    return (found.sorted { $0.key < $1.key }.map(\.value.origin.id), nil)
  }

  mutating func prolongSession(_ token: String, until: Int64) {
    for index in rows.tokens.indices {
      let row = rows.tokens[index].token
      guard row.id == token, row.device != nil, row.revokedAt == nil, row.expiresAt ?? .max < until else {
        continue
      }
      rows.tokens[index].token.expiresAt = until
    }
  }

  mutating func removeEndedSessions(of user: String, leaving most: Int, at now: Int64) {
    let kept = rows.sessions(of: user).filter { $0.revokedAt == nil }
      .sorted { ($1.expiresAt ?? 0, $0.id) < ($0.expiresAt ?? 0, $1.id) }.prefix(most)
      .filter { $0.expiresAt ?? .max > now }.map(\.id)
    rows.removeSessions(of: user) { !kept.contains($0.id) }
  }

  mutating func removeSessions(of user: String, except kept: String?) {
    rows.removeSessions(of: user) { $0.id != kept }
  }

  mutating func removeSessions(of user: String, only one: String?) {
    rows.removeSessions(of: user) { one == nil || $0.id == one }
  }
}

extension ModelRows {
  func account(ofEmail key: String) -> Account? {
    accounts.values.first { $0.user.email.map { ByteText(User.emailKey($0)) } == ByteText(key) }
  }

  func sessions(of user: String) -> [AccessToken] {
    tokens.map(\.token).filter { $0.device != nil && ByteText($0.name) == ByteText(user) }
  }

  mutating func removeSessions(of user: String, where isGone: (AccessToken) -> Bool) {
    tokens.removeAll {
      $0.token.device != nil && ByteText($0.token.name) == ByteText(user) && isGone($0.token)
    }
  }

  /// A token with what the record of its user says.
  func seen(_ token: AccessToken) -> AccessToken {
    var token = token
    token.isDisabled =
      (token.role == .user || token.device != nil) && accounts[ByteText(token.name)]?.user.disabledAt != nil
    return token
  }
}

extension ModelReader {
  package func account(_ id: String) -> Account? { rows.accounts[ByteText(id)] }

  package func account(ofEmail key: String) -> Account? { rows.account(ofEmail: key) }

  /// Without accents and other letters than English ones: an engine reads names better.
  package func users(matching text: String, limit: Int) -> [User] {
    func words(_ text: String) -> [String] {
      text.lowercased().split { !$0.isLetter && !$0.isNumber }.map(String.init)
    }
    let wanted = words(text)
    let found = rows.accounts.values.map(\.user).filter { user in
      let own = words(user.name)
      return user.disabledAt == nil && !wanted.isEmpty
        && wanted.allSatisfy { word in own.contains { $0.hasPrefix(word) } }
    }.sorted { (ByteText($0.name), ByteText($0.id)) < (ByteText($1.name), ByteText($1.id)) }
    let first =
      rows.account(ofEmail: User.emailKey(text)).map { [$0.user] }?.filter { $0.disabledAt == nil } ?? []
    return Array((first + found.filter { $0.id != first.first?.id }).prefix(limit))
  }

  package func users(after mark: PageMark?, limit: Int) -> Page<User> {
    let all = rows.accounts.values.map(\.user).sorted { ByteText($0.id) < ByteText($1.id) }
    let found = all.filter { ByteText($0.id) > ByteText(mark?.text ?? "") }.prefix(limit)
    return Page(Array(found), next: found.count < limit ? nil : found.last.map { PageMark($0.id) })
  }

  package func sharesConversation(_ one: String, with other: String) -> Bool {
    rows.conversations.values.contains { conversation in
      [one, other].allSatisfy { conversation.members[ByteText($0)]?.isPresent == true }
    }
  }

  package func sessions(of user: String) -> [AccessToken] {
    rows.sessions(of: user).map(rows.seen).sorted { ($1.createdAt, $0.id) < ($0.createdAt, $1.id) }
  }
}
