import SQLite

// Checks the ledger as a file, and single rows.
extension Check {
  func checkIntegrity(_ ledger: Ledger) throws {
    try ledger.connection.prepare("PRAGMA integrity_check").rows { row in
      if row.text(0) != "ok" { found(.integrity, "sluice.db", row.text(0)) }
    }
    try ledger.connection.prepare("PRAGMA foreign_key_check").rows { row in
      found(.integrity, "\(row.text(0)) \(row.integer(1))", "it belongs to nothing in \(row.text(2))")
    }
  }

  func checkRows(_ ledger: Ledger) throws {
    for (rule, sql) in Self.rules + (options.isDrained ? Self.drainedRules : []) {
      try ledger.connection.prepare(sql).rows { found(rule, $0.text(0), $0.text(1)) }
    }
  }

  /// Each returns one row of place and reason for each violation.
  private static let rules: [(Rule, String)] = [
    (
      .rowMalformed,
      """
      SELECT 'ledger', 'it has ' || count(*) || ' rows and not 1' FROM ledger HAVING count(*) <> 1
      UNION ALL
      SELECT 'attachment ' || id, 'its status is ' || quote(status) FROM attachments
        WHERE status NOT IN ('queued', 'completed', 'rejected', 'failed', 'quarantined')
      UNION ALL
      SELECT 'attachment ' || id, 'it is ' || status || ' and its time of ending is ' || quote(finished_at)
        FROM attachments WHERE (status = 'queued') <> (finished_at IS NULL)
      UNION ALL
      SELECT 'attachment ' || id, 'it is ' || status || ' and its reason is ' || quote(reason_code)
        FROM attachments WHERE (status IN ('queued', 'completed')) <> (reason_code IS NULL)
      UNION ALL
      SELECT 'attachment ' || id, 'its SHA-256 has ' || length(sha256) || ' bytes' FROM attachments
        WHERE length(sha256) <> 32
      UNION ALL
      SELECT 'delivery ' || id, 'it is ' || status || ' and its time of ending is ' || quote(finished_at)
        FROM deliveries WHERE (status = 'pending') <> (finished_at IS NULL)
          OR status NOT IN ('pending', 'delivered', 'dead')
      UNION ALL
      SELECT 'job of ' || kind || ' ' || subject, 'it is ' || state || ' with token ' || quote(token) || ' and holder ' || quote(holder) FROM jobs
        WHERE (state = 'leased') <> (token IS NOT NULL) OR (token IS NULL) <> (holder IS NULL)
          OR state NOT IN ('due', 'scheduled', 'leased', 'expanded')
      UNION ALL
      SELECT 'job of ' || kind || ' ' || subject, 'it is for what is not there' FROM jobs
        WHERE CASE kind WHEN 'attachment' THEN NOT EXISTS (SELECT 1 FROM attachments a WHERE a.key = subject)
          ELSE NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.key = subject) END
      """
    ),
    (
      .countWrong,
      """
      WITH states (status) AS (VALUES ('queued'), ('completed'), ('rejected'), ('failed'), ('quarantined')),
      real AS (
        SELECT s.status, count(a.key) AS attachments,
          total(CASE WHEN s.status <> 'queued' THEN min(coalesce(a.size_bytes, 0), 1 << 50) END) AS bytes
        FROM states s LEFT JOIN attachments a ON a.status = s.status GROUP BY s.status)
      SELECT 'count of ' || r.status, 'it is ' || coalesce(c.attachments, 'missing') || ' with '
        || coalesce(c.bytes, 'no') || ' bytes, and there are ' || r.attachments || ' with ' || CAST(r.bytes AS INTEGER)
      FROM real r LEFT JOIN (
        SELECT status, sum(attachments) AS attachments, sum(bytes) AS bytes FROM counts GROUP BY status) c ON c.status = r.status
      WHERE c.status IS NULL OR c.attachments <> r.attachments OR c.bytes <> CAST(r.bytes AS INTEGER)
      """
    ),
    (
      .doubled,
      """
      SELECT 'attachment ' || id, 'this id has ' || count(*) || ' rows' FROM attachments GROUP BY id HAVING count(*) > 1
      """
    ),
    (
      .placeShared,
      """
      SELECT 'store/' || url, count(*) || ' attachments have this place: ' || group_concat(id) FROM attachments
      WHERE url IS NOT NULL GROUP BY url HAVING count(*) > 1
      """
    ),
    (
      .placeNone,
      """
      SELECT 'attachment ' || id, 'it is completed, and its url is ' || quote(url) || ', its hash ' || quote(sha256)
      FROM attachments WHERE status = 'completed' AND (url IS NULL OR sha256 IS NULL OR size_bytes IS NULL)
      """
    ),
    (
      .stateSecond,
      """
      SELECT 'attachment ' || a.id, 'it is ' || a.status || ', and its job would bring it to another'
      FROM jobs j JOIN attachments a ON j.kind = 'attachment' AND a.key = j.subject WHERE a.status <> 'queued'
      """
    ),
    (
      .deliveryDoubled,
      """
      SELECT 'delivery ' || d.id, 'it is ' || d.status || ', and its job would deliver it again'
      FROM jobs j JOIN deliveries d ON j.kind = 'delivery' AND d.key = j.subject WHERE d.status <> 'pending'
      UNION ALL
      SELECT 'attachment ' || a.id, d.recipient || ' has ' || count(*) || ' deliveries of ' || e.type || ' on ' || d.channel
      FROM deliveries d JOIN events e ON e.key = d.event_key JOIN attachments a ON a.key = e.attachment_key
      GROUP BY a.key, e.type, d.channel, d.recipient HAVING count(*) > 1
      """
    ),
    (
      .idDoubled,
      """
      SELECT 'delivery ' || id, 'this id is of ' || count(*) || ' events or recipients'
      FROM (SELECT DISTINCT id, event_key, recipient FROM deliveries) GROUP BY id HAVING count(*) > 1
      UNION ALL
      SELECT 'delivery ' || id, 'this id stands ' || count(*) || ' times for ' || channel
      FROM deliveries GROUP BY id, channel, event_key, recipient HAVING count(*) > 1
      """
    ),
    (
      .jobMissing,
      """
      SELECT 'attachment ' || id, 'it is queued, and has no job' FROM attachments a
      WHERE status = 'queued' AND NOT EXISTS (SELECT 1 FROM jobs WHERE kind = 'attachment' AND subject = a.key)
      UNION ALL
      SELECT 'delivery ' || id, 'it is pending, and has no job' FROM deliveries d
      WHERE status = 'pending' AND NOT EXISTS (SELECT 1 FROM jobs WHERE kind = 'delivery' AND subject = d.key)
      UNION ALL
      SELECT 'transfer ' || j.subject, 'it is ' || j.state || ', and has no place in the order of turns' FROM jobs j
      WHERE kind = 'transfer' AND state IN ('due', 'leased') AND NOT EXISTS (
        SELECT 1 FROM turns o JOIN transfers t ON t.key = o.transfer_key
        WHERE o.transfer_key = j.subject AND o.priority = j.priority AND o.host = t.host AND o.sender = t.sender)
      UNION ALL
      SELECT 'transfer ' || transfer_key, 'it has a place in the order of turns, and is not due' FROM turns
      WHERE transfer_key NOT IN (SELECT subject FROM jobs WHERE kind = 'transfer' AND state IN ('due', 'leased'))
      """
    ),
    (
      .messageNumber,
      """
      SELECT 'conversation ' || c.id, 'message ' || n.value || ' is there ' || count(m.number) || ' times'
      FROM conversations c, (WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n
        WHERE value < (SELECT max(last_number) FROM conversations)) SELECT value FROM n) n
        LEFT JOIN messages m ON m.conversation_id = c.id AND m.number = n.value
      WHERE n.value <= c.last_number GROUP BY c.key, n.value HAVING count(m.number) <> 1
      UNION ALL
      SELECT 'conversation ' || conversation_id, 'its message ' || number || ' is beyond its last' FROM messages m
      WHERE number > coalesce((SELECT last_number FROM conversations c WHERE c.id = m.conversation_id), 0)
      """
    ),
    (
      .messageDoubled,
      """
      SELECT sender_id, 'its message ' || client_id || ' is there ' || count(*) || ' times' FROM messages
      WHERE client_id IS NOT NULL GROUP BY sender_id, client_id HAVING count(*) > 1
      """
    ),
    (
      .pointerWrong,
      """
      SELECT 'conversation ' || c.id, x.user || ' has read ' || read_number || ', was told ' || delivered_number || ', of '
        || last_number
      FROM members x JOIN conversations c ON c.key = x.conversation
      WHERE NOT (0 <= read_number AND read_number <= delivered_number AND delivered_number <= last_number)
        OR left_number > last_number OR joined_number > last_number
      """
    ),
    (
      .versionLeft,
      """
      SELECT 'message ' || message_id, 'it was deleted, and has a text' FROM messages
      WHERE deleted_at IS NOT NULL AND text IS NOT NULL
      UNION ALL
      SELECT 'message ' || message_id, 'it was deleted, and an earlier text is left' FROM versions
        JOIN messages USING (conversation_id, message_id) WHERE deleted_at IS NOT NULL
      """
    ),
    (
      .leaseWrong,
      """
      SELECT 'job of ' || j.kind || ' ' || j.subject, 'coordinator ' || j.holder || ' has it, and ' || l.holder || ' was the last'
      FROM jobs j, ledger l WHERE j.holder > l.holder
      UNION ALL
      SELECT 'job of ' || kind || ' ' || subject, 'of ' || attempts || ' attempts ' || uncounted || ' do not count' FROM jobs
      WHERE attempts < 0 OR uncounted NOT BETWEEN 0 AND attempts OR crashes < 0
      UNION ALL
      SELECT 'job of ' || kind || ' ' || subject, count(*) || ' jobs are for it' FROM jobs
      GROUP BY kind, subject HAVING count(*) > 1
      """
    ),
  ]

  private static let drainedRules: [(Rule, String)] = [
    (
      .jobLeft,
      """
      SELECT 'job of ' || j.kind || ' ' || j.subject, 'it is ' || state || ' in the lane ' || l.kind || ' ' || l.name || ', after ' || attempts
        || ' attempts'
      FROM jobs j JOIN lanes l ON l.key = j.lane
      """
    ),
    (
      .lanePaused,
      "SELECT 'lane ' || l.kind || ' ' || l.name, reason FROM pauses JOIN lanes l ON l.key = lane"
    ),
    (
      .deliveryDead,
      "SELECT 'delivery ' || id, coalesce(reason_message, 'no reason') FROM deliveries WHERE status = 'dead'"
    ),
  ]
}
