import Pipeline
import Platform

/// A line that a stage logged.
struct LogRecord {
  /// Of the attachment, or for a channel of the delivery.
  var id: String
  /// The same as the id, but for a channel.
  var attachmentId: String
  var stage: String
  var level: LogLevel
  var text: String

  /// For people, without a newline.
  var line: String {
    let subject = id == attachmentId ? id : "\(id) of \(attachmentId)"
    return "\(subject): \(stage): \(level.name): \(Terminal.printable(text))"
  }

  var json: String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "log")
      writer.member("id", id)
      writer.member("attachmentId", attachmentId)
      writer.member("stage", stage)
      writer.member("level", level.name)
      // What acts on a terminal is escaped, as in every text that sluice prints.
      writer.member("text", Terminal.printable(text))
    }
    return writer.text + "\n"
  }
}
