import Pipeline

/// The errors in options given to a stage on a command line.
public struct SettingsError: Error, Sendable, Equatable, CustomStringConvertible {
  /// One line each: `--set max=10: option 'max' of stage 'size' wants a size, and 10 is a bare number; write
  /// …`.
  public var messages: [String]

  public init(messages: [String]) {
    self.messages = messages
  }

  public var description: String { messages.joined(separator: "\n") }
}

/// Options given to one stage as `key=value` on a command line, where there is no pipeline file.
public enum StageSettings {
  /// Checks the settings as a pipeline file's options are checked, and fills in the defaults.
  ///
  /// A list is written with commas (`allow=image/png,image/gif`), a map as patterns with values
  /// (`rules=image/*:2MB,*/*:10MB`). There are no quotes and no variables: the shell has both.
  ///
  /// - Parameter channels: the channels a value may name; `nil`: any.
  /// - Returns: the values in the order the stage declares its options.
  public static func values(
    _ settings: [String], for stage: StageDescription, channels: [String]? = nil
  ) throws(SettingsError) -> [OptionValue] {
    var messages: [String] = []
    var entries: [Node.Entry] = []
    // Each setting counts as a line, so that a finding tells which setting it is about.
    for (index, setting) in settings.enumerated() {
      let mark = Mark(line: index + 1, column: 1)
      guard let equals = setting.firstIndex(of: "="), equals > setting.startIndex else {
        messages.append("--set \(printable(setting)): there is no value; write '--set name=value'")
        continue
      }
      let name = String(setting[..<equals])
      if entries.contains(where: { $0.key.text == name }) {
        messages.append(
          "--set \(printable(setting)): '\(printable(name))' is given twice; write several values with commas"
        )
        continue
      }
      let text = String(setting[setting.index(after: equals)...])
      let option = stage.options.first { $0.name == name }
      let value = option.map { node(text, $0, mark) } ?? Node(mark: mark, content: .unusable)
      entries.append(Node.Entry(key: Node.Key(text: name, mark: mark), value: value))
    }
    var findings = Findings(file: "")
    let values = OptionReader(stage: stage, channels: channels, notation: .commandLine).read(
      entries, at: Mark(line: settings.count + 1, column: 1), &findings)
    messages += findings.error.diagnostics.map { message($0, settings) }
    if !messages.isEmpty { throw SettingsError(messages: messages) }
    return values
  }

  /// The options whose default does not fit their own type, choices or bounds, each with what is wrong. That is a
  /// mistake of the stage's author.
  public static func faultyDefaults(of stage: StageDescription) -> [(option: String, problem: String)] {
    stage.options.compactMap { option in
      if option.fallback == nil { return nil }
      var alone = stage
      alone.options = [option]
      var findings = Findings(file: "")
      _ = OptionReader(stage: alone, channels: nil).read([], at: Mark(line: 1, column: 1), &findings)
      return findings.error.diagnostics.first.map { (option.name, $0.message) }
    }
  }

  private static func message(_ finding: Diagnostic, _ settings: [String]) -> String {
    let remedy = finding.remedy.map { "; \($0)" } ?? ""
    let index = finding.line - 1
    return settings.indices.contains(index)
      ? "--set \(printable(settings[index])): \(finding.message)\(remedy)" : "\(finding.message)\(remedy)"
  }

  /// The node that the text would be in a file.
  private static func node(_ text: String, _ option: OptionDescription, _ mark: Mark) -> Node {
    // Only these kinds are read without quotes; elsewhere `null` and empty text are texts.
    let isPlain = [.integer, .number, .boolean].contains(option.kind)
    func scalar(_ text: String) -> Node {
      Node(mark: mark, content: .scalar(Scalar(text: text, isPlain: isPlain)))
    }
    let parts = text.split(separator: ",").map(trimmed)
    if option.shapes.contains(.map) {
      let pairs = parts.map(pair)
      // A path template may contain a colon, but no media type before it.
      if !pairs.isEmpty, pairs.allSatisfy({ $0 != nil }) {
        let entries = pairs.compactMap(\.self).map {
          Node.Entry(key: Node.Key(text: $0.pattern, mark: mark), value: scalar($0.value))
        }
        return Node(mark: mark, content: .mapping(entries))
      }
    }
    if option.shapes.contains(.list), parts.count > 1 || !option.shapes.contains(.one) {
      return Node(mark: mark, content: .sequence(parts.map(scalar)))
    }
    return scalar(text)
  }

  private static func pair(_ text: String) -> (pattern: String, value: String)? {
    guard let colon = text.firstIndex(of: ":"), MediaTypePattern(String(text[..<colon])) != nil else {
      return nil
    }
    return (String(text[..<colon]), String(text[text.index(after: colon)...]))
  }

  private static func trimmed(_ text: Substring) -> String {
    var text = text.drop { $0 == " " }
    while text.last == " " { text.removeLast() }
    return String(text)
  }
}
