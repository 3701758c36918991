import Foundation
import SQLite
import Testing

/// A small ingest for faults: texts, two of them with equal content, one that is rejected, and a PDF. After
/// any number of failed runs, a run without faults must complete everything.
final class FaultedIngest {
  let folder: TemporaryFolder
  let faults: FaultLibrary
  /// The status each source must have.
  private(set) var expected: [String: String] = [:]

  /// The folder that is ingested, or the manifest of links.
  private let inputs: String
  private let isOfLinks: Bool

  static let recipients = ["ben", "eva"]

  private var witness: Witness { Witness(folder: folder) }

  /// The same for links, which a source without a network fetches: one of them is not there, and two have the same content.
  init(links: Void) throws {
    isOfLinks = true
    folder = try TemporaryFolder()
    faults = try FaultLibrary(folder, home: folder.path + "/var")
    inputs = folder.path + "/links.jsonl"
    try folder.write(
      "pipeline.yaml",
      Self.pipeline + """

        lanes:
          downloads:
            use: well
            min-free: 1MB
            retry: { attempts: 30, backoff: 5ms, max: 20ms }
        """)
    let links = [
      "one": "/bytes/5000", "two": "/bytes/300000", "twin": "/bytes/5000?again", "slow": "/slow/200000",
      "none": "/gone",
    ]
    // Of a link only the host is recorded in plain: each has its own, so that they can be told apart.
    try folder.write(
      "links.jsonl",
      links.map { #"{"url":"https://\#($0.key).example.com\#($0.value)","fileName":"\#($0.key)"}"# }.sorted()
        .joined(separator: "\n"))
    for name in links.keys {
      expected["https://\(name).example.com/…"] = name == "none" ? "failed" : "completed"
    }
  }

  init(journal: Bool = false) throws {
    isOfLinks = false
    folder = try TemporaryFolder()
    faults = try FaultLibrary(
      folder, home: folder.path + "/var", journal: journal ? folder.path + "/journal" : nil)
    inputs = folder.path + "/input"
    try folder.write("pipeline.yaml", Self.pipeline)
    for (name, text) in [
      ("one.txt", "the first\n"), ("two.txt", "the second\n"), ("twin.txt", "the second\n"),
      ("long.txt", String(repeating: "a line of a longer text\n", count: 600)),
      ("script.sh", "#!/bin/sh\nls\n"),
    ] {
      try add(name, text)
    }
    try FileManager.default.copyItem(
      atPath: SluiceCommand.projectFolder + "/Plugins/pdf/fixtures/report.pdf",
      toPath: folder.path + "/input/report.pdf")
    expected[folder.path + "/input/report.pdf"] = "completed"
  }

  /// Adds a file.
  func add(_ name: String, _ text: String) throws {
    try folder.write("input/" + name, text)
    expected[folder.path + "/input/" + name] = name == "script.sh" ? "rejected" : "completed"
  }

  /// The same files under the same names, in a new folder, with the output of an earlier run.
  init(like other: FaultedIngest, told text: [UInt8]) throws {
    isOfLinks = false
    folder = try TemporaryFolder()
    faults = try FaultLibrary(folder, home: folder.path + "/var")
    try folder.write("pipeline.yaml", Self.pipeline)
    // The ledger knows the files by their paths.
    inputs = other.inputs
    expected = other.expected
    try witness.record(String(decoding: text.prefix(through: text.lastIndex(of: 0x0A) ?? -1), as: UTF8.self))
  }

  /// Enough attempts that no attachment is quarantined for killing its workers, and short waits.
  private static let pipeline = Pipelines.open
    .replacingOccurrences(of: "allow: [\"*/*\"]", with: "deny: [text/x-shellscript]")
    .replacingOccurrences(
      of: "retry: { attempts: 3, backoff: 100ms, max: 1s }",
      with: "retry: { attempts: 30, backoff: 5ms, max: 20ms }")

  private var arguments: [String] {
    [
      "ingest", "--home", "var", "--sender", "ann", "--participants", "ann,ben,eva", "--conversation", "c1",
      "--format", "json",
    ] + (isOfLinks ? ["--manifest", inputs] : [inputs])
  }

  /// Runs it with or without a fault. A run that takes longer than half a minute counts as hanging.
  @discardableResult
  func run(_ fault: FaultLibrary.Fault? = nil) throws -> SluiceCommand.Outcome {
    faults.set(fault)
    // Without a fault and without a journal, the library is not needed.
    var environment = fault == nil && !faults.keepsJournal ? [:] : try faults.environment()
    if isOfLinks { environment["SLUICE_PLUGIN_PATH"] = try FixtureStages.folder() }
    let outcome = try SluiceCommand.run(
      ["--signal=KILL", "30", SluiceCommand.folder + "/sluice"] + arguments, in: folder,
      environment: environment, program: "/usr/bin/timeout", witness: witness)
    #expect(outcome.status != 137, "it hangs: \(fault.map { "\($0)" } ?? "no fault")")
    return outcome
  }

  /// Ends the scenario: a run without faults, after which everything must be in order.
  ///
  /// - Parameter mayFail: attachments may have used up their attempts.
  /// - Returns: the number of broken rules.
  func finish(mayFail: Bool = false, _ story: @autoclosure () -> String) throws -> Int {
    var last = try run()
    try #require(
      FileManager.default.fileExists(atPath: folder.path + "/var/sluice.db"),
      "\(story()): the last run: \(last.status) \(last.err)")
    // A failed delivery is retried after five seconds and some jitter.
    for _ in 0..<3 {
      guard try hasJobs else { break }
      usleep(6_000_000)
      last = try run()
    }
    #expect(last.status == 0 || last.status == 1, "\(story()): the last run: \(last.status) \(last.err)")
    let expected = expected.mapValues { mayFail ? [$0, "failed", "quarantined"] : [$0] as Set }
    return try witness.check(expected, recipients: Self.recipients, story())
  }

  /// Whether a job is queued or scheduled.
  private var hasJobs: Bool {
    get throws {
      let ledger = try Connection(folder.path + "/var/sluice.db", .readOnly)
      return try ledger.prepare("SELECT count(*) FROM jobs").first { $0.integer(0) } != 0
    }
  }
}
