import Ledger
import Pipeline
import Platform

/// What one stage alone said of one file.
struct StageTrial {
  var stage: String
  var file: String
  /// Of the contract, or the name of how its worker ended.
  var verdict: String
  var code: String?
  var message: String?
  var mediaType: String?
  var metadata: [Metadatum] = []
  /// Where the object lay below the store.
  var location: String?
  /// Bytes of new content, if the stage wrote any.
  var producedBytes: Int64?
  var milliseconds: Double = 0

  var isPassed: Bool { verdict == Verdict.pass.name }

  /// A line, and one more for each key of metadata.
  func text(_ style: Style) -> String {
    var parts = [style.word(verdict, width: 10), Terminal.printable(file)]
    if let mediaType { parts.append(Terminal.printable(mediaType)) }
    parts.append("\(Decimal.text(milliseconds, 3)) ms")
    if let location { parts.append("-> \(location)") }
    if let producedBytes { parts.append("new content of \(ByteSize.rounded(producedBytes))") }
    if let code { parts.append("(\(RecordText.reason(code, message)))") }
    var text = parts.joined(separator: "  ") + "\n"
    let width = metadata.map(\.key.count).max() ?? 0
    for datum in metadata {
      text += "            \(Help.pad(datum.key, width))  \(Terminal.printable(datum.value.text))\n"
    }
    return text
  }

  var json: String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "stage")
      writer.member("stage", stage)
      writer.member("file", file)
      writer.member("verdict", verdict)
      writer.member("code", code)
      writer.member("message", message)
      writer.member("mediaType", mediaType)
      writer.key("metadata")
      writer.raw(JSONWriter.object(of: metadata))
      writer.member("location", location)
      writer.member("producedBytes", producedBytes)
      writer.key("milliseconds")
      writer.value(milliseconds)
    }
    return writer.text + "\n"
  }
}
