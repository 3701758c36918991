/// A checked pipeline, made from `pipeline.yaml` and the descriptions of its stages.
public struct PipelineDefinition: Sendable, Equatable {
  /// The stages in order; those that run at the end come last.
  public var stages: [StageDefinition]
  public var channels: [ChannelDefinition]
  public var retry: RetryPolicy
  public var sandbox: SandboxPolicy
  /// The number of worker processes of each kind that parses content; `nil`: the number of processors.
  public var workers: Int?
  public var reuse: ReusePolicy
  public var turns = TurnRule.sender
  /// The memory limit for new content of all attachments together, in bytes; `nil`: a share of the machine's
  /// memory.
  public var memoryTotal: Int64?
  /// What is allowed of contents that are taken out of contents.
  public var expand = ExpandRules()
  /// How long attachments are kept.
  public var keep = KeepRules()
  /// How links are fetched; `nil`: they are not.
  public var downloads: DownloadsDefinition?
  /// By name.
  public var credentials: [String: Credential] = [:]
  /// Where the keys lie that seal what is secret.
  public var secrets = SecretRules()
  /// What clients of `sluice serve` may do.
  public var serve = ServeRules()

  public init(
    stages: [StageDefinition], channels: [ChannelDefinition], retry: RetryPolicy = RetryPolicy(),
    sandbox: SandboxPolicy = .require, workers: Int? = nil, reuse: ReusePolicy = .verdicts,
    memoryTotal: Int64? = nil
  ) {
    self.stages = stages
    self.channels = channels
    self.retry = retry
    self.sandbox = sandbox
    self.workers = workers
    self.reuse = reuse
    self.memoryTotal = memoryTotal
  }
}

/// What to do if the kernel lacks a part of the sandbox.
public enum SandboxPolicy: String, Sendable, CaseIterable {
  /// Refuse to run without it.
  case require
  /// Run with the parts there are, and report the missing ones.
  case prefer
  /// No sandbox, for debugging a stage. Content that exploits a stage then has all rights of the user.
  case off
}

/// What is reused for equal content.
public enum ReusePolicy: String, Sendable, CaseIterable {
  /// Results of stages are reused instead of running the stages again, if the stages promise equal results.
  case verdicts
  /// Each attachment goes through every stage.
  case off
}

/// Whose attachments and deliveries take turns in a queue.
public enum TurnRule: String, Sendable, CaseIterable {
  /// Each sender has a turn.
  case sender
  /// Each conversation has a turn: for a service that sends in the name of many.
  case conversation
}

/// One stage of a pipeline, or a channel's.
public struct StageDefinition: Sendable, Equatable {
  /// Unique within the pipeline: `id`, or else `use`.
  public var id: String
  public var description: StageDescription
  public var values: [OptionValue]
  /// The stage runs if the media type matches one of these; empty: always.
  public var conditions: [MediaTypePattern] = []
  /// The time limit for one attachment, by wall clock, in milliseconds.
  public var timeout: Int64 = 60_000
  /// The memory that it may allocate, in bytes.
  public var memory: Int64 = 256 << 20
  /// The size of new content that it may write, in bytes.
  public var output: Int64 = 64 << 20
  public var isolation = Isolation.worker
  public var onTimeout = Remedy.retry
  public var onLimit = Remedy.reject
  public var onCrash = Remedy.retry

  public init(id: String, description: StageDescription, values: [OptionValue]) {
    self.id = id
    self.description = description
    self.values = values
  }

  /// Whether its options name a channel for events.
  public var tells: Bool {
    description.options.contains { option in
      option.kind == .channelName && values.contains { $0.name == option.name }
    }
  }

  /// Whether it runs for content of this type. If the type is unknown, it runs only without a condition or
  /// with `*/*`.
  public func runs(for mediaType: String?) -> Bool {
    conditions.isEmpty || conditions.contains { $0.matches(mediaType) }
  }
}

/// How attachments share a process.
public enum Isolation: String, Sendable, CaseIterable {
  /// A worker takes one attachment after the other.
  case worker
  /// Each attachment gets its own process.
  case fresh
}

/// The outcome of an attachment whose stage exceeded a limit or crashed its worker.
public enum Remedy: String, Sendable, CaseIterable {
  case reject, retry, hold, pass
}

/// A channel: a stage that delivers events, and the channel's name.
public struct ChannelDefinition: Sendable, Equatable {
  public var name: String
  public var stage: StageDefinition
  public var schedule: DeliverySchedule

  public init(name: String, stage: StageDefinition, schedule: DeliverySchedule = DeliverySchedule()) {
    self.name = name
    self.stage = stage
    self.schedule = schedule
  }
}
