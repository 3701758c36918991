import Identity
import LedgerPort

/// What shows who asks, and can be looked at again while a request is under way.
enum Credential: Hashable, Sendable {
  /// A token of this server's, by its digest.
  case token([UInt8])
  /// One that another program has signed: of whom, until when, in milliseconds since 1970, and the thumbprint of the key.
  case signed(name: String, expiresAt: Int64, key: [UInt8])
}

extension AccessToken {
  /// Of a user who came with a token that another program has signed.
  init(signed bearer: JSONWebTokens.Bearer) {
    self.init(
      id: "signed", name: bearer.name, role: .user, createdAt: 0,
      expiresAt: bearer.expiresAt + JSONWebTokens.leeway)
  }
}
