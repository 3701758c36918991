import Pipeline
import Platform

/// Notices that a plugin, or the files of a program's command, are not those that they were when the pipeline was opened. Each worker
/// runs what is there when it starts, so that what is edited or built anew takes effect with the next one, whenever that starts.
struct ProgramChanges {
  /// By the stage's id: its files by their paths.
  private var known: [String: [String: FileStamp]] = [:]
  private let files: (StageDescription) -> [String: FileStamp]

  /// - Parameter files: what the files are now that a worker of a stage loads or runs.
  init(_ stages: [StageDefinition], _ files: @escaping (StageDescription) -> [String: FileStamp]) {
    self.files = files
    for stage in stages { known[stage.id] = files(stage.description) }
  }

  /// A worker of these stages is about to start.
  ///
  /// - Returns: a sentence for each of them that is not as it was at the last look.
  mutating func look(at stages: [StageDefinition]) -> [String] {
    stages.compactMap { stage in
      guard let before = known[stage.id] else { return nil }
      let now = files(stage.description)
      if now == before { return nil }
      known[stage.id] = now
      let paths = Set(now.keys).union(before.keys).filter { now[$0] != before[$0] }.sorted()
      return
        "stage '\(stage.id)': \(paths.joined(separator: ", ")) has changed; each worker that starts from now on uses it as it is "
        + "now, and at SIGHUP `sluice run` and `sluice serve` have all use it"
    }
  }
}
