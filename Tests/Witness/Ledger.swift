import SQLite

/// A ledger's rows in one snapshot.
struct Ledger {
  struct Attachment {
    var key: Int64
    var id, source, status, conversation, message, sender, fileName: String
    var url, sha256, reasonStage, reasonCode: String?
    var size, finished: Int64?
    /// What its content was taken out of, and its bytes then.
    var parent: Int64?
    var sourceSize: Int64
    /// The path of the object of an earlier attempt.
    var kept: String?
    var metadata: String

    var hasEnded: Bool { status != "queued" }
    var name: String { "attachment \(id)" }
  }

  /// Joined with the event it delivers.
  struct Delivery {
    var key: Int64
    var id, channel, recipient, status, type, data: String
    var attachment, event: Int64
    var reason: String?
  }

  struct Job {
    /// What it is for.
    var name: String
    var attachment, delivery: Int64?
    var state: String
    var token, holder: Int64?
    var attempts: Int64
  }

  /// The result of one stage in one attempt.
  struct Step {
    var number, step: Int64
    var stage, verdict: String
    var code: String?
    var recorded: Int64
  }

  /// An object beside that of an attachment.
  struct Derived {
    var attachment, size: Int64
    var name, url, sha256: String
  }

  /// An attachment out of which others were taken.
  struct Expansion {
    var attachment, contents, bytes, open: Int64
    var waits: Bool
  }

  let connection: Connection
  private(set) var attachments: [Attachment] = []
  private(set) var deliveries: [Delivery] = []
  private(set) var jobs: [Job] = []
  /// By attachment, in order.
  private(set) var attempts: [Int64: [Step]] = [:]
  private(set) var derived: [Derived] = []
  private(set) var expansions: [Expansion] = []
  /// How often each path of an object is used, as the ledger counts it.
  private(set) var names: [String: Int64] = [:]
  /// What clients or stages have left in files that are to become objects: the attachment of each, if it has one.
  private(set) var uploads: [String: String?] = [:]
  /// Whether a person has deleted any attachment.
  private(set) var hasDeleted = false
  /// The last coordinator.
  private(set) var holder: Int64 = 0

  /// Opens a ledger without changing it: its log stays as the coordinator left it.
  init(_ path: String) throws {
    connection = try Connection(path, .readOnly)
    connection.neverCheckpointOnClose()
    try connection.execute("BEGIN")
    try readJobs()
  }

  private mutating func readJobs() throws {
    var jobs: [Job] = []
    try connection.prepare(
      """
      SELECT kind || ' ' || subject, CASE kind WHEN 'attachment' THEN subject END, CASE kind WHEN 'delivery' THEN subject END, state, token, holder,
        attempts FROM jobs
      """
    ).rows {
      jobs.append(
        Job(
          name: $0.text(0), attachment: $0.optionalInteger(1), delivery: $0.optionalInteger(2),
          state: $0.text(3),
          token: $0.optionalInteger(4), holder: $0.optionalInteger(5), attempts: $0.integer(6)))
    }
    self.jobs = jobs
    holder = try connection.prepare("SELECT holder FROM ledger").first { $0.integer(0) } ?? 0
  }

  /// Reads the other tables.
  mutating func readAll() throws {
    var attachments: [Attachment] = []
    try connection.prepare(
      """
      SELECT a.key, a.id, a.source, a.status, a.conversation_id, a.message_id, m.sender_id, a.file_name, a.url,
        lower(hex(a.sha256)), a.reason_stage, a.reason_code, a.size_bytes, a.finished_at, a.sha256 IS NULL,
        a.parent, a.source_size, a.kept, a.metadata
      FROM attachments a LEFT JOIN messages m USING (conversation_id, message_id) ORDER BY a.key
      """
    ).rows {
      attachments.append(
        Attachment(
          key: $0.integer(0), id: $0.text(1), source: String(decoding: $0.blob(2), as: UTF8.self),
          status: $0.text(3),
          conversation: $0.text(4), message: $0.text(5), sender: $0.text(6), fileName: $0.text(7),
          url: $0.optionalText(8), sha256: $0.integer(14) == 1 ? nil : $0.text(9),
          reasonStage: $0.optionalText(10),
          reasonCode: $0.optionalText(11), size: $0.optionalInteger(12), finished: $0.optionalInteger(13),
          parent: $0.optionalInteger(15), sourceSize: $0.integer(16), kept: $0.optionalText(17),
          metadata: $0.text(18)))
    }
    var deliveries: [Delivery] = []
    try connection.prepare(
      """
      SELECT d.key, d.id, d.channel, d.recipient, d.status, e.type, e.data, e.attachment_key, d.event_key, d.reason_message
      FROM deliveries d LEFT JOIN events e ON e.key = d.event_key ORDER BY d.key
      """
    ).rows {
      deliveries.append(
        Delivery(
          key: $0.integer(0), id: $0.text(1), channel: $0.text(2), recipient: $0.text(3), status: $0.text(4),
          type: $0.text(5), data: $0.text(6), attachment: $0.integer(7), event: $0.integer(8),
          reason: $0.optionalText(9)))
    }
    var attempts: [Int64: [Step]] = [:]
    try connection.prepare(
      """
      SELECT attachment_key, number, step, stage, verdict, code, recorded_at FROM steps
      ORDER BY attachment_key, number, step
      """
    ).rows {
      attempts[$0.integer(0), default: []].append(
        Step(
          number: $0.integer(1), step: $0.integer(2), stage: $0.text(3), verdict: $0.text(4),
          code: $0.optionalText(5), recorded: $0.integer(6)))
    }
    (self.attachments, self.deliveries, self.attempts) = (attachments, deliveries, attempts)
    try readTrees()
  }

  /// Reads what belongs to derived objects and to trees.
  mutating func readTrees() throws {
    var derived: [Derived] = []
    try connection.prepare(
      "SELECT attachment_key, size_bytes, name, url, lower(hex(sha256)) FROM derived ORDER BY attachment_key, name"
    ).rows {
      derived.append(
        Derived(
          attachment: $0.integer(0), size: $0.integer(1), name: $0.text(2), url: $0.text(3),
          sha256: $0.text(4)))
    }
    var expansions: [Expansion] = []
    try connection.prepare("SELECT attachment_key, contents, bytes, open, waits FROM expansions ORDER BY 1")
      .rows {
        expansions.append(
          Expansion(
            attachment: $0.integer(0), contents: $0.integer(1), bytes: $0.integer(2), open: $0.integer(3),
            waits: $0.integer(4) == 1))
      }
    var names: [String: Int64] = [:]
    try connection.prepare("SELECT path, uses FROM names").rows { names[$0.text(0)] = $0.integer(1) }
    var uploads: [String: String?] = [:]
    try connection.prepare("SELECT id, attachment_id FROM uploads").rows {
      uploads[$0.text(0)] = .some($0.optionalText(1))
    }
    hasDeleted = try connection.prepare("SELECT 1 FROM tombstones LIMIT 1").first { _ in true } ?? false
    (self.derived, self.expansions, self.names, self.uploads) = (derived, expansions, names, uploads)
  }
}
