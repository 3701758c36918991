import Configuration
import Pipeline

/// Checks a description by itself.
enum DescriptionCheck {
  /// A sentence for each problem.
  static func problems(_ stage: StageDescription) -> [String] {
    var problems: [String] = []
    if !isName(stage.id) { problems.append("the id '\(stage.id)' is not lower case letters, digits and '-'") }
    let numbers = stage.version.split(separator: "-", maxSplits: 1).first?.split(
      separator: ".", omittingEmptySubsequences: false)
    if numbers?.count != 3 || numbers?.allSatisfy({ UInt($0) != nil }) != true {
      problems.append("the version '\(stage.version)' is not MAJOR.MINOR.PATCH (semver.org)")
    }
    problems += sentence(stage.summary, "the summary")
    problems += doubles(stage.options.map(\.name), "option")
    problems += doubles(stage.keys.map(\.name), "metadata key")
    problems += doubles(stage.codes.map(\.name), "code")
    for option in stage.options { problems += self.problems(option) }
    problems += StageSettings.faultyDefaults(of: stage).map(\.problem)
    for (noun, terms) in [("metadata key", stage.keys), ("code", stage.codes)] {
      for term in terms {
        let name = term.name.hasSuffix("*") ? String(term.name.dropLast()) : term.name
        if !PlainName.isOne(name) || name.utf8.count > 100 {
          problems.append("the \(noun) '\(term.name)' has other letters than names have, or more than 100")
        }
        problems += sentence(term.help, "the help of \(noun) '\(term.name)'")
      }
    }
    return problems
  }

  private static func problems(_ option: OptionDescription) -> [String] {
    let subject = "option '\(option.name)'"
    var problems = isName(option.name) ? [] : ["\(subject) is not lower case letters, digits and '-'"]
    problems += sentence(option.help, "the help of \(subject)")
    if option.shapes.isEmpty { problems.append("\(subject) can be written in no shape") }
    if option.required && option.fallback != nil {
      problems.append("\(subject) is required and has a default")
    }
    return problems
  }

  private static func sentence(_ text: String, _ subject: String) -> [String] {
    if text.isEmpty { return ["\(subject) is missing"] }
    if text.utf8.contains(UInt8(ascii: "\n")) { return ["\(subject) is more than one line"] }
    return [".", "?", "!"].contains { text.hasSuffix($0) }
      ? [] : ["\(subject) is no sentence: it ends without a full stop"]
  }

  private static func doubles(_ names: [String], _ noun: String) -> [String] {
    var seen: Set<String> = []
    return names.filter { !seen.insert($0).inserted }.map { "the \(noun) '\($0)' is listed twice" }
  }

  private static func isName(_ text: String) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
          || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
          || $0 == UInt8(ascii: "-")
      }
  }
}
