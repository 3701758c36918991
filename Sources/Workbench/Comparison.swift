import Configuration
import Pipeline
import Platform
import Wire

/// One expectation that does not hold.
public struct Mismatch {
  /// The key below `expect`.
  public var key: String
  public var line: Int
  public var expected: String
  public var found: String
}

/// Compares what a case expects with what was found.
public struct Comparison {
  public private(set) var mismatches: [Mismatch] = []
  private let found: Found

  public init(_ expectation: Expectation, _ found: Found) {
    self.found = found
    if expectation.isEmpty {
      add("expect", expectation.line, "not said", found.refused ?? decision(found.verdict ?? found.outcome))
      return
    }
    if let refused = found.refused {
      guard let expected = expectation.refused else {
        mismatches = [Mismatch(key: "refused", line: expectation.line, expected: "it opens", found: refused)]
        return
      }
      compare("refused", expected, refused)
      return
    }
    if let expected = expectation.refused {
      add("refused", expected.line, Self.written(expected.value), "it opens")
    }
    compareDecision("verdict", expectation.verdict, found.verdict)
    compareDecision("outcome", expectation.outcome, found.outcome)
    compare("stage", expectation.stage, found.stage)
    if let path = expectation.path, path.value != found.path {
      add("path", path.line, Self.list(path.value), Self.list(found.path ?? []))
    }
    compare("code", expectation.code, found.code)
    compare("message", expectation.message, found.message)
    compare("media-type", expectation.mediaType, found.mediaType)
    compareMetadata(expectation)
    compareEvents(expectation.events)
    compareProduced(expectation.produced)
    compare("location", expectation.location, found.location)
    compareFiles("derived", expectation.derived, found.derived)
    compareFiles("children", expectation.children, found.children)
    compareFiles("files", expectation.files, found.files)
    if let within = expectation.within, found.milliseconds > Double(within.value) {
      add("within", within.line, "at most \(within.value) ms", "\(found.milliseconds) ms")
    }
  }

  private mutating func add(_ key: String, _ line: Int, _ expected: String, _ found: String) {
    mismatches.append(Mismatch(key: key, line: line, expected: expected, found: found))
  }

  // MARK: Texts

  private mutating func compare(_ key: String, _ expected: Expectation.Expected<String>?, _ found: String?) {
    guard let expected else { return }
    if let found, Self.holds(.exactly(expected.value), found) { return }
    add(key, expected.line, expected.value, found ?? Self.nothing)
  }

  private mutating func compare(
    _ key: String, _ expected: Expectation.Expected<Expectation.Text>?, _ found: String?
  ) {
    guard let expected else { return }
    if let found, Self.holds(expected.value, found) { return }
    let shown = found.map { Self.written(expected.value, $0) }
    add(key, expected.line, shown?.expected ?? Self.written(expected.value), shown?.found ?? Self.nothing)
  }

  /// With the reason, which says more than a word.
  private mutating func compareDecision(
    _ key: String, _ expected: Expectation.Expected<String>?, _ decision: String?
  ) {
    guard let expected, expected.value != decision else { return }
    add(key, expected.line, expected.value, self.decision(decision))
  }

  private func decision(_ word: String?) -> String {
    // The description of a worker's death begins with its code.
    let code = found.code.flatMap { found.message?.hasPrefix($0) == true ? nil : $0 }
    let reason = [code, found.message].compactMap(\.self).joined(separator: ": ")
    return (word ?? Self.nothing) + (reason.isEmpty ? "" : " (\(reason))")
  }

  static let nothing = "nothing"

  static func holds(_ expected: Expectation.Text, _ found: String) -> Bool {
    switch expected {
    // Compare bytes: Swift's string comparison treats differently encoded letters as equal.
    case .exactly(let text): text.utf8.elementsEqual(found.utf8)
    case .matching(let pattern): RegularExpression.matches(pattern, found)
    }
  }

  private static func written(_ text: Expectation.Text) -> String {
    switch text {
    case .exactly(let text): Excerpt.text(text, around: 0)
    case .matching(let pattern): "what matches \(pattern)"
    }
  }

  /// Both texts from shortly before the first difference.
  private static func written(_ expected: Expectation.Text, _ found: String) -> (
    expected: String, found: String
  ) {
    guard case .exactly(let text) = expected else {
      return (written(expected), Excerpt.text(found, around: 0))
    }
    let place = Excerpt.firstDifference(text, found)
    return (Excerpt.text(text, around: place), Excerpt.text(found, around: place))
  }

  private static func list(_ texts: [String]) -> String { "[\(texts.joined(separator: ", "))]" }

