import Pipeline

/// Reads the expectations of a case.
struct ExpectationReader {
  var findings: Findings

  mutating func read(_ node: Node, isPipeline: Bool) -> Expectation {
    var expectation = Expectation()
    expectation.node = node
    let keys = isPipeline ? CaseGrammar.pipelineExpectation : CaseGrammar.stageExpectation
    guard let section = Section(node, keys: keys) else {
      if case .unusable = node.content { return expectation }
      findings.report(node.mark, "'expect' takes a map, not \(node.noun)", "write '{ verdict: pass }'")
      return expectation
    }
    section.reportUnknown(
      &findings, elsewhere: isPipeline ? CaseGrammar.stageExpectation : CaseGrammar.pipelineExpectation,
      "it is expected of a \(isPipeline ? "stage" : "pipeline")")
    if let refused = section["refused"], section.count > 1 {
      findings.report(
        refused.mark, "'refused' stands alone: a stage that does not open says nothing else",
        "remove the other keys")
    }
    expectation.refused = text(section, "refused")
    expectation.verdict = choice(section, "verdict", CaseGrammar.verdicts)
    expectation.outcome = choice(
      section, "outcome", Status.allCases.filter(\.isFinal).map(\.rawValue) + ["tried-again"])
    expectation.stage = plain(section, CaseGrammar.text("stage", example: "size"))
    if let given = section.read(CaseGrammar.texts("path"), &findings), let first = given.first {
      expectation.path = .init(value: given.map(\.value.text), line: first.mark.line)
    }
    expectation.code = text(section, "code")
    expectation.message = text(section, "message")
    expectation.mediaType = plain(section, CaseGrammar.text("media-type", example: "image/png"))
    expectation.metadata = metadata(section, "metadata")
    expectation.metadataIncludes = metadata(section, "metadata-includes")
    expectation.events = events(section)
    expectation.produced = produced(section)
    expectation.location = text(section, "location")
    expectation.derived = files(section, "derived")
    expectation.children = files(section, "children")
    expectation.files = files(section, "files")
    expectation.within = section.readOne(CaseGrammar.within, &findings).map {
      .init(value: $0.value.integer, line: $0.mark.line)
    }
    return expectation
  }

  private mutating func plain(_ section: Section, _ key: OptionDescription) -> Expectation.Expected<String>? {
    section.readOne(key, &findings).map { .init(value: $0.value.text, line: $0.mark.line) }
  }

  private mutating func choice(
    _ section: Section, _ key: String, _ choices: [String]
  ) -> Expectation.Expected<String>? {
    plain(section, CaseGrammar.choice(key, choices))
  }

  // MARK: Patterns

  private mutating func text(_ section: Section, _ key: String) -> Expectation.Expected<Expectation.Text>? {
    guard let node = section[key], let value = text(node, key) else { return nil }
    return .init(value: value, line: node.mark.line)
  }

  private mutating func text(_ node: Node, _ name: String) -> Expectation.Text? {
    switch node.content {
    case .unusable: return nil
    case .scalar(let scalar): return .exactly(scalar.text)
    default: return pattern(node, name).map { .matching($0) }
    }
  }

  /// `{ matches: REGEX }`.
  private mutating func pattern(_ node: Node, _ name: String) -> String? {
    guard let section = Section(node, keys: ["matches"]) else {
      findings.report(
        node.mark, "\(quoted(name)) is a value or a pattern, not \(node.noun)",
        "write a text, or { matches: REGEX }")
      return nil
    }
    section.reportUnknown(&findings)
    guard let given = section.readOne(CaseGrammar.text("matches", example: "10 ?MB"), &findings) else {
      return nil
    }
    if let problem = RegularExpression.problem(in: given.value.text) {
      findings.report(
        given.mark, "\(quoted(given.value.text)) is no regular expression: \(problem)",
        "write a POSIX extended one, as for 'grep -E'")
      return nil
    }
    return given.value.text
  }

