import FrontWire
import Identity
import JSONText
import LedgerPort
import Platform

// Users, their accounts, and the sessions with which they stay signed in.
extension API {
  /// Milliseconds that a session lasts without a request, and after how many of them a request moves its end.
  private static let (sessionTime, prolongTime): (Int64, Int64) = (30 * 86_400_000, 86_400_000)
  /// Bytes of a device's name.
  private static let longestDevice = 200

  func users(_ route: Route, _ ids: [String], _ request: FrontRequest, _ token: AccessToken?) throws -> Answer
  {
    switch route {
    case .signUp, .signIn:
      if rules.accounts == .services && route == .signUp && token?.role != .service && token?.role != .admin {
        throw Problem(
          403, "forbidden", "a service makes the accounts here", remedy: "let the product's backend do it")
      }
      let address = ClientAddress.of(request, trusting: proxies)
      return try body(of: request) { api, bytes in
        route == .signUp ? try api.signUp(bytes, address, token) : try api.signIn(bytes, address)
      }
    default: break
    }
    guard let token else { throw Problem.unauthorized }
    switch route {
    case .sessions: return .reply(try sessions(of: token))
    case .endSession: return try endSession(ids[0], token)
    case .me: return .reply(Self.json(try ownText(token)))
    case .changeMe:
      let address = ClientAddress.of(request, trusting: proxies)
      return try body(of: request) { api, bytes in try api.changeMe(bytes, address, token) }
    case .eraseMe:
      let address = ClientAddress.of(request, trusting: proxies)
      return try body(of: request) { api, bytes in try api.eraseMe(bytes, address, token) }
    case .eraseUser: return Self.erase(ids[0], byService: token.role == .service)
    case .users:
      let query = try ListQuery(request, .users)
      let text = query.values["query"] ?? ""
      if text.isEmpty { throw Self.invalid("query", "is the beginning of a name, or an address") }
      let found = try ledger.users(matching: text, limit: query.limit)
      return .reply(
        Self.json(
          Self.text { writer in
            writer.key("users")
            writer.array { writer in
              for user in found { writer.object { user.write(to: &$0, isForUser: token.role == .user) } }
            }
          }))
    case .user: return .reply(Self.json(try text(ofUser: ids[0], token)))
    case .setUser: return try body(of: request) { api, bytes in try api.setUser(ids[0], bytes, token) }
    default: throw Problem.notFound
    }
  }

  private func body(
    of request: FrontRequest, _ next: @escaping @Sendable (API, [UInt8]) throws -> Answer
  ) throws -> Answer {
    try Self.requireJSON(request)
    return .body(next)
  }

  // MARK: Sessions

  private func signUp(_ body: [UInt8], _ address: String, _ token: AccessToken?) throws -> Answer {
    let isOperator = token?.role == .service || token?.role == .admin
    let given = try BodyMembers(
      body, ["email", "password", "name", "device", "cookie"] + (isOperator ? ["id"] : []), parser)
    let email = try given.required("email", try given.text("email"))
    let password = try given.required("password", try given.text("password"))
    let name = try given.text("name") ?? User.name(fromEmail: email)
    let (device, isCookie) = (try device(given), try given.boolean("cookie") ?? false)
    if let fault = User.fault(ofEmail: email) { throw Problem(.invalid("email", fault)) }
    if let fault = User.fault(ofName: name) { throw Problem(.invalid("name", fault)) }
    try Self.check(password)
    if try ledger.account(ofEmail: User.emailKey(email)) != nil { throw Problem(.emailTaken) }
    if !isOperator { try begin(nil, address) }
    let id = try given.text("id") ?? newIds.next()
    return .hash {
      let new = isOperator ? nil : try Self.newSession(device)
      let action = UserCommand.Action.add(
        name: name, email: email, password: try PasswordHash.make(password), role: .user,
        session: new?.session)
      return Self.command(UserCommand(id, action)) { api, user in
        api.signedIn(user, new, isCookie)
      }
    }
  }

  private func signIn(_ body: [UInt8], _ address: String) throws -> Answer {
    let given = try BodyMembers(body, ["email", "password", "device", "cookie"], parser)
    let email = User.emailKey(try given.required("email", try given.text("email")))
    let password = try given.required("password", try given.text("password"))
    let (device, isCookie) = (try device(given), try given.boolean("cookie") ?? false)
    try begin(email, address)
    let account = try ledger.account(ofEmail: email)
    let tries = tries
    return .hash {
      guard PasswordHash.isRight(password, for: account?.password), let account,
        let hash = account.password
      else { throw Problem(.wrongPassword) }
      tries.forgive(account: email, address: address)
      let new = try Self.newSession(device)
      return Self.command(UserCommand(account.user.id, .signIn(password: hash, new.session))) { api, user in
        api.signedIn(user, new, isCookie)
      }
    }
  }

