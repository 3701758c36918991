import Pipeline

/// Checks the options given to a stage against those it declares, and fills in the defaults.
struct OptionReader {
  let stage: StageDescription
  /// The channels a value may name; `nil`: any.
  let channels: [String]?
  /// Keys that stand elsewhere and were already reported as belonging here.
  var misplaced: [String] = []
  var notation = Notation.file
  /// The program's own file that a path refers to, for paths the stage would write; `nil`: none.
  var ownFile: (String) -> String? = { _ in nil }

  /// The values of all options given or with a default, in the order of the stage's declaration.
  ///
  /// - Parameter mark: where to report missing options.
  func read(_ entries: [Node.Entry], at mark: Mark, _ findings: inout Findings) -> [OptionValue] {
    for entry in entries where !stage.options.contains(where: { $0.name == entry.key.text }) {
      let name = entry.key.text
      let remedy =
        notation == .file && Grammar.stage.contains(name)
        ? "'\(name)' stands beside 'use', not under 'options'"
        : Suggestion.remedy(for: name, among: stage.options.map(\.name), called: "options")
      findings.report(
        entry.key.mark, "unknown option \(quoted(name)) for \(stage.role.noun) '\(stage.id)'", remedy)
    }
    var values: [OptionValue] = []
    for option in stage.options {
      let subject = "option '\(option.name)' of \(stage.role.noun) '\(stage.id)'"
      if let entry = entries.first(where: { $0.key.text == option.name }) {
        explainUnset(entry.value, option, &findings)
        let given =
          ValueReader(option, subject: subject, notation: notation).read(entry.value, &findings) ?? []
        checkChannels(given, option, subject, &findings)
        checkFiles(given, option, subject, &findings)
        values += given.map(\.value)
      } else if let fallback = option.fallback {
        let given = standard(fallback, option, subject, mark, &findings)
        checkChannels(given, option, "the default of \(subject)", &findings)
        values += given.map(\.value)
      } else if option.required, !misspelt(option.name, entries) {
        let remedy =
          switch notation {
          case .file: "add '\(option.name): …' under 'options'"
          case .commandLine: "add '--set \(option.name)=…'"
          }
        findings.report(
          mark, "\(stage.role.noun) '\(stage.id)' needs its option '\(option.name)'",
          remedy + help(of: option))
      }
    }
    return values
  }

  /// The option's help text in parentheses; empty if it has none.
  private func help(of option: OptionDescription) -> String {
    let text = option.help.hasSuffix(".") ? String(option.help.dropLast()) : option.help
    return text.isEmpty ? "" : " (\(printable(text, longest: 300)))"
  }

  /// Tells the user who has to set a variable what its option is for.
  private func explainUnset(_ node: Node, _ option: OptionDescription, _ findings: inout Findings) {
    switch node.content {
    case .unusable:
      let use = help(of: option)
      if !use.isEmpty { findings.explainUnset(at: node.mark, "it is for option '\(option.name)'\(use)") }
    case .sequence(let items): for item in items { explainUnset(item, option, &findings) }
    case .mapping(let entries): for entry in entries { explainUnset(entry.value, option, &findings) }
    case .scalar: break
    }
  }

  /// Whether the option is misspelt (`paht`) or stands in another place: then it need not be reported as
  /// missing.
  private func misspelt(_ name: String, _ entries: [Node.Entry]) -> Bool {
    let names = stage.options.map(\.name)
    if misplaced.contains(name) { return true }
    return entries.contains {
      !names.contains($0.key.text) && Suggestion.nearest(to: $0.key.text, among: names) == name
    }
  }

  /// Reads a default, written as in the file: in brackets for several values. Brackets that do not read as a
  /// list or map are part of a text, as in a path template.
  private func standard(
    _ fallback: String, _ option: OptionDescription, _ subject: String, _ mark: Mark,
    _ findings: inout Findings
  ) -> [Given] {
    var option = option
    if !option.shapes.contains(.list) { option.shapes.insert(.one) }
    if fallback.hasPrefix("[") || fallback.hasPrefix("{") {
      var trial = Findings(file: findings.file)
      if let tree = TreeBuilder.tree(
        Array(fallback.utf8), filling: Substitution(environment: [:]), findings: &trial),
        let given = ValueReader(option, subject: subject).read(tree, &trial), trial.isEmpty
      {
        return given.map { Given(value: $0.value, mark: mark) }
      }
    }
    let scalars = ScalarReader(option, subject: "the default of \(subject)")
    switch scalars.read(Scalar(text: fallback, isPlain: true)) {
    case .success(let value): return [Given(value: value, mark: mark)]
    case .failure(let fault):
      findings.report(
        mark, fault.message, "give '\(option.name)' a value of its own, and tell the stage's author")
      return []
    }
  }

  private func checkFiles(
    _ given: [Given], _ option: OptionDescription, _ subject: String, _ findings: inout Findings
  ) {
    guard option.kind == .file else { return }
    for one in given {
      guard let own = ownFile(one.value.text) else { continue }
      findings.report(
        one.mark, "\(subject) names \(quoted(one.value.text)), which is sluice's own \(own)",
        "give it a file of its own, such as events.jsonl")
    }
  }

  private func checkChannels(
    _ given: [Given], _ option: OptionDescription, _ subject: String, _ findings: inout Findings
  ) {
    guard option.kind == .channelName, let channels else { return }
    var seen: Set<String> = []
    for one in given {
      let name = one.value.text
      if !channels.contains(name) {
        let remedy =
          channels.isEmpty
          ? "add it under 'channels'" : Suggestion.remedy(for: name, among: channels, called: "channels")
        findings.report(one.mark, "\(subject) names \(quoted(name)), and there is no such channel", remedy)
      } else if !seen.insert(name).inserted {
        findings.report(one.mark, "\(subject) names \(quoted(name)) twice", "remove one of the two")
      }
    }
  }
}
