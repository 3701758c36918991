import Configuration
import Pipeline
import Platform
import Wire
import Workers

/// `sluice stages list`: the plugins that are found, and why others do not load.
struct StagesList: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "stages list", abstract: "List the stages there are.", arguments: "[STAGE…]",
    discussion: """
      Plugins are searched beside this program, in $SLUICE_PLUGIN_PATH, in the folders the pipeline names under
      `plugins`, and in /usr/lib/sluice/plugins. Of one that does not load, the line says why. The exit code is 1
      only if a STAGE that is named does not load.
      """,
    options: [.config, .trust, .format, .noColor],
    example: "sluice stages list")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
  }

  func run() throws -> ExitCode {
    let search = try Environment.search(arguments)
    let all = search.all()
    for name in arguments.words where !all.contains(where: { $0.id == name }) {
      throw CommandError.usage(
        "no stage '\(Terminal.printable(name))' is found in "
          + Terminal.printable(search.folders.joined(separator: ", "))
          + Suggestion.remedy(for: name, among: all.map(\.id)))
    }
    let wanted = arguments.words.isEmpty ? all : all.filter { arguments.words.contains($0.id) }
    let plugins = FoundPlugin.found(wanted, search)
    if arguments.isJSON {
      for plugin in plugins { Terminal.out(plugin.json) }
    } else {
      Terminal.out(FoundPlugin.table(plugins, Style(arguments)))
    }
    let isMissing = !arguments.words.isEmpty && plugins.contains { $0.problem != nil }
    return isMissing ? .incomplete : .success
  }
}
