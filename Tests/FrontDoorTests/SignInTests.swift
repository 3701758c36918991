import FrontWire
import Identity
import Pipeline
import Testing

@testable import FrontDoor

/// Hashes of passwords, the count of tries, and the cookie of a page.
struct SignInTests {
  @Test func aPasswordIsRightForItsHashAlone() throws {
    let hash = try PasswordHash.make("correct horse")
    #expect(hash.hasPrefix("$scrypt$ln=15,r=8,p=3$") && !hash.contains("horse"))
    #expect(PasswordHash.isRight("correct horse", for: hash))
    #expect(!PasswordHash.isRight("correct horsf", for: hash) && !PasswordHash.isRight("", for: hash))
    #expect(try PasswordHash.make("correct horse") != hash, "each has a salt of its own")
    #expect(!PasswordHash.isRight("correct horse", for: nil))
    // Known values: RFC 7914, section 12, with a shorter key.
    #expect(
      PasswordHash.isRight(
        "pleaseletmein",
        for: "$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGU=$cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofI="))
    for broken in ["", "$scrypt$", "$scrypt$ln=60,r=8,p=3$AA==$AA==", hash + "$", String(hash.dropLast(4))] {
      #expect(!PasswordHash.isRight("correct horse", for: broken), "\(broken)")
    }
  }

  @Test func aPasswordHasEightCharacters() {
    #expect(PasswordHash.fault(of: "1234567") != nil && PasswordHash.fault(of: "12345678") == nil)
    #expect(PasswordHash.fault(of: String(repeating: "a", count: 1024)) == nil)
    #expect(PasswordHash.fault(of: String(repeating: "a", count: 1025)) != nil)
  }

  private static let second: UInt64 = 1_000_000_000

  @Test func whoGuessesIsSlowedAndThePersonItselfIsNot() {
    let tries = SignInTries()
    for _ in 0..<10 { #expect(tries.begin(account: "ann", address: "10.0.0.1", at: 0) == nil) }
    #expect(tries.begin(account: "ann", address: "10.0.0.1", at: 0) == 30)
    #expect(tries.begin(account: "ann", address: "10.0.0.2", at: 0) == nil, "from elsewhere")
    #expect(tries.begin(account: "ben", address: "10.0.0.1", at: 0) == nil, "another account")
    #expect(tries.begin(account: "ann", address: "10.0.0.1", at: 29 * Self.second) == 1)
    #expect(tries.begin(account: "ann", address: "10.0.0.1", at: 30 * Self.second) == nil)
    #expect(tries.begin(account: "ann", address: "10.0.0.1", at: 30 * Self.second) != nil)
  }

  @Test func aRightTryDoesNotCount() {
    let tries = SignInTries()
    for _ in 0..<200 {
      #expect(tries.begin(account: "ann", address: "10.0.0.1", at: 0) == nil)
      tries.forgive(account: "ann", address: "10.0.0.1")
    }
  }

  @Test func manyAddressesAreSlowedByTheAccountAndManyAccountsByTheAddress() {
    let tries = SignInTries()
    let ofAccount = (0..<300).count { tries.begin(account: "ann", address: "10.0.1.\($0)", at: 0) == nil }
    #expect(ofAccount == 100)
    let ofAddress = (0..<300).count { tries.begin(account: "u\($0)", address: "10.0.0.1", at: 0) == nil }
    #expect(ofAddress == 100)
    // A /64 of IPv6 counts as one address. An unknown address has no count.
    let ofNetwork = (0..<300).count {
      tries.begin(account: "v\($0)", address: "2001:db8::\($0)", at: 0) == nil
    }
    #expect(ofNetwork == 100)
    #expect((0..<300).allSatisfy { tries.begin(account: "w\($0)", address: "", at: 0) == nil })
    #expect((0..<300).count { _ in tries.begin(account: nil, address: "10.9.9.9", at: 0) == nil } == 100)
  }

  @Test func aCookieIsForThisServerAlone() {
    var rules = ServeRules()
    #expect(
      SessionCookie.field("T", seconds: 5, rules).value
        == "sluice_session=T; Path=/; Max-Age=5; HttpOnly; SameSite=Strict")
    rules.publicURL = "https://files.example.com/a/b"
    #expect(
      SessionCookie.field("T", seconds: 0, rules).value
        == "sluice_session=T; Path=/a/b; Max-Age=0; HttpOnly; SameSite=Strict; Secure")
    func token(_ values: String...) -> String? {
      SessionCookie.token(
        FrontRequest(serial: 1, method: "GET", segments: [], fields: values.map { .init("cookie", $0) }))
    }
    #expect(token("a=b; sluice_session=T; c=d") == "T" && token("a=b", "sluice_session=T") == "T")
    #expect(token("xsluice_session=T") == nil && token("sluice_session=") == nil && token() == nil)
  }
}
