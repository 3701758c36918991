import Configuration
import Pipeline

/// The stages of the default pipeline as their plugins declare them, and some that only tests need.
enum Samples {
  static let environment = ["SOON": "soon", "EMPTY": "", "FOUR": "4", "NAME": "first"]

  static let descriptions: [String: Result<StageDescription, PluginProblem>] = [
    "mime": .success(
      stage(
        "mime",
        options: [
          option("allow", .mediaType, [.one, .list]), option("deny", .mediaType, [.one, .list]),
        ])),
    "size": .success(
      stage(
        "size",
        options: [
          option("max", .bytes), option("min", .bytes, fallback: "1B"), option("rules", .bytes, .map),
        ])),
    "pdf": .success(
      stage(
        "pdf",
        options: [
          option("max-pages", .integer, fallback: "5000", range: 1...1_000_000),
          option("encrypted", .text, fallback: "reject", choices: ["reject", "pass"]),
          option("strict", .boolean, fallback: "false"),
        ])),
    "store": .success(store),
    "notify": .success(
      stage("notify", role: .end) { stage in
        stage.options = [
          option("to", .text, fallback: "participants", choices: ["participants", "sender", "everyone"]),
          option("channels", .channelName, [.one, .list], isRequired: true),
        ]
      }),
    "quiet": .success(stage("quiet", role: .end)),
    "loud": .success(
      stage(
        "loud", role: .end, options: [option("channels", .channelName, [.one, .list], fallback: "siren")])),
    "faulty": .success(stage("faulty", options: [option("limit", .bytes, fallback: "much")])),
    "jsonl": .success(
      stage("jsonl", role: .channel) { stage in
        stage.flushes = true
        stage.options = [option("path", .text, isRequired: true)]
      }),
    "knobs": .success(
      stage(
        "knobs",
        options: [
          option("ratio", .number, fallback: "0.5"), option("title", .text), option("words", .text, .list),
          option("wait", .duration, fallback: "2s", range: 1000...60_000),
          option("deep", .integer, range: 0...Int64.max),
          option("quiet", .boolean), option("both", .template, [.one, .map]),
          option("types", .mediaType, .list, fallback: "[image/png, image/gif]"),
          option("note", .text, fallback: ""),
        ])),
    "helped": .success(
      stage("helped") { stage in
        stage.options = [option("words", .text, .list, isRequired: true)]
        stage.options[0].help = "some words; two at least."
      }),
    "http": .success(
      stage("http", role: .source, options: [option("redirects", .integer, fallback: "5")]) {
        $0.capability = .network
      }),
    "broken": .failure(
      PluginProblem(
        message: "its ABI is 2, and 1 is wanted", remedy: "build it again with this version's kit")),
    "mim": .failure(PluginProblem(message: "there is no such plugin in plugins")),
    "pfd": .failure(
      PluginProblem(message: "there is no such plugin in plugins", remedy: "add its folder under 'plugins'")),
    "thumbnail": .failure(PluginProblem(message: "there is no such plugin in plugins")),
  ]

  static var store: StageDescription {
    stage("store") { stage in
      stage.capability = .store
      stage.flushes = true
      stage.options = [option("path", .template, [.one, .map], isRequired: true)]
    }
  }

  static func stage(
    _ id: String, role: StageDescription.Role = .line, options: [OptionDescription] = [],
    _ change: (inout StageDescription) -> Void = { _ in }
  ) -> StageDescription {
    var stage = StageDescription(id: id, version: "1.0.0", summary: "", file: "\(id).so")
    stage.role = role
    stage.options = options
    change(&stage)
    return stage
  }

  static func option(
    _ name: String, _ kind: OptionDescription.Kind, _ shapes: OptionDescription.Shapes = .one,
    fallback: String? = nil,
    choices: [String] = [], range: ClosedRange<Int64>? = nil, isRequired: Bool = false
  ) -> OptionDescription {
    var option = OptionDescription(name: name, kind: kind, shapes: shapes, help: "")
    option.fallback = fallback
    option.choices = choices
    option.range = range
    option.required = isRequired
    return option
  }

  /// The definition that a pipeline file yields.
  static func definition(
    _ text: String, environment: [String: String] = Samples.environment
  ) throws(ConfigurationError) -> PipelineDefinition {
    try PipelineDocument.parse(Array(text.utf8), file: "pipeline.yaml", environment: environment)
      .resolve(descriptions)
  }

  /// The errors of a pipeline file as users read them, without the file's name.
  static func complaints(_ bytes: [UInt8], environment: [String: String] = Samples.environment) -> [String] {
    do throws(ConfigurationError) {
      _ = try PipelineDocument.parse(bytes, file: "f", environment: environment).resolve(descriptions)
      return []
    } catch {
      return error.diagnostics.map { String($0.description.dropFirst(2)) }
    }
  }

  static func complaints(_ text: String, environment: [String: String] = Samples.environment) -> [String] {
    complaints(Array(text.utf8), environment: environment)
  }
}
