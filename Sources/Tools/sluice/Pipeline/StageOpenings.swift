import Pipeline
import Workbench

/// Opens the stages of a pipeline as an ingest does, to see what only they can say of their options. Stages that write files
/// are left out: they would make some.
struct StageOpenings {
  private let pipeline: LoadedPipeline

  init(_ pipeline: LoadedPipeline) {
    self.pipeline = pipeline
  }

  /// What the stages refuse, a sentence each.
  func refusals() -> [String] {
    let definition = pipeline.definition
    var launch = StageRunner.Launch(executable: pipeline.search.worker)
    // What this machine lacks is for `sluice doctor` to tell, and no fault of the file.
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
