/// A search among messages.
public struct SearchQuery: Sendable, Equatable {
  /// A word, or a sequence of words.
  public struct Phrase: Sendable, Equatable {
    public var text: String
    /// The last word is the beginning of a word.
    public var isPrefix: Bool

    public init(_ text: String, isPrefix: Bool = false) {
      (self.text, self.isPrefix) = (text, isPrefix)
    }
  }

  public enum Order: String, Sendable, CaseIterable {
    case newest, relevance
  }

  /// Each is in the message.
  public var phrases: [Phrase] = []
  public var senderId: String?
  public var conversationId: String?
  /// Kinds of attachments, in small letters: `file` is any, `link` is a link in the text, `image` a family of media types, `pdf` a
  /// subtype or the end of a file name.
  public var kinds: [String] = []
  /// When it was written, in milliseconds since 1970: from `after` on, and before `before`.
  public var after: Int64?
  public var before: Int64?
  public var order = Order.newest

  public init() {}

  /// The limit of a search as typed, in bytes.
  public static let longest = 1000

  /// Why a search as typed is none: a sentence without its full stop.
  public struct Fault: Error, Equatable {
    public var message: String
  }

  /// Reads a search as a person types it: words, phrases in quotes, and the filters `from:`, `in:`, `has:`, `before:` and `after:`.
  ///
  /// The last word is the beginning of a word, unless a space or a quote ends it. `now` is for times such as `2h`.
  public init(_ typed: String, now: Int64) throws(Fault) {
    if typed.utf8.count > Self.longest { throw Fault(message: "has at most \(Self.longest) bytes") }
    var rest = typed[...]
    while true {
      rest = rest.drop { $0.isWhitespace }
      if rest.isEmpty { break }
      let word = rest.prefix { $0.isASCII && $0.isLetter }
      let name = word.lowercased()
      let isFilter = Self.filters.contains(name) && rest.dropFirst(word.count).first == ":"
      if isFilter { rest = rest.dropFirst(word.count + 1) }
      let (value, isEnded) = Self.takeValue(&rest)
      if isFilter {
        try add(filter: name, value, now)
      } else if value.contains(where: Self.isWord) {
        phrases.append(Phrase(value, isPrefix: !isEnded && rest.isEmpty || value.hasSuffix("*")))
      }
    }
    let hasFilter =
      senderId != nil || conversationId != nil || !kinds.isEmpty || after != nil || before != nil
    if phrases.isEmpty && !hasFilter {
      throw Fault(
        message:
          "has a word to look for, or a filter: from:USER, in:CONVERSATION, has:pdf, before:2027-01-31, after:2027-01-31"
      )
    }
  }

  private static let filters: Set = ["from", "in", "has", "before", "after"]

  /// Whether a character is a part of a word.
  private static func isWord(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || character.isSymbol && !character.isASCII
  }

  /// Takes a word or a quoted text. A quote within quotes is written twice.
  ///
  /// - Returns: whether a quote ends it.
  private static func takeValue(_ rest: inout Substring) -> (value: String, isEnded: Bool) {
    guard rest.first == "\"" else {
      let word = rest.prefix { !$0.isWhitespace }
      rest = rest.dropFirst(word.count)
      return (String(word), false)
    }
    var value = ""
    rest = rest.dropFirst()
    while let character = rest.popFirst() {
      if character != "\"" {
        value.append(character)
      } else if rest.first == "\"" {
        value.append(rest.removeFirst())
      } else {
        return (value, true)
      }
    }
    return (value, false)
  }

  private mutating func add(filter: String, _ value: String, _ now: Int64) throws(Fault) {
    if value.isEmpty { throw Fault(message: "has a value after '\(filter):'") }
    switch filter {
    case "from": senderId = value
    case "in": conversationId = value
    case "has": kinds.append(value.lowercased())
    default:
      guard let time = AttachmentFilter.time(value, now) else {
        throw Fault(message: "has a time after '\(filter):', such as 2027-01-31 or 2h (ago)")
      }
      if filter == "before" { before = time } else { after = time }
    }
  }
}

/// A found message.
public struct SearchHit: Sendable, Equatable {
  /// The place of a match.
  public enum Field: String, Sendable, CaseIterable {
    case text, fileNames, contents
  }

  /// The surroundings of matches, in parts.
  public struct Excerpt: Sendable, Equatable {
    public var field: Field
    public var parts: [(text: String, isMatch: Bool)]

    package init(_ field: Field, _ parts: [(text: String, isMatch: Bool)]) {
      (self.field, self.parts) = (field, parts)
    }

    public static func == (one: Self, other: Self) -> Bool {
      one.field == other.field && one.parts.elementsEqual(other.parts, by: ==)
    }
  }

  public var conversationId: String
  public var number: Int64
  public var excerpts: [Excerpt]

  package init(in conversationId: String, _ number: Int64, _ excerpts: [Excerpt] = []) {
    (self.conversationId, self.number, self.excerpts) = (conversationId, number, excerpts)
  }
}
