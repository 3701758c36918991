import Configuration
import Pipeline
import Workers

/// `sluice schema`: prints a JSON Schema, with which an editor completes and checks pipeline files, or that of events.
struct SchemaCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "schema", abstract: "Print a JSON Schema of pipeline files, or of events.",
    discussion: """
      The schema (draft 2020-12) has the options of every plugin that is found, so that an editor completes and
      checks a pipeline as it is written. For editors with the YAML language server, this line stands at the top
      of the file: # yaml-language-server: $schema=pipeline.schema.json
      With --event it is the schema of what channels deliver, which depends on no plugin.
      """,
    options: [
      CommandOption(name: "event", help: "The schema of events, as channels and endpoints get them."),
      .config, .trust,
    ],
    example: "sluice schema > pipeline.schema.json")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    try arguments.expectNoWords()
    self.arguments = arguments
  }

  func run() throws -> ExitCode {
    if arguments.flag("event") {
      Terminal.out(EventSchema.text)
      return .success
    }
    let search = try Environment.search(arguments)
    var stages: [StageDescription] = []
    for plugin in FoundPlugin.found(search.all(), search) {
      switch plugin.result {
      case .success(let stage): stages.append(stage)
      case .failure(let refusal):
        Terminal.error(
          "left out: stage '\(Terminal.printable(plugin.id))': \(Terminal.printable(refusal.message))")
      }
    }
    Terminal.out(PipelineSchema.text(stages))
    return .success
  }
}
