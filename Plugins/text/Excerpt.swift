/// Clean text that grows up to a limit in bytes: UTF-8 without control characters but newline and tab.
///
/// What ends a line anywhere (CR, CR LF, VT, FF, NEL; Unicode 15, section 5.8) becomes a newline, as the line and paragraph
/// separators do.
struct Excerpt {
  private(set) var bytes: [UInt8] = []
  /// Unicode scalars in `bytes`.
  private(set) var characters = 0
  /// Whether there was no room for some of it.
  private(set) var isTruncated = false
  /// Whether there is nothing in it but white space.
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
      // What there was no room for is not in it.
      if isBlank && !isTruncated { isBlank = scalar.properties.isWhitespace || scalar == "\u{FEFF}" }
    }
  }

  /// Begins a new line, unless one has just begun.
  mutating func breakLine() {
    isAfterReturn = false
    if let last = bytes.last, last != UInt8(ascii: "\n") { add("\n") }
  }

  /// Says that more text was there than was looked at.
  mutating func truncate() { isTruncated = true }

  private mutating func add(_ scalar: Unicode.Scalar) {
    // What is shorter and comes later would fit: a text ends where it is first cut.
    guard !isTruncated, bytes.count + UTF8.width(scalar) <= limit else { return truncate() }
    bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    characters += 1
  }
}
