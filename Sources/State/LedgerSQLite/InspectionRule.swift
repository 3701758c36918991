import LedgerPort
import Pipeline

/// A rule over several rows, which a CHECK constraint cannot express.
struct InspectionRule {
  var code: String
  /// Returns one row, with place and sentence, for each violation.
  var sql: String
  var remedy: String

  private static let restore = "restore the ledger from a backup; nothing else tells what the row was"
  private static let mend = "`sluice verify --repair` puts it right"

  /// Digits of a UUID of version 7 or 8, as `GLOB` matches them.
  private static let id: String = {
    func digits(_ count: Int) -> String { String(repeating: "[0-9a-f]", count: count) }
    return "\(digits(8))-\(digits(4))-[78]\(digits(3))-[89ab]\(digits(3))-\(digits(12))"
  }()

  private static let statuses = Status.allCases.count

  static let all: [InspectionRule] = [
    InspectionRule(
      code: "row-missing",
      sql: """
        SELECT 'sluice.db', 'the table `ledger` has ' || (SELECT count(*) FROM ledger) || ' rows in place of 1'
        WHERE (SELECT count(*) FROM ledger) <> 1
        """, remedy: restore),
    InspectionRule(
      code: "row-malformed",
      sql: """
        SELECT 'sluice.db', 'the numbers in the table `ledger` make no sense: position ' || position || ', coordinator ' || holder
        FROM ledger
        WHERE position < (SELECT coalesce(max(number), 0) FROM changes) OR position > 1 << 60 OR holder > 1 << 60
          OR holder < (SELECT coalesce(max(id), 0) FROM coordinators)
        """, remedy: restore),
    InspectionRule(
      code: "counts-differ",
      sql: """
        SELECT 'sluice.db', 'the table `counts` has ' || count(*) || ' rows in place of \(statuses)' FROM counts WHERE shard = 0
        HAVING count(*) <> \(statuses)
        """, remedy: mend),
    InspectionRule(
      code: "counts-differ",
      sql: """
        WITH rows AS (
          SELECT status, count(*) AS number,
            sum(CASE status WHEN 'queued' THEN 0 ELSE min(coalesce(size_bytes, 0), 1125899906842624) END) AS bytes
          FROM attachments GROUP BY status)
        SELECT 'count of ' || status, 'it is ' || c.attachments || ' with ' || c.bytes || ' bytes, and there are '
          || coalesce(r.number, 0) || ' with ' || coalesce(r.bytes, 0)
        FROM (SELECT status, sum(attachments) AS attachments, sum(bytes) AS bytes FROM counts GROUP BY status) c
          LEFT JOIN rows r USING (status)
        WHERE c.attachments <> coalesce(r.number, 0) OR c.bytes <> coalesce(r.bytes, 0)
        """, remedy: mend),
    InspectionRule(
      code: "job-missing",
      sql: """
        SELECT 'attachment ' || id, 'it is queued, and no job is there to work on it' FROM attachments a
        WHERE status = 'queued' AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.kind = 'attachment' AND j.subject = a.key)
        """, remedy: mend),
    InspectionRule(
      code: "job-missing",
      sql: """
        SELECT 'delivery ' || id, 'it is pending, and no job is there to deliver it' FROM deliveries d
        WHERE status = 'pending' AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.kind = 'delivery' AND j.subject = d.key)
        UNION ALL
        SELECT 'transfer ' || l.transfer_key, 'attachments wait for it, and no job is there to fetch it'
        FROM jobs w JOIN links l ON w.kind = 'attachment' AND w.subject = l.attachment_key
        WHERE w.state = 'waiting'
          AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.kind = 'transfer' AND j.subject = l.transfer_key)
        UNION ALL
        SELECT 'attachment ' || w.subject, 'it waits for a transfer, and none is its own' FROM jobs w
        WHERE w.state = 'waiting' AND w.kind = 'attachment'
          AND NOT EXISTS (SELECT 1 FROM links l WHERE l.attachment_key = w.subject)
        UNION ALL
        SELECT 'transfer ' || j.subject, 'it is due, and has no place in the order of turns' FROM jobs j
        WHERE j.kind = 'transfer' AND j.state = 'due'
          AND NOT EXISTS (SELECT 1 FROM turns o WHERE o.transfer_key = j.subject AND o.priority = j.priority)
        UNION ALL
        SELECT 'attachment ' || w.subject, 'it waits for its children, and all have ended' FROM jobs w
        WHERE w.state = 'expanded'
          AND NOT EXISTS (SELECT 1 FROM expansions e WHERE e.attachment_key = w.subject AND e.waits = 1 AND e.open > 0)
        UNION ALL
        SELECT 'attachment ' || a.id, 'it waits for ' || e.open || ' of its children, and others have not ended'
        FROM expansions e JOIN attachments a ON a.key = e.attachment_key WHERE e.waits = 1
          AND e.open <> (SELECT count(*) FROM attachments c WHERE c.parent = e.attachment_key AND c.status = 'queued')
        """, remedy: mend),
    InspectionRule(
      code: "job-of-ended",
      sql: """
        SELECT 'attachment ' || a.id, 'it is ' || a.status || ', and its job would work on it again'
        FROM jobs j JOIN attachments a ON j.kind = 'attachment' AND a.key = j.subject WHERE a.status <> 'queued'
        UNION ALL
        SELECT 'delivery ' || d.id, 'it is ' || d.status || ', and its job would deliver it again'
        FROM jobs j JOIN deliveries d ON j.kind = 'delivery' AND d.key = j.subject WHERE d.status <> 'pending'
        UNION ALL
        SELECT 'transfer ' || o.transfer_key, 'it has a place in the order of turns, and is not due' FROM turns o
        WHERE NOT EXISTS (SELECT 1 FROM jobs j WHERE j.kind = 'transfer' AND j.subject = o.transfer_key
          AND (j.state = 'due' OR j.state = 'leased'))
        UNION ALL
        SELECT 'transfer ' || t.key, 'it has ended, and its job would fetch it again'
        FROM jobs j JOIN transfers t ON j.kind = 'transfer' AND t.key = j.subject WHERE t.finished_at IS NOT NULL
        """, remedy: mend),
    InspectionRule(
      code: "job-malformed",
      sql: """
        SELECT 'job of ' || j.kind || ' ' || j.subject, 'its numbers are ahead of the ledger''s, or make no sense'
        FROM jobs j, ledger l
        WHERE j.holder > l.holder OR j.attempts < 0 OR j.uncounted NOT BETWEEN 0 AND j.attempts OR j.crashes < 0 OR j.losses < 0
        UNION ALL
        SELECT 'job of ' || kind || ' ' || subject, 'it waits until a time that makes no sense; `sluice retry` of its lane makes it due'
        FROM jobs WHERE state = 'scheduled' AND (due_at < 0 OR due_at > 253402300799000)
        UNION ALL
        SELECT 'job of ' || j.kind || ' ' || j.subject, 'it is leased under number ' || j.token || ' of coordinator ' || j.holder || ', which is at '
          || c.number
        FROM jobs j JOIN coordinators c ON c.id = j.holder WHERE j.token > c.number
        UNION ALL
        SELECT 'job of ' || j.kind || ' ' || j.subject, 'it is for ' || j.kind || ' ' || j.subject || ', which is not there'
        FROM jobs j WHERE CASE j.kind WHEN 'attachment' THEN NOT EXISTS (SELECT 1 FROM attachments WHERE key = j.subject)
          WHEN 'transfer' THEN NOT EXISTS (SELECT 1 FROM transfers WHERE key = j.subject)
          ELSE NOT EXISTS (SELECT 1 FROM deliveries WHERE key = j.subject) END
        UNION ALL
        SELECT 'job of ' || j.kind || ' ' || j.subject, 'it lies in the lane ' || l.kind || ':' || l.name
        FROM jobs j JOIN lanes l ON l.key = j.lane LEFT JOIN deliveries d ON j.kind = 'delivery' AND d.key = j.subject
        WHERE CASE j.kind WHEN 'attachment' THEN l.kind <> 'attachments' WHEN 'transfer' THEN l.kind <> 'downloads' ELSE l.kind <> 'channel' OR l.name <> d.channel END
        """, remedy: restore),
    InspectionRule(
      code: "names-differ",
      sql: """
        WITH places AS (
            SELECT url AS path, sha256 FROM attachments WHERE url IS NOT NULL
            UNION ALL
            SELECT kept, (SELECT sha256 FROM names WHERE path = kept) FROM attachments WHERE kept IS NOT NULL
            UNION ALL
            SELECT url, sha256 FROM derived),
          rows AS (SELECT path, sha256, count(*) AS number FROM places GROUP BY path, sha256)
        SELECT 'path ' || r.path, number || ' attachments have an object there, and by the table of names '
          || coalesce(uses, 0) || ' have' FROM rows r LEFT JOIN names n ON n.path = r.path AND n.sha256 = r.sha256
        WHERE n.uses IS NOT r.number
        UNION ALL
        SELECT 'path ' || n.path, 'no attachment has an object there, and by the table of names ' || uses || ' have'
        FROM names n LEFT JOIN rows r ON r.path = n.path AND r.sha256 = n.sha256 WHERE r.path IS NULL AND n.uses > 0
        """, remedy: mend),
    InspectionRule(
      code: "conversation-differs",
      sql: """
          SELECT 'conversation ' || c.id, 'its last message has the number ' || c.last_number || ', and ' || count(m.number)
            || ' are there, up to ' || coalesce(max(m.number), 0)
          FROM conversations c LEFT JOIN messages m ON m.conversation_id = c.id AND m.number IS NOT NULL GROUP BY c.key
          HAVING c.last_number <> count(m.number) OR c.last_number <> coalesce(max(m.number), 0)
          UNION ALL
          SELECT 'message ' || m.message_id, 'it has a number, and its conversation is not there' FROM messages m
          WHERE m.number IS NOT NULL AND NOT EXISTS (SELECT 1 FROM conversations c WHERE c.id = m.conversation_id)
          UNION ALL
          SELECT 'conversation ' || c.id, 'the numbers of its member ' || quote(x.user) || ' are beyond its last message'
          FROM members x JOIN conversations c ON c.key = x.conversation
          WHERE max(x.delivered_number, x.joined_number, x.first_number - 1, coalesce(x.left_number, 0)) > c.last_number
            OR min(x.read_number, x.joined_number) < 0
          UNION ALL
          SELECT 'conversation ' || c.id, 'it changed after the last change of the ledger' FROM conversations c, ledger l
          WHERE c.changed > l.position
        """, remedy: restore),
    InspectionRule(code: "search-differs", sql: SQLiteLedger.IndexText.differences, remedy: mend),
    InspectionRule(
      code: "content-lost",
      sql: """
        SELECT 'attachment ' || a.id,
          'its content is lost, and did not come out of attachment ' || p.id || ' again, which is ' || p.status
        FROM attachments a JOIN attachments p ON p.key = a.parent
        WHERE a.status = 'failed' AND a.reason_stage = 'source' AND a.reason_code = 'missing' AND a.kept IS NULL
          AND p.status <> 'queued' AND NOT EXISTS (SELECT 1 FROM uploads u WHERE u.attachment_id = a.id)
        """,
      remedy: """
        `sluice retry` of what it was in takes it out again, unless that is completed; else ingest the file that it was in \
        again, as another message. `sluice delete` of it ends this
        """),
    InspectionRule(
      code: "row-malformed",
      sql: """
        SELECT 'attachment ' || key, 'its id is ' || quote(id) FROM attachments WHERE id NOT GLOB '\(id)'
        UNION ALL
        SELECT 'attachment ' || id, 'its metadata is no JSON object' FROM attachments
        WHERE CASE WHEN json_valid(metadata) THEN json_type(metadata) <> 'object' ELSE 1 END
        UNION ALL
        SELECT 'attachment ' || id, 'it is completed, and has no size or no SHA-256' FROM attachments
        WHERE status = 'completed' AND (size_bytes IS NULL OR sha256 IS NULL)
        UNION ALL
        SELECT 'attachment ' || a.id, 'it is ' || a.status || ', and has derived objects, as only those have that are completed'
        FROM attachments a WHERE a.status <> 'completed' AND EXISTS (SELECT 1 FROM derived d WHERE d.attachment_key = a.key)
          AND NOT EXISTS (SELECT 1 FROM expansions e WHERE e.attachment_key = a.key AND e.waits = 1)
        UNION ALL
        SELECT 'delivery ' || key, 'its id is ' || quote(id) FROM deliveries WHERE id NOT GLOB '\(id)'
        UNION ALL
        SELECT 'event ' || key, 'its data is no JSON object' FROM events
        WHERE CASE WHEN json_valid(data) THEN json_type(data) <> 'object' ELSE 1 END
        """, remedy: restore),
  ]
}
