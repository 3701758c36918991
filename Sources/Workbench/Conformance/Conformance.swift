import Configuration
import Pipeline
import Platform
import Wire
import Workers

/// The checks that every plugin must pass, in any language. Each check starts its own workers under the
/// sandbox, as a pipeline does, so that a misbehaving stage does no damage.
///
/// After the first time-out nothing more is tried, and a worker's end that was told of once is not told again.
public final class Conformance {
  let stage: StageDefinition
  let digest: StageDefinition
  let search: PluginSearch
  let launch: StageRunner.Launch
  let temporaryFolder: String
  /// The stage's documentation, if there is any.
  let documentation: String?
  /// Contents given by the stage's author, in addition to the generated ones.
  let specimens: [Content]
  /// Links that a source can fetch, as its author says.
  let links: [String]
  /// What they yield, once it is known.
  var references: [String: Reference] = [:]
  /// What workers wrote to standard output.
  let standardOutput: Content
  private(set) var observations = Observations()
  /// The checks in which a worker ended unexpectedly, and how.
  private var ends: [(check: CheckName, death: WorkerDeath)] = []
  /// The check whose time-out ends the whole.
  private var timedOut: CheckName?
  private var selection = CheckSelection()

  public init(
    _ stage: StageDefinition, digest: StageDefinition, search: PluginSearch, launch: StageRunner.Launch,
    temporaryFolder: String, documentation: String?, specimens: [Content],
    links: [String] = []
  ) throws {
    self.stage = stage
    self.digest = digest
    self.search = search
    self.launch = launch
    self.temporaryFolder = temporaryFolder
    self.documentation = documentation
    self.specimens = specimens
    self.links = links
    standardOutput = try Content(bytes: [])
  }

  /// Runs the selected checks, and passes each result to `report` as soon as it is known.
  ///
  /// - Throws: ``WorkbenchError`` if the stage cannot be checked at all.
  public func run(_ selection: CheckSelection = CheckSelection(), _ report: (Check) -> Void) throws {
    self.selection = selection
    let names = selection.names(for: stage.description)
    /// Why checks that need an open stage are not done.
    var closed: String?
    if !names.contains(.open), names.contains(where: \.needsOpenStage) {
      let result = try self.result(of: .open)
      if case .failed = result {
        report(Check(.open, of: stage.description, result))
        closed = "it does not open"
      }
    }
    for name in names {
      let result: Check.Result
      if !name.isFor(stage.description) {
        result = .skipped(unfit(name))
      } else if selection.leavesOut(name) {
        result = .skipped("left out by --fast")
      } else if let closed, name.needsOpenStage {
        result = .skipped(closed)
      } else if let timedOut, !name.isObservation {
        result = .skipped("it took too long in `\(timedOut)`; mend that first")
      } else {
        result = try self.result(of: name)
      }
      if name == .open, case .failed = result { closed = "it does not open" }
      report(Check(name, of: stage.description, result))
    }
  }

  private func result(of name: CheckName) throws -> Check.Result {
    if name.isObservation && observations.trials == 0 {
      return .skipped("it was given nothing, since no check that gives it something was done")
    }
    do {
      switch name {
      case .description: return description()
      case .documentation: return documented()
      case .abi: return abi()
      case .open: return try opens()
      case .options: return try options()
      case .reopen: return try reopens()
      case .empty: return try empty()
      case .names: return try self.names()
      case .broken: return try broken()
      case .deterministic: return try deterministic()
      case .instances: return try instances()
      case .together: return try together()
      case .growth: return try growth()
      case .huge: return try huge()
      case .cancel: return try cancel()
      case .fetch: return try fetch()
      case .links: return try hostile()
      case .several: return try several()
      case .stop: return try stop()
      case .hold: return try hold()
      case .limit: return try limit()
      case .killed: return try killed()
      case .transfers: return try transfers()
      case .passes: return passes()
      case .sandbox: return sandbox()
      case .declared: return declared()
      case .stdout: return silent()
      }
    } catch let end as UnexpectedEnd {
      return result(of: end, in: name)
    }
  }

  /// One cause is told once: a check that meets it again names the check that told it.
  private func result(of end: UnexpectedEnd, in name: CheckName) -> Check.Result {
    if case .forbiddenCall = end.death.cause, selection.names(for: stage.description).contains(.sandbox) {
      return .skipped("\(end.what): its worker ends by a forbidden call, which `sandbox` tells")
    }
    if let earlier = ends.first(where: { $0.death.isLike(end.death) }) {
      return .skipped("\(end.what): its worker ends as in `\(earlier.check)`; mend that first")
    }
    ends.append((name, end.death))
    if case .timedOut = end.death.cause { timedOut = name }
    let command = "sluice stages run \(stage.description.file) FILE"
    return .failed(
      "\(end.what): \(end.death.message(in: stage))",
      remedy: end.remedy ?? (isProgram ? end.death.remedyOfProgram(command: command) : nil)
        ?? end.death.remedy(command: command))
  }

  func observe(_ result: TrialResult) {
    // It was not asked.
    if isProgram && result.code == Program.tooLarge { return }
    observations.add(result)
  }
  func observe(_ trace: [TraceLine]) { observations.add(trace) }

  // MARK: Workers

  /// A worker for the stage.
  func bench(_ changed: StageDefinition? = nil, _ change: (inout StageRunner.Launch) -> Void = { _ in })
    throws -> Trier
  {
    let stage = changed ?? stage
    var launch = launch
    launch.isTraced = true
    launch.standardOutput = standardOutput.descriptor.number
    let needsFolder = stage.description.capability == .store || stage.description.role == .channel
    let folder = needsFolder ? try ScratchFolder(in: temporaryFolder) : nil
    if let folder { launch.folder = folder.descriptor.number }
    change(&launch)
    let digest = StageRunner(digest, self.launch)
    return Trier(Bench(runner: StageRunner(stage, launch), digest: digest), folder, self)
  }

  /// A trial of the kind that the stage takes: an attachment or an event.
  func trial(_ content: @autoclosure () throws -> Content, fileName: String = "attachment") rethrows -> Trial
  {
    var trial = Trial(fileName: fileName, content: nil)
    switch stage.description.role {
    case .line: trial.content = try content()
    case .end: trial.work.outcome = .completed
    case .channel:
      trial.work.event = Work.Event(Case.Event())
    case .source: break
    }
    return trial
  }

  /// Why a check that was asked for does not fit this stage.
  private func unfit(_ name: CheckName) -> String {
    if isProgram && [.abi, .sandbox, .stdout].contains(name) { return "it is for libraries" }
    if takesTransfers { return "a source gets no content" }
    return name == .together ? "it has one attachment in hand at a time" : "it is for sources"
  }

  private var takesTransfers: Bool { stage.description.role == .source }
  var takesContent: Bool { stage.description.role == .line }
  /// It is no library: nothing of it is called.
  var isProgram: Bool { stage.description.program != nil }
}