  // MARK: Metadata

  private mutating func compareMetadata(_ expectation: Expectation) {
    for (key, expected, isWhole) in [
      ("metadata", expectation.metadata, true), ("metadata-includes", expectation.metadataIncludes, false),
    ] {
      guard let expected else { continue }
      for (name, value) in expected.value {
        let datum = found.metadata.first { $0.key == name }
        if Self.holds(value, datum?.value) { continue }
        add(
          key, expected.line, "\(name): \(Self.written(value))",
          datum.map { "\(name): \($0.value.text)" } ?? "no \(name)")
      }
      if !isWhole { continue }
      for datum in found.metadata where !expected.value.contains(where: { $0.key == datum.key }) {
        add(key, expected.line, "no \(datum.key)", "\(datum.key): \(datum.value.text)")
      }
    }
  }

  static func holds(_ expected: Expectation.Value, _ found: MetadataValue?) -> Bool {
    switch (expected, found) {
    case (.absent, nil): true
    case (.scalar(let text, let isPlain), let found?):
      text.utf8.elementsEqual(found.text.utf8)
        || isPlain && Self.number(found) != nil && Double(text) == Self.number(found)
    case (.matching(let pattern), let found?): RegularExpression.matches(pattern, found.text)
    default: false
    }
  }

  private static func number(_ value: MetadataValue) -> Double? {
    switch value {
    case .integer(let integer): Double(integer)
    case .number(let number): number
    case .text, .boolean: nil
    }
  }

  private static func written(_ value: Expectation.Value) -> String {
    switch value {
    case .scalar(let text, _): text
    case .matching(let pattern): "what matches \(pattern)"
    case .absent: nothing
    }
  }

  // MARK: Effects

  private mutating func compareEvents(_ expected: Expectation.Expected<[Expectation.Event]>?) {
    guard let expected else { return }
    let holds =
      expected.value.count == found.emissions.count
      && zip(expected.value, found.emissions).allSatisfy { expected, found in
        (expected.type ?? found.type) == found.type && (expected.channel ?? found.channel) == found.channel
          && (expected.audience ?? "\(found.audience)") == "\(found.audience)"
      }
    if holds { return }
    let wanted = expected.value.map {
      [$0.type, $0.channel.map { "on \($0)" }, $0.audience.map { "to \($0)" }].compactMap(\.self).joined(
        separator: " ")
    }
    add(
      "events", expected.line, Self.list(wanted),
      Self.list(found.emissions.map { "\($0.type) on \($0.channel) to \($0.audience)" }))
  }

  private mutating func compareProduced(_ expected: Expectation.Expected<Expectation.Content?>?) {
    guard let expected else { return }
    switch (expected.value, found.produced) {
    case (nil, nil): break
    case (nil, let found?):
      add("produced", expected.line, "none", "\(Count.text(found.size, "byte")), \(found.sha256)")
    case (_?, nil): add("produced", expected.line, "new content", "none")
    case (let wanted?, let found?): compare("produced", "", wanted, found, expected.line)
    }
  }

  private mutating func compareFiles(
    _ key: String, _ expected: Expectation.Expected<[(path: String, file: Expectation.Content)]>?,
    _ files: [(path: String, file: Found.FileFacts)]
  ) {
    guard let expected else { return }
    for (path, file) in expected.value {
      if let found = files.first(where: { $0.path == path })?.file {
        compare(key, "\(path): ", file, found, expected.line)
      } else {
        add(key, expected.line, path, "no \(path)")
      }
    }
    for (path, file) in files where !expected.value.contains(where: { $0.path == path }) {
      add(key, expected.line, "no \(path)", "\(path) of \(Count.text(file.size, "byte"))")
    }
  }

  private mutating func compare(
    _ key: String, _ prefix: String, _ expected: Expectation.Content, _ found: Found.FileFacts, _ line: Int
  ) {
    for (expected, found) in Self.differences(expected, found) {
      add(key, line, prefix + expected, prefix + found)
    }
  }

  /// The differences between content and its expectation.
  static func differences(
    _ expected: Expectation.Content, _ found: Found.FileFacts
  ) -> [(expected: String, found: String)] {
    var differences: [(expected: String, found: String)] = []
    if let size = expected.size, size != found.size {
      differences.append((Count.text(size, "byte"), Count.text(found.size, "byte")))
    }
    if let sha256 = expected.sha256, sha256 != found.sha256 {
      differences.append(("sha256 \(sha256)", "sha256 \(found.sha256)"))
    }
    if let text = expected.text, !holds(text, found.text) {
      differences.append(written(text, found.text))
    }
    return differences
  }
}
