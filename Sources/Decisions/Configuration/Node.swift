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
  /// Behind its last character; of a map without braces, that of its last value.
  var end = Mark.start
  /// In braces or brackets.
  var isFlow = false

  enum Content: Sendable {
    case scalar(Scalar)
    case sequence([Node])
    case mapping([Entry])
    /// Something is wrong with it, and that is reported already: readers pass over it in silence.
    case unusable
  }

  /// A key is its text: variables are filled in in values only.
  struct Key: Sendable {
    var text: String
    var mark: Mark
  }

  struct Entry: Sendable {
    var key: Key
    var value: Node
  }

  /// Nothing was written, or `null`.
  var isNull: Bool {
    if case .scalar(let scalar) = content { scalar.isNull } else { false }
  }

  /// What it is, for a message: `a list`.
  var noun: String {
    switch content {
    case .scalar(let scalar): scalar.isNull ? "nothing" : scalar.shown
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
  /// As written in the file, where variables were filled in.
  var written: String?

  var isNull: Bool { isPlain && ["", "~", "null", "Null", "NULL"].contains(text) }

  /// For a message, with the variable that it comes from: `'abc' (from '${LIMIT}')`.
  var shown: String { quoted(text) + origin }

  /// The same for numbers, which need no quotes to stand out: `12 (from '${LIMIT}')`.
  var bare: String { printable(text) + origin }

  /// The variable that it comes from, in parentheses.
  var origin: String { written.map { " (from \(quoted($0)))" } ?? "" }
}
