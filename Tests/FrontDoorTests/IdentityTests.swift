import CCrypto
import Foundation
import LedgerPort
import Platform
import Synchronization
import Testing

@testable import FrontDoor
@testable import Identity

/// Tokens that another program signs: those that are right, and all that may be wrong with one.
struct IdentityTests {
  /// A pair of keys, as the program that signs has it.
  private final class Signer {
    let algorithm: String
    private let key: OpaquePointer

    init(_ algorithm: String, bits: UInt32 = 2048) throws {
      self.algorithm = algorithm
      let made: OpaquePointer? =
        switch algorithm {
        case "RS256": madeKey("RSA", bits)
        case "ES256": madeKey("EC", 0)
        default: madeKey("ED25519", 0)
        }
      key = try #require(made)
    }

    deinit { EVP_PKEY_free(key) }

    private func number(_ name: String) -> [UInt8] {
      var number: OpaquePointer?
      guard EVP_PKEY_get_bn_param(key, name, &number) == 1, let number else { return [] }
      defer { BN_free(number) }
      var bytes = [UInt8](repeating: 0, count: Int(BN_num_bits(number) + 7) / 8)
      BN_bn2bin(number, &bytes)
      if algorithm == "ES256" { while bytes.count < 32 { bytes.insert(0, at: 0) } }
      return bytes
    }

    /// The public half.
    func published(id: String) -> String {
      let members =
        switch algorithm {
        case "RS256": #""kty":"RSA","n":"\#(Self.text(number("n")))","e":"\#(Self.text(number("e")))""#
        case "ES256":
          #""kty":"EC","crv":"P-256","x":"\#(Self.text(number("qx")))","y":"\#(Self.text(number("qy")))""#
        default: #""kty":"OKP","crv":"Ed25519","x":"\#(Self.text(point))""#
        }
      return "{\(members),\"kid\":\"\(id)\",\"use\":\"sig\"}"
    }

    private var point: [UInt8] {
      var (bytes, count) = ([UInt8](repeating: 0, count: 32), 32)
      EVP_PKEY_get_raw_public_key(key, &bytes, &count)
      return bytes
    }

    func signature(_ bytes: [UInt8]) -> [UInt8] {
      guard let context = EVP_MD_CTX_new() else { return [] }
      defer { EVP_MD_CTX_free(context) }
      EVP_DigestSignInit_ex(context, nil, algorithm == "EdDSA" ? nil : "SHA256", nil, nil, key, nil)
      var (signature, count) = ([UInt8](repeating: 0, count: 1024), 1024)
      guard EVP_DigestSign(context, &signature, &count, bytes, bytes.count) == 1 else { return [] }
      let made = Array(signature[..<count])
      return algorithm == "ES256" ? Self.numbers(made) : made
    }

    /// The two numbers of a sequence.
    private static func numbers(_ der: [UInt8]) -> [UInt8] {
      var (place, numbers) = (2, [UInt8]())
      for _ in 0..<2 {
        let length = Int(der[place + 1])
        let digits = Array(der[(place + 2)..<(place + 2 + length)].drop { $0 == 0 })
        numbers += [UInt8](repeating: 0, count: 32 - digits.count) + digits
        place += 2 + length
      }
      return numbers
    }

    static func text(_ bytes: [UInt8]) -> String {
      Base64.text(bytes).replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    func token(_ claims: String, header: String? = nil, id: String = "a") -> String {
      let head = header ?? #"{"alg":"\#(algorithm)","typ":"JWT","kid":"\#(id)"}"#
      let text = Self.text(Array(head.utf8)) + "." + Self.text(Array(claims.utf8))
      return text + "." + Self.text(signature(Array(text.utf8)))
    }
  }

  private let folder: String
  private let told = Told()

