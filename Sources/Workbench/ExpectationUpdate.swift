import Configuration
import Pipeline
import Wire

extension Found {
  /// What `expect` is to say instead of what does not hold.
  public func changes(_ mismatches: [Mismatch], _ expectation: Expectation) -> ExpectationRewriter.Changes {
    if refused != nil || expectation.refused != nil || expectation.isEmpty {
      let written = expectation.isEmpty ? [] : Self.keys
      return everything.map { ($0.key, $0.value) }
        + written.filter { key in !everything.contains { $0.key == key } }.map { ($0, nil) }
    }
    var seen: Set<String> = []
    // A budget is for a person to change.
    return mismatches.map(\.key).filter { $0 != "within" && seen.insert($0).inserted }.map {
      ($0, value(of: $0, expectation))
    }
  }

  private static let keys = [
    "refused", "verdict", "outcome", "stage", "path", "code", "message", "media-type", "metadata",
    "metadata-includes",
    "events", "produced", "location", "files",
  ]

  /// What a case says that said nothing so far.
  private var everything: [(key: String, value: String)] {
    if let refused { return [("refused", YAMLText.text(refused))] }
    var all: [(key: String, value: String)] = []
    for key in ["verdict", "outcome", "stage", "path", "code", "message", "media-type"] {
      if let value = value(of: key, Expectation()) { all.append((key, value)) }
    }
    if !metadata.isEmpty {
      all.append(("metadata", YAMLText.map(metadata.map { ($0.key, Self.written($0.value)) })))
    }
    if !emissions.isEmpty, let events = value(of: "events", Expectation()) { all.append(("events", events)) }
    if produced != nil, let produced = value(of: "produced", Expectation()) {
      all.append(("produced", produced))
    }
    if let location { all.append(("location", YAMLText.text(location))) }
    return all
  }

  private func value(of key: String, _ expectation: Expectation) -> String? {
    switch key {
    case "verdict": verdict
    case "outcome": outcome
    case "stage": stage
    case "path": path.map { YAMLText.list($0) }
    case "code": code
    case "message": message.map { YAMLText.text($0) }
    case "media-type": mediaType.map { YAMLText.text($0) }
    case "metadata": YAMLText.map(metadata.map { ($0.key, Self.written($0.value)) })
    case "metadata-includes":
      YAMLText.map(
        expectation.includedKeys.map { name in
          (name, metadata.first { $0.key == name }.map { Self.written($0.value) } ?? "null")
        })
    case "events":
      YAMLText.list(
        emissions.map {
          YAMLText.map([
            ("type", YAMLText.text($0.type)), ("channel", YAMLText.text($0.channel)),
            ("to", "\($0.audience)"),
          ])
        })
    case "produced": produced.map { Self.written($0) } ?? "none"
    case "location": location.map { YAMLText.text($0) }
    case "files": YAMLText.map(files.map { ($0.path, Self.written($0.file)) })
    default: nil
    }
  }

  private static func written(_ value: MetadataValue) -> String {
    if case .text(let text) = value { YAMLText.text(text) } else { value.text }
  }

  private static func written(_ file: FileFacts) -> String {
    YAMLText.map([("sha256", "\"\(file.sha256)\""), ("size", String(file.size))])
  }
}
