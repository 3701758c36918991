import Pipeline
import Wire

/// What a case produced: every fact that an expectation can be compared with.
public struct Found {
  /// Why the stage did not open.
  public var refused: String?
  public var verdict: String?
  /// The outcome, for a pipeline.
  public var outcome: String?
  public var stage: String?
  public var path: [String]?
  public var code: String?
  public var message: String?
  public var mediaType: String?
  public var metadata: [Metadatum] = []
  public var emissions: [Emission] = []
  public var produced: FileFacts?
  public var derived: [(path: String, file: FileFacts)] = []
  public var children: [(path: String, file: FileFacts)] = []
  public var location: String?
  /// The files afterwards, by path.
  public var files: [(path: String, file: FileFacts)] = []
  public var milliseconds: Double = 0

  /// The facts of content or of a file.
  public struct FileFacts {
    public var sha256: String
    public var size: Int64
    /// Its beginning, as text.
    public var text: String
  }

  /// At most this much of a content is compared as text, in bytes.
  static let textLimit = 1 << 20
}
