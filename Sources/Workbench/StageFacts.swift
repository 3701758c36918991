import Pipeline

// What a stage declares, in words.

extension StageDescription.Capability {
  /// What a stage of this capability may access.
  public var meaning: String {
    switch self {
    case .content: "nothing but the content it is handed"
    case .store: "it may also write below the store"
    case .network: "it may also connect"
    }
  }
}

extension OptionDescription.Kind {
  /// The name of a value of this kind.
  public var noun: String {
    switch self {
    case .text: "text"
    case .integer: "whole number"
    case .number: "number"
    case .boolean: "true or false"
    case .bytes: "size"
    case .duration: "duration"
    case .mediaType: "media type pattern"
    case .template: "path template"
    case .channelName: "channel"
    case .file: "file"
    }
  }
}

extension OptionDescription {
  /// Its type, bounds and default on one line: `whole number, 1 to 100, default 3`.
  public var facts: String {
    var words = bounds
    if required { words.append("required") }
    if let fallback { words.append("default \(fallback)") }
    return words.joined(separator: ", ")
  }

  /// Its type, choices and bounds: `whole number`, `1 to 100`.
  var bounds: [String] {
    var words: [String] = []
    let nouns = [
      (Shapes.one, kind.noun), (.list, "list of \(kind.noun)s"),
      (.map, "map from media types to \(kind.noun)s"),
    ]
    words.append(nouns.filter { shapes.contains($0.0) }.map(\.1).joined(separator: " or "))
    if !choices.isEmpty { words.append(choices.joined(separator: "|")) }
    if let range {
      switch kind {
      case .bytes: words.append("\(ByteSize.text(range.lowerBound)) to \(ByteSize.text(range.upperBound))")
      case .duration: words.append("\(Interval.text(range.lowerBound)) to \(Interval.text(range.upperBound))")
      default: words.append("\(range.lowerBound) to \(range.upperBound)")
      }
    }
    return words
  }
}
