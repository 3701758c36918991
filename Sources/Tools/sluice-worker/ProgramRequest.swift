import Bytes
import CStage
import CWorker
import Pipeline

/// The lines that a program is told, each an object of JSON.
enum ProgramRequest {
  /// The version of the protocol.
  static let version: Int64 = 1

  /// The first line: what the stage is called in the pipeline, and its options with their defaults.
  static func setup(_ stage: StageDefinition) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("sluice", version)
      writer.member("stage", stage.id)
      writer.key("options")
      writer.object { writer in
        // Those of `exec` say what is started, and are none of the program's.
        guard stage.description.id != execId else { return }
        for option in stage.description.options {
          let values = stage.values.filter { $0.name == option.name }
          if values.isEmpty { continue }
          writer.key(option.name)
          if option.shapes.contains(.list) {
            writer.array { writer in for value in values { write(value, option.kind, &writer) } }
          } else {
            write(values[0], option.kind, &writer)
          }
        }
      }
    }
    return writer.text
  }

  private static let execId = "exec"

  private static func write(
    _ value: OptionValue, _ kind: OptionDescription.Kind, _ writer: inout JSONWriter
  ) {
    switch kind {
    case .integer, .bytes, .duration: writer.value(value.integer)
    case .number: writer.value(value.number)
    case .boolean: writer.value(value.integer != 0)
    case .text, .mediaType, .template, .channelName, .file: writer.value(value.text)
    }
  }

  /// An attachment that it is to judge. What is not known is left out.
  static func attachment(
    _ raw: sluice_attachment, _ metadata: [(key: String, value: String)]
  ) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.key("attachment")
      writer.object { writer in
        func text(_ name: String, _ pointer: UnsafePointer<CChar>?) {
          if let pointer { writer.member(name, String(cString: pointer)) }
        }
        text("id", raw.id)
        writer.member("attempt", Int64(raw.attempt))
        text("conversationId", raw.conversation_id)
        text("messageId", raw.message_id)
        text("senderId", raw.sender_id)
        text("fileName", raw.file_name)
        text("declaredType", raw.declared_type)
        text("mediaType", raw.media_type)
        text("sha256", raw.sha256)
        writer.member("size", Int64(clamping: raw.content_size))
        writer.member("content", "/proc/self/fd/\(SLUICE_PROGRAM_CONTENT)")
        writer.key("metadata")
        writer.object { writer in for (key, value) in metadata { writer.member(key, value) } }
      }
    }
    return writer.text
  }
}
