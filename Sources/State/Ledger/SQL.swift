import Pipeline

/// The statements that write, by name.
enum SQL {
  // MARK: Recovery

  static let begin: StaticString = """
    UPDATE ledger SET boot = boot + 1,
      stalls = CASE WHEN frontier = 0
        AND EXISTS (SELECT 1 FROM jobs WHERE state = 'leased' AND attachment_key IS NOT NULL) THEN stalls + 1 ELSE 0 END
    """

  /// Takes back the leases of ended coordinators, and finds the attachment that crashes them without blaming
  /// those that were merely leased at the time. An attachment is suspect if later ones have been finished
  /// before the coordinator ended. After `?2` suspicions the scheduler works on it alone, and from then on
  /// only a crash while it is alone counts.
  static let takeBackLeases: StaticString = """
    UPDATE jobs SET state = 'due', token = NULL, boot = NULL, uncounted = uncounted + 1,
      suspicions = suspicions + ?4 * (attachment_key IS NOT NULL AND (
        (suspicions < ?2 AND key < (SELECT frontier FROM ledger))
        OR ?3))
    WHERE state = 'leased' AND boot < ?1
    """

  static let isOneAttachmentLeased: StaticString = """
    SELECT count(*) = 1 FROM jobs WHERE state = 'leased' AND attachment_key IS NOT NULL
    """

  static let resetFrontier: StaticString = "UPDATE ledger SET frontier = 0, machine = ?1, seen_at = ?2"

  /// If the clock was set back, moves scheduled jobs back by the same amount, so that their remaining wait
  /// stays the same.
  static let followClock: StaticString = """
    UPDATE jobs SET due_at = due_at - (SELECT seen_at - ?1 FROM ledger)
    WHERE state = 'scheduled' AND due_at > ?1 AND (SELECT seen_at > ?1 FROM ledger)
    """

  static let advanceFrontier: StaticString = "UPDATE ledger SET frontier = max(frontier, ?1), stalls = 0"

  // MARK: Intake

  /// The same file under the same message. An empty message id stands for an id generated for the file.
  static let knownAttachment: StaticString = """
    SELECT status FROM attachments WHERE source = ?1 AND source_size = ?2 AND source_modified = ?3 AND conversation_id = ?4
      AND CASE own_message WHEN 1 THEN '' ELSE message_id END = ?5
    """

  static let addAttachment = SQLText(insertInto: "attachments", IntakeItem.columns)

  static let addMessage: StaticString = """
    INSERT INTO messages (conversation_id, message_id, sender_id, participants, text, created_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT DO NOTHING
    """

  static let messageSender: StaticString = """
    SELECT sender_id FROM messages WHERE conversation_id = ?1 AND message_id = ?2
    """

  static let addAttachmentJob: StaticString = """
    INSERT INTO jobs (lane, priority, attachment_key, state, due_at) VALUES ('attachments', ?1, ?2, 'due', ?3)
    """

  static let addToCount: StaticString = """
    UPDATE counts SET attachments = attachments + ?2, bytes = bytes + ?3 WHERE status = ?1
    """

  // MARK: Claiming

  static let wakeScheduled: StaticString = """
    UPDATE jobs SET state = 'due' WHERE state = 'scheduled' AND lane = ?1 AND due_at <= ?2
    """

  /// The token is greater than every earlier one; all jobs of one claim share it.
  static let claim: StaticString = """
    UPDATE jobs SET state = 'leased', boot = ?3, token = ?4, attempts = attempts + 1
    WHERE key IN (
      SELECT key FROM jobs WHERE state = 'due' AND lane = ?1
        AND NOT EXISTS (SELECT 1 FROM lanes WHERE name = ?1 AND paused_at IS NOT NULL)
      ORDER BY priority DESC, key LIMIT ?2)
    RETURNING key, attachment_key, delivery_key, attempts, crashes, uncounted, suspicions, priority
    """

  /// No job is due in this lane, and the lane is not paused.
  static let isLaneFree: StaticString = """
    SELECT NOT EXISTS (SELECT 1 FROM jobs WHERE state = 'due' AND lane = ?1)
      AND NOT EXISTS (SELECT 1 FROM jobs WHERE state = 'scheduled' AND due_at <= ?2 AND lane = ?1)
      AND NOT EXISTS (SELECT 1 FROM lanes WHERE name = ?1 AND paused_at IS NOT NULL)
    """

