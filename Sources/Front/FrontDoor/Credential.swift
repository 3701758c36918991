import Identity
import Ledger

/// What shows who asks, and can be looked at again while a request is under way.
enum Credential: Hashable, Sendable {
  /// A token of this server's, by its digest.
  case token([UInt8])
  /// One that another program has signed: of whom, and until when, in milliseconds since 1970.
  case signed(name: String, expiresAt: Int64)
}

extension AccessToken {
  /// Of a user who came with a token that another program has signed.
  init(signed bearer: JSONWebTokens.Bearer) {
    self.init(id: "signed", name: bearer.name, role: .user, createdAt: 0, expiresAt: bearer.expiresAt)
  }
}
