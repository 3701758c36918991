/// A value of JSON (RFC 8259), from a writer that is not trusted.
public enum JSONValue: Equatable, Sendable {
  case null
  case boolean(Bool)
  /// A number without fraction and exponent that fits.
  case integer(Int64)
  case number(Double)
  case text(String)
  case array([JSONValue])
  /// The members in their order; no name stands twice.
  case object([Member])

  public struct Member: Equatable, Sendable {
    public var name: String
    public var value: JSONValue

    public init(_ name: String, _ value: JSONValue) {
      (self.name, self.value) = (name, value)
    }
  }

  /// The deepest nesting of arrays and objects.
  public static let depthLimit = 16

  /// `nil`: the bytes are not one value of JSON, or are nested deeper than ``depthLimit``.
  public init?(_ bytes: some Sequence<UInt8>) {
    var scanner = JSONScanner(bytes)
    // Python writes such for file names that are no UTF-8.
    scanner.replacesLoneSurrogates = true
    guard let value = Self.value(&scanner, depth: 0), scanner.isAtEnd else { return nil }
    self = value
  }

  /// What it is, in words.
  public var noun: String {
    switch self {
    case .null: "null"
    case .boolean: "a boolean"
    case .integer, .number: "a number"
    case .text: "a text"
    case .array: "an array"
    case .object: "an object"
    }
  }

  private static func value(_ scanner: inout JSONScanner, depth: Int) -> JSONValue? {
    if scanner.skip("\"") { return scanner.string().map { .text($0) } }
    if scanner.skip("[") { return depth < depthLimit ? array(&scanner, depth: depth + 1) : nil }
    if scanner.skip("{") { return depth < depthLimit ? object(&scanner, depth: depth + 1) : nil }
    let word = scanner.word()
    switch word {
    case "null": return .null
    case "true": return .boolean(true)
    case "false": return .boolean(false)
    default: return number(word)
    }
  }

  private static func array(_ scanner: inout JSONScanner, depth: Int) -> JSONValue? {
    var values: [JSONValue] = []
    if scanner.skip("]") { return .array([]) }
    repeat {
      guard let value = value(&scanner, depth: depth) else { return nil }
      values.append(value)
    } while scanner.skip(",")
    return scanner.skip("]") ? .array(values) : nil
  }

  private static func object(_ scanner: inout JSONScanner, depth: Int) -> JSONValue? {
    var members: [Member] = []
    var names: Set<String> = []
    if scanner.skip("}") { return .object([]) }
    repeat {
      guard scanner.skip("\""), let name = scanner.string(), names.insert(name).inserted, scanner.skip(":"),
        let value = value(&scanner, depth: depth)
      else { return nil }
      members.append(Member(name, value))
    } while scanner.skip(",")
    return scanner.skip("}") ? .object(members) : nil
  }

  /// Section 6: no sign but a minus, no digits missing, no zero before others.
  private static func number(_ word: String) -> JSONValue? {
    var rest = word.utf8[...]
    func digits() -> Int {
      let count = rest.prefix { (0x30...0x39).contains($0) }.count
      rest = rest.dropFirst(count)
      return count
    }
    func skip(_ letters: String) -> Bool {
      guard let first = rest.first, letters.utf8.contains(first) else { return false }
      rest = rest.dropFirst()
      return true
    }
    _ = skip("-")
    let hasZero = rest.first == UInt8(ascii: "0")
    let whole = digits()
    guard whole > 0, !hasZero || whole == 1 else { return nil }
    var isWhole = true
    if skip(".") {
      isWhole = false
      if digits() == 0 { return nil }
    }
    if skip("eE") {
      isWhole = false
      _ = skip("+-")
      if digits() == 0 { return nil }
    }
    guard rest.isEmpty else { return nil }
    if isWhole, let integer = Int64(word) { return .integer(integer) }
    return Double(word).map { .number($0) }
  }
}
