import LedgerPort
import Pipeline
import Platform
import SQLite

/// The statement that finds the attachments which answer to a filter, in order of intake, or the newest first.
///
/// It looks at candidates that an index gives in this order, of a ``Window`` at most. So a page takes a bounded time, also where
/// hardly any answers.
struct Selection {
  private static let rejected: Set<Status> = [.rejected, .failed, .quarantined, .cancelled]

  /// Where a conversation, a message, several media types or several codes have more attachments than this, these are found by
  /// looking at all, rather than by sorting them.
  static let few = 5000

  /// Where the next page begins: after this attachment; of those that were taken in at the same time, after the one with this key.
  struct Mark {
    var createdAt: Int64
    var key: Int64

    /// Before all, in order of intake.
    static let oldest = Mark(.min, .min)
    /// The same where the newest are first.
    static let newest = Mark(.max, .max)

    /// The first time at which there may be more.
    func nextTime(isNewestFirst: Bool) -> Int64 {
      if isNewestFirst { return key == .min && createdAt > .min ? createdAt - 1 : createdAt }
      return key == .max && createdAt < .max ? createdAt + 1 : createdAt
    }

    /// Whether it is the end of a window, and of no page that was full.
    func endsWindow(isNewestFirst: Bool) -> Bool {
      // That of queued ones has no time.
      key == (isNewestFirst ? .min : .max) || createdAt == .min && key != .min
    }

    private init(_ createdAt: Int64, _ key: Int64) { (self.createdAt, self.key) = (createdAt, key) }

    /// Reads what ``text`` gives; `nil`: it is none.
    init?(_ text: String) {
      let parts = text.split(separator: ".")
      guard parts.count == 2, let createdAt = Int64(parts[0]), let key = Int64(parts[1]) else { return nil }
      (self.createdAt, self.key) = (createdAt, key)
    }

    var text: String { "\(createdAt).\(key)" }
  }

  /// What a page looks at.
  enum Window: Equatable {
    /// Few by themselves.
    case all
    /// Those that were taken in up to this time, or since then where the newest are first; `nil`: all that come.
    case time(Int64?)
    /// Queued ones, up to this key, or down to it; `nil`: all that come.
    case key(Int64?)

    /// Where it ends before all have been looked at; `nil`: it does not.
    func end(isNewestFirst: Bool) -> Mark? {
      var end = Mark.oldest
      switch self {
      case .time(let time?): (end.createdAt, end.key) = (time, isNewestFirst ? .min : .max)
      case .key(let key?): end.key = key
      default: return nil
      }
      return end
    }
  }

  private(set) var sql = ""
  private(set) var values: [Statement.Value] = []
  private(set) var window = Window.all

  /// What a selection asks of the ledger before it is made.
  struct Facts {
    /// The conversations in which to look for those of a conversation, of a message, or of both; `nil`: these are too many, or what
    /// is there is not few.
    var conversations: (_ id: String?, _ message: String?) throws -> [String]?
    /// Whether few attachments have one of these codes.
    var areRare: (_ codes: [String]) throws -> Bool
    /// The media types on record that answer to a pattern; `nil`: there are several, and not few attachments have them.
    var types: (String) throws -> [String]?
    /// The time up to which to look, from this one on; where the newest are first, the earlier one down to which.
    var time: (Int64) throws -> Int64?
    /// The key up to which to look at queued ones, after this one; where the newest are first, the lower one down to which.
    var key: (Int64) throws -> Int64?
  }

  /// - Parameter more: expressions for further columns.
  init(
    _ filter: AttachmentFilter, after mark: Mark, more: [String] = [], _ facts: Facts
  ) throws {
    let (candidates, order) = try self.candidates(filter, mark, facts)
    let answers = self.answers(filter)
    let columns = more.map { ", \($0)" }.joined()
    sql = """
      SELECT a.created_at, a.key\(columns) FROM \(candidates) AND \(answers) ORDER BY \(order)
      """
  }

  private mutating func place(_ value: Statement.Value) -> String {
    values.append(value)
    return "?\(values.count)"
  }

  // MARK: Candidates

