/// The values that all runs of a pipeline share.
public struct RunPlan: Sendable {
  /// The stages in order, those that run at the end last.
  public let stages: [StageDefinition]
  public let groups: LinePlan
  /// The names of the existing channels.
  public let channels: Set<String>
  /// Attempts in all.
  public let attempts: Int
  /// An attachment ends after what was taken out of it.
  public let waitsForChildren: Bool

  public init(_ pipeline: PipelineDefinition) {
    stages = pipeline.stages
    groups = LinePlan(pipeline.stages)
    channels = Set(pipeline.channels.map(\.name))
    attempts = pipeline.retry.attempts
    waitsForChildren = pipeline.expand.waits && pipeline.stages.contains(where: \.description.expands)
  }
}