  private func begin(_ account: String?, _ address: String) throws {
    guard let seconds = tries.begin(account: account, address: address) else { return }
    throw Problem(
      429, "too-many-tries", "there were too many tries", remedy: "wait for \(seconds) s",
      fields: [.init("Retry-After", "\(seconds)")])
  }

  private func device(_ given: BodyMembers) throws -> String {
    let device = try given.text("device") ?? ""
    if device.utf8.count > Self.longestDevice {
      throw Problem(400, "invalid-body", "in the body: 'device' has at most \(Self.longestDevice) bytes")
    }
    return device
  }

  private static func check(_ password: String) throws {
    guard let fault = PasswordHash.fault(of: password) else { return }
    throw Problem(400, "password-weak", "the password \(fault)", remedy: "take another")
  }

  private static func newSession(_ device: String) throws -> (token: String, session: NewSession) {
    let token = try NewToken()
    return (
      token.text,
      NewSession(hash: try token.hash(), device: device, expiresAt: Clock.now() + sessionTime)
    )
  }

  private func signedIn(
    _ user: User, _ new: (token: String, session: NewSession)?, _ isCookie: Bool
  ) -> FrontReply {
    var reply = Self.json(
      Self.text { writer in
        writer.member("token", isCookie ? nil : new?.token)
        writer.member("session", new.map { AccessToken.id(of: $0.session.hash) })
        writer.member("expiresAt", new.map { Clock.timestamp($0.session.expiresAt) })
        writer.key("user")
        writer.object { user.write(to: &$0, isForUser: false) }
      }, 201)
    // The browser forgets it no earlier than the server does.
    if isCookie, let new { reply.fields.append(SessionCookie.field(new.token, seconds: 400 * 86_400, rules)) }
    return reply
  }

  /// Moves the end of a used session, once a day.
  func prolong(_ token: AccessToken, at now: Int64) {
    guard token.device != nil, let end = token.expiresAt,
      end < now + Self.sessionTime - Self.prolongTime
    else { return }
    later.append(.user(UserCommand(token.name, .prolong(session: token.id, until: now + Self.sessionTime))))
  }

  private func sessions(of token: AccessToken) throws -> FrontReply {
    let now = Clock.now()
    let sessions = try ledger.sessions(of: token.name).filter { $0.isValid(at: now) }
    return Self.json(
      Self.text { writer in
        writer.key("sessions")
        writer.array { writer in
          for session in sessions {
            writer.object { writer in
              session.writeSession(to: &writer)
              writer.member("current", session.id == token.id)
            }
          }
        }
      })
  }

  private func endSession(_ id: String, _ token: AccessToken) throws -> Answer {
    var session: String? = id
    switch id {
    case "all": session = nil
    case "current":
      if token.device == nil {
        throw Problem(
          409, "conflict", "this token belongs to no session, and an operator takes it back",
          remedy: "`sluice tokens revoke \(token.id)`")
      }
      session = token.id
    default:
      if try !ledger.sessions(of: token.name).contains(where: { $0.id == id }) { throw Problem.notFound }
    }
    let isOwn = session == nil || session == token.id
    return Self.command(UserCommand(token.name, .signOut(session: session))) { api, _ in
      var reply = FrontReply(204)
      if isOwn { reply.fields.append(SessionCookie.field("", seconds: 0, api.rules)) }
      return reply
    }
  }

  // MARK: Users

  /// The user of a token; without a record, the id alone.
  private func ownText(_ token: AccessToken) throws -> String {
    if var user = try ledger.account(token.name)?.user, token.role != .service {
      user.role = token.role
      return Self.text { user.write(to: &$0, isForUser: false) }
    }
    return Self.text { writer in
      writer.member("id", token.name)
      writer.member("name", nil as String?)
      writer.member("role", token.role.rawValue)
    }
  }

  private func text(ofUser id: String, _ token: AccessToken) throws -> String {
    let isForUser = token.role == .user
    // Both questions are asked in each case, so that the time tells nothing.
    let shares = isForUser ? try ledger.sharesConversation(token.name, with: id) : true
    guard let account = try ledger.account(id), shares || ByteText(id) == ByteText(token.name) else {
      throw Problem.notFound
    }
    return Self.text { account.user.write(to: &$0, isForUser: isForUser) }
  }

  private func changeMe(_ body: [UInt8], _ address: String, _ token: AccessToken) throws -> Answer {
    let given = try BodyMembers(body, ["name", "email", "password", "currentPassword"], parser)
    var change = UserChange()
    (change.name, change.email) = (try given.text("name"), try given.text("email"))
    (change.adds, change.keepsSession) = (true, token.id)
    let (password, current) = (try given.text("password"), try given.text("currentPassword"))
    guard change.email != nil || password != nil else { return Self.changed(token.name, change, token.role) }
    if let email = change.email, let fault = User.fault(ofEmail: email) {
      throw Problem(.invalid("email", fault))
    }
    if let password { try Self.check(password) }
    guard let account = try ledger.account(token.name), account.password != nil else {
      throw Problem(409, "conflict", "this user has no account here: another program says who it is")
    }
    return try prove(current, account, address) { [change] hash in
      var change = change
      change.ifPassword = hash
      change.password = try password.map(PasswordHash.make)
      return Self.changed(token.name, change, token.role)
    }
  }

