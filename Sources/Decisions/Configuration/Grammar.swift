import Pipeline

/// The keys of a pipeline file, each declared like a stage's option: one reader checks both.
enum Grammar {
  static let top = [
    "version", "plugins", "stages", "channels", "retry", "sandbox", "workers", "memory-total", "reuse",
  ]
  static let stage = ["use", "id", "when", "options"] + stageSettings.map(\.name)
  static let channel = ["use", "options", "retry"] + channelSettings.map(\.name)
  static let retry = [attempts, backoff, max].map(\.name)

  static let version = key(
    "version", .integer, required: true, example: "1", "The version of this format: 1.")
  static let plugins = key(
    "plugins", .text, .list, example: "./plugins",
    "More folders to search for plugins; relative ones are taken from the folder of this file.")
  static let sandbox = choice(
    "sandbox", SandboxPolicy.allCases.map(\.rawValue),
    "What to do where the kernel lacks a part of the sandbox.")
  static let workers = key(
    "workers", .integer, range: 1...256, example: "2",
    "Worker processes of each kind that parse content; else as many as there are processors.")

  static let memoryTotal = key(
    "memory-total", .bytes, range: (1 << 20)...(64 << 40), example: "1GB",
    "Memory for new content over all attachments; else a quarter of what this machine, or its control group, has."
  )

  static let reuse = choice(
    "reuse", ReusePolicy.allCases.map(\.rawValue),
    "Whether what stages said of equal content stands in for running them again, where they promise to repeat it."
  )

  static let attempts = key(
    "attempts", .integer, range: 1...100, example: "3", "Tries in all, the first included.")
  static let backoff = key(
    "backoff", .duration, range: 0...day, example: "1s",
    "The wait before the second try; it doubles from try to try.")
  static let max = key("max", .duration, range: 0...day, example: "1m", "The longest wait.")

  static let use = key("use", .text, required: true, example: "mime", "The plugin.")
  static let id = key(
    "id", .text, example: "first-pdf", "The stage's name in this pipeline; else that of the plugin.")
  static let when = key(
    "when", .mediaType, [.one, .list], example: "application/pdf",
    "Media types, with `*`, that the stage runs for; else it always runs.")

  static let timeout = key(
    "timeout", .duration, range: 1...day, example: "30s", "Wall clock for one attachment; else 60s.")
  static let memory = key(
    "memory", .bytes, range: (16 << 20)...(64 << 30), example: "256MB", "What it may allocate; else 256MB.")
  static let output = key(
    "output", .bytes, range: 0...(1 << 40), example: "64MB", "New content it may write; else 64MB.")
  static let isolation = choice(
    "isolation", Isolation.allCases.map(\.rawValue),
    "`worker`: a process takes one attachment after the other; `fresh`: each gets its own.")
  static let remedies = [
    ("on-timeout", "it takes longer than `timeout`; else retry"),
    ("on-limit", "it overruns `memory` or `output`; else reject"),
    ("on-crash", "it crashes; else retry"),
  ].map { choice($0.0, Remedy.allCases.map(\.rawValue), "What becomes of an attachment when \($0.1).") }

  /// The settings of every stage and channel, beside the options of its plugin.
  static let stageSettings = [timeout, memory, output, isolation] + remedies
  static let channelSettings = [timeout, memory]

  /// Whether a text is a valid name of a stage or a channel.
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

  /// The limit for all waits and timeouts: a day, in milliseconds.
  private static let day: Int64 = 86_400_000

  private static func key(
    _ name: String, _ kind: OptionDescription.Kind, _ shapes: OptionDescription.Shapes = .one,
    range: ClosedRange<Int64>? = nil, required: Bool = false, example: String, _ help: String
  ) -> OptionDescription {
    var key = OptionDescription(name: name, kind: kind, shapes: shapes, help: help)
    key.range = range
    key.required = required
    key.fallback = example
    return key
  }

  private static func choice(_ name: String, _ choices: [String], _ help: String) -> OptionDescription {
    var key = OptionDescription(name: name, kind: .text, shapes: .one, help: help)
    key.choices = choices
    return key
  }
}
