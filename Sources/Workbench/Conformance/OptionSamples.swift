import Pipeline

/// Values to try for an option: allowed ones, at the edges.
enum OptionSamples {
  static func values(_ option: OptionDescription) -> [[OptionValue]] {
    let texts = self.texts(option)
    var samples: [[OptionValue]] = []
    if option.shapes.contains(.one) { samples += texts.compactMap { value(option, $0).map { [$0] } } }
    if option.shapes.contains(.list) {
      samples.append((0..<100).compactMap { value(option, texts[$0 % texts.count]) })
    }
    if option.shapes.contains(.map) {
      let patterns = ["application/pdf", "image/*", "*/*"]
      samples.append(patterns.enumerated().compactMap { value(option, texts[$0 % texts.count], key: $1) })
    }
    return samples
  }

  private static func value(_ option: OptionDescription, _ text: String, key: String? = nil) -> OptionValue? {
    OptionValue(name: option.name, key: key, text: text, kind: option.kind)
  }

  private static func texts(_ option: OptionDescription) -> [String] {
    if !option.choices.isEmpty { return option.choices }
    switch option.kind {
    case .text: return ["", "x", "../..", "%s%n", String(repeating: "long ", count: 800), "漢字\u{202E}"]
    case .integer:
      let range = option.range ?? 0...Int64.max
      return [String(range.lowerBound), String(range.upperBound)]
    case .number: return ["0", "-1", "1e308", "0.5"]
    case .boolean: return ["true", "false"]
    case .bytes:
      let range = option.range ?? 0...(1 << 40)
      return ["\(max(range.lowerBound, 0))B", "\(max(range.upperBound, 0))B"]
    case .duration:
      let range = option.range ?? 0...86_400_000
      return ["\(max(range.lowerBound, 0))ms", "\(max(range.upperBound, 0))ms"]
    case .mediaType: return ["*/*", "image/*", "application/pdf"]
    case .template: return ["{sha256}", "documents/{conversationId}/{messageId}/{fileName}"]
    case .file: return ["a-file", "a file with a name that is rather long"]
    case .channelName: return ["events", "a-channel-with-a-name-that-is-rather-long"]
    }
  }
}
