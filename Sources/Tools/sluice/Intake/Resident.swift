import HomeFolder
import LedgerPort
import Platform
import Scheduler

/// Works a queue until a signal asks for the end, with one scheduler after the other: a new one where the pipeline has changed.
final class Resident {
  private let home: Home
  private let lock: HomeLock
  private let signals: Int32?
  private let intake: Intake
  private let reload: PipelineReload
  /// For the first scheduler; the next ones join anew.
  private var ledger: (any LedgerWriter & LedgerMaintenance)?
  /// What it works with; `nil` before it does.
  private(set) var pipeline: LoadedPipeline?

  /// Told of each pipeline, before it is worked with.
  private let adopt: (LoadedPipeline) -> Void

  /// Whether each stage is told of.
  private let tellsSteps: Bool

  init(
    home: Home, lock: HomeLock, ledger: any LedgerWriter & LedgerMaintenance, signals: Int32?, intake: Intake,
    reload: PipelineReload, tellsSteps: Bool, adopt: @escaping (LoadedPipeline) -> Void
  ) {
    (self.home, self.lock, self.signals, self.intake, self.reload) = (home, lock, signals, intake, reload)
    self.tellsSteps = tellsSteps
    self.adopt = adopt
    self.ledger = ledger
  }

  func work(
    _ first: LoadedPipeline, observe: @escaping (SchedulerEvent) -> Void
  ) throws -> SchedulerSummary {
    var next = first
    /// The one before, as long as it is not certain that the next one works.
    var previous: LoadedPipeline?
    while true {
      do {
        let summary = try run(next) { event in
          if case .tick = event { previous = nil }
          observe(event)
        }
        guard summary.wasHandedOver else { return summary }
      } catch let error as SchedulerError {
        guard case .configuration = error.code, let last = previous else { throw error }
        Terminal.error("\(error); the pipeline stays as it was")
        (next, previous) = (last, nil)
        continue
      }
      guard let changed = reload.take() else { continue }
      (next, previous) = (changed, next)
      Terminal.error("the pipeline was read again; it holds for what begins from now on")
      if changed.definition.serve != previous?.definition.serve && tellsSteps {
        Terminal.error("what 'serve' says in it holds once the program is started again")
      }
    }
  }

  private func run(
    _ pipeline: LoadedPipeline, _ observe: @escaping (SchedulerEvent) -> Void
  ) throws -> SchedulerSummary {
    self.pipeline = pipeline
    adopt(pipeline)
    let ledger = try self.ledger ?? Environment.join(home, pipeline.definition)
    self.ledger = nil
    if let unfetched = try ledger.status().unfetched(by: pipeline.definition) { Terminal.error(unfetched) }
    defer { try? ledger.leave() }  // what it held is due again either way
    let scheduler = try Scheduler(
      pipeline.definition, digest: pipeline.digest, home: home, lock: lock, ledger: ledger,
      executable: pipeline.search.worker, signals: signals, intake: intake)
    let rules = pipeline.definition.keep
    let pruner = rules.isEmpty ? nil : try Pruner(home, rules)
    defer { pruner?.stop() }
    return try scheduler.run(isResident: true, tellsSteps: tellsSteps, observe: observe)
  }
}
