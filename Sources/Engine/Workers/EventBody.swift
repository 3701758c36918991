import Platform

/// An event as channels deliver it: one line of JSON that begins with its id.
public enum EventBody {
  /// - Parameters:
  ///   - createdAt: in milliseconds since 1970.
  ///   - data: a JSON object: the same for all recipients; each is told who it is.
  public static func text(
    id: String, type: String, createdAt: Int64, recipient: String, data: String = "{}"
  ) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("id", id)
      writer.member("type", type)
      writer.member("timestamp", Clock.timestamp(createdAt))
      writer.key("data")
      writer.object { writer in
        writer.member("recipientId", recipient)
        // By bytes: to count characters would cost more than all the rest.
        var data = data
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
