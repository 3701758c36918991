import Pipeline

/// The default stages, as the scheduler knows them from their descriptions, and what they say of a PDF.
enum ScriptedPipeline {
  static let digest = StageDescription(id: "digest", version: "1", summary: "", file: "")
  static let channel = "events"

  static func make(workers: Int) -> PipelineDefinition {
    func stage(_ id: String, _ change: (inout StageDescription) -> Void = { _ in }) -> StageDefinition {
      var description = StageDescription(id: id, version: "1", summary: "", file: "")
      description.keys = [.init(name: "\(id).*", help: "")]
      change(&description)
      return StageDefinition(id: id, description: description, values: [])
    }
    var pdf = stage("pdf")
    pdf.conditions = [MediaTypePattern("application/pdf")].compactMap(\.self)
    let store = stage("store") { ($0.capability, $0.flushes) = (.store, true) }
    var notify = stage("notify") {
      $0.role = .end
      $0.options = [OptionDescription(name: "channel", kind: .channelName, shapes: .one, help: "")]
    }
    notify.values = [OptionValue(name: "channel", text: channel)]
    let lines = stage("jsonl") { ($0.role, $0.flushes) = (.channel, true) }
    return PipelineDefinition(
      stages: [stage("mime"), stage("size"), pdf, store, notify],
      channels: [ChannelDefinition(name: channel, stage: lines)], workers: workers)
  }

  /// As much as mime and pdf say of a usual file.
  static let metadata: [Metadatum] = [
    Metadatum(key: "mime.magic", value: .text("application/pdf")),
    Metadatum(key: "mime.database", value: .text("5.44")),
    Metadatum(key: "mime.extension", value: .text("pdf")),
    Metadatum(key: "pdf.pages", value: .integer(12)),
    Metadatum(key: "pdf.version", value: .text("1.5")),
    Metadatum(key: "pdf.encrypted", value: .boolean(false)),
    Metadatum(key: "pdf.linearized", value: .boolean(false)),
    Metadatum(key: "pdf.title", value: .text("The title of a document")),
    Metadatum(key: "pdf.author", value: .text("The author of it")),
    Metadatum(key: "pdf.creator", value: .text("A program that writes documents")),
    Metadatum(key: "pdf.producer", value: .text("A library that writes PDFs 1.2.3")),
    Metadatum(key: "pdf.created", value: .text("2020-02-29T12:00:00Z")),
    Metadatum(key: "pdf.modified", value: .text("2020-02-29T12:00:00Z")),
    Metadatum(key: "pdf.javascript", value: .boolean(false)),
    Metadatum(key: "pdf.attachments", value: .integer(0)),
    Metadatum(key: "pdf.forms", value: .text("none")),
    Metadatum(key: "pdf.width", value: .number(595)),
    Metadatum(key: "pdf.height", value: .number(842)),
  ]
}
