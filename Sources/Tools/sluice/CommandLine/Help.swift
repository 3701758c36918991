/// What `--help` prints, made from the commands' declarations.
enum Help {
  static var overview: String {
    "sluice moves attachments through a pipeline of sandboxed stages, and loses none.\n\n"
      + list(CommandLineTool.commands.map { $0.configuration })
  }

  /// Commands with their descriptions.
  static func list(_ commands: [CommandConfiguration]) -> String {
    let width = commands.map(\.name.count).max() ?? 0
    let lines = commands.map { "  \(pad($0.name, width))  \($0.abstract)\n" }
    return "Commands:\n\(lines.joined())\n`sluice COMMAND --help` shows options and an example.\n"
  }

  static func text(_ configuration: CommandConfiguration) -> String {
    var text = "\(configuration.abstract)\n\nUsage: sluice \(configuration.name)"
    if !configuration.options.isEmpty { text += " [OPTIONS]" }
    if !configuration.arguments.isEmpty { text += " \(configuration.arguments)" }
    text += "\n"
    if !configuration.discussion.isEmpty { text += "\n\(configuration.discussion)\n" }
    if !configuration.options.isEmpty {
      text += "\nOptions:\n"
      let heads = configuration.options.map { option in
        (option.letter.map { "-\($0), " } ?? "    ") + "--\(option.name)"
          + (option.value.map { " \($0)" } ?? "")
      }
      let width = heads.map(\.count).max() ?? 0
      for (head, option) in zip(heads, configuration.options) {
        text += "  \(pad(head, width))  \(option.help)\n"
      }
    }
    return text + "\nExample:\n  \(configuration.example.split(separator: "\n").joined(separator: "\n  "))\n"
  }

  /// Words in lines that are as long as those of other texts here.
  static func wrapped(_ text: String) -> String {
    var lines: [String] = []
    for word in text.split(separator: " ") {
      if let last = lines.last, last.count + 1 + word.count <= width {
        lines[lines.count - 1] += " \(word)"
      } else {
        lines.append(String(word))
      }
    }
    return lines.joined(separator: "\n")
  }

  private static let width = 118

  static func pad(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(width - text.count, 0))
  }
}
