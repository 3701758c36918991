import LedgerPort

/// The statements that put rows right, in a ledger or in a copy.
extension SQL {
  static let recount: StaticString = """
    WITH rows AS (
      SELECT status, count(*) AS number,
        sum(CASE status WHEN 'queued' THEN 0 ELSE min(coalesce(size_bytes, 0), 1125899906842624) END) AS bytes
      FROM attachments GROUP BY status)
    UPDATE counts SET
      attachments = coalesce((SELECT number FROM rows WHERE rows.status = counts.status AND counts.shard = 0), 0),
      bytes = coalesce((SELECT bytes FROM rows WHERE rows.status = counts.status AND counts.shard = 0), 0)
    """

  static let addMissingCounts = SQLText(Schema.countsOfAll)

  /// Of attachments and deliveries that have ended: they would be worked on, and told, again.
  static let removeJobsOfEnded = SQLText(
    """
    DELETE FROM jobs WHERE CASE kind
      WHEN 'transfer' THEN EXISTS (SELECT 1 FROM transfers t WHERE t.key = subject AND t.finished_at IS NOT NULL)
      WHEN 'delivery' THEN EXISTS (SELECT 1 FROM deliveries d WHERE d.key = subject AND d.status <> 'pending')
      ELSE EXISTS (SELECT 1 FROM attachments a WHERE a.key = subject AND a.status <> 'queued') END
    """)

  /// What content a kept object has, its name alone tells.
  static let forgetStrayKept: StaticString = """
    UPDATE attachments SET kept = NULL WHERE kept IS NOT NULL AND NOT EXISTS (SELECT 1 FROM names WHERE path = kept AND uses > 0)
    """

  static let removeNames: StaticString = """
    DELETE FROM names WHERE uses > 0 AND path NOT IN (SELECT kept FROM attachments WHERE kept IS NOT NULL)
    """

  static let renameAll: StaticString = """
    INSERT INTO names SELECT path, sha256, count(*) FROM (
      SELECT url AS path, sha256 FROM attachments WHERE url IS NOT NULL
      UNION ALL
      SELECT kept, n.sha256 FROM attachments JOIN names n ON n.path = kept
      UNION ALL
      SELECT url, sha256 FROM derived) GROUP BY path
    ON CONFLICT DO UPDATE SET sha256 = excluded.sha256, uses = excluded.uses
    """

  /// Counts an earlier attempt, so that what was told before is not told again.
  static let addMissingAttachmentJobs: StaticString = """
    INSERT INTO jobs (kind, subject, lane, priority, state, due_at, attempts, uncounted)
    SELECT 'attachment', key, ?2, 0, CASE WHEN EXISTS (SELECT 1 FROM expansions e WHERE e.attachment_key = a.key AND e.open > 0) THEN 'expanded'
      WHEN isFetching THEN 'waiting' ELSE 'due' END, ?1, number, number FROM (
      SELECT key, status, EXISTS (SELECT 1 FROM links l JOIN transfers t ON t.key = l.transfer_key
        WHERE l.attachment_key = attachments.key AND t.sha256 IS NULL) AS isFetching, coalesce((SELECT max(number) FROM attempts WHERE attachment_key = key), 1) AS number
      FROM attachments) a
    WHERE status = 'queued' AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.kind = 'attachment' AND j.subject = a.key)
    """

  /// Waits for a transfer that is none of its own.
  static let releaseStrayWaiting = SQLText(
    """
    UPDATE jobs INDEXED BY jobs_held SET state = 'due' WHERE state = 'waiting' AND kind = 'attachment'
      AND NOT EXISTS (SELECT 1 FROM links l WHERE l.attachment_key = subject)
    """)

  static let hasJob: StaticString = "SELECT 1 FROM jobs WHERE kind = 'attachment' AND subject = ?1"

  /// How many of those that one waits for have not ended.
  static let recountChildren: StaticString = """
    UPDATE expansions SET open = (SELECT count(*) FROM attachments a WHERE a.parent = attachment_key AND a.status = 'queued')
    WHERE waits = 1
    """

  static let releaseStrayExpanded: StaticString = """
    UPDATE jobs SET state = 'due' WHERE state = 'expanded'
      AND NOT EXISTS (SELECT 1 FROM expansions e WHERE e.attachment_key = subject AND e.waits = 1 AND e.open > 0)
    """

  static let addMissingTransferJobs = SQLText(
    """
    INSERT INTO jobs (kind, subject, lane, priority, state, due_at)
    SELECT DISTINCT 'transfer', l.transfer_key, ?2, 0, 'due', ?1
    FROM jobs w JOIN links l ON w.kind = 'attachment' AND w.subject = l.attachment_key WHERE w.state = 'waiting'
      AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.kind = 'transfer' AND j.subject = l.transfer_key)
    """)

  static let removeTurns: StaticString = "DELETE FROM turns"

  static let addTurns: StaticString = """
    INSERT INTO turns (transfer_key, sender, host, priority)
    SELECT t.key, t.sender, t.host, j.priority FROM jobs j JOIN transfers t ON t.key = j.subject
    WHERE j.kind = 'transfer' AND (j.state = 'due' OR j.state = 'leased')
    """

  static let channelsWithoutLane: StaticString =
    "SELECT DISTINCT channel FROM deliveries WHERE status = 'pending'"

  /// Counts an earlier attempt, so that the next one checks whether a delivery already took effect.
  static let addMissingDeliveryJobs: StaticString = """
    INSERT INTO jobs (kind, subject, lane, priority, state, due_at, attempts, uncounted)
    SELECT 'delivery', d.key, l.key, 0, 'due', ?1, 1, 1 FROM deliveries d
      JOIN lanes l ON l.kind = 'channel' AND l.name = d.channel AND l.host = ''
    WHERE d.status = 'pending' AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.kind = 'delivery' AND j.subject = d.key)
    """

  /// For a copy: each job may have been started since the copy was made, and no attachment is to be blamed for the coordinator's
  /// end. An attempt that is not the first checks whether an earlier one took effect. Where an object was to be deleted, another's
  /// may lie by the time that the copy is restored. Its history ends here.
  static let releaseInCopy = """
    UPDATE jobs SET attempts = attempts + (state <> 'leased'), uncounted = uncounted + 1, holder = NULL, token = NULL,
      state = CASE state WHEN 'leased' THEN 'due' ELSE state END;
    DELETE FROM coordinators;
    DELETE FROM names WHERE uses = 0;
    UPDATE ledger SET history = 0, kernel_run = '';
    """
}
