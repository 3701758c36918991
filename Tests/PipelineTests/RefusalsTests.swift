import Testing

@testable import Pipeline

/// When a 401 means the credential.
struct RefusalsTests {
  private var refusals = Refusals()

  private mutating func refuses(_ host: Int64, _ user: String) -> Bool {
    refusals.isRefused(by: host, to: user)
  }

  @Test mutating func oneUserAloneSaysNothingHoweverOften() {
    for _ in 0..<100 { #expect(!refuses(1, "eve")) }
  }

  @Test mutating func twoUsersInARowDo() {
    let said = [refuses(1, "eve"), refuses(1, "ben"), refuses(1, "ben"), refuses(1, "eve")]
    #expect(said == [false, true, false, true], "it is counted anew once it is known")
  }

  @Test mutating func notWhereTheHostTookItInBetween() {
    let first = refuses(1, "eve")
    refusals.isTaken(by: 1)
    #expect(!first && !refuses(1, "ben"))
  }

  @Test mutating func eachHostForItself() {
    let said = [refuses(1, "eve"), refuses(2, "ben")]
    refusals.isTaken(by: 2)
    #expect(said == [false, false] && refuses(1, "ben"))
  }

  @Test mutating func namesAreComparedByTheirBytes() {
    let said = [refuses(1, "\u{E9}"), refuses(1, "e\u{301}")]
    #expect(said == [false, true])
  }

  @Test mutating func ofManyHostsNoneIsRememberedForEver() {
    for host in 0..<4500 { _ = refuses(Int64(host), "eve") }
    #expect(!refuses(0, "ben"))
    #expect(refuses(4499, "ben"))
  }
}
