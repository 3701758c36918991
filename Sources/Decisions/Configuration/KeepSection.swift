import Pipeline

/// The section `keep`.
enum KeepSection {
  /// The rules; `nil`: the section is empty or cannot be read.
  static func rules(_ node: Node, _ findings: inout Findings) -> KeepRules? {
    if node.isNull { return nil }
    guard let section = Section(node, keys: Grammar.keep.map(\.name)) else {
      if case .unusable = node.content { return nil }
      findings.report(
        node.mark, "'keep' takes a map, not \(node.noun)",
        "write 'keep: { completed: 90d, rejected: 7d, bytes: 500GB }'")
      return nil
    }
    section.reportUnknown(&findings)
    var rules = KeepRules()
    section.read(Grammar.keep, &findings).apply(Grammar.keep, to: &rules)
    return rules
  }
}
