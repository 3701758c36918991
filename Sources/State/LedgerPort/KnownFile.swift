import Pipeline

/// The attachment that a file is.
public struct KnownFile: Sendable, Equatable {
  public var id: String
  public var status: Status
  /// Where its object lies below the store; `nil`: it has none.
  public var url: String?
  /// Of its object, in bytes.
  public var sizeBytes: Int64?
  /// Of its object.
  public var sha256: [UInt8]?
  /// Of the file that it came from.
  public var sourceSHA256: [UInt8]?

  public init(id: String, status: Status, url: String? = nil, sizeBytes: Int64? = nil) {
    (self.id, self.status, self.url, self.sizeBytes) = (id, status, url, sizeBytes)
  }
}
