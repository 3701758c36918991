import Configuration
import Pipeline
import Platform
import Workers

/// `sluice lint`: checks a pipeline file against the installed plugins, without running it.
struct Lint: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "lint", abstract: "Check a pipeline file against its plugins.", arguments: "[FILE]",
    discussion: """
      Every key, stage, option and value is checked against what the plugins declare, and stages, channels and the
      source of links are opened in workers, as an ingest opens them, but for those that write files. Everything
      that is wrong is told, with file, line, column and a remedy, and the exit code is 78. Without FILE the same
      pipeline is checked as `sluice ingest` takes; `-` is standard input. A plugin that hides another of the same
      id is told of, and so are rules by media type that stand before the stage that finds the media type. No stage may
      be told to write a file of the home's own.
      """,
    options: [.config, .trust, .home, .format, .noColor],
    example: "sluice lint pipeline.yaml")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    if arguments.words.count > 1 {
      throw .usage("`sluice lint` takes one FILE, not \(arguments.words.count)")
    }
    if !arguments.words.isEmpty && arguments.value("config") != nil {
      throw .usage("give FILE or --config, not both")
    }
    self.arguments = arguments
  }

  func run() throws -> ExitCode {
    let file = try arguments.words.first ?? Environment.pipelineFile(arguments)
    do {
      let loaded = try Environment.pipeline(file: file, home: Environment.home(arguments))
      let pipeline = loaded.definition
      let doors = try Environment.doors(of: loaded, file: file, home: Environment.home(arguments))
      var refusals = StageOpenings(loaded).refusals()
      for (door, rules) in zip(doors, pipeline.serve.clamd) where rules.pipeline != nil {
        refusals += StageOpenings(door).refusals().filter { !refusals.contains($0) }
      }
      refusals += DoorFaults.diagnostics(pipeline.serve.clamd, doors)
      if !refusals.isEmpty {
        if !arguments.isJSON { throw ConfigurationError(diagnostics: refusals.map(\.printable)) }
        for refusal in refusals { Terminal.out(json(refusal)) }
        return .configuration
      }
      tellHidden(in: loaded, file)
      tellUselessMaps(in: loaded)
      tellClashes(in: loaded)
      Terminal.out(arguments.isJSON ? json(pipeline, file) : text(pipeline, file))
      return .success
    } catch let error as ConfigurationError where arguments.isJSON {
      for diagnostic in error.diagnostics { Terminal.out(json(diagnostic)) }
      return .configuration
    }
  }

  /// Two plugins of one id: the one that is used may not be the one that is meant.
  private func tellHidden(in loaded: LoadedPipeline, _ file: String) {
    let uses =
      loaded.definition.stages.map(\.description) + loaded.definition.channels.map(\.stage.description)
      + (loaded.definition.downloads.map { [$0.stage.description] } ?? [])
    var told: Set<String> = []
    for use in uses where told.insert(use.id).inserted {
      for hidden in loaded.search.hiddenFiles(of: use.id) {
        let note =
          "'\(use.id)' is \(use.file), which hides \(hidden); remove one of the two, or give one another id"
        if arguments.isJSON {
          Terminal.out(json(note: note, id: use.id, file: use.file, hidden: hidden))
        } else {
          Terminal.error("\(file): note: \(note)", prefix: "")
        }
      }
    }
  }

  /// Limits by media type that stand before the stage that finds the media type.
  private func tellUselessMaps(in loaded: LoadedPipeline) {
    for (stage, option) in loaded.definition.uselessMaps {
      var place = loaded.document.diagnostic(
        .stage, stage.id,
        "\(option): the entries by media type of stage '\(stage.id)' never act, since no stage before it finds the media type"
      )
      place.remedy = "put 'use: mime' before it"
      note(place)
    }
  }

  /// Libraries of which a worker loads one for two plugins.
  private func tellClashes(in loaded: LoadedPipeline) {
    for clash in PluginLibraries.clashes(loaded.definition) {
      var place = loaded.document.diagnostic(
        .stage, clash.stage.id,
        "stage '\(clash.stage.id)' gets the \(clash.library) of stage '\(clash.other.id)', since one worker runs both, and not "
          + "the one beside its plugin")
      place.remedy = "give the library another soname, or link it into the plugin"
      note(place)
    }
  }

  private func note(_ place: Diagnostic) {
    if arguments.isJSON {
      Terminal.out(json(place, record: "note"))
    } else {
      Terminal.error(
        "\(place.file):\(place.line):\(place.column): note: \(place.printable.problem)", prefix: "")
    }
  }

  private func json(note: String, id: String, file: String, hidden: String) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "note")
      for (key, value) in [("message", note), ("id", id), ("file", file), ("hidden", hidden)] {
        writer.member(key, value)
      }
    }
    return writer.text + "\n"
  }

  private func text(_ pipeline: PipelineDefinition, _ file: String) -> String {
    var text = "\(Terminal.printable(file)): \(Style(arguments).word("ok")): "
    text += "stages \(pipeline.stages.map(\.id).joined(separator: ", "))"
    if let source = pipeline.downloads?.stage.description.id { text += "; links by \(source)" }
    if !pipeline.channels.isEmpty {
      text += "; channels \(pipeline.channels.map(\.name).joined(separator: ", "))"
    }
    return text + "\n"
  }

  private func json(_ pipeline: PipelineDefinition, _ file: String) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "pipeline")
      writer.member("file", file)
      writer.key("stages")
      writer.array { writer in for stage in pipeline.stages { writer.value(stage.id) } }
      writer.key("channels")
      writer.array { writer in for channel in pipeline.channels { writer.value(channel.name) } }
    }
    return writer.text + "\n"
  }

  private func json(_ diagnostic: Diagnostic, record: String = "diagnostic") -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", record)
      writer.member("file", diagnostic.file)
      writer.member("line", Int64(diagnostic.line))
      writer.member("column", Int64(diagnostic.column))
      writer.member("message", diagnostic.message)
      writer.member("remedy", diagnostic.remedy)
    }
    return writer.text + "\n"
  }
}
