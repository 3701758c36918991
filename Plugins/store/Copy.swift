import StageKit

/// An object on its way to its path.
struct Copy {
  let attachment: Attachment
  let path: String
  /// Under the store's folder of incoming objects; the attachment's id, so that a replay replaces it.
  let temporaryName: String
  /// Open until it is synced; -1 for a link.
  var descriptor: Int32 = -1
  var isLink = false

  init(attachment: Attachment, path: String) {
    self.attachment = attachment
    self.path = path
    temporaryName = attachment.id
  }
}
