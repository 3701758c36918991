import Glibc
import JSONText
import Platform
import Synchronization

/// Tells who comes with a JSON Web Token (RFC 7519) that another program has signed. All threads use it.
///
/// The rules are those of RFC 8725: the key decides how a token must be signed, who it was made by and for is compared, and one that
/// never expires is refused.
public final class JSONWebTokens: Sendable {
  /// Who comes, and until when that is so.
  public struct Bearer: Sendable, Equatable {
    /// The claim `sub`: the participant's id.
    public var name: String
    /// In milliseconds since 1970.
    public var expiresAt: Int64
    /// The thumbprint of the key that the token is signed for.
    public var key: [UInt8]

    public init(name: String, expiresAt: Int64, key: [UInt8]) {
      (self.name, self.expiresAt, self.key) = (name, expiresAt, key)
    }
  }

  private struct State {
    var keys: [JSONWebKey]
    var stamp: FileStamp?
    /// When the file was looked at last, in nanoseconds of the monotonic clock.
    var lookedAt: UInt64
    /// Why the file cannot be used, as it was told; `nil`: it can.
    var told: String?
  }

  private let issuer: String
  private let audience: String
  /// `nil`: the keys come by ``take(_:)``.
  private let path: String?
  /// A token names a key that is not there: the issuer may have new ones.
  private let wantKeys: @Sendable () -> Void
  private let say: @Sendable (String) -> Void
  private let state: Mutex<State>
  private let parser: Mutex<JSONParser>

  /// Bytes of a token, and of a file of keys.
  private static let (tokenLimit, fileLimit) = (8 << 10, 1 << 20)
  /// Of a token (RFC 7519, 5.1), and of one for access (RFC 9068, 2.1).
  private static let types = ["jwt", "at+jwt", "application/jwt", "application/at+jwt"]
  /// Milliseconds by which clocks may differ.
  public static let leeway: Int64 = 30_000
  private static let lookInterval: UInt64 = 200_000_000

  /// - Parameters:
  ///   - issuer: what `iss` must be.
  ///   - audience: what `aud` must be or have.
  ///   - path: a file with the keys (a JWK set, RFC 7517). A new one there is read within a second.
  ///   - say: tells the operator a line. Any thread calls it.
  public init(
    issuer: String, audience: String, path: String, say: @escaping @Sendable (String) -> Void
  ) throws(IdentityError) {
    (self.issuer, self.audience, self.path, self.say) = (issuer, audience, path, say)
    wantKeys = {}
    parser = try Self.parser()
    let stamp = FileStamp(of: path)
    let keys = try Self.read(path)
    // A person may take all back; to begin so is a mistake.
    if keys.isEmpty { throw IdentityError("\(path) has no keys for tokens: its set is empty") }
    state = Mutex(State(keys: keys, stamp: stamp, lookedAt: Clock.monotonic()))
  }

  /// Without keys: none opens anything before ``take(_:)``.
  ///
  /// - Parameter wantKeys: called by any thread for each token that names a key which is not there.
  public init(issuer: String, audience: String, wantKeys: @escaping @Sendable () -> Void)
    throws(IdentityError)
  {
    (self.issuer, self.audience, self.wantKeys, path) = (issuer, audience, wantKeys, nil)
    say = { _ in }
    parser = try Self.parser()
    state = Mutex(State(keys: [], lookedAt: 0))
  }

  private static func parser() throws(IdentityError) -> Mutex<JSONParser> {
    do {
      return Mutex(try JSONParser())
    } catch {
      throw IdentityError("reading JSON: \(error)")
    }
  }

  /// Takes a set of keys in the place of those that are there. One that cannot be used leaves them as they are.
  public func take(_ text: String) throws(IdentityError) {
    let keys = try JSONWebKey.read(text)
    state.withLock { $0.keys = keys }
  }

  /// Why a token is refused. The claims of a token without a valid signature are not told.
  public enum Refusal: Error, Sendable, Equatable, CaseIterable {
    case malformed, unsigned, issuer, audience, noExpiry, expired, notYet, subject

    /// A sentence without its full stop.
    public var message: String {
      switch self {
      case .malformed: "the token is no signed JSON Web Token"
      case .unsigned: "the token is not signed by a known key of the issuer"
      case .issuer: "the token is from another issuer ('iss')"
      case .audience: "the token is for another audience ('aud')"
      case .noExpiry: "the token never expires; it needs an 'exp'"
      case .expired: "the token has expired ('exp')"
      case .notYet: "the token is not valid yet ('nbf')"
      case .subject: "the token names no user ('sub')"
      }
    }
  }

  /// The bearer of a token; `nil`: it is refused. See ``check(_:at:)``.
  public func bearer(_ token: String, at now: Int64) -> Bearer? { try? check(token, at: now) }

