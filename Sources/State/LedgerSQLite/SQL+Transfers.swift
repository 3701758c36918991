import LedgerPort
import Pipeline

/// The statements about downloads.
extension SQL {
  static let transferWithIdentity: StaticString = "SELECT key FROM transfers WHERE identity = ?1"

  static let addTransfer: StaticString =
    "INSERT INTO transfers (identity, host, request, created_at, sender) VALUES (?1, ?2, ?3, ?4, ?5)"

  static let addLink: StaticString = "INSERT INTO links (attachment_key, transfer_key) VALUES (?1, ?2)"

  static let removeLink: StaticString = "DELETE FROM links WHERE attachment_key = ?1"

  static let transferOf: StaticString = "SELECT transfer_key FROM links WHERE attachment_key = ?1"

  static let attachmentsOf: StaticString =
    "SELECT attachment_key FROM links WHERE transfer_key = ?1 ORDER BY attachment_key"

  static let someAttachmentsOf: StaticString =
    "SELECT attachment_key FROM links WHERE transfer_key = ?1 LIMIT 1000"

  static let highestWaiting: StaticString = """
    SELECT max(j.priority) FROM links l
      JOIN jobs j ON j.kind = 'attachment' AND j.subject = l.attachment_key AND j.state = 'waiting'
    WHERE l.transfer_key = ?1
    """

  static let isFetched: StaticString = "SELECT sha256 IS NOT NULL, file_name FROM transfers WHERE key = ?1"

  /// One that is to be fetched has neither come nor failed.
  static let reopenTransfer: StaticString = """
    UPDATE transfers SET finished_at = NULL, size_bytes = NULL, sha256 = NULL, is_rejected = 0, reason_code = NULL,
      reason_message = NULL, file_name = NULL, content_type = NULL, restarts = 0, bytes = CASE WHEN sha256 IS NULL THEN bytes ELSE 0 END
    WHERE key = ?1 AND finished_at IS NOT NULL
    """

  /// Whether a transfer has ended since its link was not taken any more. What came is kept for a new one.
  static let isExpired = "t.finished_at IS NOT NULL AND t.reason_code = '\(TransferRun.expired)'"

  /// How many attachments it is the transfer of; how many of them wait for it, and are worked on; whether it is under way, and
  /// whether its link has expired.
  static let needsOfTransfer = SQLText(
    """
    SELECT count(*), count(j.subject) FILTER (WHERE j.state = 'waiting'), count(j.subject) FILTER (WHERE j.state <> 'waiting'),
      EXISTS (SELECT 1 FROM jobs WHERE kind = 'transfer' AND subject = ?1 AND state = 'leased'),
      EXISTS (SELECT 1 FROM transfers t WHERE key = ?1 AND \(isExpired))
    FROM links l LEFT JOIN jobs j ON j.kind = 'attachment' AND j.subject = l.attachment_key WHERE l.transfer_key = ?1
    """)

  static let removeTransfer: StaticString = "DELETE FROM transfers WHERE key = ?1"

  static let wakeWaiting: StaticString = """
    UPDATE jobs SET state = 'due', due_at = ?2
    WHERE state = 'waiting' AND kind = 'attachment' AND subject IN (SELECT attachment_key FROM links WHERE transfer_key = ?1)
    """

  static let endFetched: StaticString = """
    UPDATE transfers SET finished_at = ?2, size_bytes = ?3, sha256 = ?4, bytes = ?3, total = ?3, reason_code = NULL,
      reason_message = NULL, file_name = ?5, content_type = ?6
    WHERE key = ?1
    """

  /// Those that wait for a transfer and have no name get that of the server.
  static let nameWaiting = SQLText(
    """
    UPDATE attachments SET file_name = ?2 WHERE file_name = '\(IntakeItem.unnamed)'
      AND key IN (SELECT l.attachment_key FROM links l JOIN jobs j ON j.kind = 'attachment' AND j.subject = l.attachment_key AND j.state = 'waiting'
        WHERE l.transfer_key = ?1)
    """)

  static let nameOne = SQLText(
    "UPDATE attachments SET file_name = ?2 WHERE file_name = '\(IntakeItem.unnamed)' AND key = ?1")

