import Pipeline
import Wire

/// What became of a case: everything an expectation can be compared with.
public struct Found {
  /// Why the stage did not open.
  public var refused: String?
  public var verdict: String?
  /// Of a pipeline.
  public var outcome: String?
  public var stage: String?
  public var path: [String]?
  public var code: String?
  public var message: String?
  public var mediaType: String?
  public var metadata: [Metadatum] = []
  public var emissions: [Emission] = []
  public var produced: FileFacts?
  public var location: String?
  /// By path.
  public var files: [(path: String, file: FileFacts)] = []
  public var milliseconds: Double = 0

  /// What there is to know of content, or of a file.
  public struct FileFacts {
    public var sha256: String
    public var size: Int64
    /// Its beginning, as text.
    public var text: String
  }

  /// The most of a content that is compared as text, in bytes.
  static let textLimit = 1 << 20
}
