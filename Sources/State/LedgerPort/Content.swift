import Pipeline

/// Asks what is known about a content.
public struct ContentQuestion: Sendable {
  public var sha256: [UInt8]
  public var size: Int64
  /// The fingerprint of the stages whose results could be reused, with their bases; `nil`: only the object is
  /// asked for.
  public var fingerprint: String?
  /// What the sender declared, which those stages may have used.
  public var claims: Claims

  /// Declarations of a sender that may influence the results of a repeatable stage.
  public struct Claims: Sendable, Equatable {
    public var declaredType: String?
    /// The part of the file name after the last dot, as written; `nil`: there is no dot.
    public var fileExtension: [UInt8]?

    public init(declaredType: String?, fileName: String) {
      self.declaredType = declaredType
      fileExtension = fileName.utf8.lastIndex(of: UInt8(ascii: ".")).map { Array(fileName.utf8[$0...]) }
    }
  }

  public init(sha256: [UInt8], size: Int64, fingerprint: String?, claims: Claims) {
    self.sha256 = sha256
    self.size = size
    self.fingerprint = fingerprint
    self.claims = claims
  }
}

/// What is known about a content.
public struct KnownContent: Sendable {
  /// The path where it is stored.
  public var url: String?
  public var said: Said?

  package init() {}

  /// The recorded results of the stages asked for.
  public struct Said: Sendable {
    public var mediaType: String?
    /// Metadata recorded by these and later stages.
    public var metadata: [Metadatum]
    /// Objects that these and later stages have derived.
    public var derived: [DerivedObject]

    public init(mediaType: String?, metadata: [Metadatum], derived: [DerivedObject] = []) {
      self.mediaType = mediaType
      self.metadata = metadata
      self.derived = derived
    }
  }
}
