import Configuration
import Pipeline
import Workbench
import Workers

/// `sluice stages inspect`: everything a stage declares.
struct StagesInspect: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "stages inspect", abstract: "Show what a stage says of itself.", arguments: "STAGE",
    discussion: """
      STAGE is the id of a stage or a plugin's file. Shown are its options with type, bounds, default and help, the
      metadata it may record and the codes it may give, what it may touch, where it was found and what made it.
      `--format markdown` prints what a README needs. Between the lines
        \(StageReference.begin)
        \(StageReference.end)
      of one, `sluice stages check` compares it.
      """,
    options: [
      .config, .trust,
      CommandOption(
        name: "format", value: "text|json|markdown",
        help: "For people, or a JSON object a line, or for a README.",
        choices: ["text", "json", "markdown"]), .noColor,
    ],
    example: "sluice stages inspect pdf --format markdown")

  private let arguments: ParsedArguments
  private let name: String

  init(_ arguments: ParsedArguments) throws(CommandError) {
    guard let name = arguments.words.first, arguments.words.count == 1 else {
      throw .usage("`sluice stages inspect` needs one STAGE; `sluice stages list` shows those there are")
    }
    self.arguments = arguments
    self.name = name
  }

  func run() throws -> ExitCode {
    let chosen = try ChosenStage(name, try Environment.search(arguments))
    if arguments.value("format") == "markdown" {
      let lines = StageReference(chosen.description).markdown.split(
        separator: "\n", omittingEmptySubsequences: false)
      Terminal.out(lines.map { Terminal.printable(String($0)) }.joined(separator: "\n"))
      return .success
    }
    var inspection = StageInspection(stage: chosen.description, file: PluginFile(chosen.description.file))
    let digest = StageRunner(chosen.digest, StageRunner.Launch(executable: chosen.search.worker))
    if chosen.description.isBuiltIn {
      Terminal.out(arguments.isJSON ? inspection.json : inspection.text)
      return .success
    }
    do {
      inspection.sha256 = try Bench(runner: digest, digest: digest).measure(
        try Content(chosen.description.file))
    } catch {
      Terminal.error("\(chosen.description.file): \(error)")
    }
    Terminal.out(arguments.isJSON ? inspection.json : inspection.text)
    return .success
  }
}
