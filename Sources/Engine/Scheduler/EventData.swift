import LedgerPort
import Pipeline
import Platform
import Workers

/// What an event of an attachment says, to all its recipients.
enum EventData {
  static func text(_ origin: AttachmentOrigin, _ outcome: AttachmentOutcome) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("attachmentId", origin.id)
      origin.write(to: &writer)
      // An event stays small: the attachment itself has all the metadata.
      outcome.write(to: &writer, metadataLimit: 8192)
    }
    return writer.text
  }
}

extension LeasedDelivery {
  /// The whole event, as its channel delivers it.
  var body: String {
    EventBody.text(id: id, type: type, createdAt: createdAt, recipient: recipient, data: data)
  }
}
