import Foundation
import SQLite
import Testing

/// A home with attachments, a pipeline, more files to ingest and its own programs, copied for each damage.
struct HomeToDamage {
  let folder: TemporaryFolder
  /// The id of one attachment in it.
  let id: String

  static let pipeline = """
    version: 1
    stages:
      - use: size
        options: { max: 1MB }
      - use: store
        options: { path: "documents/{conversationId}/{messageId}/document.{extension}" }
      - use: notify
        options: { to: participants, channels: [events] }
    channels:
      events: { use: jsonl, options: { path: events.jsonl } }
    retry: { attempts: 2, backoff: 10ms, max: 20ms }

    """
  /// The plugins that the pipeline needs.
  static let plugins = ["digest", "size", "store", "notify", "jsonl"].map { "libsluice-\($0).so" }

  /// - Parameter isKilled: the coordinator was killed with all but one attachment done, so that much of the
  ///   ledger is only in the   write-ahead log.
  init(isKilled: Bool) throws {
    folder = try TemporaryFolder()
    for number in 0..<12 {
      try folder.write(
        "in/\(number).txt", "text \(number % 9)\n" + String(repeating: "line\n", count: number * number * 20))
    }
    try folder.write("more/a.txt", "one that comes later\n")
    try folder.write("more/b.txt", "text 1\n" + String(repeating: "line\n", count: 20))
    let folder = folder
    try folder.write(
      "manifest.jsonl",
      ["a", "b"].map { "{\"path\":\"more/\($0).txt\",\"conversationId\":\"c9\"}\n" }.joined())
    let words = ["ingest", "--sender", "ann", "--participants", "ann,ben", "in"]
    if isKilled {
      try folder.write("in/zz", "misbehave linger\n")
      try folder.write(
        "pipeline.yaml",
        Self.pipeline.replacingOccurrences(of: "stages:\n", with: "stages:\n  - use: misbehave\n"))
      let process = try SluiceCommand.start(
        words, in: folder, out: folder.path + "/.out", err: folder.path + "/.err",
        environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
      for _ in 0..<2000 where process.isRunning {
        let left = try? Self.value("SELECT count(*) FROM attachments WHERE status = 'completed'", of: folder)
        if left == "12" { break }
        usleep(5000)
      }
      usleep(50_000)  // the last object gets its path
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      for name in [".out", ".err", "in/zz"] {
        try FileManager.default.removeItem(atPath: folder.path + "/" + name)
      }
    }
    try folder.write("pipeline.yaml", Self.pipeline)
    if !isKilled { try #require(try SluiceCommand.run(words, in: folder).status == 0) }
    id = try #require(try Self.value("SELECT id FROM attachments ORDER BY key LIMIT 1 OFFSET 3", of: folder))
    let program = folder.path + "/bin"
    try FileManager.default.createDirectory(atPath: program, withIntermediateDirectories: true)
    for file in ["sluice", "sluice-worker"] + Self.plugins {
      // The build may be on another disk.
      try FileManager.default.copyItem(
        atPath: "\(SluiceCommand.folder)/\(file)", toPath: "\(program)/\(file)")
    }
  }

  /// A copy of everything. Programs are linked, until one of them is written to.
  func copy() throws -> TemporaryFolder {
    let copy = try TemporaryFolder()
    // A killed coordinator leaves its socket, which cannot be copied.
    unlink(folder.path + "/var/sluice.sock")
    for name in ["in", "more", "var", "pipeline.yaml", "manifest.jsonl"] {
      try FileManager.default.copyItem(atPath: "\(folder.path)/\(name)", toPath: "\(copy.path)/\(name)")
    }
    // Copying would turn hard links into separate files, and verify must see links, too.
    try FileManager.default.createDirectory(atPath: copy.path + "/bin", withIntermediateDirectories: true)
    for file in ["sluice", "sluice-worker"] + Self.plugins {
      try FileManager.default.linkItem(
        atPath: "\(folder.path)/bin/\(file)", toPath: "\(copy.path)/bin/\(file)")
    }
    return copy
  }

  static func value(_ sql: String, of folder: TemporaryFolder) throws -> String? {
    try Connection(folder.path + "/var/sluice.db", .readOnly).prepare(sql).first { $0.text(0) }
  }
}
