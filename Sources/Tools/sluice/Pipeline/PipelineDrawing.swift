import Pipeline

/// A pipeline as text, as Graphviz's dot, and as mermaid.
struct PipelineDrawing {
  /// Stages that share a worker.
  private struct Group {
    var title: String
    var stages: [StageDefinition]
  }

  private let groups: [Group]
  private let channels: [ChannelDefinition]

  init(_ pipeline: PipelineDefinition, digest: StageDescription) {
    let measuring = StageDefinition(id: digest.id, description: digest, values: [])
    groups =
      [Group(title: "worker, content", stages: [measuring])]
      + LinePlan(pipeline.stages).groups.map { group in
        Group(
          title: "\(group.isFresh ? "fresh worker" : "worker"), \(group.capability.name)",
          stages: Array(pipeline.stages[group.stages]))
      }
    channels = pipeline.channels
  }

  /// Which channels a stage names in its options.
  private func channels(of stage: StageDefinition) -> [String] {
    let options = stage.description.options.filter { $0.kind == .channelName }.map(\.name)
    return stage.values.filter { options.contains($0.name) }.map(\.text)
  }

  // MARK: Text

  var text: String {
    let names = groups.flatMap(\.stages).map(\.id) + channels.map(\.name)
    let width = names.map(\.count).max() ?? 0
    var text = "attachment\n"
    for group in groups {
      text += "│\n├─ \(group.title)\n"
      for stage in group.stages {
        text += "│    \(Help.pad(stage.id, width))  \(facts(stage).joined(separator: "; "))\n"
      }
    }
    text += "│\n└─ the ledger: how it ended, and its events\n"
    for channel in channels {
      let facts = ["\(channel.stage.description.id), \(channel.stage.description.capability.name)"]
      text += "     \(Help.pad(channel.name, width))  \(facts.joined(separator: "; "))\n"
    }
    return text
  }

  private func facts(_ stage: StageDefinition) -> [String] {
    var facts: [String] = []
    if stage.id != stage.description.id { facts.append(stage.description.id) }
    if stage == groups.first?.stages.first { facts.append("always first") }
    if stage.description.role == .end { facts.append("at the end, whatever the outcome") }
    if !stage.conditions.isEmpty {
      facts.append("when \(stage.conditions.map(\.description).joined(separator: " or "))")
    }
    if stage.description.produces { facts.append("may replace the content") }
    if stage.description.derives { facts.append("may derive objects") }
    if stage.description.expands { facts.append("may take contents out") }
    facts.append("\(Interval.text(stage.timeout)), \(ByteSize.text(stage.memory))")
    let channels = channels(of: stage)
    if !channels.isEmpty { facts.append("to \(channels.joined(separator: ", "))") }
    let usual = StageDefinition(id: "", description: stage.description, values: [])
    for (name, remedy, isUsual) in [
      ("timeout", stage.onTimeout, stage.onTimeout == usual.onTimeout),
      ("limit", stage.onLimit, stage.onLimit == usual.onLimit),
      ("crash", stage.onCrash, stage.onCrash == usual.onCrash),
    ] where !isUsual { facts.append("on \(name) \(remedy.rawValue)") }
    return facts
  }

  // MARK: Graphs

  /// The sequence of stages, with their conditions.
  private var line: [StageDefinition] { groups.flatMap(\.stages) }

  var dot: String {
    var text = "digraph pipeline {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n"
    text += "  attachment [shape=ellipse];\n  ledger [shape=cylinder];\n"
    for (index, group) in groups.enumerated() {
      text += "  subgraph cluster_\(index) {\n    label=\(Self.quoted(group.title));\n"
      for stage in group.stages {
        text += "    \(Self.quoted(stage.id)) [label=\(Self.quoted(label(stage, "\\n")))];\n"
      }
      text += "  }\n"
    }
    for (from, to) in zip(["attachment"] + line.map(\.id), line.map(\.id) + ["ledger"]) {
      text += "  \(Self.quoted(from)) -> \(Self.quoted(to));\n"
    }
    for channel in channels {
      text +=
        "  \(Self.quoted("channel:" + channel.name)) [label=\(Self.quoted(channel.name)), shape=note];\n"
      text += "  ledger -> \(Self.quoted("channel:" + channel.name)) [style=dashed];\n"
    }
    return text + "}\n"
  }

  var mermaid: String {
    var text = "flowchart LR\n  attachment([attachment])\n  ledger[(ledger)]\n"
    var names: [String] = []
    for (index, group) in groups.enumerated() {
      text += "  subgraph w\(index)[\"\(group.title)\"]\n"
      for stage in group.stages {
        names.append("s\(names.count)")
        text += "    \(names[names.count - 1])[\"\(label(stage, "<br>"))\"]\n"
      }
      text += "  end\n"
    }
    text += "  \((["attachment"] + names + ["ledger"]).joined(separator: " --> "))\n"
    for (index, channel) in channels.enumerated() { text += "  ledger -.-> c\(index)>\"\(channel.name)\"]\n" }
    return text
  }

  private func label(_ stage: StageDefinition, _ newline: String) -> String {
    let condition = stage.conditions.map(\.description).joined(separator: " or ")
    return condition.isEmpty ? stage.id : "\(stage.id)\(newline)when \(condition)"
  }

  /// Names need no escaping: they are validated.
  private static func quoted(_ text: String) -> String { "\"\(text)\"" }
}
