import Pipeline

/// Reads the tree of a file of cases.
struct CaseReader {
  private var document: CaseDocument
  var findings: Findings
  private var isPipeline = false

  init(_ document: CaseDocument, _ findings: Findings) {
    self.document = document
    self.findings = findings
  }

  mutating func read(_ root: Node) throws(ConfigurationError) -> CaseDocument {
    guard let section = Section(root, keys: CaseGrammar.top) else {
      findings.report(root.mark, "a file of cases is a map, not \(root.noun)", "begin it with 'stage: NAME'")
      throw findings.error
    }
    section.reportUnknown(&findings)
    readSubject(section)
    readCases(section)
    var names: [String: Mark] = [:]
    for one in document.cases {
      guard let first = names[one.name] else {
        names[one.name] = one.nameMark
        continue
      }
      findings.report(
        one.nameMark, "\(quoted(one.name)) is the name of the case at line \(first.line) too",
        "give each case a name of its own")
    }
    if !findings.isEmpty { throw findings.error }
    return document
  }

  private mutating func readCases(_ section: Section) {
    let remedy = "begin each case with '- name: …'"
    guard let node = section["cases"], !node.isNull else {
      if !section.misspells("cases") {
        findings.report(
          section["cases"]?.mark ?? section.mark, "there are no cases",
          "list one at least: 'cases:', and below it '- name: …'")
      }
      return
    }
    switch node.content {
    case .unusable: break
    case .sequence(let items):
      if items.isEmpty { findings.report(node.mark, "there are no cases", remedy) }
      for item in items { if let one = readCase(item) { document.cases.append(one) } }
    case .scalar, .mapping: findings.report(node.mark, "'cases' takes a list, not \(node.noun)", remedy)
    }
  }

  private mutating func readSubject(_ section: Section) {
    let stage = section.readOne(CaseGrammar.text("stage", example: "pdf"), &findings)
    let pipeline = section.readOne(CaseGrammar.text("pipeline", example: "pipeline.yaml"), &findings)
    switch (stage, pipeline) {
    case (let stage?, nil): document.subject = .stage(stage.value.text)
    case (nil, let pipeline?):
      document.subject = .pipeline(pipeline.value.text)
      isPipeline = true
    case (_?, let pipeline?):
      findings.report(pipeline.mark, "cases are for a stage or for a pipeline", "remove one of the two")
    case (nil, nil):
      let isGiven = ["stage", "pipeline"].contains { section[$0] != nil || section.misspells($0) }
      if !isGiven {
        findings.report(
          section.mark, "the file does not say what the cases are for",
          "add 'stage: NAME' or 'pipeline: FILE'")
      }
    }
  }

  // MARK: A case

  private mutating func readCase(_ node: Node) -> Case? {
    let keys = isPipeline ? CaseGrammar.pipelineCase : CaseGrammar.stageCase
    guard let section = Section(node, keys: keys) else {
      if case .unusable = node.content { return nil }
      findings.report(node.mark, "a case is a map, not \(node.noun)", "begin it with '- name: …'")
      return nil
    }
    section.reportUnknown(
      &findings, elsewhere: isPipeline ? CaseGrammar.stageCase : CaseGrammar.pipelineCase,
      "it is for cases of a \(isPipeline ? "stage" : "pipeline")")
    guard
      let name = section.readOne(CaseGrammar.text("name", example: "a PDF of three pages passes"), &findings)
    else {
      if section["name"] == nil { findings.report(section.mark, "the case has no name", "add 'name: …'") }
      return nil
    }
    var one = Case(name: name.value.text, line: section.mark.line)
    one.nameMark = name.mark
    one.input = readInput(section["input"])
    one.fileName = section.readOne(CaseGrammar.text("file-name", example: "photo.png"), &findings)?.value.text
    one.declaredType = text(section, "declared-type", "image/png")
    one.mediaType = readMediaType(section)
    one.metadata = readMetadata(section["metadata"])
    one.twin = section["twin"].flatMap { readPath($0, "twin") }
    one.attempt = section.readOne(CaseGrammar.attempt, &findings).map { Int($0.value.integer) } ?? 1
    one.timeout = section.readOne(CaseGrammar.timeout, &findings)?.value.integer
    one.memory = section.readOne(CaseGrammar.memory, &findings)?.value.integer
    one.outcome = readChoice(section, "outcome", Status.allCases.filter(\.isFinal).map(\.rawValue)).flatMap {
      Status(rawValue: $0)
    }
    one.reason = readReason(section["reason"])
    one.event = readEvent(section["event"])
    one.link = text(section, "link", "https://files.example.com/a.pdf")
    one.files = readFiles(section["files"])
    readOptions(section, &one)
    readCanned(section["stages"], &one)
    if let expect = section["expect"] {
      var reader = ExpectationReader(findings: findings)
      one.expectation = reader.read(expect, isPipeline: isPipeline)
      one.expectation.isInFlow = node.isFlow
      findings = reader.findings
    } else if !section.misspells("expect") {
      findings.report(
        section.mark, "the case expects nothing",
        "add 'expect: { verdict: pass }', or 'expect: {}' for --update to fill in")
    }
    return one
  }

  mutating func text(_ section: Section, _ key: String, _ example: String) -> String? {
    section.readOne(CaseGrammar.text(key, example: example), &findings)?.value.text
  }