  /// A job in this lane is due and not leased, and the lane is not paused.
  static let hasDue: StaticString = """
    SELECT EXISTS (SELECT 1 FROM jobs WHERE state = 'due' AND lane = ?1)
      AND NOT EXISTS (SELECT 1 FROM lanes WHERE name = ?1 AND paused_at IS NOT NULL)
    """

  static let nextDue: StaticString = """
    SELECT min(due_at) FROM jobs WHERE state = 'scheduled' AND lane = ?1
    """

  static let scheduled: StaticString = """
    SELECT count(*) FROM jobs WHERE state = 'scheduled' AND lane = ?1
    """

  static let keepToken: StaticString = "UPDATE ledger SET token = ?1, seen_at = ?2"

  static let attachmentOfJob = SQLText(
    """
    SELECT \(AttachmentOrigin.columnList), m.participants, a.source, a.source_size, a.source_modified, a.source_folder_device
    FROM attachments a JOIN messages m USING (conversation_id, message_id) WHERE a.key = ?1
    """)

  static let deliveryOfJob: StaticString = """
    SELECT d.id, d.channel, d.recipient, e.type, e.data, e.created_at, a.id, a.conversation_id, a.message_id
    FROM deliveries d JOIN events e ON e.key = d.event_key JOIN attachments a ON a.key = e.attachment_key
    WHERE d.key = ?1
    """

  static let objectWithContent: StaticString = """
    SELECT url FROM attachments WHERE sha256 = ?1 AND url IS NOT NULL AND size_bytes = ?2 LIMIT 1
    """

  static let saidOfContent: StaticString = """
    SELECT media_type, metadata, declared_type, file_name FROM attachments
    WHERE sha256 = ?1 AND url IS NOT NULL AND size_bytes = ?2 AND line_key = ?3 LIMIT 32
    """

  static let fingerprintKey: StaticString = "SELECT key FROM lines WHERE fingerprint = ?1"

  static let addFingerprint: StaticString = "INSERT INTO lines (fingerprint) VALUES (?1)"

  // MARK: Results. Each is fenced: it counts only if the job is leased under the same token.

  static let endJob: StaticString = "DELETE FROM jobs WHERE key = ?1 AND state = 'leased' AND token = ?2"

  static let scheduleJob: StaticString = """
    UPDATE jobs SET state = 'scheduled', token = NULL, boot = NULL, due_at = ?3, crashes = crashes + ?4,
      uncounted = uncounted + ?5
    WHERE key = ?1 AND state = 'leased' AND token = ?2
    """

  static let releaseJob: StaticString = """
    UPDATE jobs SET state = 'due', token = NULL, boot = NULL, uncounted = uncounted + 1
    WHERE key = ?1 AND state = 'leased' AND token = ?2
    """

  static let endAttachment = SQLText(
    update: "attachments", AttachmentOutcome.columns + ["finished_at", "line_key"], where: "key")

  /// Several steps of one attempt at once; each has five values from `?5` on, and `?4` is the number of the
  /// first.
  static func addAttempts(_ count: Int) -> String {
    let rows = (0..<count).map { row in
      let values = (0..<5).map { "?\(5 + row * 5 + $0)" }.joined(separator: ", ")
      return "(?1, ?2, ?4 + \(row), \(values), ?3)"
    }
    return """
      INSERT INTO attempts (attachment_key, number, step, stage, verdict, code, message, microseconds, recorded_at)
      VALUES \(rows.joined(separator: ", ")) ON CONFLICT DO NOTHING
      """
  }

  /// The most steps that one statement records; as many statements are kept prepared.
  static let attemptsAtOnce = 8

  /// The event types that an attachment which was queued again has emitted before.
  static let toldTypes: StaticString = "SELECT DISTINCT type FROM events WHERE attachment_key = ?1"

  static let addEvent: StaticString = """
    INSERT INTO events (attachment_key, type, data, created_at) VALUES (?1, ?2, ?3, ?4)
    """

