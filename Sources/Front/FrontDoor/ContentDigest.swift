import FrontWire
import Platform

/// `Content-Digest` and `Repr-Digest` (RFC 9530), of which `sha-256` is known here. A body comes in no content coding, so that both
/// are those of its bytes.
enum ContentDigest {
  private static let algorithm = "sha-256"

  /// What a field says of the body; `nil`: nothing, or by other algorithms, which are to be passed over.
  ///
  /// - Throws: where it is no dictionary of digests: its client believes that the body is compared with it.
  static func checksum(_ request: FrontRequest, _ name: String) throws(Problem) -> Tus.Checksum? {
    var digest: [UInt8]?
    // A dictionary (RFC 9651, 3.2): of a key that is there twice the last one holds.
    let members = request.values(name).joined(separator: ",")
    if trimmed(members[...]).isEmpty { return nil }
    for member in members.split(separator: ",", omittingEmptySubsequences: false) {
      let parts = member.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(trimmed)
      guard parts.count == 2, isKey(parts[0]) else {
        throw Problem(
          400, "invalid-checksum",
          "'\(shown(member))' in '\(name)' is no algorithm with its digest",
          remedy: "such as \(algorithm)=:BASE64:")
      }
      guard let bytes = bytes(parts[1]) else {
        throw Problem(
          400, "invalid-checksum",
          "what '\(name)' has for '\(parts[0])' is no digest in base64 between two colons",
          remedy: "such as \(algorithm)=:BASE64:")
      }
      if parts[0] != algorithm { continue }
      guard bytes.count == MessageDigest.Algorithm.sha256.length else {
        throw Problem(
          400, "invalid-checksum",
          "the digest of '\(algorithm)' in '\(name)' has \(bytes.count) bytes, and not \(MessageDigest.Algorithm.sha256.length)"
        )
      }
      digest = bytes
    }
    return digest.map { Tus.Checksum(algorithm: .sha256, digest: $0) }
  }

  /// A key (RFC 9651, 3.1.2).
  private static func isKey(_ text: Substring) -> Bool {
    func isSmall(_ byte: UInt8) -> Bool { byte >= 0x61 && byte <= 0x7A || byte == UInt8(ascii: "*") }
    func isOther(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 || "_-.".utf8.contains(byte) }
    guard let first = text.utf8.first, isSmall(first) else { return false }
    return text.utf8.allSatisfy { isSmall($0) || isOther($0) }
  }

  /// For an answer: a part of what a client sent.
  private static func shown(_ text: Substring) -> String {
    String(trimmed(text).prefix(40).filter { $0.isASCII && !$0.isNewline && $0 != "\"" && $0 != "'" })
  }

  /// Those of `:AAEC:`; parameters behind it do not matter.
  private static func bytes(_ value: Substring) -> [UInt8]? {
    let item = trimmed(value.split(separator: ";", omittingEmptySubsequences: false).first ?? "")
    guard item.utf8.count > 2, item.first == ":", item.last == ":" else { return nil }
    return Base64.bytes(String(item.dropFirst().dropLast()))
  }

  private static func trimmed(_ text: Substring) -> Substring {
    let isBlank = { (character: Character) in character == " " || character == "\t" }
    let rest = text.drop(while: isBlank)
    return rest.dropLast(rest.reversed().prefix(while: isBlank).count)
  }
}
