/// Clean text that grows up to a limit in bytes: UTF-8 without control characters except newline and tab.
///
/// Every line ending (CR, CR LF, VT, FF, NEL; Unicode 15, section 5.8) becomes a newline, as do the line and
/// paragraph separators.
struct Excerpt {
  private(set) var bytes: [UInt8] = []
  /// Unicode scalars in `bytes`.
  private(set) var characters = 0
  /// Whether some text was omitted for lack of room.
  private(set) var isTruncated = false
  /// Whether it contains only white space.
  private(set) var isBlank = true
  private let limit: Int
  private var isAfterReturn = false

  init(limit: Int) {
    self.limit = limit
  }

  mutating func append(_ scalar: Unicode.Scalar) {
    let isSecondHalf = isAfterReturn && scalar == "\n"
    isAfterReturn = scalar == "\r"
    switch scalar.value {
    case 0x0A where isSecondHalf: return
    case 0x0A...0x0D, 0x85, 0x2028, 0x2029: add("\n")
    case 0x09: add(scalar)
    case 0..<0x20, 0x7F..<0xA0: return
    default:
      add(scalar)
      // Omitted text does not count.
      if isBlank && !isTruncated { isBlank = scalar.properties.isWhitespace || scalar == "\u{FEFF}" }
    }
  }

  /// Begins a new line, unless one has just begun.
  mutating func breakLine() {
    isAfterReturn = false
    if let last = bytes.last, last != UInt8(ascii: "\n") { add("\n") }
  }

  /// Marks the text as truncated, because not all of the source was read.
  mutating func truncate() { isTruncated = true }

  private mutating func add(_ scalar: Unicode.Scalar) {
    // A shorter character that comes later might fit: the text ends at the first one that does not.
    guard !isTruncated, bytes.count + UTF8.width(scalar) <= limit else { return truncate() }
    bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    characters += 1
  }
}
