import Glibc
import Pipeline
import Wire
import Workers

/// Workers of an ingest that are started before its scheduler is there: they open their stages while the ledger is opened.
///
/// Those that get no folder are: what they do in `open` leaves nothing behind if the ledger turns out to be unusable.
public final class EarlyWorkers {
  private var waiting: [(setup: Setup, process: WorkerProcess)] = []

  /// - Parameters:
  ///   - digest: the stage that measures content.
  ///   - executable: the worker's.
  public init(_ pipeline: PipelineDefinition, digest: StageDescription, executable: String) {
    // Those of the line first: their stages take the longest to open.
    let line = RunPlan(pipeline).groups.groups.map { group in
      WorkerGroup(
        purpose: .line(group.stages), stages: Array(pipeline.stages[group.stages]),
        capability: group.capability, isFresh: group.isFresh, limit: 1)
    }
    let measuring = [StageDefinition(id: digest.id, description: digest, values: [])]
    let measurer = WorkerGroup(
      purpose: .digest, stages: measuring, capability: .content, isFresh: false, limit: 1)
    for group in line + [measurer] where group.capability != .store {
      let setup = group.setup(pipeline)
      do {
        let process = try WorkerProcess(executable: executable, words: ["run", String(getpid())])
        try process.open(setup)
        waiting.append((setup, process))
      } catch {
        return  // the scheduler tries again, and tells why it cannot
      }
    }
  }

  deinit { end() }

  /// A worker that was set up like this, once.
  func take(_ setup: Setup) -> WorkerProcess? {
    guard let place = waiting.firstIndex(where: { $0.setup == setup }) else { return nil }
    return waiting.remove(at: place).process
  }

  /// Ends those that were not taken.
  func end() {
    for (_, process) in waiting { process.kill() }
    for (_, process) in waiting { process.reap() }
    waiting.removeAll()
  }
}
