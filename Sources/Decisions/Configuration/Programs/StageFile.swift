import Pipeline

/// Reads a `stage.yaml`: what a program in its folder is as a stage.
public struct StageFile {
  /// In the stage's folder, which has the stage's id as its name.
  public static let name = "stage.yaml"

  private var findings: Findings
  private var stage: StageDescription

  /// Reads the file.
  ///
  /// - Parameters:
  ///   - bytes: its content, at most 1 MiB of UTF-8. `$` has no special meaning in it.
  ///   - file: its path, absolute.
  /// - Throws: all errors in the file, in its order.
  public static func read(_ bytes: [UInt8], file: String) throws(ConfigurationError) -> StageDescription {
    var reader = StageFile(file)
    reader.read(bytes)
    guard reader.findings.isEmpty else { throw reader.findings.error }
    return reader.stage
  }

  private init(_ file: String) {
    findings = Findings(file: file)
    stage = StageDescription(id: "", version: "", summary: "", file: file)
    stage.abi = "1.1"
  }

  // MARK: Keys

  private static let id = Grammar.key("id", .text, required: true, "The stage's name: that of its folder.")
  private static let version = Grammar.key("version", .text, required: true, "Its version.")
  private static let summary = Grammar.key("summary", .text, required: true, "What it does, in one sentence.")
  private static let optionsName = "options"
  private static let termNames = (keys: "keys", codes: "codes")

  private static var names: [String] {
    [id, version, summary].map(\.name) + ProgramGrammar.settings.map(\.name) + [
      optionsName, termNames.keys, termNames.codes,
    ]
  }

  private mutating func read(_ bytes: [UInt8]) {
    guard
      let root = TreeBuilder.tree(
        bytes, filling: nil, leastContent: "it needs 'id', 'version', 'summary' and 'command' at least",
        findings: &findings)
    else { return }
    guard let section = Section(root, keys: Self.names) else {
      if case .unusable = root.content { return }
      return findings.report(
        root.mark, "a stage's file is a map of keys, not \(root.noun)", "begin it with 'id: NAME'")
    }
    section.reportUnknown(&findings)
    stage.id = required(Self.id, section)
    stage.version = required(Self.version, section)
    stage.summary = required(Self.summary, section)
    readId(section)
    readProgram(section)
    if let node = section[Self.optionsName] { readOptions(node) }
    if let node = section[Self.termNames.keys] { stage.keys = terms(node, "a key of metadata") }
    if let node = section[Self.termNames.codes] { stage.codes = terms(node, "a code") }
    if !stage.codes.contains(where: { $0.name == Program.tooLarge }) {
      stage.codes.append(ProgramGrammar.tooLarge)
    }
  }

  /// The text under a key; empty where it is missing, which is reported.
  private mutating func required(_ key: OptionDescription, _ section: Section) -> String {
    if let given = section.readOne(key, &findings) { return given.value.text }
    if section[key.name] == nil, !section.misspells(key.name) {
      let help = key.help.dropLast()
      findings.report(section.mark, "the stage's file lacks '\(key.name)'", "add '\(key.name): …' (\(help))")
    }
    return ""
  }

  private mutating func readId(_ section: Section) {
    guard !stage.id.isEmpty, let mark = section[Self.id.name]?.mark else { return }
    if !Grammar.isName(stage.id) {
      return findings.report(
        mark, "\(quoted(stage.id)) is not a name, which has lower case letters, digits and '-' only",
        "write one such as 'virus-list'")
    }
    let folder = Self.folder(of: findings.file)
    let name = folder.split(separator: "/").last.map(String.init) ?? ""
    if name != stage.id {
      findings.report(
        mark, "the stage calls itself \(quoted(stage.id)), and its folder is called \(quoted(name))",
        "give both the same name")
    }
  }

  private mutating func readProgram(_ section: Section) {
    var given = ProgramGrammar.Given(folder: Self.folder(of: findings.file))
    for setting in ProgramGrammar.settings {
      for value in section.read(setting.key, &findings) ?? [] { setting.apply(&given, value.value) }
      if setting.key.required { checkThere(setting.key, section) }
    }
    (stage.produces, stage.derives, stage.expands) = (given.produces, given.derives, given.expands)
    var program = given.program
    // What lies beside its file is its own.
    program.reads.append(".")
    stage.program = program
  }

  private mutating func checkThere(_ key: OptionDescription, _ section: Section) {
    if section[key.name] == nil, !section.misspells(key.name) {
      findings.report(
        section.mark, "the stage's file lacks '\(key.name)'", "add '\(key.name): [python3, stage.py]'")
    }
  }

  private static func folder(of file: String) -> String {
    file.lastIndex(of: "/").map { $0 == file.startIndex ? "/" : String(file[..<$0]) } ?? "."
  }

  // MARK: Options, keys and codes

