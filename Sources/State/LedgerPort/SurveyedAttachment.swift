import Pipeline

/// What is counted of an attachment in reports.
public struct SurveyedAttachment: Sendable, Equatable {
  public var id: String
  public var status: Status
  public var mediaType: String?
  public var sizeBytes: Int64?
  /// The first eight bytes of the SHA-256 of its object, as a number in the order of the bytes; `nil`: it has no object.
  public var object: UInt64?
  /// The stage that gave the reason, and its code; `nil`: there is none.
  public var reason: StageCode?
  /// In milliseconds since 1970.
  public var createdAt: Int64
  public var finishedAt: Int64?
  /// What each stage took, over all attempts.
  public var times: [StageTime]

  public struct StageCode: Sendable, Hashable {
    public var stage: String
    public var code: String

    package init(stage: String, code: String) { (self.stage, self.code) = (stage, code) }
  }

  public struct StageTime: Sendable, Equatable {
    public var stage: String
    public var microseconds: Int64

    package init(stage: String, microseconds: Int64) {
      (self.stage, self.microseconds) = (stage, microseconds)
    }
  }

  package init(
    id: String, status: Status, mediaType: String?, sizeBytes: Int64?, object: UInt64?, reason: StageCode?,
    createdAt: Int64, finishedAt: Int64?, times: [StageTime]
  ) {
    (self.id, self.status, self.mediaType, self.sizeBytes) = (id, status, mediaType, sizeBytes)
    (self.object, self.reason, self.createdAt) = (object, reason, createdAt)
    (self.finishedAt, self.times) = (finishedAt, times)
  }

  /// The ``object`` of a hash; `nil`: it has fewer than eight bytes.
  package static func object(_ sha256: [UInt8]) -> UInt64? {
    sha256.count < 8 ? nil : sha256.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }
}
