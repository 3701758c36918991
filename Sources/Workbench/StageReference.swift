import Pipeline

/// What a README of a stage needs to say of it, in Markdown, from its description.
///
/// A README that holds it between ``begin`` and ``end`` is compared by `sluice stages check`, so that it cannot go stale.
public struct StageReference {
  public static let begin = "<!-- sluice stages inspect --format markdown -->"
  public static let end = "<!-- end of sluice stages inspect -->"

  private let stage: StageDescription

  public init(_ stage: StageDescription) {
    self.stage = stage
  }

  /// Ends with a newline. Nothing that the stage declares can end a cell of a table or begin a tag.
  public var markdown: String {
    var text = "\(Self.code(stage.id)) \(Self.cell(stage.version)): \(Self.cell(stage.summary)) \(place)\n"
    text += Self.table(
      ["option", "value", "default", "meaning"],
      stage.options.map { option in
        let fallback = option.required ? "required" : option.fallback.map { Self.code($0) } ?? ""
        return [
          Self.code(option.name), Self.cell(option.bounds.joined(separator: ", ")), fallback,
          Self.cell(option.help),
        ]
      })
    for (noun, terms) in [("metadata", stage.keys), ("code", stage.codes)] {
      text += Self.table([noun, "meaning"], terms.map { [Self.code($0.name), Self.cell($0.help)] })
    }
    return text
  }

  private var place: String {
    let capability = "with capability \(Self.code(stage.capability.name))"
    let place =
      switch stage.role {
      case .line: "A stage of the line \(capability)."
      case .end: "A stage at the end \(capability), which runs for every outcome."
      case .channel: "A channel \(capability). `sluice schema --event` prints the schema of what it delivers."
      case .source: "A source \(capability): it fetches the content of links."
      }
    let more = [
      (stage.produces, "It may replace the content."),
      (stage.derives, "It may leave derived objects beside the content."),
      (stage.expands, "It may take contents out of the content."),
    ]
    return ([place] + more.filter(\.0).map(\.1)).joined(separator: " ")
  }

  private static func table(_ head: [String], _ rows: [[String]]) -> String {
    if rows.isEmpty { return "" }
    let lines = [head, head.map { _ in "---" }] + rows
    return "\n" + lines.map { "| \($0.joined(separator: " | ")) |\n" }.joined()
  }

  private static func code(_ text: String) -> String {
    "`\(String(text.map { $0 == "`" ? "'" : $0 }.flatMap { $0 == "|" ? "\\|" : plain($0) }))`"
  }

  private static func cell(_ text: String) -> String {
    String(
      text.flatMap { letter in
        switch letter {
        case "|": "\\|"
        case "<": "&lt;"
        default: plain(letter)
        }
      })
  }

  private static func plain(_ letter: Character) -> String { letter.isNewline ? " " : String(letter) }

  /// The text between the marks in a document; `nil`: it has none.
  static func section(of document: String) -> String? {
    let lines = document.split(separator: "\n", omittingEmptySubsequences: false)
    guard let first = lines.firstIndex(of: Substring(begin)),
      let last = lines[first...].firstIndex(of: Substring(end))
    else { return nil }
    return lines[(first + 1)..<last].map { $0 + "\n" }.joined()
  }
}
