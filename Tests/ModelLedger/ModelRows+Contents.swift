import LedgerPort
import Pipeline

// Questions about the rows.
extension ModelRows {
  /// Those that have not become attachments, and may still.
  func openUploads(of owner: UploadOwner?, at now: Int64) -> [UploadRecord] {
    uploads.values.filter { upload in
      upload.attachmentId == nil && upload.expiresAt > now
        && (owner.map { $0.name == upload.owner && $0.role == upload.role } ?? true)
    }
  }

  /// Paths of objects that are to be deleted, in the order of their bytes.
  var objectsToDelete: [String] {
    names.filter { $0.value.uses == 0 }.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  // MARK: Contents

  /// Of so many attachments with a content the words are looked at.
  private static let looked = 32

  /// The attachments whose object is that content, in order of intake.
  func stored(sha256: [UInt8], size: Int64) -> [Attachment] {
    places.compactMap { attachments[$0.key] }.filter {
      $0.outcome.url != nil && $0.outcome.sha256 == sha256 && $0.outcome.sizeBytes == size
    }
  }

  func known(_ question: ContentQuestion) -> KnownContent {
    var known = KnownContent()
    let equal = stored(sha256: question.sha256, size: question.size)
    known.url = equal.first?.outcome.url
    guard let fingerprint = question.fingerprint else { return known }
    for attachment in equal.filter({ $0.fingerprint == fingerprint }).prefix(Self.looked) {
      let origin = attachment.origin
      let claims = ContentQuestion.Claims(declaredType: origin.declaredType, fileName: origin.fileName)
      guard claims == question.claims, let metadata = Metadatum.read(attachment.outcome.metadata) else {
        continue
      }
      known.said = .init(
        mediaType: attachment.outcome.mediaType, metadata: metadata, derived: attachment.outcome.derived)
      break
    }
    return known
  }

  // MARK: Trees

  /// The ids of what an attachment was taken out of, and of what that was taken out of, and so on.
  func ancestors(of attachment: Attachment) -> [String] {
    var ids: [String] = []
    var next = attachment.parent
    while let key = next, let parent = attachments[key] {
      ids.append(parent.origin.id)
      next = parent.parent
    }
    return ids
  }
}
