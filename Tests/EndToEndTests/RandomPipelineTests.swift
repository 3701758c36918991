import Foundation
import Platform
import Testing

/// An ingest, `sluice test` and `sluice replay` agree on the outcome of an attachment, whatever its stages
/// do.
@Suite(.serialized)
struct RandomPipelineTests {
  @Test func commandsAgreeOnRandomPipelines() throws {
    try RandomPipeline.compare(1...24)
  }
}

@Suite(.serialized, .enabled(if: Soak.isOn, Soak.skipped))
struct RandomPipelineSoakTests {
  @Test(arguments: 0..<4) func commandsAgreeOnTwoThousandRandomPipelines(quarter: UInt64) throws {
    let first = 1000 + quarter * 500
    let failures = try RandomPipeline.compare(first...first + 499)
    Soak.row("a random pipeline in ingest, test and replay", tries: 500, failures: failures)
  }
}

/// Stages that act by a plan: an act for each of six files.
struct RandomPipeline {
  private struct Stage {
    var id: String
    var isAtEnd: Bool
    /// Its act, by file.
    var acts: [Character: Character]
    var channel: String?
    var when: String?
    var onCrash: String
    var isFresh: Bool

    var text: String {
      let plan = acts.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
      var text = "  - use: \(isAtEnd ? "act-end" : "act")\n    id: \(id)\n    on-crash: \(onCrash)\n"
      if let when { text += "    when: \"\(when)\"\n" }
      if isFresh { text += "    isolation: fresh\n" }
      text += "    options: { plan: \"\(plan)\", type: \"act.\(id)\""
      return text + (channel.map { ", channel: \($0)" } ?? "") + " }\n"
    }
  }

  private static let files: [Character] = ["a", "b", "c", "d", "e", "f"]
  private static let channels = ["east", "west"]

  private let seed: UInt64
  private let text: String
  private var stages: [Stage] = []

  /// Compares the pipelines of these seeds, and returns how many differ.
  @discardableResult
  static func compare(_ seeds: ClosedRange<UInt64>) throws -> Int {
    var failures = 0
    for seed in seeds {
      let pipeline = RandomPipeline(seed: seed)
      let differences = try pipeline.differences()
      if differences.isEmpty { continue }
      failures += 1
      Issue.record("seed \(seed):\n\(pipeline.text)\n\(differences.joined(separator: "\n"))")
    }
    return failures
  }

  private init(seed: UInt64) {
    self.seed = seed
    var random = SplitMix(state: seed)
    let lineCount = Int.random(in: 1...4, using: &random)
    let endCount = Int.random(in: 0...3, using: &random)
    for place in 0..<(lineCount + endCount) {
      let isAtEnd = place >= lineCount
      let choices: [Character] =
        isAtEnd ? Array("pppppeeexrftc") : Array("ppppppppmmnneexrftc")
      var acts: [Character: Character] = [:]
      for file in Self.files { acts[file] = choices.randomElement(using: &random) }
      stages.append(
        Stage(
          id: "\(isAtEnd ? "end" : "line")-\(place)", isAtEnd: isAtEnd, acts: acts,
          channel: Bool.random(using: &random) ? Self.channels.randomElement(using: &random) : nil,
          // Nothing has found a media type before the first.
          when: Int.random(in: 0..<5, using: &random) == 0 && place > 0 ? "image/*" : nil,
          onCrash: ["reject", "retry", "hold", "pass"].randomElement(using: &random) ?? "retry",
          isFresh: !isAtEnd && Int.random(in: 0..<6, using: &random) == 0))
    }
    let store =
      Bool.random(using: &random)
      ? "  - { use: store, options: { path: \"{attachmentId}\" } }\n" : ""
    let lines = stages.filter { !$0.isAtEnd }.map(\.text).joined()
    let ends = stages.filter(\.isAtEnd).map(\.text).joined()
    text = """
      version: 1
      stages:
      \(lines)\(store)\(ends)channels:
        east: { use: jsonl, options: { path: east.jsonl } }
        west: { use: jsonl, options: { path: west.jsonl } }
      retry: { attempts: 1 }
      """
  }

  private func differences() throws -> [String] {
    let folder = try TemporaryFolder()
    for file in Self.files { try folder.write("in/\(file)", "content of \(file)\n") }
    try folder.write("pipeline.yaml", text)
    let environment = ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()]
    func sluice(_ words: String...) throws -> SluiceCommand.Outcome {
      try SluiceCommand.run(words, in: folder, environment: environment)
    }
    let ingest = try sluice(
      "ingest", "--home", "home", "--format", "json", "--sender", "ann", "--participants", "ann,ben", "in")
    guard [0, 1].contains(ingest.status), ingest.attachments.count == Self.files.count else {
      return ["ingest: \(ingest.status) \(ingest.err)"]
    }
    let told = try told(folder)
    var cases = "pipeline: pipeline.yaml\ncases:\n"
    for record in ingest.attachments {
      let story = try sluice("show", "--home", "home", "--format", "json", record.id).only(Printed.Story.self)
      cases += Self.expectation(record, path: story.attempts.map(\.stage), told[record.id] ?? [])
    }
    try folder.write("cases.yaml", cases)
    var differences: [String] = []
    let test = try sluice("test", "cases.yaml")
    if test.status != 0 { differences.append("test: \(test.out) \(test.err)") }
    let replay = try sluice("replay", "--home", "home", "--format", "json")
    let played = replay.records(Printed.Replay.self)
    for one in played where !one.changes.isEmpty {
      differences.append("replay: \(one)")
    }
    if played.count != Self.files.count { differences.append("replay: \(replay.status) \(replay.err)") }
    for (id, events) in told where Set(events).count * 2 != events.count {
      differences.append("told other than once to each of two: \(id) \(events)")
    }
    return differences
  }

  /// The events that were delivered: by attachment, the type and channel of each, once per recipient.
  private func told(_ folder: TemporaryFolder) throws -> [String: [String]] {
    var told: [String: [String]] = [:]
    for channel in Self.channels {
      for event in try Event.read((try? folder.read("home/\(channel).jsonl")) ?? "") {
        told[event.data.attachmentId, default: []].append("\(event.type) \(channel)")
      }
    }
    return told
  }

  /// An ingest's record as a case that must have the same result.
  ///
  /// - Parameter path: the stages of its attempts.
  private static func expectation(_ record: Printed.Attachment, path: [String], _ told: [String]) -> String {
    let file = record.fileName
    // In the order in which the stages ran; a stage's events bear its name.
    let events = path.flatMap { stage in
      Set(told.filter { $0.hasPrefix("act.\(stage) ") }).map { event -> String in
        let words = event.split(separator: " ")
        return "{ type: \(words[0]), channel: \(words[1]), to: everyone }"
      }
    }
    var text = "  - name: \(file)\n    input: in/\(file)\n    expect:\n"
    text += "      outcome: \(record.status)\n"
    if let reason = record.reason {
      text += "      code: \(reason.code)\n      stage: \(reason.stage)\n"
    }
    if !path.isEmpty { text += "      path: [\(path.joined(separator: ", "))]\n" }
    let metadata = record.metadata.sorted { $0.key < $1.key }
    text += "      metadata: { \(metadata.map { "\($0.key): \($0.value)" }.joined(separator: ", ")) }\n"
    return text + "      events: [\(events.joined(separator: ", "))]\n"
  }
}
