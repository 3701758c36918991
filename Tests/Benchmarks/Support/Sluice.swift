import Glibc
import Platform
import SQLite

/// The program under test.
enum Sluice {
  static let program = Settings.binaries + "/sluice"

  static func check() throws {
    if access(program, X_OK) != 0 {
      throw BenchError("\(program) is not there; build it first: swift build -c release")
    }
  }

  /// Writes a pipeline of these stages, and returns its path.
  ///
  /// - Parameters:
  ///   - lanes: the settings of the lane for downloads, if there is one.
  ///   - workers: `nil`: the number of processors.
  static func pipeline(
    _ name: String, stages: [String] = standard, channels: [String] = [events], lanes: [String] = [],
    workers: Int? = nil
  ) throws -> String {
    let path = "\(Ground.path)/\(name).yaml"
    var text = "version: 1\n"
    if !lanes.isEmpty { text += "lanes:\n" + lanes.map { "  \($0)\n" }.joined() }
    text += "stages:\n" + stages.map { "  - { \($0) }\n" }.joined()
    if !channels.isEmpty { text += "channels:\n" + channels.map { "  \($0)\n" }.joined() }
    if let workers { text += "workers: \(workers)\n" }
    try Files.write(text, to: path)
    return path
  }

  /// The default stages, admitting everything: the same work as raw.c.
  static let standard = [
    "use: mime, options: { allow: [\"*/*\"] }",
    "use: size, options: { max: 100MB }",
    "use: pdf, when: application/pdf",
    "use: store, options: { path: \"documents/{conversationId}/{messageId}/document.{extension}\" }",
    "use: notify, options: { to: participants, channels: [events] }",
  ]

  static let events = "events: { use: jsonl, options: { path: events.jsonl } }"

  /// Starts an ingest as users would: one recipient of events.
  static func start(_ pipeline: String, home: String, _ paths: [String], json: Bool = false) throws -> Child {
    try Child(
      [
        program, "ingest", "--config", pipeline, "--home", home, "--participants", "a,b", "--sender", "a",
        "--quiet",
      ]
        + (json ? ["--format", "json"] : []) + paths, out: Ground.output("sluice"))
  }

  /// Ingests a folder, and checks that all of it was stored and told.
  static func ingest(_ pipeline: String, home: String, _ input: Input) throws -> Ending {
    let child = try start(pipeline, home: home, [input.folder])
    let ending = try child.end(as: 0)
    try expectStored(input, home: home, child)
    return ending
  }

  /// Fetches the links of a manifest, which lead to all of the input, and checks that all of it was stored and told.
  static func fetch(_ pipeline: String, home: String, _ manifest: String, _ input: Input) throws -> Ending {
    let child = try start(pipeline, home: home, ["--manifest", manifest])
    let ending = try child.end(as: 0)
    try expectStored(input, home: home, child)
    return ending
  }

  private static func expectStored(_ input: Input, home: String, _ child: Child) throws {
    try expectCompleted(input.count, child)
    var stored = 0, bytes: Int64 = 0
    var inodes: Set<ino_t> = []
    try Files.walk(home + "/store/documents") { _, facts in
      stored += 1
      if inodes.insert(facts.st_ino).inserted { bytes += Int64(facts.st_size) }
    }
    guard stored == input.count, inodes.count == input.contents,
      bytes == input.bytes * Int64(input.contents) / Int64(input.count)
    else {
      throw BenchError(
        "\(home) holds \(stored) objects, \(inodes.count) contents, \(bytes) bytes: not what it was given")
    }
    let told = try lines(home + "/events.jsonl")
    guard told == input.count else { throw BenchError("\(told) events for \(input.count) attachments") }
  }

  /// Checks the line of the summary that counts attachments; one that counts deliveries may follow.
  static func expectCompleted(_ count: Int, _ child: Child) throws {
    let lines = try Files.text(child.out).split(separator: "\n")
    let said = "\(count) attachment\(count == 1 ? "" : "s"): \(count) completed, "
    guard lines.contains(where: { $0.hasPrefix(said) }) else {
      throw BenchError(
        "sluice did other work than \(count) attachments: \(lines.last ?? "") \(Files.tail(child.errors))")
    }
  }

  static func lines(_ path: String) throws -> Int {
    try Files.bytes(path).count { $0 == UInt8(ascii: "\n") }
  }

  /// The number of queued attachments, from the output of `sluice status --format json`.
  static func queued(_ child: Child) throws -> Int {
    let said = try Files.text(child.out)
    guard let place = said.range(of: "\"queued\":{\"count\":"),
      let count = Int(said[place.upperBound...].prefix(while: \.isNumber))
    else { throw BenchError("sluice status says nothing of a queue: \(said)") }
    return count
  }

  /// A home's ledger, for reading.
  static func ledger(_ home: String) throws -> Connection {
    let connection = try Connection(home + "/sluice.db", .readOnly)
    connection.neverCheckpointOnClose()
    return connection
  }
}