  static let endNotFetched: StaticString = """
    UPDATE transfers SET finished_at = ?2, reason_code = ?3, reason_message = ?4, is_rejected = ?5 WHERE key = ?1
    """

  static let noteTransfer: StaticString = """
    UPDATE transfers SET reason_code = ?2, reason_message = ?3, restarts = restarts + ?4 WHERE key = ?1
    """

  /// Those that a coordinator (?1) has in hand (?2 is 1), or that others have (0).
  static let transfersInHand = SQLText(
    """
    SELECT subject FROM jobs
    WHERE state = 'leased' AND kind = 'transfer' AND (holder = ?1) = ?2
    """)

  static let identityOf: StaticString = "SELECT identity FROM transfers WHERE key = ?1"

  static let recordProgress: StaticString =
    "UPDATE transfers SET bytes = ?2, total = ?3, validators = ?4 WHERE key = ?1"

  /// What became of the link of an attachment, and where its content lies in the store.
  static let fetchedOf: StaticString = """
    SELECT t.key, t.sha256, t.is_rejected, t.reason_code, t.reason_message,
      (SELECT url FROM attachments a WHERE a.sha256 = t.sha256 AND a.url IS NOT NULL AND a.size_bytes = t.size_bytes LIMIT 1),
      t.finished_at
    FROM links l JOIN transfers t ON t.key = l.transfer_key WHERE l.attachment_key = ?1
    """

  private static let transferColumns = """
    SELECT t.key, t.identity, t.request, t.bytes, t.total, t.validators, t.restarts, coalesce(t.host, 0),
      (SELECT a.file_name FROM attachments a
        WHERE a.key = (SELECT min(l.attachment_key) FROM links l WHERE l.transfer_key = t.key)),
      (SELECT a.id FROM attachments a
        WHERE a.key = (SELECT min(l.attachment_key) FROM links l WHERE l.transfer_key = t.key)),
      \(jobColumns)
    FROM jobs j LEFT JOIN transfers t ON t.key = j.subject
    """

  static let dueTransfer = SQLText("\(transferColumns) WHERE j.kind = 'transfer' AND j.subject = ?1")

  // MARK: Turns

  static let urgentTransfers = SQLText(
    """
    SELECT j.subject, coalesce(t.host, 0), coalesce(t.sender, 0), j.priority
    FROM jobs j LEFT JOIN transfers t ON t.key = j.subject
    WHERE j.state = 'due' AND j.lane = ?1 AND j.priority >= \(TransferPriority.urgent)
    ORDER BY j.priority DESC, j.turn, j.subject LIMIT ?2
    """)

  // Those that are under way stand in the order, too, and are passed over: there are no more of them than are fetched at once.

  private static let dueInOrder = """
    FROM turns o CROSS JOIN jobs j ON j.kind = 'transfer' AND j.subject = o.transfer_key AND j.state = 'due'
    """

  static let nextSender = SQLText(
    "SELECT o.sender \(dueInOrder) WHERE o.sender > ?1 ORDER BY o.sender LIMIT 1")

  static let nextPriority = SQLText(
    """
    SELECT o.priority \(dueInOrder) WHERE o.sender = ?1 AND o.priority <= ?2 ORDER BY o.priority DESC LIMIT 1
    """)

  /// With its oldest.
  static let nextHost = SQLText(
    """
    SELECT o.host, o.transfer_key \(dueInOrder) WHERE o.sender = ?1 AND o.priority = ?2 AND o.host > ?3
    ORDER BY o.host, o.transfer_key LIMIT 1
    """)

  static let nextOldest = SQLText(
    """
    SELECT o.transfer_key \(dueInOrder)
    WHERE o.sender = ?1 AND o.priority = ?2 AND o.host = ?3 AND o.transfer_key > ?4 ORDER BY o.transfer_key LIMIT 1
    """)

  static let nextNewest = SQLText(
    """
    SELECT o.transfer_key \(dueInOrder)
    WHERE o.sender = ?1 AND o.priority = ?2 AND o.host = ?3 AND o.transfer_key < ?4 ORDER BY o.transfer_key DESC LIMIT 1
    """)

