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
    var slashes = 0
    var length = 0  // of the part that is read
    var isInParameters = false
    for byte in text.utf8 {
      if !(0x20..<0x7F).contains(byte) { return false }
      if isInParameters { continue }
      switch byte {
      case UInt8(ascii: ";"), UInt8(ascii: " "): isInParameters = true
      case UInt8(ascii: "/"):
        if length == 0 { return false }
        (slashes, length) = (slashes + 1, 0)
      default:
        if !isTokenByte(byte) { return false }
        length += 1
      }
    }
    return slashes == 1 && length > 0
  }

  private static func isToken(_ text: Substring) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy(isTokenByte)
  }

  /// RFC 9110, section 5.6.2, without `*`.
  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "!#$%&'+-.^_`|~".utf8.contains(byte)
    }
  }
}
