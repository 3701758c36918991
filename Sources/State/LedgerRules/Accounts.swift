import LedgerPort
import Platform

// Users, and the sessions with which they stay signed in.
extension LedgerRows {
  mutating func apply(_ command: UserCommand, _ tally: inout ExchangeTally) throws(Failure) -> UserResult {
    let known = try row(ofUser: command.userId)
    switch command.action {
    case .add(let name, let email, let password, let role, let session):
      if known != nil { return .refused(.idTaken) }
      if let refusal = try fault(command.userId, name: name, email: email) { return .refused(refusal) }
      if let session, try isTaken(session) { return .refused(.again) }
      let user = User(command.userId, name: name, email: email, role: role, createdAt: tally.now)
      try setAccount(Account(user, password: password))
      if let session { try begin(session, of: user, at: tally.now) }
      // A member may have been there before its name.
      try tellName(of: user, &tally)
      return .user(user, hasChanged: true)
    case .signIn(let password, let session):
      guard let known, known.password == password else { return .refused(.wrongPassword) }
      if known.user.disabledAt != nil { return .refused(.disabled) }
      if try isTaken(session) { return .refused(.again) }
      try removeEndedSessions(of: known.user.id, leaving: User.mostSessions - 1, at: tally.now)
      try begin(session, of: known.user, at: tally.now)
      return .user(known.user, hasChanged: true)
    case .change(let change):
      guard let known else {
        if !change.adds { return .refused(.notFound) }
        let new = User(command.userId, name: change.name ?? command.userId, createdAt: tally.now)
        return try apply(change, to: Account(new, password: nil), isNew: true, &tally)
      }
      return try apply(change, to: known, isNew: false, &tally)
    case .erase(let byService): return try erase(command.userId, byService: byService, &tally)
    case .signOut(let session):
      try removeSessions(of: command.userId, only: session)
      return .user(known?.user ?? User(command.userId, name: "", createdAt: 0), hasChanged: true)
    case .prolong(let session, let until):
      guard let known else { return .refused(.notFound) }
      try prolongSession(session, until: until)
      return .user(known.user, hasChanged: true)
    }
  }

  private func fault(_ id: String, name: String?, email: String?) throws(Failure) -> UserResult.Refusal? {
    if let fault = Self.fault(ofId: id, isInPath: true) { return .invalid("id", fault) }
    if let name, let fault = User.fault(ofName: name) { return .invalid("name", fault) }
    guard let email else { return nil }
    if let fault = User.fault(ofEmail: email) { return .invalid("email", fault) }
    let owner = try row(ofEmail: User.emailKey(email))
    return owner.map { Self.isSame($0.user.id, id) } == false ? .emailTaken : nil
  }

  private func isTaken(_ session: NewSession) throws(Failure) -> Bool {
    try fact(ofToken: AccessToken.id(of: session.hash)) != nil
  }

  private mutating func begin(_ session: NewSession, of user: User, at now: Int64) throws(Failure) {
    let token = AccessToken(
      id: AccessToken.id(of: session.hash), name: user.id, role: user.role, createdAt: now,
      expiresAt: session.expiresAt, device: session.device)
    try addToken(token, hash: session.hash)
  }

  private mutating func apply(
    _ change: UserChange, to known: Account, isNew: Bool, _ tally: inout ExchangeTally
  ) throws(Failure) -> UserResult {
    let isOwn = change.email != nil || change.password != nil || change.isDisabled != nil
    if change.isByService && isOwn && known.user.role == .admin { return .refused(.administrators) }
    if known.user.erasedAt != nil { return .refused(.erased) }
    if let password = change.ifPassword, known.password != password { return .refused(.wrongPassword) }
    // The address and the password make an account together.
    if known.password == nil && (change.email == nil) != (change.password == nil) {
      return .refused(
        .invalid(change.email == nil ? "email" : "password", "makes an account with the other: say both"))
    }
    if let refusal = try fault(known.user.id, name: change.name, email: change.email) {
      return .refused(refusal)
    }
    var account = known
    account.user.name = change.name ?? known.user.name
    account.user.email = change.email ?? known.user.email
    account.password = change.password ?? known.password
    if let isDisabled = change.isDisabled {
      account.user.disabledAt = isDisabled ? known.user.disabledAt ?? tally.now : nil
    }
    if account == known && !isNew { return .user(known.user, hasChanged: false) }
    try setAccount(account)
    if change.password != nil || account.user.disabledAt != nil {
      try removeSessions(of: account.user.id, except: change.keepsSession)
    }
    if isNew || !Self.isSame(account.user.name, known.user.name) { try tellName(of: account.user, &tally) }
    return .user(account.user, hasChanged: true)
  }

  /// Notes a new name as a change of the member, in each of its conversations.
  mutating func tellName(of user: User, _ tally: inout ExchangeTally) throws(Failure) {
    if !hasConversations { return }
    for id in try conversationIds(of: user.id) {
      guard let conversation = try conversation(id), let member = try member(user.id, of: conversation.key),
        member.isPresent
      else { continue }
      _ = try set(member, of: conversation, &tally)
    }
  }
}
