import Platform

/// A client's right to speak with the server: what is on record of its token, which is not. A hash of it finds this row.
public struct AccessToken: Sendable, Equatable {
  /// What its bearer may do; the server says which of its routes that are.
  public enum Role: String, Sendable, CaseIterable {
    /// A participant: what is its own, and what it takes part in.
    case user
    /// A product's own backend: it names senders and participants.
    case service
    /// A person who operates the server.
    case admin
  }

  /// The beginning of the hash, in hexadecimal digits: what people call it by.
  public var id: String
  /// Of a user: its id as a participant.
  public var name: String
  public var role: Role
  /// In milliseconds since 1970, as the others.
  public var createdAt: Int64
  /// From when on it is worth nothing; `nil`: it does not expire.
  public var expiresAt: Int64?
  /// When it was taken back; `nil`: it was not.
  public var revokedAt: Int64?
  /// The device of a session, as its client calls it; `nil`: an operator made the token.
  public var device: String?
  /// Whether its user is disabled.
  public var isDisabled = false

  public init(
    id: String, name: String, role: Role, createdAt: Int64, expiresAt: Int64? = nil, revokedAt: Int64? = nil,
    device: String? = nil, isDisabled: Bool = false
  ) {
    (self.id, self.name, self.role) = (id, name, role)
    (self.createdAt, self.expiresAt, self.revokedAt) = (createdAt, expiresAt, revokedAt)
    (self.device, self.isDisabled) = (device, isDisabled)
  }

  /// Whether it opens anything.
  ///
  /// - Parameter now: in milliseconds since 1970.
  public func isValid(at now: Int64) -> Bool { fault(at: now) == nil }

  /// Why it opens nothing: a sentence without its full stop; `nil`: it is valid.
  public func fault(at now: Int64) -> String? {
    if revokedAt != nil { return "the token was revoked" }
    if isDisabled { return "the user of the token is disabled" }
    return expiresAt.map { now >= $0 } == true ? "the token has expired" : nil
  }

  /// Digits of an id.
  public static let idLength = 12

  /// The id of the token with this hash.
  public static func id(of hash: [UInt8]) -> String { Hexadecimal.text(Array(hash.prefix(idLength / 2))) }
}

/// Changes which tokens there are.
public struct TokenCommand: Sendable, Equatable {
  public enum Action: Sendable, Equatable {
    /// - Parameter hash: the SHA-256 of the token.
    case add(hash: [UInt8], name: String, role: AccessToken.Role, expiresAt: Int64?)
    /// Takes it back, for good.
    case revoke
    /// Takes all tokens of a user back, for good.
    case signOut(name: String)
  }

  public var id: String
  public var action: Action

  public static func add(
    hash: [UInt8], name: String, role: AccessToken.Role, expiresAt: Int64? = nil
  ) -> TokenCommand {
    TokenCommand(AccessToken.id(of: hash), .add(hash: hash, name: name, role: role, expiresAt: expiresAt))
  }

  public static func revoke(_ id: String) -> TokenCommand { TokenCommand(id, .revoke) }

  /// - Parameter name: of a user; services and administrators of that name keep theirs.
  public static func signOut(_ name: String) -> TokenCommand { TokenCommand("", .signOut(name: name)) }

  private init(_ id: String, _ action: Action) { (self.id, self.action) = (id, action) }
}