  static let addTurn: StaticString = """
    INSERT OR REPLACE INTO turns (transfer_key, sender, host, priority)
    SELECT t.key, t.sender, t.host, j.priority FROM transfers t JOIN jobs j ON j.kind = 'transfer' AND j.subject = t.key
    WHERE t.key = ?1
    """

  static let removeTurn: StaticString = "DELETE FROM turns WHERE transfer_key = ?1"

  static let hostsInHand = SQLText(
    """
    SELECT t.host, t.sender FROM jobs j INDEXED BY jobs_held JOIN transfers t ON t.key = j.subject
    WHERE j.state = 'leased' AND j.kind = 'transfer'
    """)

  static let pageOfTransfers = SQLText(
    """
    SELECT t.key, a.source, coalesce(t.size_bytes, t.bytes), coalesce(t.size_bytes, t.total), t.sha256 IS NOT NULL,
      t.finished_at, t.reason_code, t.reason_message, j.state, j.due_at, coalesce(j.attempts, 0), coalesce(j.priority, 0),
      (SELECT count(*) FROM links l JOIN attachments a ON a.key = l.attachment_key AND a.status <> 'cancelled'
        WHERE l.transfer_key = t.key),
      a.id, a.file_name, t.content_type
    FROM transfers t LEFT JOIN jobs j ON j.kind = 'transfer' AND j.subject = t.key
      LEFT JOIN attachments a ON a.key = (SELECT min(l.attachment_key) FROM links l WHERE l.transfer_key = t.key)
    WHERE t.key > ?1 ORDER BY t.key LIMIT ?2
    """)

  static let sharersWithUsers = SQLText(
    """
    SELECT a.id, m.sender_id, \(SQL.readers) FROM links l JOIN attachments a ON a.key = l.attachment_key
      JOIN messages m USING (conversation_id, message_id)
    WHERE l.transfer_key = ?1 AND a.status = 'queued' ORDER BY a.key LIMIT ?2
    """)

  /// Whether something urgent is under way.
  static let hasUrgent = SQLText(
    """
    SELECT EXISTS (SELECT 1 FROM jobs INDEXED BY jobs_held WHERE state = 'leased' AND kind = 'transfer'
      AND priority >= \(TransferPriority.urgent))
    """)

  static let failedTransfers: StaticString =
    "SELECT count(*) FROM transfers WHERE reason_code IS NOT NULL AND finished_at IS NOT NULL"

  /// One that is to be fetched.
  static let queuedTransfer = SQLText(
    """
    SELECT identity, request FROM transfers t
    WHERE EXISTS (SELECT 1 FROM jobs j WHERE j.kind = 'transfer' AND j.subject = t.key) LIMIT 1
    """)

  static let transfersWithFiles = SQLText(
    """
    SELECT key FROM transfers t WHERE EXISTS (SELECT 1 FROM jobs j WHERE j.kind = 'transfer' AND j.subject = t.key)
      OR EXISTS (SELECT 1 FROM links l JOIN jobs j ON j.kind = 'attachment' AND j.subject = l.attachment_key WHERE l.transfer_key = t.key)
      OR (\(isExpired))
    """)

  // MARK: A new link

  /// The facts about the old link that a new link needs.
  static let linkFact: StaticString = """
    SELECT t.key, t.sha256 IS NOT NULL, t.identity, t.request, t.bytes, t.total, t.validators
    FROM links l JOIN transfers t ON t.key = l.transfer_key WHERE l.attachment_key = ?1
    """

  static let replaceLink: StaticString = """
    UPDATE transfers SET identity = ?2, host = ?3, request = ?4, bytes = ?5, total = ?6, validators = ?7 WHERE key = ?1
    """

  static let moveTurn: StaticString = "UPDATE turns SET host = ?2 WHERE transfer_key = ?1"

  static let moveLinks: StaticString = "UPDATE links SET transfer_key = ?2 WHERE transfer_key = ?1"

  /// What may be shown of the link.
  static let nameSources: StaticString = """
    UPDATE attachments SET source = ?2 WHERE key IN (SELECT attachment_key FROM links WHERE transfer_key = ?1)
    """

  static let takeNewLink: StaticString =
    "UPDATE jobs SET cancelled = NULL WHERE kind = 'transfer' AND subject = ?1"
}
