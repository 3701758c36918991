/// Rewrites what cases expect, and leaves every other line of the file as it is.
public struct ExpectationRewriter {
  /// What becomes of one key below `expect`: a value as YAML, or `nil` to take the key away.
  public typealias Changes = [(key: String, value: String?)]

  private var lines: [String]

  public init(_ document: CaseDocument) {
    let text = String(decoding: document.bytes, as: UTF8.self)
    lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  public var text: String { lines.joined(separator: "\n") }

  /// Call it for the last case first: lines move.
  ///
  /// - Returns: the lines as they were and as they are, for showing.
  public mutating func rewrite(
    _ expectation: Expectation, _ changes: Changes
  ) -> (line: Int, before: [String], after: [String]) {
    let first = expectation.mark.line - 1
    let column = expectation.mark.column - 1
    guard lines.indices.contains(first) else { return (1, [], []) }
    let isFlow = lines[first].dropFirst(column).first == "{"
    let last = isFlow ? endOfFlow(first, column) : endOfBlock(first, column)
    let after = isFlow ? flow(expectation, changes, first, column, last) : block(expectation, changes, last)
    let before = Array(lines[first...last])
    lines.replaceSubrange(first...last, with: after)
    return (first + 1, before, after)
  }

  // MARK: In braces

  private func flow(
    _ expectation: Expectation, _ changes: Changes, _ first: Int, _ column: Int, _ last: Int
  ) -> [String] {
    var entries: [(key: String, value: String)] = []
    for entry in expectation.entries {
      if let change = changes.first(where: { $0.key == entry.key.text }) {
        if let value = change.value { entries.append((change.key, value)) }
      } else {
        entries.append((entry.key.text, YAMLText.node(entry.value)))
      }
    }
    for change in changes where !expectation.entries.contains(where: { $0.key.text == change.key }) {
      if let value = change.value { entries.append((change.key, value)) }
    }
    let head = String(lines[first].prefix(column))
    let one = head + YAMLText.map(entries)
    if one.count <= 120 { return [one] }
    // Below its key, which may follow the dash of a list.
    let indent = String(repeating: " ", count: head.prefix { $0 == " " || $0 == "-" }.count + 2)
    var key = Substring(head)
    while key.last == " " { key.removeLast() }
    return [String(key)] + entries.flatMap { Self.lines(indent, $0.key, $0.value) }
  }

  /// The line in which the brace at this place is closed.
  private func endOfFlow(_ first: Int, _ column: Int) -> Int {
    var depth = 0
    var quote: Character?
    for line in first..<lines.count {
      var isEscaped = false
      for letter in line == first ? lines[line].dropFirst(column) : Substring(lines[line]) {
        if isEscaped {
          isEscaped = false
        } else if let open = quote {
          if letter == "\\" && open == "\"" { isEscaped = true } else if letter == open { quote = nil }
        } else {
          switch letter {
          case "\"", "'": quote = letter
          case "{": depth += 1
          case "}":
            depth -= 1
            if depth == 0 { return line }
          default: break
          }
        }
      }
    }
    return first
  }

  // MARK: A line for each key

  private func block(_ expectation: Expectation, _ changes: Changes, _ last: Int) -> [String] {
    let indent = String(repeating: " ", count: expectation.mark.column - 1)
    var after: [String] = []
    for (index, entry) in expectation.entries.enumerated() {
      let end =
        index + 1 < expectation.entries.count ? expectation.entries[index + 1].key.mark.line - 2 : last
      if let change = changes.first(where: { $0.key == entry.key.text }) {
        if let value = change.value { after += Self.lines(indent, change.key, value) }
      } else {
        after += lines[(entry.key.mark.line - 1)...max(end, entry.key.mark.line - 1)]
      }
    }
    for change in changes where !expectation.entries.contains(where: { $0.key.text == change.key }) {
      if let value = change.value { after += Self.lines(indent, change.key, value) }
    }
    return after
  }

  private func endOfBlock(_ first: Int, _ column: Int) -> Int {
    var last = first
    for line in (first + 1)..<max(lines.count, first + 1) {
      let text = lines[line].drop { $0 == " " }
      if text.isEmpty || text.first == "#" { continue }
      if lines[line].count - text.count < column { break }
      last = line
    }
    return last
  }

  private static func lines(_ indent: String, _ key: String, _ value: String) -> [String] {
    ["\(indent)\(key): \(value)"]
  }
}
