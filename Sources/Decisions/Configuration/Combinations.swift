import Pipeline

/// Rejects combinations of keys that are each valid alone.
struct Combinations {
  /// The first stage that runs at the end, with its line.
  private var firstEnd: (id: String, line: Int)?
  /// The stage that stores, with its line.
  private var firstStore: (id: String, line: Int)?
  /// Whether a stage was there that may say of what media type a content is.
  private var mayBeTyped = false

  /// Stages that come with Sluice and never do. Others may.
  fileprivate static let untyping: Set = [
    "archive", "digest", "jsonl", "mail", "notify", "pdf", "preview", "scan", "size", "store",
  ]

  /// Call it for each stage in order, then for each channel.
  mutating func check(_ stage: StageDefinition, _ entry: StageEntry, _ findings: inout Findings) {
    checkRole(stage, entry, &findings)
    checkIsolation(stage, entry, &findings)
    checkStore(stage, entry, &findings)
    checkOneObject(stage, entry, &findings)
    checkCondition(stage, entry, &findings)
  }

  /// Checks that the new content of one attachment fits into the total memory.
  func checkMemory(_ given: Given?, _ stages: [StageDefinition], _ findings: inout Findings) {
    guard let given, let largest = stages.filter(\.description.produces).max(by: { $0.output < $1.output }),
      given.value.integer < largest.output
    else { return }
    findings.report(
      given.mark,
      "'memory-total' is \(ByteSize.text(given.value.integer)), less than the \(ByteSize.text(largest.output)) of new "
        + "content that stage '\(largest.id)' may write",
      "write 'memory-total: \(ByteSize.text(largest.output))' or more, or give the stage less 'output'")
  }

  private mutating func checkRole(_ stage: StageDefinition, _ entry: StageEntry, _ findings: inout Findings) {
    let mark = entry.use?.mark ?? entry.mark
    let name = stage.description.id
    switch (entry.place, stage.description.role) {
    case (.stage, .line):
      if let firstEnd {
        findings.report(
          mark,
          "stage '\(stage.id)' comes after '\(firstEnd.id)' (line \(firstEnd.line)), which runs at the end",
          "move it before '\(firstEnd.id)'")
      }
    case (.stage, .end): firstEnd = firstEnd ?? (stage.id, mark.line)
    case (.stage, .channel):
      findings.report(
        mark, "'\(name)' delivers events and is no stage of the line",
        "move it under 'channels', and name it in a stage such as notify")
    case (.stage, .source), (.channel, .source):
      findings.report(
        mark, "'\(name)' fetches content, which no stage and no channel does",
        "write 'lanes: { downloads: { use: \(name) } }'")
    case (.lane, .source): break
    case (.lane, _):
      findings.report(mark, "'\(name)' fetches no links", "name a source, such as 'use: http'")
    case (.channel, .channel): break
    case (.channel, .line), (.channel, .end):
      findings.report(mark, "'\(name)' delivers no events and cannot be a channel", "move it under 'stages'")
    }
  }

  private func checkIsolation(_ stage: StageDefinition, _ entry: StageEntry, _ findings: inout Findings) {
    guard stage.isolation == .fresh, let mark = entry.settings[Grammar.isolation.name]?.mark else { return }
    let reason: String
    if stage.description.role == .end {
      reason = "runs at the end, without content"
    } else if stage.description.flushes {
      reason = "gathers attachments and makes them durable together"
    } else {
      return
    }
    findings.report(
      mark, "'isolation: fresh' does not go with stage '\(stage.id)', which \(reason)",
      "write 'isolation: worker', or leave it out")
  }

  /// Refuses `pass` as the remedy of a stage that stores: the attachment would complete without an object.
  private func checkStore(_ stage: StageDefinition, _ entry: StageEntry, _ findings: inout Findings) {
    guard stage.description.capability == .store else { return }
    for key in Grammar.remedies {
      guard let given = entry.settings[key.name], given.value.text == Remedy.pass.rawValue else { continue }
      findings.report(
        given.mark, "'\(key.name): pass' would complete attachments that stage '\(stage.id)' did not store",
        "write reject, retry or hold")
    }
  }

  /// Refuses `when` where no stage before it finds a media type: what is never run would seem to have passed all.
  private mutating func checkCondition(
    _ stage: StageDefinition, _ entry: StageEntry, _ findings: inout Findings
  ) {
    guard stage.description.role == .line else { return }
    if !mayBeTyped && !entry.conditions.isEmpty {
      findings.report(
        entry.use?.mark ?? entry.mark,
        "stage '\(stage.id)' would never run: no stage before it finds the media type that 'when' asks for",
        "put 'use: mime' before it, or leave 'when' out")
    }
    if !Self.untyping.contains(stage.description.id) { mayBeTyped = true }
  }

  /// Refuses a second stage that stores, and new content after storing: an attachment has one object, its
  /// final content.
  private mutating func checkOneObject(
    _ stage: StageDefinition, _ entry: StageEntry, _ findings: inout Findings
  ) {
    guard stage.description.role == .line else { return }
    let mark = entry.use?.mark ?? entry.mark
    if let firstStore {
      if stage.description.capability == .store {
        findings.report(
          mark, "stage '\(stage.id)' stores what '\(firstStore.id)' (line \(firstStore.line)) has stored",
          "keep one of them; a path may be a map from media types to templates")
      } else if stage.description.produces {
        findings.report(
          mark,
          "stage '\(stage.id)' makes new content after '\(firstStore.id)' (line \(firstStore.line)) has stored the old",
          "move it before '\(firstStore.id)'")
      }
    } else if stage.description.capability == .store {
      firstStore = (stage.id, mark.line)
    }
  }
}

extension PipelineDefinition {
  /// Options by media type of stages that run before any stage finds the media type: only an entry for `*/*` can match there.
  public var uselessMaps: [(stage: StageDefinition, option: String)] {
    stages.prefix { Combinations.untyping.contains($0.description.id) }.flatMap { stage in
      let named = stage.values.filter { $0.key.map { $0 != "*/*" } ?? false }.map(\.name)
      return Set(named).sorted().map { (stage, $0) }
    }
  }
}