  private final class Told: Sendable {
    let lines = Mutex<[String]>([])
  }

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  private func tokens(_ keys: [String]) throws -> JSONWebTokens {
    try publish(keys)
    return try JSONWebTokens(issuer: "https://id", audience: "sluice", path: folder + "/jwks.json") {
      [told] line in told.lines.withLock { $0.append(line) }
    }
  }

  private func publish(_ keys: [String]) throws {
    try "{\"keys\":[\(keys.joined(separator: ","))]}".write(
      toFile: folder + "/jwks.json", atomically: true, encoding: .utf8)
  }

  /// In seconds since 1970, and milliseconds.
  private static let now: Int64 = 1_800_000_000
  private static let clock = now * 1000

  private static func claims(_ more: String = "") -> String {
    #"{"iss":"https://id","aud":"sluice","sub":"ann","exp":\#(now + 600)\#(more)}"#
  }

  @Test(arguments: ["RS256", "ES256", "EdDSA"])
  func aTokenThatIsRightNamesItsBearer(_ algorithm: String) throws {
    let signer = try Signer(algorithm)
    let tokens = try tokens([signer.published(id: "a")])
    var bearer = try #require(tokens.bearer(signer.token(Self.claims()), at: Self.clock))
    #expect(bearer.name == "ann" && bearer.expiresAt == Self.clock + 600_000 && tokens.hasKey(bearer.key))
    bearer.expiresAt = Self.clock + 600_000
    // Several, since the numbers of a signature may begin with zeros.
    for _ in 0..<20 { #expect(tokens.bearer(signer.token(Self.claims()), at: Self.clock) == bearer) }
    let without = signer.token(Self.claims(), header: #"{"alg":"\#(algorithm)"}"#)
    #expect(tokens.bearer(without, at: Self.clock) == bearer)
    let several = signer.token(
      #"{"iss":"https://id","aud":["other","sluice"],"sub":"ann","exp":\#(Self.now + 600).0,"nbf":\#(Self.now)}"#
    )
    #expect(tokens.bearer(several, at: Self.clock) == bearer)
    // Clocks differ a little.
    #expect(tokens.bearer(signer.token(Self.claims()), at: Self.clock + 620_000) != nil)
    #expect(tokens.bearer(signer.token(Self.claims()), at: Self.clock + 631_000) == nil)
  }

  @Test func aTokenThatSaysTheWrongThingsOpensNothing() throws {
    let signer = try Signer("ES256")
    let tokens = try tokens([signer.published(id: "a")])
    let soon = Self.now + 600
    for claims in [
      "{}", "[]", "x", #"{"iss":"https://id","aud":"sluice","sub":"ann"}"#,
      // To who reads it in C it is ann's.
      #"{"iss":"https://id","aud":"sluice","sub":"ann\u0000evil","exp":\#(soon)}"#,
      #"{"iss":"https://other","aud":"sluice","sub":"ann","exp":\#(soon)}"#,
      #"{"iss":"https://id","aud":"other","sub":"ann","exp":\#(soon)}"#,
      #"{"iss":"https://id","aud":["other"],"sub":"ann","exp":\#(soon)}"#,
      #"{"iss":"https://id","aud":{"sluice":1},"sub":"ann","exp":\#(soon)}"#,
      #"{"iss":"https://id","sub":"ann","exp":\#(soon)}"#,
      #"{"iss":["https://id"],"aud":"sluice","sub":"ann","exp":\#(soon)}"#,
      #"{"iss":"https://id","aud":"sluice","exp":\#(soon)}"#,
      #"{"iss":"https://id","aud":"sluice","sub":"","exp":\#(soon)}"#,
      #"{"iss":"https://id","aud":"sluice","sub":7,"exp":\#(soon)}"#,
      #"{"iss":"https://id","aud":"sluice","sub":"a\nb","exp":\#(soon)}"#,
      // Halves of characters, which readers take for the same.
      #"{"iss":"https://id","aud":"sluice","sub":"\ud800","exp":\#(soon)}"#,
      #"{"iss":"https://id","aud":"sluice","sub":"ann\udc00\ud800","exp":\#(soon)}"#,
      #"{"iss":"https://id","aud":"sluice","sub":"ann","exp":"\#(soon)"}"#,
      #"{"iss":"https://id","aud":"sluice","sub":"ann","exp":\#(Self.now - 31)}"#,
      #"{"iss":"https://id","aud":"sluice","sub":"ann","exp":1e300}"#,
      #"{"iss":"https://id","aud":"sluice","sub":"ann","exp":-1}"#,
      #"{"iss":"https://id","aud":"sluice","sub":"ann","sub":"ben","exp":\#(soon)}"#,
      Self.claims(#","nbf":\#(Self.now + 31)"#), Self.claims(#","nbf":"x""#), Self.claims(#","nbf":null"#),
    ] {
      #expect(tokens.bearer(signer.token(claims), at: Self.clock) == nil, "\(claims)")
    }
    // As long as any participant's id.
    func isTaken(_ count: Int) -> Bool {
      let name = String(repeating: "a", count: count)
      let claims = #"{"iss":"https://id","aud":"sluice","sub":"\#(name)","exp":\#(soon)}"#
      return tokens.bearer(signer.token(claims), at: Self.clock) != nil
    }
    #expect(isTaken(256) && !isTaken(257))
  }

  /// The claims of a token without a valid signature are not told.
  @Test func aRefusalSaysWhy() throws {
    let (signer, other) = (try Signer("ES256"), try Signer("ES256"))
    let tokens = try tokens([signer.published(id: "a")])
    func refusal(_ claims: String, by signer: Signer) -> JSONWebTokens.Refusal? {
      do throws(JSONWebTokens.Refusal) {
        _ = try tokens.check(signer.token(claims), at: Self.clock)
        return nil
      } catch {
        return error
      }
    }
    let late = #"{"iss":"https://id","aud":"sluice","sub":"ann","exp":\#(Self.now - 31)}"#
    #expect(refusal(late, by: signer) == .expired && refusal(late, by: other) == .unsigned)
    #expect(refusal(#"{"iss":"https://id","aud":"x","sub":"ann","exp":1}"#, by: signer) == .audience)
    #expect(refusal(#"{"iss":"https://other"}"#, by: signer) == .issuer)
    #expect(refusal(#"{"iss":"https://id","aud":"sluice","sub":"ann"}"#, by: signer) == .noExpiry)
    #expect(refusal(Self.claims(#","nbf":\#(Self.now + 31)"#), by: signer) == .notYet)
    #expect(refusal(Self.claims(), by: signer) == nil)
    for refusal in JSONWebTokens.Refusal.allCases { #expect(!refusal.message.contains("\"")) }
  }

  @Test func aTokenThatIsSignedWronglyOpensNothing() throws {
    let (rsa, ec, other) = (try Signer("RS256"), try Signer("ES256"), try Signer("ES256"))
    let tokens = try tokens([rsa.published(id: "r"), ec.published(id: "a")])
    for header in [
      #"{"alg":"none"}"#, #"{"alg":"HS256","kid":"r"}"#, #"{"alg":"ES384","kid":"a"}"#, #"{"kid":"a"}"#,
      #"{"alg":"ES256","kid":"unknown"}"#, #"{"alg":"ES256","kid":7}"#, #"{"alg":"RS256","kid":"a"}"#,
      #"{"alg":"EdDSA","kid":"a"}"#, #"{"alg":"es256","kid":"a"}"#,
      #"{"alg":"ES256","kid":"a","crit":["exp"]}"#, #"{"alg":"ES256","kid":"a","typ":"secevent+jwt"}"#,
      #"{"alg":"ES256","alg":"none","kid":"a"}"#,
    ] {
      #expect(tokens.bearer(ec.token(Self.claims(), header: header), at: Self.clock) == nil, "\(header)")
    }
    #expect(tokens.bearer(other.token(Self.claims()), at: Self.clock) == nil)
    // As a secret, the public key is known to all.
    let parts = rsa.token(Self.claims(), header: #"{"alg":"HS256","kid":"r"}"#).split(separator: ".")
    let text = Array("\(parts[0]).\(parts[1])".utf8)
    let secret = Array(rsa.published(id: "r").utf8)
    var (mac, count) = ([UInt8](repeating: 0, count: 32), UInt32(32))
    HMAC(EVP_sha256(), secret, Int32(secret.count), text, text.count, &mac, &count)
    #expect(tokens.bearer("\(parts[0]).\(parts[1]).\(Signer.text(mac))", at: Self.clock) == nil)

    let right = ec.token(Self.claims())
    #expect(tokens.bearer(right, at: Self.clock) != nil)
    let pieces = right.split(separator: ".").map(String.init)
    for wrong in [
      "", ".", "..", "...", "a.b", "a.b.c", right + ".", "." + right, right + "=", right + "A",
      "\(pieces[0]).\(pieces[1]).", "\(pieces[0]).\(pieces[1])", "\(pieces[0])..\(pieces[2])",
      " " + right, String(repeating: "a", count: 9000) + "." + right,
    ] {
      #expect(tokens.bearer(wrong, at: Self.clock) == nil, "\(wrong.prefix(40))")
    }
    // Each bit counts.
    var random = SplitMix(state: 3)
    let letters = Array(right.utf8)
    for _ in 0..<2000 {
      var changed = letters
      let place = Int.random(in: 0..<changed.count, using: &random)
      changed[place] = Array("ABCDEFGHabcdefgh01234567-_.".utf8).randomElement(using: &random) ?? 0
      if changed == letters { continue }
      #expect(tokens.bearer(String(decoding: changed, as: UTF8.self), at: Self.clock) == nil)
    }
  }

  @Test func newKeysAreReadAndWrongOnesChangeNothing() throws {
    let (old, new) = (try Signer("EdDSA"), try Signer("EdDSA"))
    let tokens = try tokens([old.published(id: "a")])
    #expect(tokens.bearer(new.token(Self.claims(), id: "b"), at: Self.clock) == nil)
    let key = try #require(tokens.bearer(old.token(Self.claims()), at: Self.clock)).key
    try "{".write(toFile: folder + "/jwks.json", atomically: true, encoding: .utf8)
    Thread.sleep(forTimeInterval: 1.1)
    #expect(tokens.bearer(old.token(Self.claims()), at: Self.clock) != nil)
    Thread.sleep(forTimeInterval: 1.1)
    #expect(tokens.bearer(old.token(Self.claims()), at: Self.clock) != nil)
    #expect(told.lines.withLock { $0 }.count == 1, "it is told once")
    try FileManager.default.removeItem(atPath: folder + "/jwks.json")
    for _ in 0..<2 {
      Thread.sleep(forTimeInterval: 1.1)
      #expect(tokens.bearer(old.token(Self.claims()), at: Self.clock) != nil)
    }
    let lines = told.lines.withLock { $0 }
    #expect(lines.count == 2 && lines.last?.contains("No such file") == true, "\(lines)")
    try publish([new.published(id: "b")])
    Thread.sleep(forTimeInterval: 1.1)
    #expect(tokens.bearer(new.token(Self.claims(), id: "b"), at: Self.clock) != nil)
    #expect(tokens.bearer(old.token(Self.claims()), at: Self.clock) == nil)
    #expect(!tokens.hasKey(key))
  }

  /// The type may stand in full (RFC 7515, 4.1.9), and a token for access has one of its own (RFC 9068, 2.1).
  @Test func aTokenMayNameItsTypeInFull() throws {
    let signer = try Signer("EdDSA")
    let tokens = try tokens([signer.published(id: "a")])
    for (type, isGood) in [
      ("JWT", true), ("at+jwt", true), ("application/jwt", true), ("application/at+JWT", true),
      ("dpop+jwt", false),
      ("text/jwt", false),
    ] {
      let token = signer.token(Self.claims(), header: #"{"alg":"EdDSA","typ":"\#(type)","kid":"a"}"#)
      #expect((tokens.bearer(token, at: Self.clock) != nil) == isGood, "\(type)")
    }
  }

  /// Clocks differ a little: what it opens stays open for as long as a new request would be taken.
  @Test func aTokenOpensSomethingUntilTheLeewayIsOver() throws {
    let signer = try Signer("EdDSA")
    let bearer = try #require(
      try tokens([signer.published(id: "a")]).bearer(signer.token(Self.claims()), at: Self.clock))
    let token = AccessToken(signed: bearer)
    #expect(token.isValid(at: Self.clock + 620_000) && !token.isValid(at: Self.clock + 631_000))
  }

  /// To Swift they are the same text as the one that is meant.
  @Test func namesAreComparedByTheirBytes() throws {
    let signer = try Signer("EdDSA")
    try publish([signer.published(id: "ren\u{E9}")])
    let tokens = try JSONWebTokens(
      issuer: "https://\u{E9}", audience: "caf\u{E9}", path: folder + "/jwks.json"
    ) { _ in }
    func bearer(_ issuer: String, _ audience: String, _ id: String) -> JSONWebTokens.Bearer? {
      let claims = #"{"iss":"\#(issuer)","aud":"\#(audience)","sub":"ann","exp":\#(Self.now + 600)}"#
      return tokens.bearer(signer.token(claims, id: id), at: Self.clock)
    }
    #expect(bearer("https://\u{E9}", "caf\u{E9}", "ren\u{E9}") != nil)
    #expect(bearer("https://e\u{301}", "caf\u{E9}", "ren\u{E9}") == nil)
    #expect(bearer("https://\u{E9}", "cafe\u{301}", "ren\u{E9}") == nil)
    #expect(bearer("https://\u{E9}", "caf\u{E9}", "rene\u{301}") == nil)
  }

  @Test func keysThatAreOfNoUseAreAnError() throws {
    let weak = try Signer("RS256", bits: 1024)
    for keys in [
      [], ["{}"], ["7"], [weak.published(id: "a")], [#"{"kty":"oct","k":"AAAA"}"#],
      [#"{"kty":"EC","crv":"P-256","x":"AAAA","y":"AAAA"}"#],
      // No point of the curve.
      [
        #"{"kty":"EC","crv":"P-256","x":"\#(Signer.text([UInt8](repeating: 1, count: 32)))","y":"\#(Signer.text([UInt8](repeating: 1, count: 32)))"}"#
      ],
      [#"{"kty":"RSA","n":"","e":"AQAB"}"#],
      [try Signer("ES256").published(id: "a").replacing("\"sig\"", with: "\"enc\"")],
    ] {
      #expect(throws: IdentityError.self, "\(keys)") { try tokens(keys) }
    }
    #expect(throws: IdentityError.self) {
      try JSONWebTokens(issuer: "", audience: "", path: folder + "/none") { _ in }
    }
  }
}

/// - Parameter bits: of RSA.
private func madeKey(_ kind: String, _ bits: UInt32) -> OpaquePointer? {
  guard let context = EVP_PKEY_CTX_new_from_name(nil, kind, nil), EVP_PKEY_keygen_init(context) == 1 else {
    return nil
  }
  defer { EVP_PKEY_CTX_free(context) }
  if kind == "RSA" { EVP_PKEY_CTX_set_rsa_keygen_bits(context, Int32(bits)) }
  if kind == "EC" { EVP_PKEY_CTX_set_group_name(context, "prime256v1") }
  var key: OpaquePointer?
  return EVP_PKEY_generate(context, &key) == 1 ? key : nil
}