  private mutating func candidates(
    _ filter: AttachmentFilter, _ mark: Mark, _ facts: Facts
  ) throws -> (from: String, order: String) {
    if let ids = filter.ids {
      return indexed(
        "attachments a",
        "a.id IN (SELECT value FROM json_each(\(place(.text(JSONWriter.array(of: ids.sorted()))))))",
        filter, mark)
    }
    if let found = try messages(filter, mark, facts) { return found }
    let isUnfinished =
      filter.codes != nil || filter.stage != nil || filter.statuses.isSubset(of: Self.rejected)
    let hasContent = filter.sha256 != nil || filter.objectPath != nil
    if filter.statuses == [.queued] && !isUnfinished && !hasContent {
      return try filter.isNewestFirst ? newestQueued(mark, facts) : queued(mark, facts)
    }
    let end = try facts.time(firstTime(filter, mark))
    // What comes after the last time that is asked for need not be looked through.
    window = .time(
      end.flatMap {
        let isLast = filter.isNewestFirst ? $0 <= filter.since ?? .min : $0 >= filter.until ?? .max
        return isLast ? nil : $0
      })
    if let sha256 = filter.sha256 {
      return indexed(
        "attachments a INDEXED BY attachments_by_content", "a.sha256 = \(place(.blob(sha256)))", filter, mark)
    }
    if let path = filter.objectPath {
      return indexed(
        "attachments a INDEXED BY attachments_by_content",
        "a.sha256 = (SELECT sha256 FROM names WHERE path = \(place(.text(path))))", filter, mark)
    }
    if let codes = filter.codes?.sorted(), try codes.count == 1 || facts.areRare(codes) {
      return indexed(
        "attachments a INDEXED BY attachments_by_code", equals("a.reason_code", codes), filter, mark)
    }
    if isUnfinished {
      return indexed(
        "attachments a INDEXED BY attachments_not_completed", "a.status NOT IN ('queued', 'completed')",
        filter, mark)
    }
    // Names are in the index by time.
    if filter.fileName == nil, let pattern = filter.mediaType, let types = try facts.types(pattern) {
      if types.isEmpty { window = .all }
      return indexed(
        "attachments a INDEXED BY attachments_by_type", equals("a.media_type", types), filter, mark)
    }
    return indexed("attachments a INDEXED BY attachments_by_time", nil, filter, mark)
  }

  /// The few of a conversation or a message; `nil`: the filter has neither, or there are more.
  private mutating func messages(
    _ filter: AttachmentFilter, _ mark: Mark, _ facts: Facts
  ) throws -> (from: String, order: String)? {
    if filter.conversationId == nil && filter.messageId == nil { return nil }
    // Where the page before had a window, they were not few.
    if mark.endsWindow(isNewestFirst: filter.isNewestFirst) { return nil }
    guard let conversations = try facts.conversations(filter.conversationId, filter.messageId) else {
      return nil
    }
    var condition = equals("a.conversation_id", conversations)
    if let message = filter.messageId { condition += " AND a.message_id = \(place(.text(message)))" }
    return indexed("attachments a INDEXED BY attachments_by_message", condition, filter, mark)
  }

  private mutating func queued(_ mark: Mark, _ facts: Facts) throws -> (from: String, order: String) {
    let end = try facts.key(mark.key)
    window = .key(end)
    let jobs = "jobs j CROSS JOIN attachments a ON a.key = j.subject WHERE j.kind = 'attachment'"
    let last = end.map { " AND j.subject <= \(place(.integer($0)))" } ?? ""
    return ("\(jobs) AND j.subject > \(place(.integer(max(mark.key, 0))))\(last)", "j.subject")
  }

  private mutating func newestQueued(_ mark: Mark, _ facts: Facts) throws -> (from: String, order: String) {
    let end = try facts.key(mark.key)
    window = .key(end)
    let jobs = "jobs j CROSS JOIN attachments a ON a.key = j.subject WHERE j.kind = 'attachment'"
    let last = end.map { " AND j.subject >= \(place(.integer($0)))" } ?? ""
    let first = place(.integer(max(mark.key, 0)))
    return ("\(jobs) AND j.subject < \(first)\(last)", "j.subject DESC")
  }

  /// The time at which a page begins.
  private func firstTime(_ filter: AttachmentFilter, _ mark: Mark) -> Int64 {
    let next = mark.nextTime(isNewestFirst: filter.isNewestFirst)
    return filter.isNewestFirst ? min(next, filter.until ?? .max) : max(next, filter.since ?? .min)
  }

  /// With one value the index gives the order, too.
  private mutating func equals(_ column: String, _ texts: [String]) -> String {
    if texts.count == 1 { return "\(column) = \(place(.text(texts[0])))" }
    return "\(column) IN (SELECT value FROM json_each(\(place(.text(JSONWriter.array(of: texts))))))"
  }

