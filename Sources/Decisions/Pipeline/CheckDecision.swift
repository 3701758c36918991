/// What a check says of a content.
public enum CheckVerdict: String, Sendable, CaseIterable {
  /// Every stage passed it.
  case clean
  /// A stage rejected it, or it took down so many workers that it would be quarantined.
  case found
  /// It was not decided: a stage could not do its work, or not in time.
  case unknown

  /// - Parameter outcome: of the attempt; ``Status/queued``: it would be tried again later.
  public init(_ outcome: Status) {
    switch outcome {
    case .completed: self = .clean
    case .rejected, .quarantined: self = .found
    case .queued, .failed, .cancelled: self = .unknown
    }
  }
}

extension PipelineDefinition {
  /// What of this pipeline judges content: its line without the stages that store. Nothing is told to channels, and nothing fetched.
  public var judging: PipelineDefinition {
    var pipeline = self
    pipeline.stages.removeAll { $0.description.role != .line || $0.description.capability == .store }
    pipeline.expand.waits = true
    (pipeline.channels, pipeline.downloads, pipeline.credentials) = ([], nil, [:])
    return pipeline
  }
}
