import Pipeline

/// A section of a pipeline file that is a map of settings, such as `keep`.
struct RulesSection<Rules> {
  var name: String
  var settings: [Setting<Rules>]
  /// For the message where it is no map.
  var example: String

  /// The rules; `nil`: the section is empty or cannot be read.
  ///
  /// - Parameter rules: what holds for settings that are not given.
  func read(_ node: Node, _ rules: Rules, _ findings: inout Findings) -> Rules? {
    if node.isNull { return nil }
    guard let section = Section(node, keys: settings.map(\.name)) else {
      if case .unusable = node.content { return nil }
      findings.report(node.mark, "'\(name)' takes a map, not \(node.noun)", "write '\(name): \(example)'")
      return nil
    }
    section.reportUnknown(&findings)
    var rules = rules
    section.read(settings, &findings).apply(settings, to: &rules)
    return rules
  }
}

extension RulesSection<KeepRules> {
  static var keep: Self {
    Self(
      name: "keep", settings: Grammar.keep, example: "{ completed: 90d, rejected: 7d, bytes: 500GB }")
  }
}

extension RulesSection<ExpandRules> {
  static var expand: Self {
    Self(name: "expand", settings: Grammar.expand, example: "{ depth: 3, contents: 1000, bytes: 1GB }")
  }
}
