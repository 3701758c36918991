import Foundation
import SQLite
import Testing

/// A folder with attachments and a pipeline whose stages leave objects beside contents, or take contents out of them.
struct DerivedHome {
  let folder: TemporaryFolder

  /// An attachment, as `list` and `show` print it, as far as it concerns what is beside it.
  struct Row: Printed.Record {
    static let kind = "attachment"
    var id: String
    var parentId: String?
    var messageId: String
    var fileName: String
    var status: String
    @Printed.OrNull var url: String?
    @Printed.OrNull var reason: Printed.Reason?
    var derived: [Derived]?
    var metadata: [String: Printed.Value]

    var code: String? { reason?.code }
    /// What its metadata says of its children, without `children.`.
    var children: [String: Printed.Value] {
      let pairs = metadata.filter { $0.key.hasPrefix("children.") }
      return Dictionary(uniqueKeysWithValues: pairs.map { (String($0.key.dropFirst(9)), $0.value) })
    }
  }

  struct Derived: Decodable, Equatable {
    var name: String
    var stage: String
    var mediaType: String
    var sizeBytes: Int
    var sha256: String
    var url: String
  }

  /// - Parameters:
  ///   - stages: as a list that is not indented, before the one that stores.
  ///   - more: further settings.
  init(
    _ stages: String, isStored: Bool = true, retry: String = "{ attempts: 2, backoff: 10ms, max: 50ms }",
    more: String = ""
  ) throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder.path + "/in", withIntermediateDirectories: true)
    try pipeline(stages, isStored: isStored, retry: retry, more: more)
  }

  func pipeline(
    _ stages: String, isStored: Bool = true, retry: String = "{ attempts: 2, backoff: 10ms, max: 50ms }",
    more: String = ""
  ) throws {
    var text = Pipelines.telling(stages, more: "retry: \(retry)\n\(more)")
    if !isStored {
      text = text.replacingOccurrences(
        of: "  - use: store\n    options: { path: \"{attachmentId}.{extension}\" }\n", with: "")
    }
    try folder.write("pipeline.yaml", text)
  }

  func add(_ name: String, _ content: String) throws { try folder.write("in/" + name, content) }

  func sluice(_ words: [String], environment: [String: String] = [:]) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(
      words + ["--home", "home"], in: folder,
      environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()].merging(environment) { $1 })
  }

  @discardableResult
  func sluice(_ words: String...) throws -> SluiceCommand.Outcome { try sluice(words) }

  @discardableResult
  func ingest(_ path: String = "in") throws -> SluiceCommand.Outcome {
    try sluice("ingest", "--format", "json", "--sender", "ann", "--participants", "ann,ben", path)
  }

  func run() throws -> Resident {
    try Resident(folder, environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
  }

  // MARK: Looking

  func rows(_ options: String...) throws -> [Row] {
    try sluice(["list", "--format", "json"] + options).every(Row.self)
  }

  func row(_ name: String) throws -> Row {
    let rows = try rows()
    let found = rows.filter { $0.fileName == name }
    try #require(found.count == 1, "\(name) is one of \(rows.map(\.fileName))")
    return found[0]
  }

  func ledger(_ sql: String) throws -> String? {
    try Connection(folder.path + "/home/sluice.db", .readOnly).prepare(sql).first { $0.text(0) }
  }

  /// The number that a query of the ledger gives.
  func count(_ sql: String) throws -> Int? { try ledger("SELECT count(*) FROM \(sql)").flatMap { Int($0) } }

  func execute(_ sql: String) throws { try Inbox.execute(sql, on: folder.path + "/home/sluice.db") }

  /// The paths of objects that stages have derived, relative to the store.
  var derivedFiles: [String] { folder.files(below: "home/store/derived").map { "derived/" + $0 } }
  var uploads: [String] { folder.files(below: "home/uploads") }

  /// The events that were told, as JSON.
  func events() throws -> [String] {
    try folder.read("home/events.jsonl").split(separator: "\n").map(String.init)
  }

  /// The ledger and the store agree, nothing is under way, and the names of objects count all of theirs.
  func checkWhole(_ place: SourceLocation = #_sourceLocation) throws {
    let verified = try sluice("verify")
    #expect(verified.status == 0, "\(verified.out)", sourceLocation: place)
    #expect(folder.files(below: "home/store/.incoming") == [], sourceLocation: place)
    #expect(try count("jobs") == 0, sourceLocation: place)
    let urls = try #require(
      try ledger(
        "SELECT coalesce(group_concat(url, ' '), '') FROM (SELECT DISTINCT url FROM derived ORDER BY 1)"))
    #expect(urls.split(separator: " ").map(String.init) == derivedFiles, sourceLocation: place)
    let astray = try count(
      """
      derived d JOIN attachments a ON a.key = d.attachment_key WHERE a.status <> 'completed'
      """)
    #expect(astray == 0, sourceLocation: place)
    let wanted = try #require(
      try ledger(
        """
        SELECT coalesce(group_concat(u.id, ' '), '') FROM
          (SELECT u.id FROM uploads u JOIN attachments a ON a.id = u.attachment_id WHERE a.status <> 'completed' ORDER BY 1) u
        """))
    #expect(
      wanted.split(separator: " ").map(String.init) == uploads, "those that may be tried again have theirs",
      sourceLocation: place)
  }

  /// The witness finds each promise kept: what was offered is completed, and all of a tree came out of each.
  ///
  /// - Parameters:
  ///   - names: the files in `in`.
  ///   - tree: what comes out of each of them, as the witness names it.
  ///   - bounds: what the witness is to compare the size of a tree with.
  func checkWitnessed(
    _ names: [String], tree: [String], bounds: [String] = [], recipients: [String] = ["ben"],
    _ place: SourceLocation = #_sourceLocation
  ) throws {
    let witness = Witness(folder: folder, home: "home")
    try witness.offer(names.reduce(into: [:]) { $0[folder.path + "/in/" + $1] = ["completed"] }, tree: tree)
    let faults = try witness.faults(
      [
        "--drained", "--recipients", recipients.joined(separator: ","), "--events",
        "events=home/events.jsonl",
      ] + bounds)
    #expect(faults.map { "\($0.rule): \($0.place): \($0.reason)" } == [], sourceLocation: place)
  }

  /// The schema of events.
  static func schema() throws -> SchemaValidator {
    try SchemaValidator(try SluiceCommand.run(["schema", "--event"], in: try TemporaryFolder()).out)
  }
}
