import Foundation
import Testing

/// A plugin that was built against the header of contract 1.0 runs unchanged. The fixture `built-for-1-0` includes that header,
/// which is kept beside it as it was.
@Suite struct OldContractTests {
  private let inbox: Inbox

  init() throws {
    inbox = try Inbox()
    try pipeline()
  }

  private func pipeline(word: String = "good", max: String = #"{ "text/*": 100B, "*/*": 1MB }"#) throws {
    try inbox.folder.write(
      "pipeline.yaml",
      Pipelines.telling(
        """
        - use: built-for-1-0
          options: { word: \(word), max: \(max), loud: true, ratio: 0.25, slow: 3s, names: [a, b] }
        """, more: "retry: { attempts: 3, backoff: 10ms, max: 50ms }"))
  }

  // MARK: It runs

  @Test func itIsDescribedAsBuiltFor1_0() throws {
    let plugin = try FixtureStages.folder() + "/libsluice-built-for-1-0.so"
    let inspected = try SluiceCommand.run(
      ["stages", "inspect", plugin, "--format", "json"], in: inbox.folder)
    #expect(inspected.status == 0, "\(inspected.err)")
    #expect(try inspected.only(Printed.Inspection.self).stageABI == "1.0")
    let said = try SluiceCommand.run(["stages", "inspect", plugin], in: inbox.folder).out
    #expect(said.contains("stage ABI     1.0\n"), "\(said)")
    #expect(said.contains("may replace the content; a pass counts once it has flushed"), "\(said)")
    for name in ["word", "max", "loud", "ratio", "slow", "names", "channel", "old.*", "not-yet", "broken"] {
      #expect(said.contains("\n  \(name) "), "\(name) is missing: \(said)")
    }
  }

  @Test func whatItSaysCountsAsItDid() throws {
    for (name, start) in [
      ("good.txt", "good"), ("bad.txt", "bad"), ("again.txt", "again"), ("late.txt", "late"),
      ("broken.txt", "broken"),
    ] {
      try inbox.add(name, "\(start) words\n")
    }
    try inbox.add("long.txt", String(repeating: "long\n", count: 30))
    let run = try inbox.run()
    #expect(run.outcome.status == 1, "\(run.outcome.err)")
    try inbox.checkWhole(run)

    let good = try run.record("good.txt")
    #expect(good.status == "completed", "\(good)")
    #expect(good.mediaType == "text/x-old")
    let content = Data("good: good words\n".utf8)
    #expect(good.sizeBytes == content.count)
    #expect(try good.sha256 == Inbox.sha256(content))
    let metadata = good.metadata.filter { ["old", "not-listed"].contains($0.key.prefix { $0 != "." }) }
    #expect(
      metadata == [
        "old.word": "good", "old.found": "text/plain", "old.place": "ann/old", "old.names": "a+b",
        "old.attempt": 1, "old.slow": 3000, "old.ratio": 0.25, "old.loud": true,
      ])
    let emitted = try inbox.ledger(
      """
      SELECT group_concat(row, ', ') FROM (
        SELECT a.file_name || ' ' || d.recipient || ' ' || d.status AS row
        FROM deliveries d JOIN events e ON e.key = d.event_key JOIN attachments a ON a.key = e.attachment_key
        WHERE e.type = 'old.seen' ORDER BY row)
      """)
    #expect(emitted == "again.txt ann delivered, good.txt ann delivered")

    let again = try run.record("again.txt")
    #expect(again.status == "completed", "\(again)")
    #expect(again.metadata["old.attempt"] == 2)

