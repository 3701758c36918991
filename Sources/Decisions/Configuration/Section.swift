import Pipeline

/// A map whose keys are known in advance, such as a stage.
struct Section {
  let mark: Mark
  private var values: [String: Node] = [:]
  /// The unknown keys, in order.
  private(set) var unknown: [Node.Key] = []
  private let known: [String]

  /// `nil` where the node is no map.
  init?(_ node: Node, keys: [String]) {
    guard case .mapping(let entries) = node.content else { return nil }
    mark = node.mark
    known = keys
    for entry in entries {
      if keys.contains(entry.key.text) {
        values[entry.key.text] = entry.value
      } else {
        unknown.append(entry.key)
      }
    }
  }

  /// The number of known keys that are present.
  var count: Int { values.count }

  subscript(key: String) -> Node? { values[key] }

  /// Whether an unknown key is a misspelling of this one, which then need not be reported as missing.
  func misspells(_ key: String) -> Bool {
    unknown.contains { Suggestion.nearest(to: $0.text, among: known) == key }
  }

  /// Reports the unknown keys.
  ///
  /// - Parameter elsewhere: keys that belong to another section, with that section.
  func reportUnknown(_ findings: inout Findings, elsewhere: [String] = [], _ place: String = "") {
    for key in unknown {
      findings.report(
        key.mark, "unknown key \(quoted(key.text))",
        elsewhere.contains(key.text)
          ? place : Suggestion.remedy(for: key.text, among: known, called: "keys here"))
    }
  }

  /// The values of a key, read by its declaration; `nil`: it is omitted, or its error has been reported.
  func read(_ key: OptionDescription, _ findings: inout Findings) -> [Given]? {
    values[key.name].flatMap { ValueReader(key, subject: "'\(key.name)'").read($0, &findings) }
  }

  /// What is given of settings, by name.
  func read<Target>(_ settings: [Setting<Target>], _ findings: inout Findings) -> [String: Given] {
    var given: [String: Given] = [:]
    for setting in settings { given[setting.name] = readOne(setting.key, &findings) }
    return given
  }

  /// The single value of a key.
  func readOne(_ key: OptionDescription, _ findings: inout Findings) -> Given? {
    read(key, &findings)?.first
  }
}
