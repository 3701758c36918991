import LedgerPort
import Platform

/// What commands do to tokens.
package enum TokenDecision: Deciding {
  /// What is on record of one.
  package struct Fact {
    /// Of a user; `nil`: it is no user's.
    package var user: String?
    /// Whether it was taken back already.
    package var isRevoked: Bool

    package init(user: String?, isRevoked: Bool) { (self.user, self.isRevoked) = (user, isRevoked) }
  }

  package enum Write: Equatable {
    case add(hash: [UInt8], name: String, role: AccessToken.Role, expiresAt: Int64?)
    case revoke(id: String)
  }

  package static func needs(_ requests: [TokenCommand]) -> Set<String> { Set(requests.map(\.id)) }

  /// Users of whom all tokens are needed.
  package static func users(_ requests: [TokenCommand]) -> Set<ByteText> {
    Set(requests.compactMap { if case .signOut(let name) = $0.action { ByteText(name) } else { nil } })
  }

  package static func decide(
    _ requests: [TokenCommand], _ facts: [String: Fact]
  ) -> (results: [CommandResult], writes: [Write]) {
    var known = facts
    var writes: [Write] = []
    let results = requests.map { request -> CommandResult in
      switch (request.action, known[request.id]?.isRevoked) {
      case (.signOut(let name), _):
        let open = known.filter { !$0.value.isRevoked && $0.value.user.map(ByteText.init) == ByteText(name) }
        for id in open.keys.sorted() {
          known[id]?.isRevoked = true
          writes.append(.revoke(id: id))
        }
        return .done(hasChanged: !open.isEmpty)
      case (.add(let hash, let name, let role, let expiresAt), nil):
        known[request.id] = Fact(user: role == .user ? name : nil, isRevoked: false)
        writes.append(.add(hash: hash, name: name, role: role, expiresAt: expiresAt))
        return .done(hasChanged: true)
      case (.add, _): return .refused("there is a token '\(request.id)' already; make another")
      case (.revoke, nil): return .refused("there is no token '\(request.id)'")
      case (.revoke, false?):
        known[request.id]?.isRevoked = true
        writes.append(.revoke(id: request.id))
        return .done(hasChanged: true)
      case (.revoke, true?): return .done(hasChanged: false)
      }
    }
    return (results, writes)
  }
}
