import Configuration
import Pipeline
import Platform
import Workbench
import Workers

/// What `sluice stages inspect` prints.
struct StageInspection {
  var stage: StageDescription
  var file: PluginFile?
  var sha256: String?

  // MARK: For people

  var text: String {
    var text =
      "\(Self.printable(stage.id)) \(Self.printable(stage.version))  \(Self.printable(stage.summary))\n\n"
    var facts: [(String, String)] = [("file", stage.isBuiltIn ? "built in" : Self.printable(stage.file))]
    if let sha256 { facts.append(("sha256", sha256)) }
    if let program = stage.program {
      facts.append(("program", Self.printable(program.command.joined(separator: " "))))
      facts.append(("processes", "\(program.processes) at once, each with `memory`"))
      facts.append(("content", "at most \(ByteSize.text(program.maxContent)), as a copy in memory"))
    }
    facts.append(("stage ABI", Self.printable(stage.abi)))
    facts.append(("capability", "\(stage.capability.name): \(stage.capability.meaning)"))
    facts.append(("place", place))
    if stage.role == .channel {
      facts.append(
        ("event body", "version \(EventSchema.version); `sluice schema --event` prints its schema"))
    }
    if let compilers = file?.compilers, !compilers.isEmpty {
      facts.append(("made with", Self.printable(compilers.joined(separator: ", "))))
    }
    if let runtime = file?.swiftRuntime { facts.append(("Swift runtime", Self.printable(runtime))) }
    text += facts.map { "  \(Help.pad($0.0, 14))\($0.1)\n" }.joined()
    text += Self.table("Options", stage.options.map { ($0.name, [$0.facts, $0.help]) })
    text += Self.table("Metadata it may record", stage.keys.map { ($0.name, [$0.help]) })
    text += Self.table("Codes it may give", stage.codes.map { ($0.name, [$0.help]) })
    return text
  }

  private var place: String {
    var words: [String] =
      switch stage.role {
      case .line: ["in the line"]
      case .end: ["at the end, for every outcome; it gets no content"]
      case .channel: ["a channel: it delivers events"]
      case .source: ["a source: it fetches the content of links"]
      }
    if stage.produces { words.append("may replace the content") }
    if stage.derives { words.append("may derive objects") }
    if stage.expands { words.append("may take contents out of the content") }
    if stage.turns {
      words.append("works on many \(stage.role == .channel ? "events" : "attachments") at once")
    } else if stage.flushes {
      words.append("a pass counts once it has flushed")
    }
    return words.joined(separator: "; ")
  }

  private static func table(_ head: String, _ rows: [(name: String, lines: [String])]) -> String {
    if rows.isEmpty { return "" }
    let width = min(rows.map(\.name.count).max() ?? 0, 30)
    return "\n\(head)\n"
      + rows.map { row in
        let indent = String(repeating: " ", count: width + 4)
        let lines = row.lines.enumerated().map { ($0 == 0 ? "" : indent) + printable($1) + "\n" }
        return "  \(Help.pad(printable(row.name), width))  \(lines.joined())"
      }.joined()
  }

  private static func printable(_ text: String) -> String { Terminal.printable(text) }

  // MARK: For programs

  var json: String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "plugin")
      for (key, value) in [
        ("id", stage.id), ("version", stage.version), ("summary", stage.summary), ("file", stage.file),
        ("stageABI", stage.abi), ("capability", stage.capability.name), ("role", stage.role.name),
      ] { writer.member(key, value) }
      writer.member("sha256", sha256)
      if stage.role == .channel { writer.member("eventSchema", EventSchema.id) }
      for (key, value) in [
        ("produces", stage.produces), ("derives", stage.derives), ("expands", stage.expands),
        ("flushes", stage.flushes), ("turns", stage.turns),
      ] {
        writer.key(key)
        writer.value(value)
      }
      for (key, values) in [("compilers", file?.compilers ?? []), ("libraries", file?.libraries ?? [])] {
        writer.key(key)
        writer.array { writer in for value in values { writer.value(value) } }
      }
      if let program = stage.program {
        writer.key("program")
        writer.object { writer in
          writer.key("command")
          writer.array { writer in for word in program.command { writer.value(word) } }
          writer.member("processes", Int64(program.processes))
          writer.member("maxContentBytes", program.maxContent)
        }
      }
      writer.key("options")
      writer.array { writer in for option in stage.options { Self.write(option, to: &writer) } }
      for (key, terms) in [("metadata", stage.keys), ("codes", stage.codes)] {
        writer.key(key)
        writer.array { writer in
          for term in terms {
            writer.object { writer in
              writer.member("name", term.name)
              writer.member("help", term.help)
            }
          }
        }
      }
    }
    return writer.text + "\n"
  }

  private static func write(_ option: OptionDescription, to writer: inout JSONWriter) {
    writer.object { writer in
      writer.member("name", option.name)
      writer.member("type", option.kind.noun)
      writer.key("required")
      writer.value(option.required)
      writer.member("default", option.fallback)
      writer.member("minimum", option.range?.lowerBound)
      writer.member("maximum", option.range?.upperBound)
      writer.key("choices")
      writer.array { writer in for choice in option.choices { writer.value(choice) } }
      writer.member("help", option.help)
    }
  }
}
