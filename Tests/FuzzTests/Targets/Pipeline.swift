import Configuration
import Pipeline

extension FuzzTarget {
  /// A pipeline file: from bytes to a checked pipeline.
  static let pipeline = FuzzTarget(name: "pipeline") { bytes in
    let definition: PipelineDefinition
    do throws(ConfigurationError) {
      let document = try PipelineDocument.parse(bytes, file: "p", environment: ["A": "a\u{0}b", "B": "10MB"])
      definition = try document.resolve(FuzzedStages.all)
    } catch {
      return try check(error.diagnostics, of: bytes)
    }
    try demand(!definition.stages.isEmpty, "a pipeline without stages was accepted")
    let ids = definition.stages.map(\.id) + definition.channels.map(\.name)
    try demand(Set(ids).count == ids.count, "two stages have one id: \(ids)")
    for stage in definition.stages + definition.channels.map(\.stage) {
      try demand(stage.timeout > 0 && stage.memory > 0 && stage.output >= 0, "a budget of nothing")
      try demand(!stage.values.contains { $0.text.utf8.contains(0) }, "a value holds a NUL")
    }
  }

  /// A diagnostic names a place in the file, on one line.
  static func check(_ diagnostics: [Diagnostic], of bytes: [UInt8]) throws(Violation) {
    try demand(!diagnostics.isEmpty, "a file was refused without a word")
    // The line endings of YAML 1.1 (section 4.2).
    let lines =
      1 + text(bytes).unicodeScalars.count { "\n\r\u{85}\u{2028}\u{2029}".unicodeScalars.contains($0) }
    for one in diagnostics {
      try demand((1...lines).contains(one.line), "line \(one.line) of \(lines): \(one)")
      try demand((1...bytes.count + 1).contains(one.column), "column \(one.column) of \(bytes.count): \(one)")
      try demand(
        !one.description.unicodeScalars.contains { $0.value < 0x20 }, "a message with controls: \(one)")
    }
    let places = diagnostics.map { ($0.line, $0.column) }
    try demand(zip(places, places.dropFirst()).allSatisfy { $0 <= $1 }, "the order is not that of the file")
  }
}

/// Stages with options of all kinds.
enum FuzzedStages {
  static let all: [String: Result<StageDescription, PluginProblem>] = [
    "mime": .success(stage("mime", options: [option("allow", .mediaType, [.one, .list])])),
    "size": .success(
      stage(
        "size", options: [option("max", .bytes), option("rules", .bytes, .map), option("wait", .duration)])),
    "pdf": .success(
      stage(
        "pdf",
        options: [
          option("max-pages", .integer, fallback: "5000", range: 1...1_000_000), option("ratio", .number),
          option("strict", .boolean), option("encrypted", .text, choices: ["reject", "allow"]),
        ])),
    "store": .success(
      stage("store", capability: .store, options: [option("path", .template, [.one, .map])])),
    "notify": .success(
      stage("notify", role: .end, options: [option("channels", .channelName, [.one, .list])])),
    "jsonl": .success(stage("jsonl", role: .channel, options: [option("path", .text)])),
    "broken": .failure(PluginProblem(message: "it does not load")),
  ]

  private static func stage(
    _ id: String, role: StageDescription.Role = .line, capability: StageDescription.Capability = .content,
    options: [OptionDescription]
  ) -> StageDescription {
    var stage = StageDescription(id: id, version: "1.0.0", summary: "", file: "\(id).so")
    stage.role = role
    stage.capability = capability
    stage.options = options
    return stage
  }

  private static func option(
    _ name: String, _ kind: OptionDescription.Kind, _ shapes: OptionDescription.Shapes = .one,
    fallback: String? = nil, choices: [String] = [], range: ClosedRange<Int64>? = nil
  ) -> OptionDescription {
    var option = OptionDescription(name: name, kind: kind, shapes: shapes, help: "")
    option.fallback = fallback
    option.choices = choices
    option.range = range
    return option
  }
}
