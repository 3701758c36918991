import Pipeline

/// A check by its name, in the order in which checks are run.
public enum CheckName: String, Sendable, CaseIterable {
  case description, documentation, abi, open, options, reopen
  case empty, names, broken, deterministic, instances, together, growth, huge, cancel
  case fetch, links, several, stop, hold, limit, killed, transfers
  case passes, sandbox, declared, stdout

  /// What must hold for such a stage, as a sentence without a full stop.
  func claim(for stage: StageDescription) -> String {
    (stage.program == nil ? nil : claimForProgram) ?? claim
  }

  /// The same for a program, where it is another: nothing of one is called, and what it holds ends with its process.
  private var claimForProgram: String? {
    switch self {
    case .open: "the program starts in its sandbox, and says that it is ready"
    case .options: "every value an option allows starts the program, or is refused with a reason"
    case .reopen: "the program starts a hundred times over"
    case .instances: "two of its processes do not disturb each other"
    case .growth: "one process answers four hundred attachments"
    default: nil
    }
  }

  private var claim: String {
    switch self {
    case .description: "the description is complete and sane"
    case .documentation: "each option, key and code is documented"
    case .abi: "a host of another major is refused, or answered in the plugin's own"
    case .open: "the stage opens in the sandbox, without a thread"
    case .options: "every value an option allows opens the stage, or is refused with a reason"
    case .reopen: "opening and closing leaves no memory and no descriptors"
    case .empty: "content of 0 bytes has a verdict"
    case .names: "hostile names and types have a verdict, and lead nowhere"
    case .broken: "400 small contents, most of them broken, have a verdict"
    case .deterministic: "the same content has the same result, twice over"
    case .instances: "two instances in one worker do not disturb each other"
    case .together: "sixteen attachments at once have the results that each has by itself"
    case .growth: "three hundred attachments leave no memory and no descriptors"
    case .huge: "content of 4 GiB has a verdict, within time and memory"
    case .cancel:
      "a worker that is killed in the middle leaves nothing, and the next attempt is like the first"
    case .fetch: "a link's content lies in its file, and no checkpoint goes beyond what is there"
    case .links: "links that cannot be fetched have a verdict, which does not quote them"
    case .several: "several transfers at once end, each with its content"
    case .stop: "a transfer that is stopped ends in time, and goes on later to the same content"
    case .hold: "a transfer that is held stands still, and goes on to the same content"
    case .limit: "content beyond the limit is rejected, and ends no worker"
    case .killed: "after a kill, a transfer goes on from its checkpoint to the same content"
    case .transfers: "three hundred transfers leave no memory and no descriptors"
    case .passes: "something passes"
    case .sandbox: "the capability it declares suffices"
    case .declared: "it says only what the contract and its description know"
    case .stdout: "nothing is written to standard output"
    }
  }

  /// Whether it takes a second or more with many stages.
  public var isSlow: Bool {
    switch self {
    case .broken, .growth, .huge, .cancel, .transfers: true
    default: false
    }
  }

  /// Whether it is for plugins of this kind.
  func isFor(_ stage: StageDescription) -> Bool {
    let role = stage.role
    switch self {
    // No function of a program is called, its standard output is what it answers by, and what its sandbox forbids it
    // ends no worker.
    case .abi, .sandbox, .stdout: return stage.program == nil
    case .together: return role == .line && stage.turns
    case .empty, .names, .broken, .deterministic, .instances, .growth, .huge, .cancel: return role != .source
    case .fetch, .links, .several, .stop, .hold, .limit, .killed, .transfers: return role == .source
    case .description, .documentation, .open, .options, .reopen, .passes, .declared: return true
    }
  }

  /// Whether it needs a stage that opens.
  var needsOpenStage: Bool {
    switch self {
    case .description, .documentation, .abi, .open: false
    default: true
    }
  }

  /// Whether it looks at what the checks before it made the stage do.
  var isObservation: Bool {
    switch self {
    case .passes, .sandbox, .declared, .stdout: true
    default: false
    }
  }
}

/// Which checks are run.
public struct CheckSelection: Sendable {
  /// The checks asked for; empty: all.
  public var only: Set<CheckName> = []
  /// Slow checks are left out, unless they are asked for by name.
  public var isFast = false

  public init() {}

  /// The checks that are told of, in order: those asked for, or else those for this kind of stage.
  func names(for stage: StageDescription) -> [CheckName] {
    CheckName.allCases.filter { only.isEmpty ? $0.isFor(stage) : only.contains($0) }
  }

  func leavesOut(_ name: CheckName) -> Bool { isFast && name.isSlow && !only.contains(name) }
}
