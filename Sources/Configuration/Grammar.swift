import Pipeline

/// The keys of a pipeline file, each declared like a stage's option: one reader checks both.
enum Grammar {
  static let top = ["version", "plugins", "stages", "channels", "retry", "sandbox", "workers"]
  static let stage = ["use", "id", "when", "options"] + stageSettings.map(\.name)
  static let channel = ["use", "options"] + channelSettings.map(\.name)
  static let retry = [attempts, backoff, max].map(\.name)

  static let version = key("version", .integer, required: true, example: "1")
  static let plugins = key("plugins", .text, .list, example: "./plugins")
  static let sandbox = choice("sandbox", SandboxPolicy.allCases.map(\.rawValue))
  static let workers = key("workers", .integer, range: 1...256, example: "2")

  static let attempts = key("attempts", .integer, range: 1...100, example: "3")
  static let backoff = key("backoff", .duration, range: 0...day, example: "1s")
  static let max = key("max", .duration, range: 0...day, example: "1m")

  static let use = key("use", .text, required: true, example: "mime")
  static let id = key("id", .text, example: "first-pdf")
  static let when = key("when", .mediaType, [.one, .list], example: "application/pdf")

  static let timeout = key("timeout", .duration, range: 1...day, example: "30s")
  static let memory = key("memory", .bytes, range: (16 << 20)...(64 << 30), example: "256MB")
  static let output = key("output", .bytes, range: 0...(1 << 40), example: "64MB")
  static let isolation = choice("isolation", Isolation.allCases.map(\.rawValue))
  static let remedies = ["on-timeout", "on-limit", "on-crash"].map {
    choice($0, Remedy.allCases.map(\.rawValue))
  }

  /// What a stage and a channel set for themselves, beside what they use.
  static let stageSettings = [timeout, memory, output, isolation] + remedies
  static let channelSettings = [timeout, memory]

  /// Whether a text may name a stage or a channel.
  static func isName(_ text: String) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
          true
        default: false
        }
      }
  }

  /// The longest that anything may wait or take: a day, in milliseconds.
  private static let day: Int64 = 86_400_000

  private static func key(
    _ name: String, _ kind: OptionDescription.Kind, _ shapes: OptionDescription.Shapes = .one,
    range: ClosedRange<Int64>? = nil, required: Bool = false, example: String
  ) -> OptionDescription {
    var key = OptionDescription(name: name, kind: kind, shapes: shapes, help: "")
    key.range = range
    key.required = required
    key.fallback = example
    return key
  }

  private static func choice(_ name: String, _ choices: [String]) -> OptionDescription {
    var key = OptionDescription(name: name, kind: .text, shapes: .one, help: "")
    key.choices = choices
    return key
  }
}
