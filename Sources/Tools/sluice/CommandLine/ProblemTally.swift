import Platform

/// Of each kind of problem the first few are told, and how many more there are: one mistake on every line of a file is to
/// fill no screen.
struct ProblemTally {
  private static let told = 20
  /// Kinds that are told apart; of further ones everything is told.
  private static let limit = 1000

  private var kinds: [String: (count: Int, example: String)] = [:]
  /// In the order in which they came.
  private var order: [String] = []

  /// Counts a problem, and returns whether to tell it.
  ///
  /// - Parameter text: what is wrong, without where.
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

  /// Counts a problem whose text begins with its place: `list.jsonl:3: unknown key 'x'`. Names and numbers make no kind of
  /// their own.
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

  /// A line for each kind of which not all were told.
  var rest: [String] {
    order.compactMap { kind in
      guard let (count, example) = kinds[kind], count > Self.told else { return nil }
      return "and \(Count.grouped(count - Self.told)) more like it: \(example)"
    }
  }
}
