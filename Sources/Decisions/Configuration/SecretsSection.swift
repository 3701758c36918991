import Pipeline
import Platform

/// The section `secrets`: where the keys lie. No message repeats a value, which could be the key itself.
enum SecretsSection {
  /// The rules; `nil`: the section is empty or cannot be read.
  static func rules(_ node: Node, _ findings: inout Findings) -> SecretRules? {
    if node.isNull { return nil }
    guard let section = Section(node, keys: [Grammar.masterKey, Grammar.olderKeys].map(\.name)) else {
      if case .unusable = node.content { return nil }
      let noun = if case .scalar = node.content { "one value" } else { node.noun }
      findings.report(
        node.mark, "'secrets' takes a map, not \(noun)", "write 'secrets: { key: \(Grammar.keyExample) }'")
      return nil
    }
    section.reportUnknown(&findings)
    var rules = SecretRules()
    var places: [String: Mark] = [:]
    func text(_ given: Given, of key: OptionDescription, _ findings: inout Findings) -> String? {
      guard let source = KeySource(given.value.text) else {
        findings.report(
          given.mark, "'\(key.name)' of 'secrets' does not say where a key lies",
          "write 'credential:NAME', 'file:/path' or 'env:NAME'")
        return nil
      }
      if let first = places.updateValue(given.mark, forKey: source.description) {
        findings.report(
          given.mark, "the same key is named twice, first at line \(first.line), column \(first.column)",
          "remove one of the two")
      }
      return source.description
    }
    if let given = section.readOne(Grammar.masterKey, &findings) {
      rules.key = text(given, of: Grammar.masterKey, &findings)
    }
    for given in section.read(Grammar.olderKeys, &findings) ?? [] {
      if let text = text(given, of: Grammar.olderKeys, &findings) { rules.old.append(text) }
    }
    return rules
  }
}
