/// A value to write into a file.
public indirect enum YAMLValue: Sendable, Equatable {
  /// Quoted if it would otherwise be read as something else.
  case text(String)
  /// Written as it is: a number, `true`, `null`.
  case plain(String)
  case list([YAMLValue])
  case map([Entry])

  public struct Entry: Sendable, Equatable {
    public var key: String
    public var value: YAMLValue

    public init(key: String, value: YAMLValue) {
      self.key = key
      self.value = value
    }
  }

  public static func map(_ entries: KeyValuePairs<String, YAMLValue>) -> YAMLValue {
    .map(entries.map { Entry(key: $0.key, value: $0.value) })
  }

  /// On one line, in braces and brackets.
  var flow: String {
    switch self {
    case .text(let text): YAMLText.text(text)
    case .plain(let text): text
    case .list(let items): "[\(items.map(\.flow).joined(separator: ", "))]"
    case .map(let entries):
      entries.isEmpty
        ? "{}"
        : "{ \(entries.map { "\(YAMLText.text($0.key)): \($0.value.flow)" }.joined(separator: ", ")) }"
    }
  }

  /// The value of a key at this column, from 0: on the same line if it fits, else on lines below.
  ///
  /// - Parameter used: the columns already taken on the line.
  func block(at column: Int, used: Int) -> String {
    let line = flow
    if used + 1 + line.count <= Self.width { return " " + line }
    let indent = "\n" + String(repeating: " ", count: column + 2)
    switch self {
    case .map(let entries) where !entries.isEmpty:
      return entries.map { entry in
        let key = YAMLText.text(entry.key) + ":"
        return indent + key + entry.value.block(at: column + 2, used: column + 2 + key.count)
      }.joined()
    case .list(let items) where !items.isEmpty: return items.map { "\(indent)- \($0.flow)" }.joined()
    default: return " " + line
    }
  }

  /// The width at which lines are broken.
  static let width = 110
}
