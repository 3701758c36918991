import Configuration
import Pipeline
import Wire

extension FuzzTarget {
  /// A line that a stage's program says.
  static let programLines = FuzzTarget(name: "program-lines") { bytes in
    let statements: [ProgramLine.Statement]
    do throws(ProgramLine.Flaw) {
      statements = try ProgramLine.read(bytes)
    } catch {
      let isPlain = error.reason.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
      return try demand(isPlain, "control characters in \(error.reason)")
    }
    for (index, statement) in statements.enumerated() {
      switch statement {
      case .verdict(_, let code, let message):
        try demand(index == statements.count - 1, "something follows the verdict")
        for text in [code, message] { try check(text) }
      case .refuse(let text), .repeatable(let text), .mediaType(let text), .log(_, let text): try check(text)
      case .annotate(let key, let value):
        try check(key)
        try check(value.text)
      case .derive(let name, let type, let bytes):
        for text in [name, type] { try check(text) }
        try demand(bytes >= 0, "an object of \(bytes) bytes")
      case .child(let name, let type, let bytes):
        for text in [name, type] { try check(text) }
        try demand(bytes >= 0, "a content of \(bytes) bytes")
      case .ready, .produce, .progress, .retryAfter, .pause: break
      }
    }
  }

  private static func check(_ text: String?) throws(Violation) {
    try demand(text?.utf8.contains(0) != true, "a text with a NUL character")
  }

  /// A `stage.yaml`.
  static let stageFile = FuzzTarget(name: "stage-file") { bytes in
    let stage: StageDescription
    do throws(ConfigurationError) {
      stage = try StageFile.read(bytes, file: "/stages/count/stage.yaml")
    } catch {
      return try check(error.diagnostics, of: bytes)
    }
    try demand(stage.id == "count", "the stage is called \(stage.id)")
    try demand(stage.program?.command.isEmpty == false, "nothing is started")
    try demand(StageSettings.faultyDefaults(of: stage).isEmpty, "a default that does not fit")
    let names = stage.options.map(\.name)
    try demand(Set(names).count == names.count, "an option that stands twice")
  }
}
