import Foundation
import SQLite
import Testing

/// A home for verbs: attachments that are queued, completed and rejected; two with one object; deliveries that wait, and dead ones.
final class VerbHome {
  let folder: TemporaryFolder
  var path: String { folder.path + "/home" }

  /// A folder without a home.
  init() throws {
    folder = try TemporaryFolder()
  }

  init(like other: VerbHome) throws {
    folder = try TemporaryFolder()
    try FileManager.default.copyItem(atPath: other.path, toPath: path)
  }

  /// A copy of the one that all share, on which these commands were run.
  convenience init(preparedBy commands: [[String]]) throws {
    try self.init(like: try Self.made.get())
    for words in commands { try #require(try run(words).status == 0, "\(words)") }
  }

  func run(_ words: [String], environment: [String: String] = [:]) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(words + ["--home", "home"], in: folder, environment: environment)
  }

  private nonisolated(unsafe) static let made = Result<VerbHome, any Error> {
    let home = try VerbHome()
    let secret = "whsec_" + Data(repeating: 7, count: 32).base64EncodedString()
    // Nobody listens there.
    func hook(_ attempts: Int) -> String {
      "{ use: webhook, options: { url: 'http://127.0.0.1:9/', secrets: ['\(secret)'], allow-private: [127.0.0.1] },"
        + " retry: { attempts: \(attempts), backoff: 10h, max: 10h } }"
    }
    try home.folder.write(
      "pipeline.yaml",
      """
      version: 1
      stages:
        - use: mime
          options: { allow: ["*/*"] }
        - use: size
          options: { max: 20B }
        - use: store
          options: { path: "{sha256}.{extension}" }
        - use: notify
          options: { to: participants, channels: [gone, slow] }
      channels:
        gone: \(hook(1))
        slow: \(hook(5))
      """)
    for (name, text) in [
      ("a", "the text of a"), ("b", "the text of b"), ("twin", "the text of b"),
      ("long", "a text that is too long"),
      ("longer", "a text that is even longer"),
    ] { try home.folder.write("in/\(name).txt", text + "\n") }
    for name in ["d", "e", "f"] { try home.folder.write("later/\(name).txt", "the text of \(name)\n") }
    let ingest = try home.run(["ingest", "--sender", "ann", "--participants", "ann,ben", "in"])
    try #require([1, 75].contains(ingest.status), "\(ingest.err)")
    // Of what is completed, a and the others would be rejected.
    try home.folder.write(
      "home/strict.yaml",
      """
      version: 1
      stages:
        - use: mime
          options: { allow: ["*/*"] }
        - use: size
          options: { max: 10B }
        - use: store
          options: { path: "{sha256}.{extension}" }
      """)
    let enqueued = try home.run(["enqueue", "--sender", "ann", "--participants", "ann,ben", "later"])
    try #require(enqueued.status == 0, "\(enqueued.err)")
    return home
  }
}

/// All that lasts in a home, without the times of what was done and without the coordinators.
struct HomeImage: Equatable {
  /// Of all tables but that of paths.
  var rows: [String] = []
  /// The paths of objects, with their uses.
  var names: [String: Int64] = [:]
  var objects: Set<String> = []
  /// How many changes were visible.
  var position: Int64 = 0
  /// Bytes of what was deleted may be left.
  var hasResidue = false

  init(_ home: VerbHome) throws {
    let connection = try Connection(home.path + "/sluice.db", .readOnly)
    for query in Self.queries {
      try connection.prepare(query).rows { rows.append($0.text(0)) }
    }
    try connection.prepare("SELECT path, uses FROM names").rows { names[$0.text(0)] = $0.integer(1) }
    try connection.prepare("SELECT residue, position FROM ledger").rows {
      (hasResidue, position) = ($0.integer(0) == 1, $0.integer(1))
    }
    objects = Set(home.folder.files(below: "home/store").filter { !$0.hasPrefix(".incoming") })
  }

  /// How it differs, for people.
  func difference(from other: HomeImage) -> String {
    let (here, there) = (Set(rows).subtracting(other.rows), Set(other.rows).subtracting(rows))
    return
      "rows \(here.sorted()) in place of \(there.sorted()); paths \(names) in place of \(other.names); objects "
      + "\(objects.sorted()) in place of \(other.objects.sorted()); residue \(hasResidue), position \(position)"
  }

  /// What is due is due since the verb; what waits goes on waiting for as long.
  private static let queries = [
    """
    SELECT json_array('attachment', key, id, status, reason_code, url, finished_at, hex(sha256), metadata)
    FROM attachments ORDER BY key
    """,
    "SELECT json_array('message', conversation_id, message_id) FROM messages",
    "SELECT json_array('event', key, attachment_key, type) FROM events ORDER BY key",
    "SELECT json_array('delivery', key, id, channel, status, reason_code) FROM deliveries ORDER BY key",
    """
    SELECT json_array('job', kind, subject, lane, priority, CASE WHEN state = 'scheduled' AND due_at > seen_at + 60000 THEN due_at END,
      state = 'leased', attempts, uncounted, crashes, losses, cancelled)
    FROM jobs, ledger ORDER BY kind, subject
    """,
    "SELECT json_array('attempt', attachment_key, number, said) FROM attempts",
    "SELECT json_array('pause', lane, cause, reason) FROM pauses",
    "SELECT json_array('tombstone', id, hex(identity), deleted_by) FROM tombstones ORDER BY key",
    "SELECT json_array('count', status, sum(attachments), sum(bytes)) FROM counts GROUP BY status ORDER BY status",
  ]
}
