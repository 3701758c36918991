import Ledger
import Pipeline
import Platform

/// What events say.
enum EventBody {
  /// The data of an attachment's event: the same for all recipients.
  static func data(_ origin: AttachmentOrigin, _ outcome: AttachmentOutcome) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("attachmentId", origin.id)
      origin.write(to: &writer)
      // An event stays small: the attachment itself has all the metadata.
      outcome.write(to: &writer, metadataLimit: 8192)
    }
    return writer.text
  }

  /// The whole event as a channel delivers it.
  static func body(_ delivery: LeasedDelivery) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("id", delivery.id)
      writer.member("type", delivery.type)
      writer.member("timestamp", Clock.timestamp(delivery.createdAt))
      // The data is kept once for all recipients; each is told who it is.
      writer.key("data")
      writer.object { writer in
        writer.member("recipientId", delivery.recipient)
        // By bytes: to count characters would cost more than all the rest.
        var data = delivery.data
        data.withUTF8 { bytes in
          if bytes.count > 2 {
            writer.raw(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes.dropFirst().dropLast())))
          }
        }
      }
    }
    return writer.text
  }
}
