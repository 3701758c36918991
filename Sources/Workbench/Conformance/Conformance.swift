import CPlatform
import Configuration
import Glibc
import Pipeline
import Platform
import Wire
import Workers

/// The checks that every plugin must pass, in any language. Each check starts its own workers under the
/// sandbox, as a pipeline does, so that a misbehaving stage does no damage.
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
  /// What workers wrote to standard output.
  let standardOutput: Content
  /// System calls that the sandbox refused, and calls of stages that were dropped, over all checks.
  var forbidden: [String] = []
  var complaints: [String] = []

  public init(
    _ stage: StageDefinition, digest: StageDefinition, search: PluginSearch, launch: StageRunner.Launch,
    temporaryFolder: String, documentation: String?, specimens: [Content]
  ) throws {
    self.stage = stage
    self.digest = digest
    self.search = search
    self.launch = launch
    self.temporaryFolder = temporaryFolder
    self.documentation = documentation
    self.specimens = specimens
    standardOutput = try Content(bytes: [])
  }

  /// Runs every check, and passes each result to `report` as soon as it is known.
  ///
  /// - Throws: ``WorkbenchError`` if the stage cannot be checked at all.
  public func run(_ report: (Check) -> Void) throws {
    var isOpen = true
    func check(_ name: String, _ claim: String, _ body: () throws -> Check.Result) rethrows {
      report(Check(name: name, claim: claim, result: try body()))
    }
    /// Skips the check if the stage does not open.
    func checkOpen(_ name: String, _ claim: String, _ body: () throws -> Check.Result) rethrows {
      try check(name, claim) { isOpen ? try body() : .skipped("it does not open") }
    }
    check("description", "the description is complete and sane", description)
    check("documentation", "each option, key and code is documented", documented)
    check("abi", "a host of another major is refused, or answered in the plugin's own", abi)
    try check("open", "the stage opens in the sandbox, without a thread") {
      let result = try opens()
      if case .failed = result { isOpen = false }
      return result
    }
    try checkOpen(
      "options", "every value an option allows opens the stage, or is refused with a reason", options)
    try checkOpen("reopen", "opening and closing leaves no memory and no descriptors", reopens)
    try checkOpen("empty", "content of 0 bytes has a verdict", empty)
    try checkOpen("huge", "content of 4 GiB has a verdict, within time and memory", huge)
    try checkOpen("names", "hostile names and types have a verdict, and lead nowhere", names)
    try checkOpen("broken", "400 small contents, most of them broken, have a verdict", broken)
    try checkOpen("deterministic", "the same content has the same result, twice over", deterministic)
    try checkOpen("instances", "two instances in one worker do not disturb each other", instances)
    try checkOpen(
      "cancel",
      "a worker that is killed in the middle leaves nothing, and the next attempt is like the first", cancel)
    try checkOpen("growth", "three hundred attachments leave no memory and no descriptors", growth)
    checkOpen("sandbox", "the capability it declares suffices", sandbox)
    checkOpen("declared", "it records and gives only what its description lists", declared)
    checkOpen("stdout", "nothing is written to standard output", silent)
  }

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
    }
    return trial
  }

  var takesContent: Bool { stage.description.role == .line }
}

/// A bench that records violations of the contract.
final class Trier {
  let bench: Bench
  let folder: ScratchFolder?
  private unowned let conformance: Conformance

  init(_ bench: Bench, _ folder: ScratchFolder?, _ conformance: Conformance) {
    self.bench = bench
    self.folder = folder
    self.conformance = conformance
  }

  var pid: pid_t? { bench.runner.pid }

  func run(_ trial: Trial, instance: Int = 0) throws -> TrialResult {
    let result = try bench.run(trial, instance: instance)
    if case .forbiddenCall? = result.death?.cause { conformance.forbidden.append(result.message ?? "") }
    let isMute = result.verdict != Verdict.pass.name && result.code == "unexplained"
    let complaints = result.trace.filter { $0.call == TraceLine.complaint }.map(\.text)
    for complaint in complaints + (isMute ? ["gives verdict \(result.verdict) without saying why"] : []) {
      if !conformance.complaints.contains(complaint) { conformance.complaints.append(complaint) }
    }
    return result
  }
}
