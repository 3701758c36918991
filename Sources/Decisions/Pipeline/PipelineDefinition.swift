/// A checked pipeline: what `pipeline.yaml` and the descriptions of its stages come to.
public struct PipelineDefinition: Sendable, Equatable {
  /// The stages in order, those that run at the end last.
  public var stages: [StageDefinition]
  public var channels: [ChannelDefinition]
  public var retry: RetryPolicy
  public var sandbox: SandboxPolicy
  /// Worker processes of each kind that parse content; `nil`: as many as there are processors.
  public var workers: Int?
  public var reuse: ReusePolicy
  /// Bytes of memory that new content may take, over all attachments; `nil`: a share of the machine's.
  public var memoryTotal: Int64?

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

/// What to do where the kernel lacks a part of the sandbox.
public enum SandboxPolicy: String, Sendable, CaseIterable {
  /// Refuse to run.
  case require
  /// Run with what there is, and say so.
  case prefer
  /// No sandbox, for debugging a stage. Content is then as powerful as the operator.
  case off
}

/// What equal content spares.
public enum ReusePolicy: String, Sendable, CaseIterable {
  /// What stages said of it stands in for running them again, where they promise to repeat it.
  case verdicts
  /// Each attachment goes through every stage.
  case off
}

/// One stage of a pipeline, or a channel's.
public struct StageDefinition: Sendable, Equatable {
  /// Unique within the pipeline: `id`, or else `use`.
  public var id: String
  public var description: StageDescription
  public var values: [OptionValue]
  /// It runs where the media type matches one of these; empty: always.
  public var conditions: [MediaTypePattern] = []
  /// Wall clock for one attachment, in milliseconds.
  public var timeout: Int64 = 60_000
  /// Bytes it may allocate.
  public var memory: Int64 = 256 << 20
  /// Bytes of new content it may write.
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

  /// Whether it names a channel to tell people on.
  public var tells: Bool {
    description.options.contains { option in
      option.kind == .channelName && values.contains { $0.name == option.name }
    }
  }

  /// Whether it runs for content of this type. Where the type is unknown, only without a condition or with `*/*`.
  public func runs(for mediaType: String?) -> Bool {
    conditions.isEmpty || conditions.contains { $0.matches(mediaType) }
  }
}

/// How attachments share a process.
public enum Isolation: String, Sendable, CaseIterable {
  /// A worker takes one attachment after the other.
  case worker
  /// Each attachment gets a process of its own.
  case fresh
}

/// What becomes of an attachment whose stage overran a budget or took its worker down.
public enum Remedy: String, Sendable, CaseIterable {
  case reject, retry, hold, pass
}

/// A channel: a stage that delivers events, under a name.
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
