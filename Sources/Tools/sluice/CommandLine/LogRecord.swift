import Pipeline
import Platform

/// A line that a stage logged.
struct LogRecord {
  /// Of the attachment, or for a channel of the delivery.
  var id: String
  var stage: String
  var level: LogLevel
  var text: String

  /// For people, without a newline.
  var line: String { "\(id): \(stage): \(level.name): \(Terminal.printable(text))" }

  var json: String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "log")
      writer.member("id", id)
      writer.member("stage", stage)
      writer.member("level", level.name)
      // What acts on a terminal is escaped, as in every text that sluice prints.
      writer.member("text", Terminal.printable(text))
    }
    return writer.text + "\n"
  }
}
