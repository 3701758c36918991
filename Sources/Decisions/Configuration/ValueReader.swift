import Pipeline

/// A value with its place.
struct Given: Sendable {
  var value: OptionValue
  var mark: Mark
}

/// Whether a value stands in a file or on a command line, so that remedies use the same notation.
enum Notation: Sendable {
  case file, commandLine
}

/// Reads a part of the file by the declaration of an option or a file key: one value, a list, or a map from
/// media type patterns.
struct ValueReader {
  let option: OptionDescription
  /// The value's name in messages: `option 'max' of stage 'size'`.
  let subject: String
  let notation: Notation
  private let scalars: ScalarReader

  init(_ option: OptionDescription, subject: String, notation: Notation = .file) {
    self.option = option
    self.subject = subject
    self.notation = notation
    scalars = ScalarReader(option, subject: subject)
  }

  /// The values in order; `nil` if there is an error, which is reported to `findings`.
  func read(_ node: Node, _ findings: inout Findings) -> [Given]? {
    switch node.content {
    case .unusable: nil
    case .scalar(let scalar): readOne(scalar, node, &findings)
    case .sequence(let items): readList(items, node, &findings)
    case .mapping(let entries): readMap(entries, node, &findings)
    }
  }

  private func readOne(_ scalar: Scalar, _ node: Node, _ findings: inout Findings) -> [Given]? {
    if scalar.isNull {
      findings.report(node.mark, scalars.missing(scalar))
    } else if option.shapes.contains(.one) {
      return read(scalar, node.mark, &findings).map { [$0] }
    } else if option.shapes.contains(.list) {
      findings.report(
        node.mark, "\(subject) takes a list, not one value",
        "write '\(option.name): [\(printable(scalar.written ?? scalar.text))]'")
    } else {
      findings.report(node.mark, "\(subject) takes a map, not one value", mapRemedy)
    }
    return nil
  }

  private func readList(_ items: [Node], _ node: Node, _ findings: inout Findings) -> [Given]? {
    guard option.shapes.contains(.list) else {
      if option.shapes.contains(.one) {
        findings.report(node.mark, "\(subject) takes one value, not a list", oneRemedy(items.first))
      } else {
        findings.report(node.mark, "\(subject) takes a map, not a list", mapRemedy)
      }
      return nil
    }
    if items.isEmpty {
      // The stage would see an empty list as an omitted option, which may mean the opposite.
      findings.report(
        node.mark, "\(subject) is an empty list", "list one value at least, or leave '\(option.name)' out")
      return nil
    }
    let given = items.map { readItem($0, "each item of \(subject)", key: nil, &findings) }
    return given.contains { $0 == nil } ? nil : given.compactMap(\.self)
  }

  private func readMap(_ entries: [Node.Entry], _ node: Node, _ findings: inout Findings) -> [Given]? {
    guard option.shapes.contains(.map) else {
      let list = option.shapes.contains(.list)
      let wanted = option.shapes.contains(.one) ? (list ? "one value or a list" : "one value") : "a list"
      findings.report(
        node.mark, "\(subject) takes \(wanted), not a map",
        "write '\(option.name): \(option.shapes.contains(.one) ? scalars.example : "[\(scalars.example)]")'")
      return nil
    }
    if entries.isEmpty {
      findings.report(
        node.mark, "\(subject) is an empty map", "write one entry at least, or leave '\(option.name)' out")
      return nil
    }
    var places: [String: Mark] = [:]
    var complete = true
    var given: [Given] = []
    for entry in entries {
      let pattern = entry.key.text
      if MediaTypePattern(pattern) == nil {
        findings.report(
          entry.key.mark,
          "\(quoted(pattern)) is not a media type pattern, and \(subject) has one as each key",
          ScalarReader.patternRemedy(pattern))
        complete = false
      } else if let first = places.updateValue(entry.key.mark, forKey: pattern.lowercased()) {
        findings.report(
          entry.key.mark,
          "\(quoted(pattern)) is given twice, first at line \(first.line), column \(first.column)",
          "remove one of the two")
        complete = false
      }
      if let value = readItem(entry.value, "each entry of \(subject)", key: pattern, &findings) {
        given.append(value)
      } else {
        complete = false
      }
    }
    return complete ? given : nil
  }

  /// - Parameter place: the name of a list item or map entry in messages.
  private func readItem(_ node: Node, _ place: String, key: String?, _ findings: inout Findings) -> Given? {
    switch node.content {
    case .unusable: return nil
    case .scalar(let scalar) where scalar.isNull:
      findings.report(node.mark, "\(place) needs a value", "write one, or remove it")
      return nil
    case .scalar(let scalar): return read(scalar, node.mark, key: key, &findings)
    case .sequence, .mapping:
      findings.report(
        node.mark, "\(place) is one value, not \(node.noun)", "write a value such as \(scalars.example)")
      return nil
    }
  }

  private func read(_ scalar: Scalar, _ mark: Mark, key: String? = nil, _ findings: inout Findings) -> Given?
  {
    switch scalars.read(scalar, key: key) {
    case .success(let value): return Given(value: value, mark: mark)
    case .failure(let fault):
      findings.report(mark, fault)
      return nil
    }
  }

  private var mapRemedy: String {
    switch notation {
    case .file: "write a map from media types, such as { \"image/*\": \(scalars.quotedExample) }"
    case .commandLine: "write a map from media types, such as '\(option.name)=image/*:\(scalars.example)'"
    }
  }

  private func oneRemedy(_ first: Node?) -> String {
    if case .scalar(let scalar) = first?.content, !scalar.isNull {
      return "write '\(option.name): \(printable(scalar.written ?? scalar.text))'"
    }
    return "write '\(option.name): \(scalars.example)'"
  }
}
