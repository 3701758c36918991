import Configuration
import Glibc
import HomeFolder
import LedgerPort
import Pipeline
import Platform
import Scheduler
import Synchronization

/// Reads the pipeline's file again while a coordinator works, and lets a good one take the place of the old one.
final class PipelineReload: Sendable {
  private let file: String
  private let home: Home
  private let intake: Intake
  /// The doors whose pipelines are read, too.
  private let doors: [ServeRules.ClamdDoor]
  private let next = Mutex<LoadedPipeline?>(nil)
  private let isUnderway = Atomic(false)

  /// - Parameters:
  ///   - intake: asked to hand over once the new pipeline is checked.
  ///   - doors: for clients of ClamAV's daemon, as they are open.
  init(file: String, home: Home, intake: Intake, doors: [ServeRules.ClamdDoor]) {
    (self.file, self.home, self.intake, self.doors) = (file, home, intake, doors)
  }

  /// Reads the file on a thread of its own: the coordinator goes on meanwhile. A faulty one is told, and changes nothing.
  func begin() {
    if isUnderway.exchange(true, ordering: .relaxed) {
      return Terminal.error("the pipeline is being read already")
    }
    do throws(SystemError) {
      try Thread { [self] in
        defer { isUnderway.store(false, ordering: .relaxed) }
        guard let pipeline = load() else {
          return Terminal.error("\(file) is not used; the pipeline stays as it was")
        }
        next.withLock { $0 = pipeline }
        intake.handOver()
      }.detach()
    } catch {
      isUnderway.store(false, ordering: .relaxed)
      Terminal.error("\(error); the pipeline stays as it was")
    }
  }

  /// The pipeline that is to be worked with from now on, once; `nil`: the old one.
  func take() -> LoadedPipeline? {
    next.withLock { next in
      defer { next = nil }
      return next
    }
  }

  /// `nil`: it is faulty, which was told.
  private func load() -> LoadedPipeline? {
    do {
      var pipeline = try Environment.pipeline(file: file, home: home, isStart: true)
      pipeline.judges = try Environment.doors(doors, of: pipeline, file: file, home: home)
      var refusals = StageOpenings(pipeline).refusals() + DoorFaults.diagnostics(doors, pipeline.judges)
      // A file that several doors name is opened once; a door that names none has the pipeline itself.
      var opened: Set<String> = []
      for (door, judge) in zip(doors, pipeline.judges) {
        if let name = door.pipeline, opened.insert(name).inserted {
          refusals += StageOpenings(judge).refusals()
        }
      }
      CommandLineTool.tell(refusals.map(\.printable))
      return refusals.isEmpty ? pipeline : nil
    } catch let error as ConfigurationError {
      CommandLineTool.tell(error.diagnostics)
    } catch let error as CommandError {
      for message in error.messages { Terminal.error(message) }
    } catch {
      Terminal.error("\(error)")
    }
    return nil
  }
}
