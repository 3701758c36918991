import LedgerPort
import Pipeline
import Platform
import SQLite

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