  private mutating func indexed(
    _ table: String, _ condition: String?, _ filter: AttachmentFilter, _ mark: Mark
  ) -> (from: String, order: String) {
    let (after, before, order) = filter.isNewestFirst ? ("<", ">", " DESC") : (">", "<", "")
    let first = place(.integer(firstTime(filter, mark)))
    var conditions = [condition].compactMap(\.self)
    conditions.append("a.created_at \(after)= \(first)")
    if case .time(let end?) = window {
      conditions.append("a.created_at \(before)= \(place(.integer(end)))")
    }
    if filter.isNewestFirst, let since = filter.since {
      conditions.append("a.created_at >= \(place(.integer(since)))")
    }
    if let until = filter.until { conditions.append("a.created_at < \(place(.integer(until)))") }
    // At the end of a window nothing is left of that time.
    if mark.key != .min && mark.key != .max {
      let (time, key) = (place(.integer(mark.createdAt)), place(.integer(mark.key)))
      conditions.append("(a.created_at \(after) \(time) OR a.key \(after) \(key))")
    }
    return (
      "\(table) WHERE \(conditions.joined(separator: " AND "))", "a.created_at\(order), a.key\(order)"
    )
  }

  // MARK: Answers

  /// A condition that holds for an attachment that answers to the filter. What an index has comes first.
  private mutating func answers(_ filter: AttachmentFilter) -> String {
    var conditions: [String] = []
    if filter.statuses.count < Status.allCases.count {
      let names = filter.statuses.map { "'\($0.rawValue)'" }.sorted()
      conditions.append("a.status IN (\(names.joined(separator: ", ")))")
    }
    for (column, text) in [
      ("a.reason_stage", filter.stage), ("a.conversation_id", filter.conversationId),
      ("a.message_id", filter.messageId), ("a.reference", filter.reference),
    ] {
      if let text { conditions.append("\(column) IS \(place(.text(text)))") }
    }
    if let codes = filter.codes { conditions.append(equals("a.reason_code", codes.sorted())) }
    if let pattern = filter.fileName { conditions.append("a.file_name GLOB \(place(.text(pattern)))") }
    if let pattern = filter.mediaType {
      conditions.append("coalesce(a.media_type, '') GLOB \(place(.text(pattern)))")
    }
    if filter.statuses == [.queued] {
      if let since = filter.since { conditions.append("a.created_at >= \(place(.integer(since)))") }
      if let until = filter.until { conditions.append("a.created_at < \(place(.integer(until)))") }
    }
    if let end = filter.endedBefore {
      conditions.append("coalesce(a.finished_at < \(place(.integer(end))), 0)")
    }
    if let path = filter.objectPath { conditions.append("a.url IS \(place(.text(path)))") }
    if let source = filter.source { conditions.append("a.source IS \(place(.blob(source)))") }
    if let start = filter.sourceStart {
      conditions.append("substr(a.source, 1, \(start.count)) IS \(place(.blob(start)))")
    }
    if let start = filter.endedSince {
      conditions.append("coalesce(a.finished_at >= \(place(.integer(start))), 0)")
    }
    if let sha256 = filter.sha256 { conditions.append("a.sha256 IS \(place(.blob(sha256)))") }
    if let parent = filter.parentId {
      conditions.append(
        """
        a.key IN (WITH RECURSIVE below (key) AS (
            SELECT c.key FROM attachments c WHERE c.parent = (SELECT p.key FROM attachments p WHERE p.id = \(place(.text(parent))))
            UNION SELECT c.key FROM attachments c JOIN below b ON c.parent = b.key)
          SELECT key FROM below)
        """)
    }
    if filter.hasLink {
      conditions.append("EXISTS (SELECT 1 FROM links l WHERE l.attachment_key = a.key)")
    }
    if filter.isWaitingForLink {
      conditions.append(
        "EXISTS (SELECT 1 FROM jobs w WHERE w.kind = 'attachment' AND w.subject = a.key AND w.state = 'waiting')"
      )
    }
    if let least = filter.minimumSize {
      conditions.append("coalesce(a.size_bytes >= \(place(.integer(least))), 0)")
    }
    if let most = filter.maximumSize {
      conditions.append("coalesce(a.size_bytes <= \(place(.integer(most))), 0)")
    }
    if let sender = filter.senderId {
      conditions.append(
        """
        EXISTS (SELECT 1 FROM messages m WHERE m.conversation_id = a.conversation_id AND m.message_id = a.message_id
          AND m.sender_id = \(place(.text(sender))))
        """)
    }
    if let participant = filter.participant {
      let name = place(.text(participant))
      conditions.append(
        """
        EXISTS (SELECT 1 FROM messages m WHERE m.conversation_id = a.conversation_id AND m.message_id = a.message_id
          AND (m.sender_id = \(name) OR EXISTS (SELECT 1 FROM json_each(\(SQL.readers)) p WHERE p.value = \(name))))
        """)
    }
    return conditions.isEmpty ? "1" : conditions.joined(separator: " AND ")
  }
}
