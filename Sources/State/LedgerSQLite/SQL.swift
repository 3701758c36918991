import LedgerPort
import Pipeline

/// The statements that write, by name.
enum SQL {
  // MARK: Coordinators

  /// A ledger that went back in time gets another history (?1).
  static let join: StaticString = """
    UPDATE ledger SET holder = holder + 1, history = CASE history WHEN 0 THEN ?1 ELSE history END
    """

  static let ledger: StaticString = "SELECT holder, history, position FROM ledger"

  static let addCoordinator: StaticString = """
    INSERT INTO coordinators (id, name, number, joined_at) VALUES (?1, ?2, 0, ?3)
    """

  static let removeCoordinator: StaticString = "DELETE FROM coordinators WHERE id = ?1"

  static let removeLost: StaticString = "DELETE FROM coordinators WHERE id <> ?1"

  static let takeBackLost: StaticString = """
    UPDATE jobs SET state = 'due', holder = NULL, token = NULL, uncounted = uncounted + 1, losses = losses + 1
    WHERE state = 'leased' AND holder <> ?1
    """

  static let giveBack: StaticString = """
    UPDATE jobs SET state = 'due', holder = NULL, token = NULL, uncounted = uncounted + 1
    WHERE state = 'leased' AND holder = ?1
    """

  static let faultyLanes: StaticString = """
    SELECT l.kind, l.name FROM pauses p JOIN lanes l ON l.key = p.lane WHERE p.cause = 'fault' ORDER BY l.kind, l.name
    """

  static let liftFaults: StaticString = "DELETE FROM pauses WHERE cause = 'fault'"

  /// Counts an exchange, unless it was done before or this coordinator was taken for lost.
  static let countExchange: StaticString =
    "UPDATE coordinators SET number = ?2 WHERE id = ?1 AND number = ?2 - 1"

  static let lastExchange: StaticString = "SELECT number FROM coordinators WHERE id = ?1"

  static let seen: StaticString = "SELECT seen_at, seen_since_boot, kernel_run FROM ledger"

  static let see: StaticString = "UPDATE ledger SET seen_at = ?1, seen_since_boot = ?2, kernel_run = ?3"

  static let moveScheduled: StaticString = "UPDATE jobs SET due_at = due_at + ?1 WHERE state = 'scheduled'"

  // MARK: Changes

  static let addChange: StaticString =
    "INSERT INTO changes (number, subjects, recorded_at) VALUES (?1, ?2, ?3)"

  static let advance: StaticString = "UPDATE ledger SET position = ?1, seen_at = ?2, seen_since_boot = ?3"

  // MARK: Intake

  /// The same file under the same message.
  static let knownAttachment: StaticString = "SELECT id, status, key FROM attachments WHERE identity = ?1"

  static let addAttachment = SQLText(insertInto: "attachments", IntakeItem.columns)

  static let addMessage: StaticString = """
    INSERT INTO messages (conversation_id, message_id, sender_id, participants, text, created_at, of_user)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    ON CONFLICT DO NOTHING
    """

  static let message: StaticString = """
    SELECT sender_id, participants, of_user IS NOT NULL AND number IS NULL FROM messages
    WHERE conversation_id = ?1 AND message_id = ?2
    """

  /// Its attachments follow.
  static let copyMessage: StaticString = """
    INSERT INTO messages (conversation_id, message_id, sender_id, participants, text, created_at, of_user)
    SELECT conversation_id, ?3, sender_id, participants, text, created_at, of_user FROM messages
    WHERE conversation_id = ?1 AND message_id = ?2
    """

  static let moveAttachments: StaticString = """
    UPDATE attachments SET conversation_id = ?4, message_id = ?3, own_message = 0
    WHERE conversation_id = ?1 AND message_id = ?2 RETURNING key
    """

  static let addToCount: StaticString = """
    UPDATE counts SET attachments = attachments + ?2, bytes = bytes + ?3 WHERE shard = 0 AND status = ?1
    """

  // MARK: Claiming