  private static let kinds: [(name: String, kind: OptionDescription.Kind)] = [
    ("text", .text), ("integer", .integer), ("number", .number), ("boolean", .boolean), ("bytes", .bytes),
    ("duration", .duration), ("media-type", .mediaType), ("template", .template),
  ]

  private static let optionType: OptionDescription = {
    var type = Grammar.key("type", .text, .one, "What its values are.")
    type.choices = kinds.map(\.name)
    return type
  }()
  private static let optionHelp = Grammar.key("help", .text, .one, "What it means, in one sentence.")
  private static let isRequired = Grammar.key("required", .boolean, .one, "Whether a pipeline must give it.")
  private static let isList = Grammar.key("list", .boolean, .one, "Whether it takes several values.")
  private static let choices = Grammar.key("choices", .text, [.one, .list], "The texts allowed.")
  private static let fallback = "default"
  private static let bounds = ["minimum", "maximum"]

  private mutating func readOptions(_ node: Node) {
    guard case .mapping(let entries) = node.content else {
      if node.isNull { return }
      if case .unusable = node.content { return }
      return findings.report(
        node.mark, "'options' takes a map from names, not \(node.noun)",
        "write 'options: { limit: { type: integer, default: 10, help: … } }'")
    }
    for entry in entries {
      if !Grammar.isName(entry.key.text) {
        findings.report(
          entry.key.mark,
          "\(quoted(entry.key.text)) is not a name, which has lower case letters, digits and '-' only",
          "write one such as 'max-lines'")
      }
      if let option = option(entry) { stage.options.append(option) }
    }
    for (option, problem) in StageSettings.faultyDefaults(of: stage) {
      let mark = entries.first { $0.key.text == option }?.key.mark ?? node.mark
      findings.report(mark, problem, "correct its 'default'")
    }
  }

  private mutating func option(_ entry: Node.Entry) -> OptionDescription? {
    let keys =
      [Self.optionType, Self.optionHelp, Self.isRequired, Self.isList, Self.choices].map(\.name)
      + [Self.fallback] + Self.bounds
    guard let section = Section(entry.value, keys: keys) else {
      if case .unusable = entry.value.content { return nil }
      findings.report(
        entry.value.mark, "an option is a map, not \(entry.value.noun)", "write '{ type: text, help: … }'")
      return nil
    }
    section.reportUnknown(&findings)
    let type = section.readOne(Self.optionType, &findings)?.value.text
    let kind = Self.kinds.first { $0.name == type }?.kind ?? .text
    let takesList = section.readOne(Self.isList, &findings)?.value.integer == 1
    var option = OptionDescription(
      name: entry.key.text, kind: kind, shapes: takesList ? [.one, .list] : .one,
      help: section.readOne(Self.optionHelp, &findings)?.value.text ?? "")
    option.required = section.readOne(Self.isRequired, &findings)?.value.integer == 1
    option.choices = (section.read(Self.choices, &findings) ?? []).map(\.value.text)
    if let node = section[Self.fallback] { option.fallback = written(node) }
    let bounds = Self.bounds.map { name -> Int64? in
      section.readOne(Grammar.key(name, kind, .one, "A bound."), &findings)?.value.integer
    }
    if bounds.contains(where: { $0 != nil }) {
      let (lower, upper) = (bounds[0] ?? 0, bounds[1] ?? .max)
      if lower <= upper {
        option.range = lower...upper
      } else {
        findings.report(
          section.mark, "its minimum is above its maximum", "make the maximum as large at least")
      }
    }
    return option
  }

  /// A default as it would be written in a pipeline.
  private mutating func written(_ node: Node) -> String? {
    switch node.content {
    case .scalar(let scalar): return scalar.isNull ? nil : scalar.text
    case .sequence(let items):
      return "[" + items.compactMap { written($0) }.joined(separator: ", ") + "]"
    case .mapping, .unusable:
      findings.report(node.mark, "a default is one value or a list, not \(node.noun)", "write a value")
      return nil
    }
  }

  private mutating func terms(_ node: Node, _ noun: String) -> [StageDescription.Term] {
    guard case .mapping(let entries) = node.content else {
      if node.isNull { return [] }
      if case .unusable = node.content { return [] }
      findings.report(
        node.mark, "this takes a map from names to sentences, not \(node.noun)",
        "write 'too-long: It has more lines than are allowed.'")
      return []
    }
    return entries.compactMap { entry in
      guard PlainName.isOne(entry.key.text), entry.key.text.utf8.count <= 100 else {
        findings.report(
          entry.key.mark,
          "\(quoted(entry.key.text)) cannot be \(noun): it has other letters than names have, or more than 100",
          "write one such as 'too-long'")
        return nil
      }
      guard case .scalar(let scalar) = entry.value.content else {
        if case .unusable = entry.value.content { return nil }
        findings.report(
          entry.value.mark, "what \(noun) means is a sentence, not \(entry.value.noun)", "write one")
        return nil
      }
      return StageDescription.Term(name: entry.key.text, help: scalar.isNull ? "" : scalar.text)
    }
  }
}
