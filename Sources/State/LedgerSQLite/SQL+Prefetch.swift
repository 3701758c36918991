import LedgerPort
import Pipeline

/// The statements that say which links are fetched by themselves. The job of a transfer that is not is `waiting`: no index of what
/// is due has it.
extension SQL {
  /// What has links, the newest first. Made where a pipeline asks for it, so that no other pays for it.
  static let prefetchIndex = "attachments_linked"

  static let addPrefetchIndex = """
    CREATE INDEX IF NOT EXISTS \(prefetchIndex) ON attachments (conversation_id, key, message_id)
      WHERE source_kind = 'link' AND own_message = 0
    """

  private static let linked = """
    FROM attachments INDEXED BY \(prefetchIndex)
    WHERE conversation_id = ?1 AND source_kind = 'link' AND own_message = 0
    """

  static let newestMessages = SQLText(
    "SELECT key, message_id \(linked) AND key < ?2 ORDER BY key DESC LIMIT ?3")

  static let transfersOfMessage: StaticString = """
    SELECT l.transfer_key FROM attachments a JOIN links l ON l.attachment_key = a.key
    WHERE a.conversation_id = ?1 AND a.message_id = ?2 LIMIT 10000
    """

  /// The messages of the attachments that wait for a transfer.
  static let messagesOfTransfer: StaticString = """
    SELECT a.conversation_id, a.message_id, a.own_message
    FROM links l JOIN jobs w ON w.kind = 'attachment' AND w.subject = l.attachment_key AND w.state = 'waiting' JOIN attachments a ON a.key = l.attachment_key
    WHERE l.transfer_key = ?1 LIMIT ?2
    """

  // MARK: What is not

  static let putAside: StaticString =
    "UPDATE jobs SET state = 'waiting' WHERE kind = 'transfer' AND subject = ?1 AND state = 'due'"

  static let takeUp = SQLText(
    "UPDATE jobs SET state = 'due' WHERE kind = 'transfer' AND subject = ?1 AND state = 'waiting'"
  )

  static let asideBefore = SQLText(
    """
    SELECT subject FROM jobs INDEXED BY jobs_held WHERE state = 'waiting' AND kind = 'transfer' AND subject < ?1
    ORDER BY subject DESC LIMIT ?2
    """)

  static let notPrefetched = SQLText(
    "SELECT count(*) FROM jobs INDEXED BY jobs_held WHERE state = 'waiting' AND kind = 'transfer'")

  static let waitingAttachments = SQLText(
    """
    SELECT (SELECT count(*) FROM jobs INDEXED BY jobs_held WHERE state = 'waiting' AND kind = 'attachment')
      + (SELECT count(*) FROM jobs INDEXED BY jobs_held WHERE state = 'expanded')
    """)
}
