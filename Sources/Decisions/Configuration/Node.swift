/// A place in the file, line and column from 1.
struct Mark: Sendable, Equatable {
  var line: Int
  var column: Int
  /// In Unicode scalars from the start of the text.
  var index = 0

  static let start = Mark(line: 1, column: 1)
}

/// A part of the file, with the place where it begins.
struct Node: Sendable {
  var mark: Mark
  var content: Content
  /// The place after its last character; for a map without braces, that of its last value.
  var end = Mark.start
  /// Written in braces or brackets.
  var isFlow = false

  enum Content: Sendable {
    case scalar(Scalar)
    case sequence([Node])
    case mapping([Entry])
    /// An error in it has been reported already; readers skip it.
    case unusable
  }

  /// A key's text. Variables are filled in in values only.
  struct Key: Sendable {
    var text: String
    var mark: Mark
  }

  struct Entry: Sendable {
    var key: Key
    var value: Node
  }

  /// Whether the value is missing or `null`.
  var isNull: Bool {
    if case .scalar(let scalar) = content { scalar.isNull } else { false }
  }

  /// The kind of node, for messages: `a list`.
  var noun: String {
    switch content {
    case .scalar(let scalar):
      // What was filled in may be a secret, and says nothing of the kind.
      scalar.isNull ? "nothing" : scalar.written.map { "the value of \(quoted($0))" } ?? quoted(scalar.text)
    case .sequence: "a list"
    case .mapping: "a map"
    case .unusable: "unusable"
    }
  }
}

/// A single value.
struct Scalar: Sendable {
  /// With variables filled in.
  var text: String
  /// Without quotes. In quotes, `12` and `true` are text.
  var isPlain: Bool
  /// The text as written in the file, if variables were filled in.
  var written: String?
  /// A part of it comes from a file: no message shows it.
  var isSecret = false

  var isNull: Bool { isPlain && ["", "~", "null", "Null", "NULL"].contains(text) }

  /// The quoted text for messages, with the variable that it comes from: `'abc' (from '${LIMIT}')`.
  var shown: String { isSecret ? asWritten : quoted(text) + origin }

  /// The same for numbers, which need no quotes to stand out: `12 (from '${LIMIT}')`.
  var bare: String { isSecret ? asWritten : printable(text) + origin }

  /// As it stands in the file, before anything is filled in.
  var asWritten: String { quoted(written ?? text) }

  /// The variable that the text comes from, in parentheses.
  var origin: String { written.map { " (from \(quoted($0)))" } ?? "" }
}