  /// Goes on if a signed-in person says the password.
  private func prove(
    _ password: String?, _ account: Account, _ address: String,
    _ next: @escaping @Sendable (String) throws -> Answer
  ) throws -> Answer {
    guard let password else {
      throw Problem(400, "invalid-body", "in the body: 'currentPassword' has to be said with this change")
    }
    guard let hash = account.password else { return try next("") }
    // A signed-in user has a count of its own, apart from guesses from outside.
    let tried = "signed in as " + User.emailKey(account.user.email ?? account.user.id)
    try begin(tried, address)
    let tries = tries
    return .hash {
      guard PasswordHash.isRight(password, for: hash) else {
        throw Problem(403, "wrong-credentials", "this is not the password of the account")
      }
      tries.forgive(account: tried, address: address)
      return try next(hash)
    }
  }

  private func eraseMe(_ body: [UInt8], _ address: String, _ token: AccessToken) throws -> Answer {
    let current = try BodyMembers(body, ["currentPassword"], parser).text("currentPassword")
    guard let account = try ledger.account(token.name), account.password != nil else {
      return Self.erase(token.name, byService: false)
    }
    return try prove(current, account, address) { _ in Self.erase(token.name, byService: false) }
  }

  /// Goes from step to step. If it is cut off, the same request goes on.
  private static func erase(_ id: String, byService: Bool) -> Answer {
    .commands([.user(UserCommand(id, .erase(byService: byService)))]) { results in
      switch results.first {
      case .user(.erased(isWhole: true)): .reply(FrontReply(204))
      case .user(.erased(isWhole: false)): erase(id, byService: byService)
      case .user(.refused(let refusal)): .reply(Problem(refusal).reply)
      default: .reply(Problem.away.reply)
      }
    }
  }

  private func setUser(_ id: String, _ body: [UInt8], _ token: AccessToken) throws -> Answer {
    let given = try BodyMembers(body, ["name", "email", "password", "disabled"], parser)
    var change = UserChange()
    (change.name, change.email) = (try given.text("name"), try given.text("email"))
    (change.isDisabled, change.adds) = (try given.boolean("disabled"), true)
    change.isByService = token.role == .service
    guard let password = try given.text("password") else { return Self.changed(id, change) }
    try Self.check(password)
    return .hash { [change] in
      var change = change
      change.password = try PasswordHash.make(password)
      return Self.changed(id, change)
    }
  }

  /// - Parameter role: of the token of the user itself.
  private static func changed(_ id: String, _ change: UserChange, _ role: AccessToken.Role? = nil) -> Answer {
    command(UserCommand(id, .change(change))) { _, user in
      var user = user
      user.role = role ?? user.role
      return json(text { user.write(to: &$0, isForUser: false) })
    }
  }

  private static func command(
    _ command: UserCommand, _ answer: @escaping @Sendable (API, User) -> FrontReply
  ) -> Answer {
    let isChange = if case .change = command.action { true } else { false }
    return .commands([.user(command)]) { results in
      switch results.first {
      case .user(.user(let user, _)): .look { .reply(answer($0, user)) }
      case .user(.refused(.wrongPassword)) where isChange:
        .reply(
          Problem(409, "conflict", "the password has become another meanwhile", remedy: "try again").reply)
      case .user(.refused(let refusal)): .reply(Problem(refusal).reply)
      default: .reply(Problem.away.reply)
      }
    }
  }
}

extension Problem {
  fileprivate init(_ refusal: UserResult.Refusal) {
    switch refusal {
    case .notFound: self = .notFound
    case .wrongPassword:
      self.init(
        401, "wrong-credentials", "there is no account with this address and this password",
        remedy: "look at both, and try again; those who run the server can set another password",
        fields: [.init("WWW-Authenticate", "Bearer realm=\"sluice\"")])
    case .disabled:
      self.init(
        403, "account-disabled", "this account was disabled", remedy: "ask those who run the server")
    case .erased:
      self.init(409, "conflict", "this user was erased", remedy: "make another, with another id")
    case .idTaken: self.init(409, "conflict", "there is a user with this 'id' already")
    case .again: self = .away
    case .administrators:
      self.init(
        403, "forbidden", "a service does not change the account of an administrator",
        remedy: "use an administrator's token, or `sluice users`")
    case .emailTaken:
      self.init(
        409, "email-taken", "there is an account with this address", remedy: "sign in, or take another")
    case .invalid("email", let fault): self.init(400, "email-invalid", "'email' \(fault)")
    case .invalid(let name, let fault): self.init(400, "invalid-body", "in the body: '\(name)' \(fault)")
    }
  }
}
