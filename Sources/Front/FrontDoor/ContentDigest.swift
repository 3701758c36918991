import FrontWire
import Platform

/// `Content-Digest` and `Repr-Digest` (RFC 9530), of which `sha-256` is known here. A body comes in no content coding, so that both
/// are those of its bytes.
enum ContentDigest {
  private static let algorithm = "sha-256"

  /// What a field says of the body; `nil`: nothing, or by other algorithms, which are to be passed over.
  static func checksum(_ request: FrontRequest, _ name: String) throws(Problem) -> Tus.Checksum? {
    var digest: [UInt8]?
    // A dictionary (RFC 9651, 3.2): of a key that is there twice the last one holds.
    for member in request.values(name).joined(separator: ",").split(separator: ",") {
      let parts = member.split(separator: "=", maxSplits: 1).map(trimmed)
      guard parts.count == 2, parts[0] == algorithm else { continue }
      guard let bytes = bytes(parts[1]), bytes.count == MessageDigest.Algorithm.sha256.length else {
        throw Problem(
          400, "invalid-checksum", "'\(algorithm)' in '\(name)' is a digest in base64 between two colons")
      }
      digest = bytes
    }
    return digest.map { Tus.Checksum(algorithm: .sha256, digest: $0) }
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
