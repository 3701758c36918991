import Glibc
import HomeFolder
import LedgerPort
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
  static func line(_ record: AttachmentRecord, _ lineage: Lineage, _ style: Style = .plain) -> String {
    var parts = [style.word(record.outcome.status.rawValue, width: 11), lineage.name(record)]
    if let mediaType = record.outcome.mediaType { parts.append(Terminal.printable(mediaType)) }
    if let size = record.outcome.sizeBytes { parts.append(ByteSize.rounded(size)) }
    if let url = record.outcome.url { parts.append("-> \(Terminal.printable(url))") }
    if let reason = record.outcome.reason {
      parts.append("(\(reason.stage): \(self.reason(Terminal.printable(reason.code), reason.message)))")
    }
    if let contents = unfinishedContents(of: record) { parts.append("(\(contents))") }
    return parts.joined(separator: "  ") + "\n"
  }

  /// What was not completed of what was taken out of an attachment: `of 3 contents 1 rejected`; `nil`: nothing.
  static func unfinishedContents(of record: AttachmentRecord) -> String? {
    let key = "children."
    let metadata = record.outcome.metadata
    // Most have none, and there may be thousands a second.
    guard metadata.utf8.count < metadataLimit, strstr(metadata, "\"\(key)") != nil else { return nil }
    var (all, parts): (Int64, [String]) = (0, [])
    for case (let name, .integer(let count)) in JSONMembers.read(metadata) ?? [] {
      guard name.hasPrefix(key) else { continue }
      let what = name.dropFirst(key.count)
      if what == "count" { all = count }
      if let status = Status(rawValue: String(what)), status != .completed {
        parts.append("\(count) \(what)")
      }
    }
    return parts.isEmpty ? nil : "of \(Count.text(all, "content")) \(parts.joined(separator: ", "))"
  }

  /// Bytes of metadata that are looked through for that.
  private static let metadataLimit = 1 << 20

  /// What an attachment is called: where it came from; of an upload, whose file is the home's own, the name that the client gave.
  static func name(_ record: AttachmentRecord) -> String {
    if isUpload(record) { return record.origin.fileName }
    return MboxPath(record.source)?.place ?? String(decoding: record.source, as: UTF8.self)
  }

  /// Whether it was sent over HTTP: its file has its upload's id for a name, and lies in the folder of uploads.
  private static func isUpload(_ record: AttachmentRecord) -> Bool {
    let parts = record.source.split(separator: UInt8(ascii: "/")).suffix(2)
    guard parts.count == 2, let folder = parts.first, let id = parts.last else { return false }
    return folder.elementsEqual(Home.uploads.utf8) && id.count == 32
      && Hexadecimal.bytes(String(decoding: id, as: UTF8.self)) != nil
  }

  /// A code with its sentence. Sentences about the end of a worker already begin with the code.
  static func reason(_ code: String, _ message: String?) -> String {
    guard let message, !message.isEmpty else { return code }
    return Terminal.printable(message.hasPrefix(code + ":") ? message : "\(code): \(message)")
  }
}
