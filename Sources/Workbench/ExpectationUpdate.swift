import Configuration
import Pipeline
import Wire

extension Found {
  private typealias Edit = ExpectationRewriter.Edit

  /// The new values for the expectations that do not hold. Expectations that hold keep their spelling,
  /// including patterns.
  public func changes(_ mismatches: [Mismatch], _ expectation: Expectation) -> ExpectationRewriter.Changes {
    if refused != nil || expectation.refused != nil || expectation.isEmpty {
      let all = everything
      let gone = expectation.isEmpty ? [] : Self.keys.filter { key in !all.contains { $0.key == key } }
      return all.map { ($0.key, .write($0.value)) } + gone.map { ($0, nil) }
    }
    var seen: Set<String> = []
    // Budgets and missing fixtures are changed by hand only.
    return mismatches.map(\.key).filter { Self.keys.contains($0) && seen.insert($0).inserted }.map {
      ($0, edit(of: $0, expectation))
    }
  }

  private static let keys = [
    "refused", "verdict", "outcome", "stage", "path", "code", "message", "media-type", "metadata",
    "metadata-includes", "events", "produced", "derived", "children", "location", "files",
  ]

  // MARK: From nothing

  /// All expectations for a case that has none.
  private var everything: [(key: String, value: YAMLValue)] {
    if let refused { return [("refused", .text(refused))] }
    var all: [(key: String, value: YAMLValue)] = []
    for key in ["verdict", "outcome", "stage", "path", "code", "message", "media-type", "location"] {
      if let value = value(of: key) { all.append((key, value)) }
    }
    if !metadata.isEmpty {
      all.append(("metadata", .map(metadata.map { .init(key: $0.key, value: Self.value($0.value)) })))
    }
    if !emissions.isEmpty, let events = value(of: "events") { all.append(("events", events)) }
    if let produced { all.append(("produced", Self.facts(produced))) }
    for (key, files) in [("derived", derived), ("children", children), ("files", files)] where !files.isEmpty
    {
      all.append((key, .map(files.map { .init(key: $0.path, value: Self.value($0.file)) })))
    }
    return all
  }

  private func value(of key: String) -> YAMLValue? {
    switch key {
    case "verdict": verdict.map { .text($0) }
    case "outcome": outcome.map { .text($0) }
    case "stage": stage.map { .text($0) }
    case "path": path.map { .list($0.map { .text($0) }) }
    case "code": code.map { .text($0) }
    case "message": message.map { .text($0) }
    case "media-type": mediaType.map { .text($0) }
    case "location": location.map { .text($0) }
    case "events":
      .list(
        emissions.map {
          .map(["type": .text($0.type), "channel": .text($0.channel), "to": .text("\($0.audience)")])
        })
    default: nil
    }
  }

  // MARK: From what is there

  private func edit(of key: String, _ expectation: Expectation) -> Edit? {
    switch key {
    case "metadata": .entries(edits(of: expectation.metadata?.value ?? [], metadata))
    case "metadata-includes":
      .entries(
        edits(
          of: expectation.metadataIncludes?.value ?? [],
          metadata.filter { datum in
            expectation.includedKeys.contains(datum.key)
          }))
    case "produced":
      produced.map { Self.edit(of: (expectation.produced?.value).flatMap(\.self), $0) }
        ?? .write(.text("none"))
    case "derived": .entries(edits(of: expectation.derived?.value ?? [], derived))
    case "children": .entries(edits(of: expectation.children?.value ?? [], children))
    case "files": .entries(edits(of: expectation.files?.value ?? [], files))
    default: value(of: key).map { .write($0) }
    }
  }

  /// Expected items first, in their order.
  private func edits(
    of expected: [(key: String, value: Expectation.Value)], _ metadata: [Metadatum]
  ) -> ExpectationRewriter.Entries {
    expected.compactMap { key, value in
      let found = metadata.first { $0.key == key }?.value
      if Comparison.holds(value, found) { return (key, .keep) }
      return found.map { (key, .write(Self.value($0))) }
    }
      + metadata.filter { datum in !expected.contains { $0.key == datum.key } }.map {
        ($0.key, .write(Self.value($0.value)))
      }
  }

  private func edits(
    of expected: [(path: String, file: Expectation.Content)], _ files: [(path: String, file: FileFacts)]
  ) -> ExpectationRewriter.Entries {
    files.map { path, file in (path, Self.edit(of: expected.first { $0.path == path }?.file, file)) }
  }

  private static func edit(of expected: Expectation.Content?, _ found: FileFacts) -> Edit {
    guard let expected else { return .write(value(found)) }
    if Comparison.differences(expected, found).isEmpty { return .keep }
    guard expected.sha256 == nil && expected.size == nil else { return .write(facts(found)) }
    return .write(value(found))
  }

  private static func value(_ value: MetadataValue) -> YAMLValue {
    if case .text(let text) = value { .text(text) } else { .plain(value.text) }
  }

  private static func facts(_ file: FileFacts) -> YAMLValue {
    .map(["sha256": .text(file.sha256), "size": .plain(String(file.size))])
  }

  private static func value(_ file: FileFacts) -> YAMLValue { text(of: file) ?? facts(file) }

  /// The content as text, if it is readable as a YAML value.
  private static func text(of file: FileFacts) -> YAMLValue? {
    let isReadable = !file.text.unicodeScalars.contains { $0 == "\u{FFFD}" || $0 == "\0" }
    return isReadable && file.size <= 400 ? .text(file.text) : nil
  }
}