  /// The readers of attachment `a` of message `m`, as a JSON array.
  static let readers = """
    CASE WHEN m.number IS NULL THEN m.participants ELSE
      (SELECT json_group_array(x.user) FROM conversations c JOIN members x ON x.conversation = c.key
        WHERE c.id = m.conversation_id AND x.first_number <= m.number AND coalesce(x.left_number >= m.number, 1)
          AND coalesce(x.left_at >= a.created_at, 1)) END
    """

  /// A thousand at a time: a lane in which a million become due at once holds up no other.
  static let wakeScheduled: StaticString = """
    UPDATE jobs SET state = 'due' WHERE (kind, subject) IN (
      SELECT kind, subject FROM jobs WHERE state = 'scheduled' AND lane = ?1 AND due_at <= ?2 ORDER BY due_at LIMIT 1000)
    RETURNING kind, subject
    """

  /// All jobs that an exchange claims have its number as their token.
  static let claim: StaticString = """
    UPDATE jobs SET state = 'leased', holder = ?3, token = ?4, attempts = attempts + 1 WHERE kind = ?1 AND subject = ?2
    """

  /// What of a sender's is due in a lane, the oldest first. The first columns say what it is for: NULL where that is not there.
  static let dueAttachments = SQLText(
    """
    SELECT \(AttachmentOrigin.columnList), \(readers), a.source_host, a.source, a.source_size, a.source_modified,
      a.source_folder_device, a.source_kind, a.kept, \(jobColumns)
    FROM jobs j LEFT JOIN attachments a ON a.key = j.subject LEFT JOIN messages m USING (conversation_id, message_id)
    \(due(.attachment))
    """)

  static let dueDeliveries = SQLText(
    """
    SELECT d.id, d.channel, d.recipient, e.type, e.data, e.created_at, a.id, a.conversation_id, a.message_id, \(jobColumns)
    FROM jobs j LEFT JOIN deliveries d ON d.key = j.subject LEFT JOIN events e ON e.key = d.event_key
      LEFT JOIN attachments a ON a.key = e.attachment_key
    \(due(.delivery))
    """)

  static let jobColumns =
    "j.subject, j.attempts, j.crashes, j.uncounted, j.losses, j.priority, j.cancelled, j.turn"

  private static func due(_ kind: JobKey.Kind) -> String {
    """
    WHERE j.state = 'due' AND j.lane = ?1 AND j.priority = ?2 AND j.turn = ?3 AND j.kind = '\(kind.rawValue)' AND j.subject > ?4
    ORDER BY j.subject LIMIT ?5
    """
  }

  static let highestPriority: StaticString =
    "SELECT priority FROM jobs WHERE state = 'due' AND lane = ?1 ORDER BY priority DESC LIMIT 1"

  static let nextHighest: StaticString = """
    SELECT priority FROM jobs WHERE state = 'due' AND lane = ?1 AND priority < ?2 ORDER BY priority DESC LIMIT 1
    """

  static let nextTurn: StaticString = """
    SELECT turn FROM jobs WHERE state = 'due' AND lane = ?1 AND priority = ?2 AND turn > ?3 ORDER BY turn LIMIT 1
    """

  static let hasDue: StaticString = "SELECT EXISTS (SELECT 1 FROM jobs WHERE state = 'due' AND lane = ?1)"

  static let nextDue: StaticString = """
    SELECT min(due_at) FROM jobs WHERE state = 'scheduled' AND lane = ?1
    """

  static let scheduled: StaticString = """
    SELECT count(*) FROM (SELECT 1 FROM jobs WHERE state = 'scheduled' AND lane = ?1 LIMIT ?2)
    """

  static let objectWithContent: StaticString = """
    SELECT url FROM attachments WHERE sha256 = ?1 AND url IS NOT NULL AND size_bytes = ?2 LIMIT 1
    """

  static let saidOfContent: StaticString = """
    SELECT media_type, metadata, declared_type, file_name, key FROM attachments
    WHERE sha256 = ?1 AND url IS NOT NULL AND size_bytes = ?2 AND fingerprint_key = ?3 LIMIT 32
    """

  static let fingerprintKey: StaticString = "SELECT key FROM fingerprints WHERE fingerprint = ?1"

