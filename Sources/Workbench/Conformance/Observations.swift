import Configuration
import Glibc
import Pipeline
import Platform
import Wire
import Workers

/// What a stage did in all checks together.
struct Observations {
  /// Pieces of work it was given.
  private(set) var trials = 0
  /// Pieces of work it passed.
  private(set) var passes = 0
  /// Why it did not pass one: the first code and message.
  private(set) var objection: String?
  /// Ends by a system call that the sandbox refused, each call once.
  private(set) var forbidden: [WorkerDeath] = []
  /// What broke the contract and was dropped, each once.
  private(set) var complaints: [String] = []

  mutating func add(_ result: TrialResult) {
    trials += 1
    if result.isPassed { passes += 1 }
    if case .forbiddenCall? = result.death?.cause, let death = result.death,
      !forbidden.contains(where: { $0.isLike(death) })
    {
      forbidden.append(death)
    }
    let isMute = add(result.trace) == 0 && result.verdict != Verdict.pass.name && result.code == "unexplained"
    if isMute { complain("gives verdict \(result.verdict) without saying why") }
    if !result.isPassed && result.death == nil && objection == nil {
      objection = "\(result.verdict), \(result.code ?? "no code"): \(result.message ?? "no reason")"
    }
  }

  /// Returns how many complaints there are in it.
  @discardableResult
  mutating func add(_ trace: [TraceLine]) -> Int {
    let found = trace.filter { $0.call == TraceLine.complaint }
    for line in found { complain(line.text) }
    return found.count
  }

  private mutating func complain(_ text: String) {
    if !complaints.contains(text) { complaints.append(text) }
  }
}

// Checks of what the stage did while it was tried.
extension Conformance {
  func passes() -> Check.Result {
    if observations.passes > 0 { return .passed }
    guard let objection = observations.objection else {
      return .skipped(isProgram ? "it ended each time" : "its worker ended each time")
    }
    switch stage.description.role {
    case .channel:
      return .failed(
        "none of \(Count.text(observations.trials, "delivery", "deliveries")) succeeded: \(objection)",
        remedy: "give it a place that takes events, with --set: the other checks saw it refuse only")
    case .source:
      return .skipped("nothing did (\(objection)); with a --link that it fetches the checks see more")
    case .line, .end:
      return .skipped("nothing did (\(objection)); with a FILE that it passes the checks see more")
    }
  }

  func sandbox() -> Check.Result {
    if observations.forbidden.isEmpty { return .passed }
    return .failed(
      observations.forbidden.map { $0.message(in: stage) }.joined(separator: "\n"),
      remedy: "load libraries, tables and files in `open`; declare `store` or `network` if it needs them")
  }

  func declared() -> Check.Result {
    let complaints = observations.complaints
    if complaints.isEmpty { return .passed }
    return .failed(
      complaints.prefix(5).joined(separator: "\n"),
      remedy: isProgram
        ? "list every key and code in \(StageFile.name), set 'produces' if it makes content, and give a code with every verdict but pass"
        : "list every option, key, code and flag in the description, and explain every verdict but pass")
  }

  func silent() -> Check.Result {
    var facts = stat()
    guard fstat(standardOutput.descriptor.number, &facts) == 0 else { return .skipped("it cannot be read") }
    return facts.st_size == 0
      ? .passed
      : .failed(
        "\(Count.text(facts.st_size, "byte")) \(facts.st_size == 1 ? "was" : "were") written",
        remedy: "log through the host, or to standard error")
  }
}
