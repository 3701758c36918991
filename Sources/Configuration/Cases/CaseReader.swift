import Pipeline

/// Reads the tree of a file of cases.
struct CaseReader {
  private var document: CaseDocument
  private var findings: Findings
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
    switch section["cases"]?.content {
    case .sequence(let items)?:
      if items.isEmpty { findings.report(section.mark, "there are no cases", "list one at least") }
      for item in items { if let one = readCase(item) { document.cases.append(one) } }
    case .unusable?: break
    default:
      findings.report(
        section["cases"]?.mark ?? section.mark, "there is no list of cases",
        "write 'cases:' and '- name: …' below")
    }
    var lines: [String: Int] = [:]
    for one in document.cases {
      guard let first = lines.updateValue(one.line, forKey: one.name) else { continue }
      findings.report(
        Mark(line: one.line, column: 1), "\(quoted(one.name)) is the name of the case at line \(first) too",
        "give each case a name of its own")
    }
    if !findings.isEmpty { throw findings.error }
    return document
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
      if section["stage"] == nil && section["pipeline"] == nil {
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
    section.reportUnknown(&findings)
    guard
      let name = section.readOne(CaseGrammar.text("name", example: "a PDF of three pages passes"), &findings)
    else {
      if section["name"] == nil { findings.report(section.mark, "the case has no name", "add 'name: …'") }
      return nil
    }
    var one = Case(name: name.value.text, line: section.mark.line)
    one.input = readInput(section["input"])
    one.fileName = section.readOne(CaseGrammar.text("file-name", example: "photo.png"), &findings)?.value.text
    one.declaredType = text(section, "declared-type", "image/png")
    one.mediaType = readMediaType(section)
    one.metadata = readMetadata(section["metadata"])
    one.attempt = section.readOne(CaseGrammar.attempt, &findings).map { Int($0.value.integer) } ?? 1
    one.timeout = section.readOne(CaseGrammar.timeout, &findings)?.value.integer
    one.memory = section.readOne(CaseGrammar.memory, &findings)?.value.integer
    one.outcome = readChoice(section, "outcome", Status.allCases.filter(\.isFinal).map(\.rawValue)).flatMap {
      Status(rawValue: $0)
    }
    one.reason = readReason(section["reason"])
    one.event = readEvent(section["event"])
    one.files = readFiles(section["files"])
    readOptions(section, &one)
    readCanned(section["stages"], &one)
    if let expect = section["expect"] {
      var reader = ExpectationReader(findings: findings)
      one.expectation = reader.read(expect, isPipeline: isPipeline)
      findings = reader.findings
    } else if !section.misspells("expect") {
      findings.report(
        section.mark, "the case expects nothing",
        "add 'expect: { verdict: pass }', or 'expect: {}' for --update to fill in")
    }
    return one
  }

  private mutating func text(_ section: Section, _ key: String, _ example: String) -> String? {
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

  /// A map as a section, where the node is one.
  private mutating func section(_ node: Node?, _ name: String, _ keys: [String], _ remedy: String) -> Section?
  {
    guard let node else { return nil }
    if let section = Section(node, keys: keys) {
      section.reportUnknown(&findings)
      return section
    }
    if case .unusable = node.content { return nil }
    findings.report(node.mark, "'\(name)' takes a map, not \(node.noun)", remedy)
    return nil
  }

  private mutating func readInput(_ node: Node?) -> Case.Input? {
    guard let node else { return nil }
    if case .scalar(let scalar) = node.content, !scalar.isNull { return .file(scalar.text) }
    let remedy = "write a file's path, or { text: … }, { base64: … } or { zeros: 11MB }"
    guard let section = section(node, "input", CaseGrammar.input, remedy) else { return nil }
    let given = CaseGrammar.input.filter { section[$0] != nil }
    if given.count != 1 {
      findings.report(node.mark, "'input' is one thing, not \(given.count)", remedy)
      return nil
    }
    if let text = text(section, "text", "hello") { return .bytes(Array(text.utf8)) }
    if let zeros = section.readOne(CaseGrammar.zeros, &findings) { return .zeros(zeros.value.integer) }
    guard let base64 = section.readOne(CaseGrammar.text("base64"), &findings) else { return nil }
    if let bytes = Base64.bytes(base64.value.text) { return .bytes(bytes) }
    findings.report(base64.mark, "this is not base64 (RFC 4648, section 4)", "make it with 'base64 FILE'")
    return nil
  }

  private mutating func readMetadata(_ node: Node?) -> [Metadatum] {
    guard let node else { return [] }
    guard case .mapping(let entries) = node.content else {
      findings.report(node.mark, "'metadata' takes a map, not \(node.noun)", "write { key: value }")
      return []
    }
    return entries.compactMap { entry in
      guard case .scalar(let scalar) = entry.value.content else {
        findings.report(entry.value.mark, "metadata is one value, not \(entry.value.noun)", "write a scalar")
        return nil
      }
      return Metadatum(key: entry.key.text, value: Self.value(scalar))
    }
  }

  /// A scalar as metadata has it. What is in quotes is text.
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

  private mutating func readEvent(_ node: Node?) -> Case.Event? {
    guard let section = section(node, "event", CaseGrammar.event, "write { type: attachment.completed }")
    else {
      return nil
    }
    var event = Case.Event()
    if let id = text(section, "id", event.id) { event.id = id }
    if let type = text(section, "type", event.type) { event.type = type }
    if let recipient = text(section, "recipient", event.recipient) { event.recipient = recipient }
    if let body = text(section, "body", event.body) { event.body = body }
    return event
  }

  private mutating func readFiles(_ node: Node?) -> [String: String] {
    guard let node else { return [:] }
    guard case .mapping(let entries) = node.content else {
      findings.report(node.mark, "'files' takes a map, not \(node.noun)", "write { path: text }")
      return [:]
    }
    var files: [String: String] = [:]
    for entry in entries {
      guard case .scalar(let scalar) = entry.value.content, PathTemplate.problem(in: entry.key.text) == nil
      else {
        findings.report(
          entry.key.mark, "'files' is a map from paths below the folder to texts",
          "write a relative path without '.' and '..'")
        continue
      }
      files[entry.key.text] = scalar.text
    }
    return files
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
    guard case .mapping(let entries) = node.content else {
      findings.report(
        node.mark, "'stages' takes a map, not \(node.noun)",
        "write { scan: { verdict: reject, code: virus-found } }")
      return
    }
    for entry in entries {
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
