import Ledger
import Pipeline
import Platform

/// Attachments as they are printed.
enum RecordText {
  /// One line of JSON.
  static func json(_ record: AttachmentRecord) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      members(record, &writer)
    }
    return writer.text + "\n"
  }

  /// The members of the JSON object, for records with more members.
  static func members(_ record: AttachmentRecord, _ writer: inout JSONWriter) {
    writer.member("record", "attachment")
    writer.member("id", record.id)
    writer.member("conversationId", record.conversationId)
    writer.member("messageId", record.messageId)
    writer.member("senderId", record.senderId)
    writer.member("fileName", record.fileName)
    writer.member("source", String(decoding: record.source, as: UTF8.self))
    writer.member("status", record.status.rawValue)
    writer.member("mediaType", record.mediaType)
    writer.member("sizeBytes", record.sizeBytes)
    writer.member("sha256", record.sha256.map(Hexadecimal.text))
    writer.key("metadata")
    writer.raw(record.metadata)
    writer.member("url", record.url)
    writer.member("reason", record.reason)
    writer.key("stages")
    writer.array { writer in
      for step in record.steps {
        writer.object { writer in
          writer.member("stage", step.stage)
          writer.member("verdict", step.verdict)
          writer.key("milliseconds")
          writer.value(Double(step.microseconds) / 1000)
        }
      }
    }
  }

  /// One line for people.
  static func line(_ record: AttachmentRecord, _ style: Style = .plain) -> String {
    var parts = [
      style.word(record.status.rawValue, width: 11),
      Terminal.printable(String(decoding: record.source, as: UTF8.self)),
    ]
    if let mediaType = record.mediaType { parts.append(Terminal.printable(mediaType)) }
    if let size = record.sizeBytes { parts.append(ByteSize.rounded(size)) }
    if let url = record.url { parts.append("-> \(Terminal.printable(url))") }
    if let reason = record.reason { parts.append("(\(reason.stage): \(Terminal.printable(reason.message)))") }
    return parts.joined(separator: "  ") + "\n"
  }

  /// A code with its sentence. Sentences about the end of a worker already begin with the code.
  static func reason(_ code: String, _ message: String?) -> String {
    guard let message, !message.isEmpty else { return code }
    return Terminal.printable(message.hasPrefix(code + ":") ? message : "\(code): \(message)")
  }
}
