/// Takes secrets out of texts that are recorded or printed, such as reasons and lines of a log.
public struct Redaction: Sendable {
  /// Shorter secrets are left in: a text of which every `a` is replaced tells what was replaced.
  public static let leastSecret = 4
  /// The least bytes of a secret's beginning that are taken out where a text was cut within it.
  private static let leastBeginning = 8

  /// The spellings of the secrets, the longest first: one may be a part of another.
  private let spellings: [[UInt8]]

  /// - Parameter secrets: taken out as they are, and percent-encoded.
  public init(_ secrets: [Secret] = []) {
    var spellings: Set<[UInt8]> = []
    for secret in secrets where secret.count >= Self.leastSecret {
      let bytes = secret.withBytes { Array($0) }
      spellings.insert(bytes)
      for digits in ["0123456789ABCDEF", "0123456789abcdef"] {
        spellings.insert(Self.percentEncoded(bytes, Array(digits.utf8)))
      }
    }
    self.spellings = spellings.sorted { ($1.count, Self.text($0)) < ($0.count, Self.text($1)) }
  }

  /// Whether it has no secret to take out.
  public var isEmpty: Bool { spellings.isEmpty }

  /// The text without the secrets, and with each URL in it reduced to scheme and host.
  public func text(_ text: String) -> String { Self.urls(in: withoutSecrets(text)) }

  /// The text without the secrets.
  public func withoutSecrets(_ text: String) -> String {
    if spellings.isEmpty { return text }
    let bytes = Array(text.utf8)
    var kept: [UInt8] = []
    kept.reserveCapacity(bytes.count)
    var index = 0
    var isChanged = false
    while index < bytes.count {
      let rest = bytes.count - index
      if let found = spellings.first(where: { bytes[index...].starts(with: $0) }) {
        kept += Secret.mask.utf8
        index += found.count
        isChanged = true
      } else if rest >= Self.leastBeginning, spellings.contains(where: { $0.starts(with: bytes[index...]) }) {
        kept += Secret.mask.utf8
        return Self.text(kept)
      } else {
        kept.append(bytes[index])
        index += 1
      }
    }
    return isChanged ? Self.text(kept) : text
  }

  private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  /// RFC 3986, section 2.3: what is no unreserved character is encoded.
  private static func percentEncoded(_ bytes: [UInt8], _ digits: [UInt8]) -> [UInt8] {
    bytes.flatMap { byte -> [UInt8] in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        [byte]
      default: [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
  }
}
