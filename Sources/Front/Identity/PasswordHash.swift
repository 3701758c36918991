import CCrypto
import Platform

/// Hashes of passwords, by scrypt (RFC 7914). A hash takes 32 MiB and some 0.3 s on purpose. Its text has the parameters, so that
/// later hashes can have others: `$scrypt$ln=15,r=8,p=3$SALT$HASH`.
public enum PasswordHash {
  /// Characters and bytes of a password.
  public static let (shortest, longest) = (8, 1024)

  /// The cost that OWASP asks for with this much memory (Password Storage Cheat Sheet, scrypt).
  private static let usual = Cost(logN: 15, r: 8, p: 3)
  private static let (saltLength, length) = (16, 32)

  private struct Cost: Equatable {
    var logN, r, p: UInt64

    var text: String { "ln=\(logN),r=\(r),p=\(p)" }

    init(logN: UInt64, r: UInt64, p: UInt64) { (self.logN, self.r, self.p) = (logN, r, p) }

    init?(_ text: some StringProtocol) {
      let parts = text.split(separator: ",").map { $0.split(separator: "=", maxSplits: 1) }
      guard parts.count == 3, parts.map({ $0.first ?? "" }) == ["ln", "r", "p"] else { return nil }
      let numbers = parts.compactMap { $0.count == 2 ? UInt64($0[1]) : nil }
      // A forged ledger costs no more than this.
      guard numbers.count == 3, 1...20 ~= numbers[0], 1...32 ~= numbers[1], 1...16 ~= numbers[2] else {
        return nil
      }
      self.init(logN: numbers[0], r: numbers[1], p: numbers[2])
    }
  }

  /// Why a password is not taken: a sentence without its subject and its full stop; `nil`: it is.
  public static func fault(of password: String) -> String? {
    if password.count < shortest { return "has at least \(shortest) characters" }
    return password.utf8.count > longest ? "has at most \(longest) bytes" : nil
  }

  /// The hash of a password, with a salt of its own.
  public static func make(_ password: String) throws(SystemError) -> String {
    let salt = try SystemRandom.bytes(saltLength)
    guard let hash = derive(password, salt, usual) else { throw SystemError("hashing a password", code: 12) }
    return "$scrypt$\(usual.text)$\(Base64.text(salt))$\(Base64.text(hash))"
  }

  /// Whether a hash is that of a password. Without a hash, the answer takes as long, and is false.
  public static func isRight(_ password: String, for hash: String?) -> Bool {
    let parts = (hash ?? "").split(separator: "$", omittingEmptySubsequences: false)
    guard parts.count == 5, parts[1] == "scrypt", let cost = Cost(parts[2]),
      let salt = Base64.bytes(String(parts[3])), let known = Base64.bytes(String(parts[4])),
      known.count == length
    else {
      _ = derive(password, [UInt8](repeating: 0, count: saltLength), usual)
      return false
    }
    guard let found = derive(password, salt, cost) else { return false }
    return CRYPTO_memcmp(found, known, length) == 0
  }

  /// `nil`: out of memory.
  private static func derive(_ password: String, _ salt: [UInt8], _ cost: Cost) -> [UInt8]? {
    var hash = [UInt8](repeating: 0, count: length)
    let bytes = Array(password.utf8).map { CChar(bitPattern: $0) }
    let room = 128 * cost.r * (1 << cost.logN + cost.p) + 1 << 20
    let result = EVP_PBE_scrypt(
      bytes, bytes.count, salt, salt.count, 1 << cost.logN, cost.r, cost.p, room, &hash, length)
    return result == 1 ? hash : nil
  }
}
