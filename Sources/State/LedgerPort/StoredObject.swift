/// The object of an attachment as recorded in the ledger.
public struct StoredObject: Sendable, Equatable {
  public var key: Int64
  public var id: String
  /// The object's path, relative to the store.
  public var url: String
  public var sizeBytes: Int64
  public var sha256: [UInt8]
  /// The path of the file it came from; of a link, what may be shown of it.
  public var source: [UInt8]
  /// It was fetched. The path of a file begins with a slash.
  public var isFromLink: Bool { source.first != UInt8(ascii: "/") }
  /// The SHA-256 of the source file in hexadecimal digits, if a stage replaced the content; else `nil`, and
  /// the object's own hash applies.
  public var sourceSHA256: String?
  /// It is of an earlier attempt, and kept until another takes its place. Its size is not on record.
  public var isKept: Bool
  /// Its name, if it is one beside the attachment's object; `nil`: it is that.
  public var derived: String?

  package init(
    key: Int64, id: String, url: String, sizeBytes: Int64, sha256: [UInt8], source: [UInt8],
    sourceSHA256: String?, isKept: Bool = false, derived: String? = nil
  ) {
    self.derived = derived
    (self.key, self.id, self.url, self.sizeBytes) = (key, id, url, sizeBytes)
    (self.sha256, self.source, self.sourceSHA256) = (sha256, source, sourceSHA256)
    self.isKept = isKept
  }
}
