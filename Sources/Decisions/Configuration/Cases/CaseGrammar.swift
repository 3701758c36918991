import Pipeline

/// The keys of a file of cases, declared like a stage's options.
enum CaseGrammar {
  static let top = ["stage", "pipeline", "cases"]
  static let shared = [
    "name", "input", "file-name", "declared-type", "media-type", "metadata", "attempt", "files", "expect",
  ]
  static let stageCase =
    shared + [
      "options", "timeout", "memory", "twin", "outcome", "reason", "event", "link",
    ]
  static let pipelineCase = shared + ["stages"]
  static let contents = ["text", "base64", "zeros"]
  static let input = contents + ["times"]
  static let body = ["text", "times"]
  static let event = ["id", "type", "recipient", "body"]
  static let reason = ["stage", "code", "message"]
  static let canned = ["verdict", "code", "message", "media-type", "metadata"]

  static let sharedExpectation = [
    "code", "message", "media-type", "metadata", "metadata-includes", "events", "derived", "children",
    "location", "files",
    "within",
  ]
  static let stageExpectation = ["refused", "verdict", "produced"] + sharedExpectation
  static let pipelineExpectation = ["outcome", "stage", "path"] + sharedExpectation
  static let expectedEvent = ["type", "channel", "to"]
  static let content = ["sha256", "size", "text"]

  static let verdicts = ["pass", "reject", "retry", "fail", "timed-out", "over-limit", "crashed"]

  static func text(_ name: String, required: Bool = false, example: String? = nil) -> OptionDescription {
    var key = OptionDescription(name: name, kind: .text, shapes: .one, help: "")
    key.required = required
    key.fallback = example
    return key
  }

  static func texts(_ name: String) -> OptionDescription {
    OptionDescription(name: name, kind: .text, shapes: .list, help: "")
  }

  static func choice(_ name: String, _ choices: [String]) -> OptionDescription {
    var key = OptionDescription(name: name, kind: .text, shapes: .one, help: "")
    key.choices = choices
    return key
  }

  static func number(
    _ name: String, _ kind: OptionDescription.Kind, _ range: ClosedRange<Int64>, example: String? = nil
  ) -> OptionDescription {
    var key = OptionDescription(name: name, kind: kind, shapes: .one, help: "")
    key.range = range
    key.fallback = example
    return key
  }

  static let zeros = number("zeros", .bytes, 0...(1 << 40), example: "11MB")
  static let times = number("times", .integer, 1...10_000_000, example: "1000")
  static let size = number("size", .integer, 0...(1 << 40), example: "120")
  static let attempt = number("attempt", .integer, 1...1000, example: "2")
  static let timeout = number("timeout", .duration, 1...86_400_000, example: "5s")
  static let memory = number("memory", .bytes, (16 << 20)...(64 << 30), example: "64MB")
  static let within = number("within", .duration, 1...86_400_000, example: "500ms")
}
