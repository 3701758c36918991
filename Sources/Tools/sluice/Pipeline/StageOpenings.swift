import Pipeline
import Workbench

/// Opens the stages of a pipeline as an ingest does, to find errors in options that only the stages can
/// detect. Stages that write files are skipped, because opening them would create files.
struct StageOpenings {
  private let pipeline: LoadedPipeline

  init(_ pipeline: LoadedPipeline) {
    self.pipeline = pipeline
  }

  /// The refusals of the stages, one sentence each.
  func refusals() -> [String] {
    let definition = pipeline.definition
    var launch = StageRunner.Launch(executable: pipeline.search.worker)
    // Missing sandbox features are reported by `sluice doctor`; they are no fault of the file.
    launch.sandbox = definition.sandbox == .off ? .off : .prefer
    return (definition.stages + definition.channels.map(\.stage)).compactMap { stage in
      if stage.description.capability == .store
        || stage.description.options.contains(where: { $0.kind == .file })
      {
        return nil
      }
      do throws(WorkbenchError) {
        try StageRunner(stage, launch).start()
        return nil
      } catch {
        return error.description
      }
    }
  }
}
