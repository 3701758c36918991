import LedgerPort
import Pipeline
import Platform

// What the stages of an attempt said, as the column `said` of `attempts` has it: a JSON array of arrays of stage, verdict, code,
// message and microseconds.
extension Step {
  static func said(_ steps: [Step]) -> String {
    var writer = JSONWriter()
    writer.array { writer in
      for step in steps {
        writer.array { writer in
          for text in [step.stage, step.verdict, step.code, step.message] { writer.value(text) }
          writer.value(step.microseconds)
        }
      }
    }
    return writer.text
  }

  /// Reads what ``said(_:)`` wrote; `nil`: it is anything else. SQLite's `json_each` takes three times as long for it.
  static func read(said: String) -> [Step]? {
    guard let rows = JSONRows.read(said) else { return nil }
    var steps: [Step] = []
    for row in rows {
      guard row.count == 5, case .text(let stage) = row[0], case .text(let verdict) = row[1],
        case .integer(let microseconds) = row[4]
      else { return nil }
      guard let code = text(row[2]), let message = text(row[3]) else { return nil }
      steps.append(
        Step(stage: stage, verdict: verdict, code: code, message: message, microseconds: microseconds))
    }
    return steps
  }

  /// A text that may be null; `nil`: it is neither.
  private static func text(_ value: JSONRows.Value) -> String?? {
    switch value {
    case .null: .some(nil)
    case .text(let text): text
    case .integer: nil
    }
  }
}