  private mutating func readChoice(_ section: Section, _ key: String, _ choices: [String]) -> String? {
    section.readOne(CaseGrammar.choice(key, choices), &findings)?.value.text
  }

  private mutating func readMediaType(_ section: Section) -> String? {
    guard let given = section.readOne(CaseGrammar.text("media-type", example: "image/png"), &findings) else {
      return nil
    }
    if MediaTypePattern.isMediaType(given.value.text) { return given.value.text }
    findings.report(
      given.mark, "\(quoted(given.value.text)) is not a media type", "write one such as image/png")
    return nil
  }

  /// The entries of a map with arbitrary keys.
  private mutating func entries(_ node: Node, _ name: String, _ remedy: String) -> [Node.Entry] {
    switch node.content {
    case .mapping(let entries): return entries
    case .unusable: break
    default: findings.report(node.mark, "\(quoted(name)) takes a map, not \(node.noun)", remedy)
    }
    return []
  }

  /// A map as a section; `nil` if the node is not a map.
  mutating func section(_ node: Node?, _ name: String, _ keys: [String], _ remedy: String) -> Section? {
    guard let node else { return nil }
    if let section = Section(node, keys: keys) {
      section.reportUnknown(&findings)
      return section
    }
    if case .unusable = node.content { return nil }
    findings.report(node.mark, "\(quoted(name)) takes a map, not \(node.noun)", remedy)
    return nil
  }

  private mutating func readMetadata(_ node: Node?) -> [Metadatum] {
    guard let node else { return [] }
    return entries(node, "metadata", "write { key: value }").compactMap { entry in
      switch entry.value.content {
      case .scalar(let scalar) where !scalar.isNull:
        return Metadatum(key: entry.key.text, value: Self.value(scalar))
      case .unusable: return nil
      default:
        findings.report(
          entry.value.mark, "\(quoted(entry.key.text)) is one value, not \(entry.value.noun)",
          "write a text, a number, true or false")
        return nil
      }
    }
  }

  /// A scalar as a metadata value. Quoted scalars are text.
  static func value(_ scalar: Scalar) -> MetadataValue {
    guard scalar.isPlain else { return .text(scalar.text) }
    if let integer = Int64(scalar.text) { return .integer(integer) }
    if scalar.text == "true" || scalar.text == "false" { return .boolean(scalar.text == "true") }
    if let number = Double(scalar.text), number.isFinite, scalar.text.first?.isLetter == false {
      return .number(number)
    }
    return .text(scalar.text)
  }

  private mutating func readReason(_ node: Node?) -> Reason? {
    guard let section = section(node, "reason", CaseGrammar.reason, "write { stage: size, code: too-large }")
    else {
      return nil
    }
    return Reason(
      stage: text(section, "stage", "size") ?? "", code: text(section, "code", "too-large") ?? "",
      message: text(section, "message", "it is too large") ?? "")
  }

  private mutating func readFiles(_ node: Node?) -> [String: String] {
    guard let node else { return [:] }
    var files: [String: String] = [:]
    for entry in entries(node, "files", "write { path: text }") {
      let key = Node(mark: entry.key.mark, content: .scalar(Scalar(text: entry.key.text, isPlain: false)))
      guard let path = readPath(key, "files") else { continue }
      switch entry.value.content {
      case .scalar(let scalar): files[path] = scalar.isNull ? "" : scalar.text
      case .unusable: break
      default:
        findings.report(
          entry.value.mark, "\(quoted(path)) is a text, not \(entry.value.noun)", "write what the file holds")
      }
    }
    return files
  }

  /// A path that stays below the folder it is taken from.
  private mutating func readPath(_ node: Node, _ name: String) -> String? {
    switch node.content {
    case .unusable: return nil
    case .scalar(let scalar) where !scalar.isNull:
      let parts = scalar.text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      if parts.allSatisfy({ !$0.isEmpty && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8) }) {
        return scalar.text
      }
      findings.report(
        node.mark, "\(scalar.shown) of '\(name)' is no path below the folder",
        "write one without a '/' in front, '.' and '..'")
    default: findings.report(node.mark, "'\(name)' is a path, not \(node.noun)", "write a file's path")
    }
    return nil
  }

  private mutating func readOptions(_ section: Section, _ one: inout Case) {
    one.optionsMark = section["options"]?.mark ?? section.mark
    switch section["options"]?.content {
    case nil, .unusable?: break
    case .mapping(let entries)?: one.options = entries
    default:
      findings.report(one.optionsMark, "'options' takes a map", "write 'options: { name: value }'")
    }
  }

  private mutating func readCanned(_ node: Node?, _ one: inout Case) {
    guard let node else { return }
    for entry in entries(node, "stages", "write { scan: { verdict: reject, code: virus-found } }") {
      let remedy = "write { verdict: pass }"
      guard let section = section(entry.value, entry.key.text, CaseGrammar.canned, remedy) else { continue }
      let verdict = readChoice(section, "verdict", ["pass", "reject", "retry", "fail"]) ?? "pass"
      let verdicts: [String: Verdict] = ["pass": .pass, "reject": .reject, "retry": .retry, "fail": .fail]
      one.canned[entry.key.text] = Case.Canned(
        verdict: verdicts[verdict] ?? .pass, code: text(section, "code", "too-large"),
        message: text(section, "message", "it is too large"), mediaType: readMediaType(section),
        metadata: readMetadata(section["metadata"]))
    }
  }
}
