import Ledger
import Pipeline
import Platform

/// What events say.
enum EventBody {
  /// The data of an attachment's event: the same for all recipients.
  static func data(_ record: AttachmentRecord) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("attachmentId", record.id)
      writer.member("conversationId", record.conversationId)
      writer.member("messageId", record.messageId)
      writer.member("senderId", record.senderId)
      writer.member("fileName", record.fileName)
      writer.member("status", record.status.rawValue)
      writer.member("mediaType", record.mediaType)
      writer.member("sizeBytes", record.sizeBytes)
      writer.member("sha256", record.sha256.map(Hexadecimal.text))
      writer.member("url", record.url)
      writer.member("reason", record.reason)
      // An event stays small: whoever wants all the metadata asks for the attachment.
      if record.metadata.utf8.count <= 8192 {
        writer.key("metadata")
        writer.raw(record.metadata)
      }
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