  static let addFingerprint: StaticString = "INSERT INTO fingerprints (fingerprint) VALUES (?1)"

  // MARK: Results. Each is fenced: it counts only if the job is leased under the same token.

  /// Takes a path for a content, once more where it has it. No row changes where the path is another content's, or its object is to
  /// be deleted.
  static let takeName: StaticString = """
    INSERT INTO names (path, sha256, uses) VALUES (?1, ?2, 1)
    ON CONFLICT DO UPDATE SET uses = uses + 1 WHERE sha256 = ?2 AND uses > 0
    """

  static let contentAt: StaticString = "SELECT sha256 FROM names WHERE path = ?1"

  static let leaveName: StaticString = "UPDATE names SET uses = uses - 1 WHERE path = ?1 AND uses > 1"

  static let removeName: StaticString = "DELETE FROM names WHERE path = ?1"

  static let endAttachment = SQLText(
    update: "attachments", AttachmentOutcome.columns + ["finished_at", "fingerprint_key"],
    where: "status = 'queued' AND key")

  static let addDerived: StaticString = """
    INSERT INTO derived (attachment_key, name, stage, media_type, size_bytes, sha256, url) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    """

  static let derivedOf: StaticString = """
    SELECT name, stage, media_type, size_bytes, sha256, url FROM derived WHERE attachment_key = ?1 ORDER BY name
    """

  static let hasDerived: StaticString = "SELECT EXISTS (SELECT 1 FROM derived)"

  static let removeDerived: StaticString = "DELETE FROM derived WHERE attachment_key = ?1"

  static let addText: StaticString = "INSERT INTO texts (sha256, text) VALUES (?1, ?2) ON CONFLICT DO NOTHING"

  static let removeText: StaticString = """
    DELETE FROM texts WHERE sha256 = ?1 AND NOT EXISTS (SELECT 1 FROM derived WHERE sha256 = ?1)
    """

  static let usesOfName: StaticString = "SELECT uses FROM names WHERE path = ?1"

  static let addAttempt: StaticString = """
    INSERT INTO attempts (attachment_key, number, said, recorded_at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING
    """

  /// The types of the events that an attachment which was queued again has emitted before, oldest first.
  static let toldTypes: StaticString = "SELECT type FROM events WHERE attachment_key = ?1 ORDER BY key"

  static let addEvent: StaticString = """
    INSERT INTO events (attachment_key, type, data, created_at) VALUES (?1, ?2, ?3, ?4)
    """

  static let addDelivery: StaticString = """
    INSERT INTO deliveries (id, event_key, channel, recipient, status) VALUES (?1, ?2, ?3, ?4, 'pending')
    """

  static let endDelivery: StaticString = """
    UPDATE deliveries SET status = ?2, reason_code = ?3, reason_message = ?4, finished_at = ?5 WHERE key = ?1
    """

  static let noteDelivery: StaticString = """
    UPDATE deliveries SET reason_code = ?2, reason_message = ?3 WHERE key = ?1
    """

  // MARK: Commands

  static let pauses: StaticString = """
    SELECT p.cause, p.code, p.reason, p.paused_by, p.paused_at FROM pauses p WHERE p.lane = ?1 ORDER BY p.cause DESC
    """

  static let addPause: StaticString = """
    INSERT INTO pauses (lane, cause, code, reason, paused_by, paused_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT DO UPDATE SET code = ?3, reason = ?4, paused_by = ?5, paused_at = ?6
    """

  static let liftPause: StaticString = "DELETE FROM pauses WHERE lane = ?1 AND cause = ?2"

  static let hastenLane: StaticString =
    "UPDATE jobs SET due_at = ?2 WHERE state = 'scheduled' AND lane = ?1 AND due_at > ?2"

  /// What commands about an attachment have to see.
  static let attachmentToChange: StaticString = """
    SELECT a.key, a.status, j.state = 'scheduled' AND j.due_at > ?2, j.priority, j.cancelled IS NOT NULL
    FROM attachments a LEFT JOIN jobs j ON j.kind = 'attachment' AND j.subject = a.key WHERE a.id = ?1
    """

