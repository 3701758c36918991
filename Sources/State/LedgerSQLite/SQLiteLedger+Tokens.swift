import LedgerPort
import LedgerRules
import Platform
import SQLite

// Tokens, and who takes part in what: what the server asks before it answers.
extension SQLiteLedger {
  package func fact(ofToken id: String) throws -> TokenDecision.Fact? {
    try statement("SELECT name, role, revoked_at IS NOT NULL FROM tokens WHERE id = ?1").first(.text(id)) {
      Self.fact($0, 0)
    }
  }

  package func facts(ofTokensOf user: ByteText) throws -> [String: TokenDecision.Fact] {
    var facts: [String: TokenDecision.Fact] = [:]
    try statement(
      "SELECT id, name, role, revoked_at IS NOT NULL FROM tokens WHERE name = ?1 AND role = 'user'"
    ).rows(.text(user.text)) { facts[$0.text(0)] = Self.fact($0, 1) }
    return facts
  }

  private static func fact(_ row: borrowing Row, _ first: Int32) -> TokenDecision.Fact {
    TokenDecision.Fact(
      user: row.text(first + 1) == AccessToken.Role.user.rawValue ? row.text(first) : nil,
      isRevoked: row.integer(first + 2) == 1)
  }

  package func addToken(_ token: AccessToken, hash: [UInt8]) throws {
    try statement("INSERT INTO tokens VALUES (?1, ?2, ?3, ?4, ?5, ?6, NULL, ?7)").run(
      .text(token.id), .blob(hash), .text(token.name), .text(token.role.rawValue), .integer(token.createdAt),
      .optional(token.expiresAt), .optional(token.device))
  }

  package func revokeToken(_ id: String, at now: Int64) throws {
    try statement("UPDATE tokens SET revoked_at = ?2 WHERE id = ?1").run(.text(id), .integer(now))
  }

  public func token(hash: [UInt8]) throws(LedgerError) -> AccessToken? {
    try reading {
      try statement(TokenText.byHash).first(.blob(hash)) { AccessToken($0) }
    }
  }

  public func tokens() throws(LedgerError) -> [AccessToken] {
    try reading {
      var tokens: [AccessToken] = []
      try statement(TokenText.list).rows { tokens.append(AccessToken($0)) }
      return tokens
    }
  }

  private static let readers = SQLText(
    "SELECT \(SQL.readers) FROM attachments a JOIN messages m USING (conversation_id, message_id) WHERE a.key = ?1"
  )

  public func participants(of key: Int64) throws(LedgerError) -> [String] {
    try reading {
      try statement(Self.readers).first(.integer(key)) { JSONStrings.read($0.text(0)) ?? [] } ?? []
    }
  }
}

private enum TokenText {
  static let byHash = SQLText(AccessToken.select + " WHERE t.hash = ?1")
  static let list = SQLText(AccessToken.select + " WHERE t.device IS NULL ORDER BY t.created_at, t.id")
}

extension AccessToken {
  static let select = """
    SELECT t.id, t.name, t.role, t.created_at, t.expires_at, t.revoked_at, t.device, (t.role = 'user' OR t.device IS NOT NULL) AND EXISTS (
      SELECT 1 FROM users u WHERE u.id = t.name AND u.disabled_at IS NOT NULL) FROM tokens t
    """

  init(_ row: borrowing Row) {
    self.init(
      id: row.text(0), name: row.text(1), role: Role(rawValue: row.text(2)) ?? .user,
      createdAt: row.integer(3), expiresAt: row.optionalInteger(4), revokedAt: row.optionalInteger(5),
      device: row.optionalText(6), isDisabled: row.integer(7) == 1)
  }
}
