/// A stage's promise that content of more than so many bytes is rejected, whatever else it is.
public struct LengthLimit: Sendable, Equatable {
  public var bytes: Int64
  /// The code that the stage rejects it with.
  public var code: String

  public init(bytes: Int64, code: String) {
    self.bytes = bytes
    self.code = code
  }

  /// The first stage that rejects content for its length alone, so that the content need not be read.
  ///
  /// Stages with a condition do not count, because the type is not known yet; nor do stages after one that
  /// makes new content.
  ///
  /// - Parameter limit: the promise of the stage at this place in the pipeline, if it made one.
  public static func rejection(
    of size: Int64, by stages: [StageDefinition], limit: (Int) -> LengthLimit?
  ) -> Reason? {
    for (index, stage) in stages.enumerated() where stage.description.role == .line {
      if stage.conditions.isEmpty, let limit = limit(index), size > limit.bytes {
        return Reason(
          stage: stage.id, code: limit.code, message: "\(size) bytes, and \(limit.bytes) are allowed")
      }
      if stage.description.produces { return nil }
    }
    return nil
  }
}
