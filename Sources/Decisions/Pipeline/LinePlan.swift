/// Which stages share a worker: consecutive ones with the same capability and role. An attachment goes to a
/// worker once for all of them. A stage that works on many attachments at once has a worker to itself: the others would
/// have one in hand at a time.
public struct LinePlan: Sendable, Equatable {
  /// Stages, by their place in the pipeline, that run in one worker.
  public struct Group: Sendable, Equatable {
    public var stages: Range<Int>
    public var capability: StageDescription.Capability
    /// Whether each attachment gets its own process.
    public var isFresh: Bool
  }

  public var groups: [Group]

  /// A worker is sandboxed for one capability: a stage that shared it with a stage of another capability
  /// could do what that one may. Stages at the end are separate from those of role `line`, because the
  /// outcome is decided between the two.
  public init(_ stages: [StageDefinition]) {
    groups = []
    for (index, stage) in stages.enumerated() {
      let isFresh = stage.isolation == .fresh
      let capability = stage.description.capability
      if let last = groups.last, !last.isFresh, !isFresh,
        last.capability == capability,
        stages[last.stages.lowerBound].description.role == stage.description.role,
        !stage.description.hasOwnWorker, !stages[last.stages.lowerBound].description.hasOwnWorker
      {
        groups[groups.count - 1].stages = last.stages.lowerBound..<(index + 1)
      } else {
        groups.append(Group(stages: index..<(index + 1), capability: capability, isFresh: isFresh))
      }
    }
  }

  /// The group a stage belongs to.
  public func group(of stage: Int) -> Int? {
    groups.firstIndex { $0.stages.contains(stage) }
  }
}
