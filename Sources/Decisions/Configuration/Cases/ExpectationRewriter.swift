/// Rewrites the expectations of cases. All other characters of the file stay, including comments.
public struct ExpectationRewriter {
  /// A change of an existing value.
  public indirect enum Edit: Sendable {
    case keep
    case write(YAMLValue)
    /// Of a map: its keys from now on.
    case entries(Entries)
  }

  public typealias Entries = [(key: String, edit: Edit)]

  /// Changes of keys below `expect`. `nil` removes the key; keys that are not named stay.
  public typealias Changes = [(key: String, edit: Edit?)]

  private var source: SourceText

  public init(_ document: CaseDocument) {
    source = SourceText(document.bytes)
  }

  public var bytes: [UInt8] { source.bytes }

  /// Rewrites one expectation. Start with the last case, because places move.
  ///
  /// - Returns: the lines before and after, for display; `nil` if nothing was changed, because the map has
  ///   keys after a `?`, whose parts   are on separate lines.
  public mutating func rewrite(
    _ expectation: Expectation, _ changes: Changes
  ) -> (line: Int, before: [String], after: [String])? {
    let node = expectation.node
    if source.hasExplicitKeys(node) { return nil }
    let keys = expectation.entries.map(\.key.text)
    var edits: Entries = []
    for key in keys {
      guard let change = changes.first(where: { $0.key == key }) else {
        edits.append((key, .keep))
        continue
      }
      if let edit = change.edit { edits.append((key, edit)) }
    }
    for (key, edit) in changes where !keys.contains(key) {
      if let edit { edits.append((key, edit)) }
    }
    let editor = NodeEditor(source: source)
    let end = source.end(of: node)
    // Include the rest of the line: a comment belongs to the text before it.
    let tail = source.comment(after: end)
    var range = node.mark.index..<(end + tail.unicodeScalars.count)
    let before = source.lines(around: range)
    var text = editor.text(of: node, edits, tail: tail)
    let width = node.mark.column - 1 + text.unicodeScalars.count - tail.unicodeScalars.count
    if node.isFlow && !expectation.isInFlow && !text.contains("\n") && width > YAMLValue.width {
      range = source.endOfKey(before: node.mark.index)..<range.upperBound
      text = tail + editor.lines(of: node, edits, at: source.indentation(at: range.lowerBound) + 2)
    }
    let new = source.replace(range, with: text)
    return (node.mark.line, before, source.lines(around: new))
  }
}
