/// Rewrites a map of a file, and keeps all characters of the parts that do not change.
struct NodeEditor {
  typealias Edit = ExpectationRewriter.Edit
  typealias Entries = ExpectationRewriter.Entries

  let source: SourceText

  /// The map with these keys, in its present form.
  ///
  /// - Parameter tail: the comment that follows on its last line.
  func text(of node: Node, _ edits: Entries, tail: String) -> String {
    guard case .mapping(let entries) = node.content, !entries.isEmpty, !edits.isEmpty else {
      return Self.value(of: edits).flow + tail
    }
    return node.isFlow ? flow(node, entries, edits) + tail : block(node, entries, edits, tail)
  }

  /// The same with one line for each key, indented below the map's own key.
  func lines(of node: Node, _ edits: Entries, at column: Int) -> String {
    guard case .mapping(let entries) = node.content else { return "" }
    return edits.map { key, edit in
      let head = "\n" + String(repeating: " ", count: column) + YAMLText.text(key) + ":"
      guard let entry = entries.first(where: { $0.key.text == key }) else {
        return head + Self.value(of: edit).block(at: column, used: head.count - 1)
      }
      if case .write(let value) = edit { return head + value.block(at: column, used: head.count - 1) }
      return head + " " + flowText(of: entry.value, edit)
    }.joined()
  }

  // MARK: In braces

  private func flow(_ node: Node, _ entries: [Node.Entry], _ edits: Entries) -> String {
    let added = edits.filter { edit in !entries.contains { $0.key.text == edit.key } }.map { key, edit in
      "\(YAMLText.text(key)): \(Self.value(of: edit).flow)"
    }
    let kept = entries.compactMap { entry in
      edits.first { $0.key == entry.key.text }.map { (entry: entry, edit: $0.edit) }
    }
    if kept.count < entries.count {
      let texts = kept.map { entry, edit in head(of: entry) + flowText(of: entry.value, edit) }
      return "{ \((texts + added).joined(separator: ", ")) }"
    }
    var text = ""
    var place = node.mark.index
    for (entry, edit) in kept {
      text += source[place..<entry.key.mark.index] + head(of: entry) + flowText(of: entry.value, edit)
      place = source.end(of: entry.value)
    }
    for one in added { text += ", " + one }
    return text + source[place..<source.end(of: node)]
  }

  private func flowText(of node: Node, _ edit: Edit) -> String {
    switch edit {
    case .keep: source[node.mark.index..<source.end(of: node)]
    case .write(let value): value.flow
    case .entries(let edits): text(of: node, edits, tail: "")
    }
  }

  /// A key and what stands between it and its value.
  private func head(of entry: Node.Entry) -> String {
    let head = source[entry.key.mark.index..<entry.value.mark.index]
    return head.last == ":" ? head + " " : head
  }

  // MARK: A line for each key

  private func block(_ node: Node, _ entries: [Node.Entry], _ edits: Entries, _ tail: String) -> String {
    let column = entries[0].key.mark.column - 1
    var text = source[node.mark.index..<entries[0].key.mark.index]
    let added = edits.filter { edit in !entries.contains { $0.key.text == edit.key } }
    for (index, entry) in entries.enumerated() {
      let next = index + 1 < entries.count ? entries[index + 1].key.mark.index : nil
      let end = source.end(of: entry.value)
      let comment = next == nil ? tail : source.comment(after: end)
      let rest = next.map { source[(end + comment.unicodeScalars.count)..<$0] } ?? ""
      if var edit = edits.first(where: { $0.key == entry.key.text })?.edit {
        // A text of several lines at the end of the file would absorb the newline of what is added.
        if next == nil, !added.isEmpty, source.isEnd(end), case .keep = edit,
          case .scalar(let scalar) = entry.value.content, !scalar.isPlain
        {
          edit = .write(.text(scalar.text))
        }
        text += line(entry, edit, comment) + rest
      } else if next != nil {
        // Comments above the next key belong to that key.
        text += rest.drop(while: \.isWhitespace)
      } else {
        while text.last?.isWhitespace == true { text.removeLast() }
      }
    }
    for (key, edit) in added {
      let head = YAMLText.text(key) + ":"
      if !text.isEmpty { text += "\n" + String(repeating: " ", count: column) }
      text += head + Self.value(of: edit).block(at: column, used: column + head.count)
    }
    return text
  }

  /// A key with its value.
  private func line(_ entry: Node.Entry, _ edit: Edit, _ comment: String) -> String {
    let column = entry.key.mark.column - 1
    let key = source[entry.key.mark.index..<source.endOfKey(before: entry.value.mark.index)]
    switch edit {
    case .keep: return head(of: entry) + flowText(of: entry.value, .keep) + comment
    case .entries(let edits):
      let text = head(of: entry) + text(of: entry.value, edits, tail: comment)
      if !entry.value.isFlow || text.contains("\n") || column + text.count <= YAMLValue.width { return text }
      return key + comment + lines(of: entry.value, edits, at: column + 2)
    case .write(let value):
      // There may be a comment between the two.
      if !key.hasSuffix(":") || key.contains("\n") { return head(of: entry) + value.flow + comment }
      return key + value.block(at: column, used: column + key.count) + comment
    }
  }

  // MARK: New keys

  private static func value(of edit: Edit) -> YAMLValue {
    switch edit {
    case .keep: .plain("null")
    case .write(let value): value
    case .entries(let edits): value(of: edits)
    }
  }

  private static func value(of edits: Entries) -> YAMLValue {
    .map(edits.map { .init(key: $0.key, value: value(of: $0.edit)) })
  }
}