  static let isDeleted: StaticString = "SELECT EXISTS (SELECT 1 FROM tombstones WHERE id = ?1)"

  /// What commands about a delivery have to see.
  static let deliveryToChange: StaticString = """
    SELECT d.status, j.state = 'scheduled' AND j.due_at > ?3, d.channel
    FROM deliveries d LEFT JOIN jobs j ON j.kind = 'delivery' AND j.subject = d.key WHERE d.key = ?1 AND d.id = ?2
    """

  static let reviveDelivery: StaticString = """
    UPDATE deliveries SET status = 'pending', reason_code = NULL, reason_message = NULL, finished_at = NULL WHERE key = ?1
    """

  // MARK: Deleting an attachment, with all that is of it

  static let removeDeliveryJobs: StaticString = """
    DELETE FROM jobs WHERE kind = 'delivery' AND subject IN (
      SELECT d.key FROM events e JOIN deliveries d ON d.event_key = e.key WHERE e.attachment_key = ?1)
    """

  static let removeDeliveries: StaticString = """
    DELETE FROM deliveries WHERE event_key IN (SELECT key FROM events WHERE attachment_key = ?1)
    """

  static let removeEvents: StaticString = "DELETE FROM events WHERE attachment_key = ?1"

  static let removeAttempts: StaticString = "DELETE FROM attempts WHERE attachment_key = ?1"

  static let removeAttachment: StaticString = "DELETE FROM attachments WHERE key = ?1"

  static let removeEmptyMessage: StaticString = """
    DELETE FROM messages WHERE conversation_id = ?1 AND message_id = ?2 AND number IS NULL
      AND NOT EXISTS (SELECT 1 FROM attachments WHERE conversation_id = ?1 AND message_id = ?2)
    """

  static let giveUpName: StaticString = "UPDATE names SET uses = uses - 1 WHERE path = ?1 AND uses > 0"

  static let addTombstone: StaticString = """
    INSERT INTO tombstones (id, identity, deleted_by, deleted_at) VALUES (?1, ?2, ?3, ?4)
    """

  static let tombstone: StaticString = "SELECT id FROM tombstones WHERE identity = ?1 ORDER BY key DESC"

  static let noteResidue: StaticString = "UPDATE ledger SET residue = 1"

  static let unusedNames: StaticString = "SELECT path FROM names WHERE uses = 0 LIMIT ?1"

  static let removeUnusedName: StaticString = "DELETE FROM names WHERE path = ?1 AND uses = 0"

  static let failedAt: StaticString =
    "SELECT reason_stage, reason_code FROM attachments WHERE key = ?1 AND status = 'failed'"

  static let queueAttachment: StaticString = """
    UPDATE attachments SET status = 'queued', media_type = NULL, size_bytes = NULL, sha256 = NULL, metadata = '{}',
      url = NULL, reason_stage = NULL, reason_code = NULL, reason_message = NULL, finished_at = NULL, fingerprint_key = NULL
    WHERE key = ?1
    """

  static let laneKey: StaticString = "SELECT key FROM lanes WHERE kind = ?1 AND name = ?2 AND host = ?3"

  static let addLane: StaticString = "INSERT INTO lanes (kind, name, host, sharing) VALUES (?1, ?2, ?3, ?4)"
}

/// A statement that is put together from parts; prepared once, as those that are one literal.
final class SQLText: Sendable {
  let text: String

  init(_ text: String) {
    self.text = text
  }

  /// Adds a row. Its values are bound in the order of the columns.
  convenience init(insertInto table: String, _ columns: [String]) {
    let places = columns.indices.map { "?\($0 + 1)" }
    self.init(
      "INSERT INTO \(table) (\(columns.joined(separator: ", "))) VALUES (\(places.joined(separator: ", ")))")
  }

  /// Changes a row. The value of its key is bound first, then those of the columns.
  convenience init(update table: String, _ columns: [String], where key: String) {
    let changes = columns.enumerated().map { "\($0.element) = ?\($0.offset + 2)" }
    self.init("UPDATE \(table) SET \(changes.joined(separator: ", ")) WHERE \(key) = ?1")
  }
}
