import LedgerPort
import Testing

/// Tokens: what lets clients in.
struct TokenTests {
  private static let hash = [UInt8](repeating: 0xAB, count: 32)
  private static let id = "abababababab"

  @Test(arguments: Engine.allCases) func aTokenIsFoundByItsHashUntilItIsTakenBack(engine: Engine) throws {
    let bench = try Bench(engine)
    let start = bench.time.now
    #expect(try bench.reader.token(hash: Self.hash) == nil)
    let add = Command.token(.add(hash: Self.hash, name: "ann", role: .user, expiresAt: start + 1000))
    #expect(try bench.command(add) == [.done(hasChanged: true)])
    let token = try #require(try bench.reader.token(hash: Self.hash))
    #expect(
      token
        == AccessToken(id: Self.id, name: "ann", role: .user, createdAt: start, expiresAt: start + 1000))
    #expect(token.isValid(at: start + 999) && !token.isValid(at: start + 1000))
    #expect(try bench.reader.token(hash: [UInt8](repeating: 0xAC, count: 32)) == nil)
    guard case .refused? = try bench.command(add).first else {
      return #expect(Bool(false), "it is there already")
    }

    bench.time.pass(500)
    #expect(try bench.command(.token(.revoke(Self.id))) == [.done(hasChanged: true)])
    let revoked = try #require(try bench.reader.token(hash: Self.hash))
    #expect(revoked.revokedAt == start + 500 && !revoked.isValid(at: start + 500))
    #expect(try bench.command(.token(.revoke(Self.id))) == [.done(hasChanged: false)])
    guard case .refused? = try bench.command(.token(.revoke("none"))).first else {
      return #expect(Bool(false), "there is none")
    }
  }

  @Test(arguments: Engine.allCases) func whoIsSignedOutLosesAllTokensOfAUser(engine: Engine) throws {
    let bench = try Bench(engine)
    func hash(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 32) }
    try bench.command(
      .token(.add(hash: hash(1), name: "ann", role: .user)),
      .token(.add(hash: hash(2), name: "ann", role: .user)),
      .token(.add(hash: hash(3), name: "ann", role: .admin)),
      .token(.add(hash: hash(4), name: "ben", role: .user)))
    // One is made in the same exchange.
    let results = try bench.command(
      .token(.add(hash: hash(5), name: "ann", role: .user)), .token(.signOut("ann")), .token(.signOut("ann")),
      .token(.signOut("nobody")))
    #expect(
      results == [
        .done(hasChanged: true), .done(hasChanged: true), .done(hasChanged: false), .done(hasChanged: false),
      ])
    let revoked = try (1...5).map { try bench.reader.token(hash: hash($0))?.revokedAt != nil }
    #expect(revoked == [true, true, false, false, true])
  }

  /// Commands in one exchange see what those before them have done.
  @Test(arguments: Engine.allCases) func aTokenMadeAndTakenBackInOneExchangeIsBoth(engine: Engine) throws {
    let bench = try Bench(engine)
    let results = try bench.command(
      .token(.add(hash: Self.hash, name: "shop", role: .service)), .token(.revoke(Self.id)),
      .token(.revoke(Self.id)))
    #expect(results == [.done(hasChanged: true), .done(hasChanged: true), .done(hasChanged: false)])
    #expect(try bench.reader.tokens().map(\.role) == [.service])
  }
}