    let others: [(String, status: String, code: String, message: String)] = [
      ("bad.txt", "rejected", "wrong-word", "bad.txt begins with bad"),
      ("long.txt", "rejected", "too-long", "text/plain has more than 100 bytes"),
      ("late.txt", "rejected", "late", "found out at the barrier"),
      ("broken.txt", "failed", "broken", "it says so itself"),
    ]
    for (name, status, code, message) in others {
      let record = try run.record(name)
      #expect(record.status == status && record.code == code && record.message == message, "\(record)")
    }
  }

  @Test func aPipelineThatItRefusesDoesNotRun() throws {
    try inbox.add("good.txt", "good words\n")
    for (word, max, reason) in [
      ("none", "1KB", "option 'word' is none"),
      ("other", "1KB", "'other'"),
      ("good", "2MB", "2MB"),
    ] {
      try pipeline(word: word, max: max)
      let run = try inbox.run()
      #expect(run.outcome.status == 78, "\(run.outcome.err)")
      #expect(run.outcome.attachments.isEmpty)
      #expect(run.outcome.err.contains(reason), "\(run.outcome.err)")
    }
  }

  // MARK: The header has only grown

  private static let old = SluiceCommand.projectFolder + "/Tests/Fixtures/Stages/stage-1.0.h"
  private static let new = SluiceCommand.projectFolder + "/Sources/Contract/CStage/include/sluice/stage.h"

  /// What stands in arrays is as long as it was; other structs have grown at the end only.
  @Test func everyMemberIsWhereItWasIn1_0() throws {
    let (old, new) = (try records(of: Self.old), try records(of: Self.new))
    #expect(
      Set(old.keys) == [
        "sluice_option", "sluice_value", "sluice_term", "sluice_event", "sluice_attachment", "sluice_host",
        "sluice_opening", "sluice_stage",
      ])
    for (name, record) in old {
      let today = try #require(new[name], "\(name) is gone")
      #expect(Array(today.members.prefix(record.members.count)) == record.members, "\(name)")
      if ["sluice_option", "sluice_value", "sluice_term"].contains(name) {
        #expect(today.size == record.size, "\(name) stands in arrays")
      }
    }
  }

  @Test func everyConstantAndTypeIsWhatItWasIn1_0() throws {
    let minor = "#define SLUICE_ABI_MINOR "
    let macros = { (header: String) in
      try clang(["-dM", "-E", header]).filter { $0.hasPrefix("#define SLUICE_") && !$0.hasPrefix(minor) }
    }
    let (old, new) = (try macros(Self.old), Set(try macros(Self.new)))
    #expect(old.count > 30)
    for macro in old { #expect(new.contains(macro), "\(macro)") }
    let typedefs = { (header: String) in
      try String(contentsOfFile: header, encoding: .utf8).split(separator: "\n").filter {
        $0.hasPrefix("typedef ") && $0.hasSuffix(";")
      }
    }
    let (names, today) = (try typedefs(Self.old), Set(try typedefs(Self.new)))
    #expect(names.count >= 5)
    for name in names { #expect(today.contains(name), "\(name)") }
  }

  private struct CRecord {
    /// Each with its offset, its type and its name.
    var members: [String] = []
    var size = ""
  }

  /// The structs of a header, as the compiler lays them out.
  private func records(of header: String) throws -> [String: CRecord] {
    var records: [String: CRecord] = [:]
    var name = ""
    for line in try clang(["-fsyntax-only", "-Xclang", "-fdump-record-layouts-complete", header]) {
      let parts = line.split(separator: "|", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
      guard parts.count == 2 else { continue }
      if parts[1].hasPrefix("struct sluice_") {
        name = String(parts[1].dropFirst("struct ".count))
        records[name] = CRecord()
      } else if parts[0].isEmpty {
        records[name]?.size = parts[1]
        name = ""
      } else {
        records[name]?.members.append("\(parts[0]) \(parts[1])")
      }
    }
    return records
  }

  /// What the compiler of the Swift toolchain prints of a header.
  private func clang(_ arguments: [String]) throws -> [String] {
    let said = try SluiceCommand.run(
      ["-std=c11", "-x", "c"] + arguments, in: inbox.folder, program: FixtureStages.compiler)
    #expect(said.status == 0, "\(said.err)")
    return said.out.split(separator: "\n").map(String.init)
  }
}
