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
  ///
  /// - Parameter withKind: begin with the one that says what it is.
  static func members(_ record: AttachmentRecord, withKind: Bool = true, _ writer: inout JSONWriter) {
    if withKind { writer.member("record", "attachment") }
    record.write(to: &writer)
  }

  /// One line for people.
  static func line(_ record: AttachmentRecord, _ style: Style = .plain) -> String {
    var parts = [
      style.word(record.outcome.status.rawValue, width: 11),
      Terminal.printable(String(decoding: record.source, as: UTF8.self)),
    ]
    if let mediaType = record.outcome.mediaType { parts.append(Terminal.printable(mediaType)) }
    if let size = record.outcome.sizeBytes { parts.append(ByteSize.rounded(size)) }
    if let url = record.outcome.url { parts.append("-> \(Terminal.printable(url))") }
    if let reason = record.outcome.reason {
      parts.append("(\(reason.stage): \(Terminal.printable(reason.message)))")
    }
    return parts.joined(separator: "  ") + "\n"
  }

  /// A code with its sentence. Sentences about the end of a worker already begin with the code.
  static func reason(_ code: String, _ message: String?) -> String {
    guard let message, !message.isEmpty else { return code }
    return Terminal.printable(message.hasPrefix(code + ":") ? message : "\(code): \(message)")
  }
}