  private mutating func metadata(
    _ section: Section, _ key: String
  ) -> Expectation.Expected<[(key: String, value: Expectation.Value)]>? {
    guard let node = section[key] else { return nil }
    guard case .mapping(let entries) = node.content else {
      if case .unusable = node.content { return nil }
      findings.report(
        node.mark, "'\(key)' takes a map, not \(node.noun)", "write { pdf.pages: 3 }, or {} for none")
      return nil
    }
    var values: [(key: String, value: Expectation.Value)] = []
    for entry in entries {
      switch entry.value.content {
      case .scalar(let scalar) where scalar.isNull: values.append((entry.key.text, .absent))
      case .scalar(let scalar):
        values.append((entry.key.text, .scalar(scalar.text, isPlain: scalar.isPlain)))
      case .unusable: break
      default:
        if let pattern = pattern(entry.value, entry.key.text) {
          values.append((entry.key.text, .matching(pattern)))
        }
      }
    }
    return .init(value: values, line: node.mark.line)
  }

  // MARK: Effects

  private mutating func events(_ section: Section) -> Expectation.Expected<[Expectation.Event]>? {
    guard let node = section["events"] else { return nil }
    guard case .sequence(let items) = node.content else {
      if case .unusable = node.content { return nil }
      findings.report(
        node.mark, "'events' takes a list, not \(node.noun)",
        "write [{ type: attachment.completed }], or [] for none")
      return nil
    }
    let events = items.compactMap { item -> Expectation.Event? in
      guard let event = Section(item, keys: CaseGrammar.expectedEvent) else {
        if case .unusable = item.content { return nil }
        findings.report(
          item.mark, "an event is a map, not \(item.noun)", "write { type: attachment.completed }")
        return nil
      }
      event.reportUnknown(&findings)
      return Expectation.Event(
        type: plain(event, CaseGrammar.text("type"))?.value,
        channel: plain(event, CaseGrammar.text("channel"))?.value,
        audience: choice(event, "to", ["participants", "sender", "everyone"])?.value)
    }
    return .init(value: events, line: node.mark.line)
  }

  private mutating func produced(_ section: Section) -> Expectation.Expected<Expectation.Content?>? {
    guard let node = section["produced"] else { return nil }
    if case .scalar(let scalar) = node.content, scalar.text == "none" {
      return .init(value: nil, line: node.mark.line)
    }
    guard let content = Section(node, keys: CaseGrammar.content) else {
      if case .unusable = node.content { return nil }
      findings.report(
        node.mark, "'produced' is a map or 'none', not \(node.noun)", "write { sha256: …, size: 120 }")
      return nil
    }
    return .init(value: facts(content), line: node.mark.line)
  }

  private mutating func facts(_ content: Section) -> Expectation.Content {
    content.reportUnknown(&findings)
    return Expectation.Content(
      sha256: plain(content, CaseGrammar.text("sha256"))?.value,
      size: content.readOne(CaseGrammar.size, &findings)?.value.integer, text: text(content, "text")?.value)
  }

  private mutating func files(
    _ section: Section, _ key: String
  ) -> Expectation.Expected<[(path: String, file: Expectation.Content)]>? {
    guard let node = section[key] else { return nil }
    guard case .mapping(let entries) = node.content else {
      if case .unusable = node.content { return nil }
      findings.report(
        node.mark, "'\(key)' takes a map, not \(node.noun)", "write { name: text }, or {} for none")
      return nil
    }
    var files: [(path: String, file: Expectation.Content)] = []
    for entry in entries {
      if let content = Section(entry.value, keys: CaseGrammar.content),
        content.unknown.map(\.text) != ["matches"]
      {
        files.append((entry.key.text, facts(content)))
      } else {
        files.append((entry.key.text, Expectation.Content(text: text(entry.value, entry.key.text))))
      }
    }
    return .init(value: files, line: node.mark.line)
  }
}
