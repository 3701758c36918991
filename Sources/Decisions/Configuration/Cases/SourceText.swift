/// The text of a file, addressed by the parser's places: Unicode scalars, without a byte order mark.
struct SourceText {
  private var scalars: [Unicode.Scalar]
  private let hasByteOrderMark: Bool

  init(_ bytes: [UInt8]) {
    hasByteOrderMark = bytes.starts(with: [0xEF, 0xBB, 0xBF])
    scalars = Array(
      String(decoding: hasByteOrderMark ? bytes.dropFirst(3) : bytes[...], as: UTF8.self).unicodeScalars)
  }

  var bytes: [UInt8] { (hasByteOrderMark ? [0xEF, 0xBB, 0xBF] : []) + Array(Self.string(scalars[...]).utf8) }

  /// The text in a range, clipped to the file.
  subscript(range: Range<Int>) -> String { Self.string(scalars[range.clamped(to: scalars.indices)]) }

  /// Replaces a range by a text, and returns the new range.
  mutating func replace(_ range: Range<Int>, with text: String) -> Range<Int> {
    let range = range.clamped(to: 0..<scalars.count)
    let new = Array(text.unicodeScalars)
    scalars.replaceSubrange(range, with: new)
    return range.lowerBound..<(range.lowerBound + new.count)
  }

  /// The end of a node. The parser reports the end of a text of several lines (`|`) at the start of the
  /// following line.
  func end(of node: Node) -> Int {
    var end = min(node.end.index, scalars.count)
    while end > node.mark.index, Self.isBlank(scalars[end - 1]) { end -= 1 }
    return max(end, node.mark.index)
  }

  /// Whether a map without braces, this one or one inside, has a key after a `?`. All other keys begin where
  /// their map does.
  func hasExplicitKeys(_ node: Node) -> Bool {
    switch node.content {
    case .scalar, .unusable: return false
    case .sequence(let items): return items.contains { hasExplicitKeys($0) }
    case .mapping(let entries):
      guard let first = entries.first?.key.mark else { return false }
      if !node.isFlow {
        if self[node.mark.index..<first.index].contains("?") { return true }
        if entries.contains(where: { $0.key.mark.column != first.column }) { return true }
      }
      return entries.contains { hasExplicitKeys($0.value) }
    }
  }

  func isEnd(_ place: Int) -> Bool { place >= scalars.count }

  /// The rest of a line if it is blank or a comment; else empty.
  func comment(after place: Int) -> String {
    let rest = scalars[min(place, scalars.count)...].prefix { !Self.isBreak($0) }
    let text = rest.drop { $0 == " " || $0 == "\t" }
    return text.isEmpty || (text.first == "#" && text.count < rest.count) ? Self.string(rest) : ""
  }

  /// The end of the `:` before a value, skipping blanks.
  func endOfKey(before place: Int) -> Int {
    var place = min(place, scalars.count)
    while place > 0, Self.isBlank(scalars[place - 1]) { place -= 1 }
    return place
  }

  /// The column, from 0, of the first word of the line at `place`; the dash of a list does not count.
  func indentation(at place: Int) -> Int {
    scalars[start(ofLineAt: place)...].prefix { $0 == " " || $0 == "-" }.count
  }

  private func start(ofLineAt place: Int) -> Int {
    scalars[..<min(place, scalars.count)].lastIndex(where: Self.isBreak).map { $0 + 1 } ?? 0
  }

  /// The whole lines that a range touches.
  func lines(around range: Range<Int>) -> [String] {
    let range = range.clamped(to: 0..<scalars.count)
    let start = start(ofLineAt: range.lowerBound)
    let end = range.upperBound + scalars[range.upperBound...].prefix { !Self.isBreak($0) }.count
    return scalars[start..<end].split(omittingEmptySubsequences: false) { $0 == "\n" }.map { line in
      Self.string(line.last == "\r" ? line.dropLast() : line)
    }
  }

  /// Besides LF and CR, YAML 1.1 has lines end with three more (section 4.2).
  private static func isBreak(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "\n", "\r", "\u{85}", "\u{2028}", "\u{2029}": true
    default: false
    }
  }

  private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
    scalar == " " || scalar == "\t" || isBreak(scalar)
  }

  private static func string(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
    var string = String.UnicodeScalarView()
    string.append(contentsOf: scalars)
    return String(string)
  }
}
