import Pipeline

/// The attachment of a file that was taken in before.
public struct KnownFile: Sendable, Equatable {
  public var id: String
  public var status: Status
  /// The path of its object below the store; `nil`: the attachment has no object.
  public var url: String?
  /// The size of its object, in bytes.
  public var sizeBytes: Int64?
  /// The SHA-256 of its object.
  public var sha256: [UInt8]?
  /// The SHA-256 of its source file.
  public var sourceSHA256: [UInt8]?

  public init(id: String, status: Status, url: String? = nil, sizeBytes: Int64? = nil) {
    (self.id, self.status, self.url, self.sizeBytes) = (id, status, url, sizeBytes)
  }
}
