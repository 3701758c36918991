/// A media type, or a pattern for several: `application/pdf`, `image/*`, `*/*`.
///
/// Matching ignores case and parameters (RFC 9110, section 8.3.1).
public struct MediaTypePattern: Sendable, Hashable, CustomStringConvertible {
  public let description: String
  private let type: String
  private let subtype: String

  /// `nil` if the text is not `type/subtype` of token characters, with `*` for a whole part.
  public init?(_ text: String) {
    // Check before folding case: some letters outside ASCII fold to letters inside.
    guard text.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
    let parts = text.lowercased().split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ $0 == "*" || Self.isToken($0) }) else { return nil }
    if parts[0] == "*" && parts[1] != "*" { return nil }
    description = text
    type = String(parts[0])
    subtype = String(parts[1])
  }

  /// An unknown type matches `*/*` only.
  public func matches(_ mediaType: String?) -> Bool {
    if type == "*" { return true }
    guard let mediaType else { return false }
    let essence = mediaType.prefix { $0 != ";" && $0 != " " }.lowercased()
    guard let slash = essence.firstIndex(of: "/") else { return false }
    return essence[..<slash] == type && (subtype == "*" || essence[essence.index(after: slash)...] == subtype)
  }

  /// Whether a text is one media type, `type/subtype` with optional parameters, in characters that are safe
  /// to show.
  public static func isMediaType(_ text: String) -> Bool {
    guard text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else { return false }
    let essence = text.prefix { $0 != ";" && $0 != " " }.lowercased()
    let parts = essence.split(separator: "/", omittingEmptySubsequences: false)
    return parts.count == 2 && parts.allSatisfy(isToken)
  }

  /// RFC 9110, section 5.6.2, without `*`.
  private static func isToken(_ text: Substring) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "!#$%&'+-.^_`|~".utf8.contains(byte)
        }
      }
  }
}
