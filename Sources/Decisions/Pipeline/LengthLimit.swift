/// A stage's promise that all content of more than so many bytes is rejected.
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
    // By index: a copy of a stage costs more than the comparison.
    for index in stages.indices where stages[index].description.role == .line {
      if stages[index].conditions.isEmpty, let limit = limit(index), size > limit.bytes {
        return Reason(
          stage: stages[index].id, code: limit.code, message: "\(size) bytes, and \(limit.bytes) are allowed")
      }
      if stages[index].description.produces { return nil }
    }
    return nil
  }
}
