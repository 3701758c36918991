/// What commands do to tokens.
package enum TokenDecision: Deciding {
  /// Whether it was taken back already.
  package typealias Fact = Bool

  package enum Write: Equatable {
    case add(hash: [UInt8], name: String, role: AccessToken.Role, expiresAt: Int64?)
    case revoke(id: String)
  }

  package static func needs(_ requests: [TokenCommand]) -> Set<String> { Set(requests.map(\.id)) }

  package static func decide(
    _ requests: [TokenCommand], _ facts: [String: Fact]
  ) -> (results: [CommandResult], writes: [Write]) {
    var isRevoked = facts
    var writes: [Write] = []
    let results = requests.map { request -> CommandResult in
      switch (request.action, isRevoked[request.id]) {
      case (.add(let hash, let name, let role, let expiresAt), nil):
        isRevoked[request.id] = false
        writes.append(.add(hash: hash, name: name, role: role, expiresAt: expiresAt))
        return .done(hasChanged: true)
      case (.add, _): return .refused("there is a token '\(request.id)' already; make another")
      case (.revoke, nil): return .refused("there is no token '\(request.id)'")
      case (.revoke, false?):
        isRevoked[request.id] = true
        writes.append(.revoke(id: request.id))
        return .done(hasChanged: true)
      case (.revoke, true?): return .done(hasChanged: false)
      }
    }
    return (results, writes)
  }
}
