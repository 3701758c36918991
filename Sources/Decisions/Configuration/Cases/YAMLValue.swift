/// A value to be written into a file.
public indirect enum YAMLValue: Sendable, Equatable {
  /// In quotes where it would otherwise be read as something else.
  case text(String)
  /// As it is: a number, `true`, `null`.
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

  /// As the value of a key that stands at this column, from 0: behind it where there is room, else on lines below.
  ///
  /// - Parameter used: how much of the line is taken.
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

  /// How wide lines get before they are broken.
  static let width = 110
}
