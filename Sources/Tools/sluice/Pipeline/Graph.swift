import Pipeline

/// `sluice graph`: draws the path of an attachment through the pipeline.
struct Graph: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "graph", abstract: "Show a pipeline's stages and workers.", arguments: "[FILE]",
    discussion: """
      Stages that share a worker stand together, each with its condition, its limits and what becomes of an
      attachment that overruns them. As dot it is for Graphviz, as mermaid for Markdown.
      """,
    options: [
      .config, .trust,
      CommandOption(
        name: "format", value: "text|dot|mermaid", help: "For people, Graphviz, or Markdown; else text.",
        choices: ["text", "dot", "mermaid"]),
    ],
    example: "sluice graph pipeline.yaml --format dot | dot -Tsvg > pipeline.svg")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    if arguments.words.count > 1 {
      throw .usage("`sluice graph` takes one FILE, not \(arguments.words.count)")
    }
    self.arguments = arguments
  }

  func run() throws -> ExitCode {
    let file = try arguments.words.first ?? Environment.pipelineFile(arguments)
    let loaded = try Environment.pipeline(file: file, home: nil)
    let drawing = PipelineDrawing(loaded.definition, digest: loaded.digest)
    switch arguments.value("format") {
    case "dot": Terminal.out(drawing.dot)
    case "mermaid": Terminal.out(drawing.mermaid)
    default: Terminal.out(drawing.text)
    }
    return .success
  }
}
