import Pipeline
import Platform
import Wire
import Workbench

/// The printed result of one stage for one file.
struct TrialReport {
  var stage: String
  var file: String
  var result: TrialResult
  /// Of all repetitions, where there were any.
  var profile: Profile?

  /// A line, and one more for each key of metadata, each event, each line of the trace.
  func text(_ style: Style) -> String {
    var parts = [style.word(result.verdict, width: 10), Terminal.printable(file)]
    if let mediaType = result.mediaType { parts.append(Terminal.printable(mediaType)) }
    if profile == nil { parts.append("\(Self.milliseconds(result.microseconds)) ms") }
    if let location = result.location { parts.append("-> \(Terminal.printable(location))") }
    if let produced = result.produced {
      parts.append("new content of \(ByteSize.rounded(produced.content.size))")
    }
    if let code = result.code { parts.append("(\(RecordText.reason(code, result.message)))") }
    let indent = "            "
    var text = parts.joined(separator: "  ") + "\n"
    let width = result.metadata.map(\.key.count).max() ?? 0
    for datum in result.metadata {
      text += "\(indent)\(Help.pad(datum.key, width))  \(Terminal.printable(datum.value.text))\n"
    }
    for entry in result.pieces.derived {
      text += "\(indent)derived \(entry.piece.name)  \(Self.facts(entry))\n"
    }
    for entry in result.pieces.children {
      text += "\(indent)child \(Terminal.printable(entry.piece.name))  \(Self.facts(entry))\n"
    }
    for emission in result.emissions {
      text +=
        "\(indent)event \(Terminal.printable(emission.type)) on \(Terminal.printable(emission.channel)) to "
        + "\(emission.audience)\n"
    }
    let callWidth = result.trace.map(\.call.count).max() ?? 0
    for line in result.trace {
      text += "\(indent)\(Help.pad(line.call, callWidth))  \(Terminal.printable(line.text))\n"
    }
    if let profile {
      text +=
        "\(indent)\(Count.text(profile.count, "time")): median \(Self.milliseconds(profile.median)) ms, "
        + "p99 \(Self.milliseconds(profile.p99)) ms, longest \(Self.milliseconds(profile.longest)) ms; the worker held "
        + "\(ByteSize.rounded(profile.peak)) at most\n"
    }
    return text
  }

  private static func facts(_ entry: TrialPieces.Entry) -> String {
    let type = entry.piece.mediaType.map { "\(Terminal.printable($0))  " } ?? ""
    return "\(type)\(ByteSize.rounded(entry.content.size))  \(entry.sha256)"
  }

  private static func milliseconds(_ microseconds: Int64) -> String {
    Decimal.text(Double(microseconds) / 1000, 3)
  }

  var json: String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "stage")
      writer.member("stage", stage)
      writer.member("file", file)
      writer.member("verdict", result.verdict)
      writer.member("code", result.code)
      writer.member("message", result.message)
      writer.member("mediaType", result.mediaType)
      writer.key("metadata")
      writer.raw(JSONWriter.object(of: result.metadata))
      writer.key("events")
      writer.array { writer in
        for emission in result.emissions {
          writer.object { writer in
            writer.member("type", emission.type)
            writer.member("channel", emission.channel)
            writer.member("to", "\(emission.audience)")
          }
        }
      }
      writer.member("location", result.location)
      writer.member("producedBytes", result.produced?.content.size)
      writer.member("producedSha256", result.produced?.sha256)
      write("derived", result.pieces.derived, to: &writer)
      write("children", result.pieces.children, to: &writer)
      writer.key("milliseconds")
      writer.value(Double(result.microseconds) / 1000)
      if !result.trace.isEmpty { write(result.trace, to: &writer) }
      if let profile { write(profile, to: &writer) }
    }
    return writer.text + "\n"
  }

  private func write(_ key: String, _ pieces: [TrialPieces.Entry], to writer: inout JSONWriter) {
    if pieces.isEmpty { return }
    writer.key(key)
    writer.array { writer in
      for entry in pieces {
        writer.object { writer in
          writer.member("name", entry.piece.name)
          writer.member("mediaType", entry.piece.mediaType)
          writer.member("sizeBytes", entry.content.size)
          writer.member("sha256", entry.sha256)
        }
      }
    }
  }

  private func write(_ trace: [TraceLine], to writer: inout JSONWriter) {
    writer.key("trace")
    writer.array { writer in
      for line in trace {
        writer.object { writer in
          writer.member("call", line.call)
          writer.member("text", line.text)
        }
      }
    }
  }

  private func write(_ profile: Profile, to writer: inout JSONWriter) {
    writer.key("profile")
    writer.object { writer in
      writer.member("count", Int64(profile.count))
      for (key, time) in [
        ("medianMilliseconds", profile.median), ("p99Milliseconds", profile.p99),
        ("longestMilliseconds", profile.longest),
      ] {
        writer.key(key)
        writer.value(Double(time) / 1000)
      }
      writer.member("peakBytes", profile.peak)
    }
  }
}
