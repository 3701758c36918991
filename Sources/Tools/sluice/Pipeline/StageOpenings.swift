import Configuration
import Pipeline
import Workbench

/// Opens the stages of a pipeline as an ingest does, to find errors in options that only the stages can
/// detect. Stages that write files are skipped, because opening them would create files.
struct StageOpenings {
  private let pipeline: LoadedPipeline

  init(_ pipeline: LoadedPipeline) {
    self.pipeline = pipeline
  }

  /// The refusals of the stages, the channels and the source, each with its place in the file.
  func refusals() -> [Diagnostic] {
    let definition = pipeline.definition
    var launch = StageRunner.Launch(executable: pipeline.search.worker)
    // Missing sandbox features are reported by `sluice doctor`; they are no fault of the file.
    launch.sandbox = definition.sandbox == .off ? .off : .prefer
    let opened: [(part: PipelineDocument.Part, stage: StageDefinition)] =
      definition.stages.map { (.stage, $0) } + definition.channels.map { (.channel, $0.stage) }
      + (definition.downloads.map { [(.lane, $0.stage)] } ?? [])
    return opened.compactMap { part, stage in
      if stage.description.capability == .store
        || stage.description.options.contains(where: { $0.kind == .file })
      {
        return nil
      }
      do throws(WorkbenchError) {
        try StageRunner(stage, launch).start()
        return nil
      } catch {
        return pipeline.document.diagnostic(part, stage.id, error.description)
      }
    }
  }
}

extension Diagnostic {
  /// For a terminal: what a plugin says may hold anything.
  var printable: Diagnostic {
    var printable = self
    printable.message = Terminal.printable(message)
    return printable
  }
}
