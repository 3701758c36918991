import Pipeline
import Platform
import SQLite

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

extension SQLiteLedger {
  /// Call within a transaction, or when nothing is written.
  func known(_ question: ContentQuestion) throws -> KnownContent {
    var known = KnownContent()
    known.url =
      try statement(SQL.objectWithContent).first(.blob(question.sha256), .integer(question.size)) {
        $0.optionalText(0)
      } ?? nil
    guard known.url != nil, let fingerprint = question.fingerprint,
      let key = try fingerprintKey(fingerprint, isNew: false)
    else {
      return known
    }
    var twin: Int64?
    try statement(SQL.saidOfContent).rows(.blob(question.sha256), .integer(question.size), .integer(key)) {
      row in
      let claims = ContentQuestion.Claims(declaredType: row.optionalText(2), fileName: row.text(3))
      if known.said == nil, claims == question.claims, let metadata = Metadatum.read(row.text(1)) {
        known.said = .init(mediaType: row.optionalText(0), metadata: metadata)
        twin = row.integer(4)
      }
    }
    if let twin { known.said?.derived = try derived(of: twin) }
    return known
  }

  /// - Parameter isNew: whether to add a fingerprint that is not on record.
  func fingerprintKey(_ fingerprint: String, isNew: Bool) throws -> Int64? {
    // Mostly the one before: the same text, which is compared without being read.
    if let lastFingerprint, lastFingerprint.text == fingerprint { return lastFingerprint.key }
    if let key = fingerprintKeys[fingerprint] {
      lastFingerprint = (fingerprint, key)
      return key
    }
    let key = try statement(SQL.fingerprintKey).first(.text(fingerprint)) { $0.integer(0) }
    if key == nil && isNew {
      try statement(SQL.addFingerprint).run(.text(fingerprint))
      // Cached only once it is on record: the transaction may still fail.
      return connection.lastInsertedRow
    }
    if let key { fingerprintKeys[fingerprint] = key }
    return key
  }
}
