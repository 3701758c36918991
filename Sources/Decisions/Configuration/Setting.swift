import Pipeline

/// A key of a pipeline file with the part of a definition that it sets. Reading, checks, the schema and suggestions follow from the
/// declaration.
struct Setting<Target>: Sendable {
  var key: OptionDescription
  var apply: @Sendable (inout Target, OptionValue) -> Void

  var name: String { key.name }

  init(_ key: OptionDescription, _ apply: @escaping @Sendable (inout Target, OptionValue) -> Void) {
    self.key = key
    self.apply = apply
  }

  /// A choice among the cases of a type.
  init<Choice: RawRepresentable<String> & CaseIterable & SendableMetatype>(
    _ name: String, _ help: String, _ apply: @escaping @Sendable (inout Target, Choice) -> Void
  ) {
    key = OptionDescription(name: name, kind: .text, shapes: .one, help: help)
    key.choices = Choice.allCases.map(\.rawValue)
    self.apply = { target, value in
      if let choice = Choice(rawValue: value.text) { apply(&target, choice) }
    }
  }
}

extension [String: Given] {
  /// Changes the given settings.
  func apply<Target>(_ settings: [Setting<Target>], to target: inout Target) {
    for setting in settings {
      if let given = self[setting.name] { setting.apply(&target, given.value) }
    }
  }
}
