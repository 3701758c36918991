import Foundation
import SQLite
import Testing

/// A home witnessed from its beginning that keeps every promise: texts, two of them with equal content, one
/// that is rejected, and one whose coordinator was killed while working on it. Events go to a file and to a
/// webhook.
struct WitnessedHome {
  let folder: TemporaryFolder
  /// How the witness is asked.
  var options = [
    "--recipients", Self.recipients.joined(separator: ","), "--events", "events=var/events.jsonl", "--calls",
    "hook",
  ]

  static let recipients = ["ben", "eva"]

  var witness: Witness { Witness(folder: folder) }
  var eventsFile: String { folder.path + "/var/events.jsonl" }
  func object(_ path: String) -> String { folder.path + "/var/store/" + path }

  /// The broken promises that the witness finds.
  func broken(isDrained: Bool = true) throws -> [Witness.Fault] {
    try witness.faults((isDrained ? ["--drained"] : []) + options)
  }

  // MARK: Making it

  /// - Parameter whenKilled: inspects the home while an attachment is still leased.
  static func make(whenKilled: (WitnessedHome) throws -> Void = { _ in }) throws -> WitnessedHome {
    let home = WitnessedHome(folder: try TemporaryFolder())
    let texts = ["a.txt": "the first\n", "b.txt": "the second\n", "s.sh": "#!/bin/sh\nls\n"]
    for (name, text) in texts { try home.folder.write("in/" + name, text) }
    try home.folder.write("in/zz.txt", "misbehave sleep\n")
    let (listening, port) = try home.witness.listen(channel: "hook")
    try home.write(pipeline: "  - use: misbehave\n", port)
    let out = home.folder.path + "/.out"
    let recording = try home.witness.record(to: out)
    let process = try SluiceCommand.start(
      ingest, in: home.folder, out: out, err: home.folder.path + "/.err",
      environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()], recording: recording)
    try #require(try home.waitForTheOneThatIsHeld(out))
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    recording.end()
    try whenKilled(home)
    try home.witness.offer(
      ["zz.txt", "a.txt", "b.txt", "twin.txt", "s.sh"].reduce(into: [:]) { offers, name in
        offers[home.folder.path + "/in/" + name] = [name == "s.sh" ? "rejected" : "completed"]
      })
    try home.folder.write("in/twin.txt", "the second\n")
    try home.write(pipeline: "", port)
    let last = try SluiceCommand.run(
      ingest, in: home.folder, witness: home.witness)
    try #require(last.status == 1, "the script that was rejected is known: \(last.out)\(last.err)")
    try listening.handOver()
    listening.end()
    return home
  }

  /// A copy, with its own journal.
  func copy() throws -> WitnessedHome {
    let copy = WitnessedHome(folder: try TemporaryFolder(), options: options)
    try #require(
      try FixtureStages.run(
        "/bin/cp", ["-a", folder.path + "/var", folder.path + "/.witness", copy.folder.path]) == 0)
    return copy
  }

  private static let ingest = [
    "ingest", "--home", "var", "--sender", "ann", "--participants", "ann,ben,eva", "--conversation", "c1",
    "--format", "json", "in",
  ]

  private func write(pipeline more: String, _ port: Int) throws {
    try folder.write(
      "pipeline.yaml",
      """
      version: 1
      stages:
        - use: mime
          options: { deny: [text/x-shellscript] }
      \(more)  - use: store
          options: { path: "{attachmentId}.{extension}" }
        - use: notify
          options: { to: participants, channels: [events, hook] }
      channels:
        events: { use: jsonl, options: { path: events.jsonl } }
        hook: { use: webhook, options: { \(Witness.webhook(port)) } }
      """)
  }

  /// Waits until it is leased, and all others have been told.
  private func waitForTheOneThatIsHeld(_ out: String) throws -> Bool {
    let query = """
      SELECT 1 FROM jobs JOIN attachments a ON kind = 'attachment' AND a.key = subject
      WHERE file_name = 'zz.txt' AND state = 'leased'
      """
    for _ in 0..<50_000 {
      if let ledger = try? Connection(folder.path + "/var/sluice.db", .readOnly),
        let isHeld = try? ledger.prepare(query).first(make: { $0.integer(0) }), isHeld == 1,
        try Data(contentsOf: URL(fileURLWithPath: out)).count(where: { $0 == UInt8(ascii: "\n") }) == 3
      {
        return true
      }
      usleep(2000)
    }
    return false
  }

  // MARK: Breaking it

  /// Changes the ledger, without its constraints.
  func sql(_ sql: String) throws {
    let connection = try Connection(folder.path + "/var/sluice.db")
    try connection.execute("PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF; \(sql)")
  }

  func value(_ sql: String) throws -> String {
    let value = try Connection(folder.path + "/var/sluice.db", .readOnly).prepare(sql).first { $0.text(0) }
    return try #require(value, "\(sql)")
  }

  func value(_ column: String, of file: String) throws -> String {
    try value("SELECT \(column) FROM attachments WHERE file_name = '\(file)'")
  }

  /// Changes the lines of the file of events.
  func events(_ change: (inout [String]) throws -> Void) throws {
    var lines = try folder.read("var/events.jsonl").split(separator: "\n").map(String.init)
    try change(&lines)
    try folder.write("var/events.jsonl", lines.map { $0 + "\n" }.joined())
  }

  /// Changes the journal.
  func journal(_ change: (inout [[String: Any]]) throws -> Void) throws {
    var entries = try folder.read(".witness").split(separator: "\n").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
    try change(&entries)
    let lines = try entries.map { try JSONSerialization.data(withJSONObject: $0) + Data("\n".utf8) }
    try folder.write(".witness", Data(lines.joined()))
  }

  /// Adds a modified copy of the record for a file's attachment to the journal.
  func tellAgain(_ file: String, _ change: (inout [String: Any]) -> Void) throws {
    try journal { entries in
      let told = entries.compactMap { $0["record"] as? [String: Any] }
      var record = try #require(told.last { $0["fileName"] as? String == file })
      change(&record)
      entries.append(["saw": "told", "record": record])
    }
  }
}
