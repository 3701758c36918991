import FrontWire
import Identity
import LedgerPort
import Platform

// The tokens and credentials of requests.
extension API {
  /// The valid token of a request; `nil`: a request without a token.
  func token(of request: FrontRequest) throws -> AccessToken? {
    let values = request.values("authorization")
    if values.isEmpty { return try tokenOfPage(request) }
    guard values.count == 1, let text = Self.bearer(values[0]) else { throw Problem.unauthorized }
    guard let token = try token(text) else { throw Problem.refused("the token is unknown") }
    if let fault = token.fault(at: Clock.now()) { throw Problem.refused(fault) }
    return token
  }

  /// The same for a route. A sign-in with an ended token is a sign-in without one.
  func token(of request: FrontRequest, _ route: Route) throws -> AccessToken? {
    do {
      return try token(of: request)
    } catch let problem as Problem where problem.status == 401 && (route == .signIn || route == .signUp) {
      return nil
    }
  }

  /// The token in the cookie of a page. An ended session counts as no token, so that the page can sign in.
  private func tokenOfPage(_ request: FrontRequest) throws -> AccessToken? {
    guard let text = cookie(of: request), let token = try token(text), token.device != nil,
      token.isValid(at: Clock.now())
    else {
      return nil
    }
    if !["GET", "HEAD", "OPTIONS"].contains(request.method) && request.field(SessionCookie.guardField) != "1"
    {
      throw Problem(
        403, "forbidden", "a request with a cookie says that a page of this server sends it",
        remedy: "add 'X-CSRF: 1'")
    }
    return token
  }

  private func cookie(of request: FrontRequest) -> String? {
    rules.accounts == .nobody ? nil : SessionCookie.token(request)
  }

  private func token(_ text: String) throws -> AccessToken? {
    let bearer: JSONWebTokens.Bearer
    guard Self.isSigned(text) else {
      let digest = digest(text)
      return try recollection.token(digest) { try ledger.token(hash: digest) }
    }
    guard let identity else { return nil }
    do throws(JSONWebTokens.Refusal) {
      bearer = try identity.check(text, at: Clock.now())
    } catch {
      throw Problem.refused(error.message)
    }
    return try signed(bearer)
  }

  /// The user of a token that another program has signed.
  private func signed(_ bearer: JSONWebTokens.Bearer) throws -> AccessToken {
    var token = AccessToken(signed: bearer)
    token.isDisabled = try ledger.account(bearer.name)?.user.disabledAt != nil
    return token
  }

  /// Whether another program has signed a token: tokens of this program have no dot.
  private static func isSigned(_ text: String) -> Bool { text.utf8.contains(UInt8(ascii: ".")) }

  /// The credential of a request, perhaps expired or revoked; `nil`: a request without a credential.
  func credential(of request: FrontRequest) -> Credential? {
    guard let text = request.field("authorization").flatMap(Self.bearer) ?? cookie(of: request) else {
      return LinkSigner.Grant("", request.query).map(\.credential)
    }
    if !Self.isSigned(text) { return .token(digest(text)) }
    return identity?.bearer(text, at: Clock.now()).map {
      .signed(name: $0.name, expiresAt: $0.expiresAt, key: $0.key)
    }
  }

  /// Whether a credential is still valid. While the ledger is away, it stays valid.
  func isValid(_ credential: Credential) -> Bool {
    (try? token(of: credential)?.isValid(at: Clock.now()) ?? false) ?? true
  }

  func token(of credential: Credential) throws -> AccessToken? {
    switch credential {
    case .token(let digest): try ledger.token(hash: digest)
    case .signed(let name, let expiresAt, let key):
      // A request ends with its key, as with a revoked token.
      identity?.hasKey(key) == true
        ? try signed(.init(name: name, expiresAt: expiresAt, key: key)) : nil
    }
  }

  /// The token of `Bearer TOKEN` (RFC 6750, 2.1).
  static func bearer(_ value: String) -> String? {
    let (bytes, space, scheme) = (value.utf8.span, UInt8(ascii: " "), "bearer ".utf8.span)
    guard bytes.count > scheme.count else { return nil }
    for place in scheme.indices where bytes[place] | 0x20 != scheme[place] { return nil }
    var start = scheme.count
    while start < bytes.count, bytes[start] == space { start += 1 }
    for place in start..<bytes.count where bytes[place] == space { return nil }
    if start == bytes.count { return nil }
    return bytes.extracting(start...).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
  }

  private func digest(_ text: String) -> [UInt8] {
    var text = text
    hash.begin()
    text.withUTF8 { hash.add(UnsafeRawBufferPointer($0)) }
    return hash.finish()
  }

  /// An attachment that the asker may see, and may do with what the route does.
  func record(_ id: String, _ route: Route, _ token: AccessToken?) throws -> AttachmentRecord {
    let records = try ledger.attachments(idPrefix: id)
    guard let record = records.first(where: { $0.origin.id == id }) else {
      // The same reads, so that the time does not tell a missing attachment from the attachment of another user.
      if let decoy, let other = try ledger.attachments(idPrefix: decoy).first {
        _ = try ledger.participants(of: other.key)
      }
      throw Problem.notFound
    }
    decoy = id
    let party = Party(
      token, sender: record.origin.senderId, participants: try ledger.participants(of: record.key))
    guard Route.attachment.parties.contains(party) else { throw Problem.notFound }
    guard route.parties.contains(party) else { throw Problem.forbidden }
    return record
  }
}
