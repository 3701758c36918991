import Platform

/// Limits repeated problems: of each kind the first few are shown, then their number. One mistake on every
/// line of a file must not fill the screen.
struct ProblemTally {
  private static let told = 20
  /// The most kinds that are distinguished; problems of further kinds are all shown.
  private static let limit = 1000

  private var kinds: [String: (count: Int, example: String)] = [:]
  /// In order of appearance.
  private var order: [String] = []

  /// Counts a problem, and returns whether to show it.
  ///
  /// - Parameter text: the problem without its place.
  mutating func admits(_ text: String, kind: String? = nil) -> Bool {
    let kind = kind ?? text
    if let before = kinds[kind]?.count {
      kinds[kind]?.count = before + 1
      return before < Self.told
    }
    if order.count < Self.limit {
      kinds[kind] = (1, text)
      order.append(kind)
    }
    return true
  }

  /// Counts a text that begins with its place: `channel 'a': 3 …`. Names and numbers do not distinguish kinds.
  mutating func admits(line: String) -> Bool {
    var what = Substring(line)
    while let colon = what.firstRange(of: ": ") { what = what[colon.upperBound...] }
    return admits(String(what), kind: Self.kind(of: what))
  }

  private static func kind(of text: Substring) -> String {
    var kind = ""
    var isQuoted = false
    for character in text where !character.isNumber {
      if character == "'" { isQuoted.toggle() }
      if !isQuoted { kind.append(character) }
    }
    return kind
  }

  /// One line for each kind of which some problems were not shown.
  var rest: [String] {
    order.compactMap { kind in
      guard let (count, example) = kinds[kind], count > Self.told else { return nil }
      return "and \(Count.grouped(count - Self.told)) more like it: \(example)"
    }
  }
}