  /// The bearer of a token.
  ///
  /// - Parameter now: in milliseconds since 1970.
  public func check(_ token: String, at now: Int64) throws(Refusal) -> Bearer {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 3, token.utf8.count <= Self.tokenLimit, let header = object(parts[0]),
      let signature = Base64URL.bytes(parts[2])
    else { throw .malformed }
    guard let key = key(for: header), key.hasSigned(Array("\(parts[0]).\(parts[1])".utf8), signature) else {
      throw .unsigned
    }
    guard let claims = object(parts[1]) else { throw .malformed }
    guard let named = claims["iss"], isText(named, issuer) else { throw .issuer }
    if !isFor(claims["aud"]) { throw .audience }
    guard let expires = Self.time(claims["exp"]) else { throw .noExpiry }
    if expires <= now - Self.leeway { throw .expired }
    if claims["nbf"] != nil, Self.time(claims["nbf"]).map({ $0 > now + Self.leeway }) ?? true {
      throw .notYet
    }
    guard let subject = claims["sub"], subject.kind == .text, (1...256).contains(subject.text.utf8.count),
      !subject.text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }),
      // It stands for what is no character, such as half of one: two such names would be the same.
      !subject.text.unicodeScalars.contains("\u{FFFD}")
    else { throw .subject }
    return Bearer(name: subject.text, expiresAt: expires, key: key.thumbprint)
  }

  /// Whether a key is still among those that tokens are signed for.
  ///
  /// - Parameter thumbprint: as ``Bearer/key`` has it.
  public func hasKey(_ thumbprint: [UInt8]) -> Bool {
    currentKeys().contains { $0.thumbprint == thumbprint && !thumbprint.isEmpty }
  }

  // MARK: What a token says

  /// The members of one of its parts; `nil`: it is no object, or has one twice.
  private func object(_ part: String) -> [String: JSONParser.Member]? {
    // A text that has one would end there for some readers, and be another's name.
    guard let bytes = Base64URL.bytes(part), let text = String(validating: bytes, as: UTF8.self),
      !bytes.contains(0), !text.contains("\\u0000"),
      let members = parser.withLock({ parser in
        (try? parser.isObject(text)) == true ? try? parser.members(text) : nil
      })
    else { return nil }
    var found: [String: JSONParser.Member] = [:]
    for member in members where found.updateValue(member, forKey: member.key) != nil { return nil }
    return found
  }

  private func key(for header: [String: JSONParser.Member]) -> JSONWebKey? {
    // What must be understood and is not (RFC 7515, 4.1.11).
    if header["crit"] != nil { return nil }
    // Without `application/` where it is short (RFC 7515, 4.1.9).
    if let type = header["typ"], !Self.types.contains(type.text.lowercased()) { return nil }
    guard let algorithm = header["alg"].flatMap({ JSONWebKey.Algorithm(rawValue: $0.text) }) else {
      return nil
    }
    let keys = currentKeys().filter { $0.algorithm == algorithm }
    guard let id = header["kid"] else { return keys.count == 1 ? keys[0] : nil }
    let key = keys.first { $0.id.map { isText(id, $0) } ?? false }
    if key == nil { wantKeys() }
    return key
  }

  private func isFor(_ claim: JSONParser.Member?) -> Bool {
    guard let claim else { return false }
    if claim.kind == .text { return isText(claim, audience) }
    guard claim.kind == .array, let elements = parser.withLock({ try? $0.members(claim.text) }) else {
      return false
    }
    return elements.contains { isText($0, audience) }
  }

  /// Whether a member is this text, by its bytes: to Swift, `é` of one scalar and of two are the same.
  private func isText(_ member: JSONParser.Member, _ text: String) -> Bool {
    member.kind == .text && ByteText(member.text) == ByteText(text)
  }

  /// Milliseconds since 1970; tokens have seconds, perhaps with a fraction.
  private static func time(_ claim: JSONParser.Member?) -> Int64? {
    guard let claim, claim.kind == .integer || claim.kind == .real, let seconds = Double(claim.text),
      (0..<1e12).contains(seconds)
    else { return nil }
    return Int64(seconds * 1000)
  }

  // MARK: The keys

  /// Reads the file again where it is another. One that cannot be used leaves the keys as they were.
  private func currentKeys() -> [JSONWebKey] {
    state.withLock { state in
      guard let path else { return state.keys }
      let now = Clock.monotonic()
      if now - state.lookedAt < Self.lookInterval { return state.keys }
      state.lookedAt = now
      let stamp = FileStamp(of: path)
      if stamp == state.stamp { return state.keys }
      do throws(IdentityError) {
        state.keys = try Self.read(path)
        (state.stamp, state.told) = (stamp, nil)
      } catch {
        let problem = "\(error)"
        if state.told != problem { say("the keys of tokens stay as they were: \(problem)") }
        state.told = problem
      }
      return state.keys
    }
  }

  private static func read(_ path: String) throws(IdentityError) -> [JSONWebKey] {
    guard let file = fopen(path, "re") else { throw IdentityError("\(SystemError("reading \(path)"))") }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: fileLimit + 1)
    let count = fread(&bytes, 1, bytes.count, file)
    guard count <= fileLimit, let text = String(validating: bytes[..<count], as: UTF8.self) else {
      throw IdentityError("\(path) is no text of at most \(fileLimit) bytes")
    }
    do throws(IdentityError) {
      return try JSONWebKey.read(text)
    } catch {
      throw IdentityError(
        "\(path) has no keys for tokens: \(error); a set of keys is {\"keys\": […]} (RFC 7517)")
    }
  }
}
