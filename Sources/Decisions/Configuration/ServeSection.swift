import Pipeline
import Platform

/// The section `serve`.
enum ServeSection {
  /// The rules; `nil`: the section is empty or cannot be read.
  static func rules(_ node: Node, _ findings: inout Findings) -> ServeRules? {
    if node.isNull { return nil }
    guard let section = Section(node, keys: Grammar.serve.map(\.name) + [Grammar.listen.name]) else {
      if case .unusable = node.content { return nil }
      findings.report(
        node.mark, "'serve' takes a map, not \(node.noun)",
        "write 'serve: { listen: 127.0.0.1:8080, max-size: 10MB }'")
      return nil
    }
    section.reportUnknown(&findings)
    var rules = ServeRules()
    section.read(Grammar.serve, &findings).apply(Grammar.serve, to: &rules)
    for given in section.read(Grammar.listen, &findings) ?? [] {
      if ListenAddress(given.value.text) == nil {
        findings.report(
          given.mark, "\(quoted(given.value.text)) is no address to listen at",
          "write 127.0.0.1:8080, [::1]:8080, unix:/path or systemd; names are not looked up")
      }
      rules.listen.append(given.value.text)
    }
    return rules
  }
}