  static let addDelivery: StaticString = """
    INSERT INTO deliveries (id, event_key, channel, recipient, status) VALUES (?1, ?2, ?3, ?4, 'pending')
    """

  static let addDeliveryJob: StaticString = """
    INSERT INTO jobs (lane, priority, delivery_key, state, due_at) VALUES (?1, ?2, ?3, 'due', ?4)
    """

  static let addLeasedDeliveryJob: StaticString = """
    INSERT INTO jobs (lane, priority, delivery_key, state, due_at, boot, token, attempts)
    VALUES (?1, ?2, ?3, 'leased', ?4, ?5, ?6, 1)
    """

  static let endDelivery: StaticString = """
    UPDATE deliveries SET status = ?2, reason_code = ?3, reason_message = ?4, finished_at = ?5 WHERE key = ?1
    """

  static let noteDelivery: StaticString = """
    UPDATE deliveries SET reason_code = ?2, reason_message = ?3 WHERE key = ?1
    """

  // MARK: Repair

  static let recount: StaticString = """
    WITH rows AS (
      SELECT status, count(*) AS number,
        sum(CASE status WHEN 'queued' THEN 0 ELSE min(coalesce(size_bytes, 0), 1125899906842624) END) AS bytes
      FROM attachments GROUP BY status)
    UPDATE counts SET
      attachments = coalesce((SELECT number FROM rows WHERE rows.status = counts.status), 0),
      bytes = coalesce((SELECT bytes FROM rows WHERE rows.status = counts.status), 0)
    """

  static let addMissingAttachmentJobs: StaticString = """
    INSERT INTO jobs (lane, priority, attachment_key, state, due_at)
    SELECT 'attachments', 0, key, 'due', ?1 FROM attachments a
    WHERE status = 'queued' AND NOT EXISTS (SELECT 1 FROM jobs WHERE attachment_key = a.key)
    """

  /// Counts an earlier attempt, so that the next one checks whether a delivery already took effect.
  static let addMissingDeliveryJobs: StaticString = """
    INSERT INTO jobs (lane, priority, delivery_key, state, due_at, attempts, uncounted)
    SELECT 'channel:' || channel, 0, key, 'due', ?1, 1, 1 FROM deliveries d
    WHERE status = 'pending' AND NOT EXISTS (SELECT 1 FROM jobs WHERE delivery_key = d.key)
    """

  static let requeueAttachment: StaticString = """
    UPDATE attachments SET status = 'queued', media_type = NULL, size_bytes = NULL, sha256 = NULL, metadata = '{}',
      url = NULL, reason_stage = NULL, reason_code = NULL, reason_message = NULL, finished_at = NULL, line_key = NULL
    WHERE key = ?1
    """

  /// The attempt numbers continue after the recorded ones.
  static let addRepeatedJob: StaticString = """
    INSERT INTO jobs (lane, priority, attachment_key, state, due_at, attempts, uncounted)
    SELECT 'attachments', 0, ?1, 'due', ?2, number, number
    FROM (SELECT coalesce(max(number), 0) AS number FROM attempts WHERE attachment_key = ?1)
    """

  /// For a copy: each job may have been started since the copy was made, and no attachment is to be blamed
  /// for the coordinator's end. An attempt that is not the first checks whether an earlier one took effect.
  static let releaseInCopy = """
    UPDATE jobs SET attempts = attempts + (state <> 'leased'), uncounted = uncounted + 1, token = NULL, boot = NULL,
      state = CASE state WHEN 'leased' THEN 'due' ELSE state END;
    UPDATE ledger SET frontier = 0, machine = '', stalls = 0;
    """

  // MARK: Lanes

  static let pauseLane: StaticString = """
    INSERT INTO lanes (name, paused_code, paused_reason, paused_at) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT DO UPDATE SET paused_code = ?2, paused_reason = ?3, paused_at = ?4 WHERE paused_at IS NULL
    """

  static let resumeLane: StaticString = """
    UPDATE lanes SET paused_code = NULL, paused_reason = NULL, paused_at = NULL WHERE name = ?1
    """

  static let resumeLanes: StaticString = """
    UPDATE lanes SET paused_code = NULL, paused_reason = NULL, paused_at = NULL WHERE paused_at IS NOT NULL
    """
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
