import Pipeline

/// What can be asked of a ledger, one method a query. Long answers come in pages, so that no transaction stays open for long.
public protocol LedgerQueries: AnyObject {
  /// Runs a body whose queries all see the same moment.
  func snapshot<Value>(_ body: () throws -> Value) throws -> Value

  /// A number that says whether the ledger has changed: while this reader is told the same one, nothing has. In a snapshot, of its moment.
  func generation() throws(LedgerError) -> Int64

  /// The coordinators that have joined and not left, but for the one that asks.
  func otherHolders() throws(LedgerError) -> Set<Int64>
  func status() throws(LedgerError) -> LedgerStatus
  /// Attachments in order of intake, or the newest first, as the filter says. A page may have fewer than there is room for, or none, and not be the last: few of those that
  /// were looked at answered to the filter.
  func attachments(_ filter: AttachmentFilter, after: PageMark?, limit: Int) throws(LedgerError)
    -> Page<AttachmentRecord>
  /// As ``attachments(_:after:limit:)``, without their steps, which take longer to read than all the rest.
  func records(_ filter: AttachmentFilter, after: PageMark?, limit: Int) throws(LedgerError)
    -> Page<AttachmentRecord>
  /// As ``attachments(_:after:limit:)``, with nothing but their metadata: a JSON object of each.
  func metadata(_ filter: AttachmentFilter, after: PageMark?, limit: Int) throws(LedgerError) -> Page<String>
  /// As ``attachments(_:after:limit:)``, with less of each.
  func matches(_ filter: AttachmentFilter, after: PageMark?, limit: Int) throws(LedgerError)
    -> Page<AttachmentMatch>
  /// As ``attachments(_:after:limit:)``, with what is counted of each.
  func survey(_ filter: AttachmentFilter, after: PageMark?, limit: Int) throws(LedgerError)
    -> Page<SurveyedAttachment>
  /// The attachments whose id begins with this text, at most ten.
  func attachments(idPrefix: String) throws(LedgerError) -> [AttachmentRecord]
  /// The attachment that a file is: the same path, size and time of change under the same message, or the same message of a Maildir.
  /// Only a reader with the key that seals links knows links. `nil`: the file is new.
  func known(_ item: IntakeItem) throws(LedgerError) -> KnownFile?
  /// Whether a file was an attachment that a person has deleted: an intake leaves such a file out.
  func wasDeleted(_ item: IntakeItem) throws(LedgerError) -> Bool
  /// What was taken out of an attachment itself, and not out of what that held, in the order in which it came out.
  func children(of key: Int64, after: PageMark?, limit: Int) throws(LedgerError) -> Page<ChildRecord>
  /// How many these are.
  func childCount(of key: Int64) throws(LedgerError) -> Int
  /// What is on record of contents that come out of an attachment: of each of them, in their order. Of a content its name, size and
  /// SHA-256 are asked for.
  func standing(of children: [NewChild], in parent: AttachmentOrigin) throws(LedgerError) -> [ChildStanding]
  func attempts(of key: Int64) throws(LedgerError) -> [AttemptRecord]
  func deliveries(of key: Int64) throws(LedgerError) -> [DeliveryRecord]
  /// Where an attachment is in the queue; `nil`: it is not queued.
  func place(of key: Int64) throws(LedgerError) -> QueuePlace?
  /// Deliveries in the order in which they were recorded. As with attachments, a page may have few.
  func deliveries(_ filter: DeliveryFilter, after: PageMark?, limit: Int) throws(LedgerError)
    -> Page<DeliveryRecord>
  /// What is left of deleted attachments whose id begins with this text, at most ten.
  func tombstones(idPrefix: String) throws(LedgerError) -> [Tombstone]
  func tombstoneCount() throws(LedgerError) -> Int

  /// The objects of attachments, in order of intake.
  func objects(after: PageMark?, limit: Int) throws(LedgerError) -> Page<StoredObject>
  /// The object of an attachment; `nil`: it has none.
  func object(ofAttachment id: String) throws(LedgerError) -> StoredObject?
  /// The objects beside those of attachments, in order of intake and by name.
  func derivedObjects(after: PageMark?, limit: Int) throws(LedgerError) -> Page<StoredObject>
  /// An object beside an attachment's, by its name; `nil`: there is none.
  func object(_ derived: String, besideAttachment id: String) throws(LedgerError) -> StoredObject?
  /// Whether any attachment has an object.
  func hasObjects() throws(LedgerError) -> Bool
  /// Whether an attachment has its object at this path, with this content.
  func hasObject(at path: String, sha256: [UInt8]) throws(LedgerError) -> Bool
  /// The paths of the objects with this content, in order.
  func paths(ofContent sha256: [UInt8]) throws(LedgerError) -> [String]
  /// Whether any attachment has its object at this path.
  func hasName(_ path: String) throws(LedgerError) -> Bool
  /// Paths of objects that are to be deleted from the store.
  func objectsToDelete(limit: Int) throws(LedgerError) -> [String]
  /// The path of the object of a completed attachment; `nil`: it is not completed.
  func path(ofCompleted id: String) throws(LedgerError) -> String?

  /// Transfers in the order in which their links were first asked for.
  func transfers(after: PageMark?, limit: Int) throws(LedgerError) -> Page<TransferRecord>
  /// That which fetches, or fetched, the link of an attachment; `nil`: it has no link.
  func transfer(ofAttachment key: Int64) throws(LedgerError) -> TransferRecord?
  /// A transfer, by its key; `nil`: there is none.
  func transfer(_ key: Int64) throws(LedgerError) -> TransferRecord?
  /// The attachments that have not ended and whose link a transfer fetches, in order of intake; at most so many.
  func sharers(ofTransfer key: Int64, limit: Int) throws(LedgerError) -> [TransferSharer]
  /// The transfers whose files are needed: those that are not finished, and those that attachments are worked on from.
  func transfersWithFiles() throws(LedgerError) -> Set<Int64>

  /// A user with its account, by its id; `nil`: no record.
  func account(_ id: String) throws(LedgerError) -> Account?
  /// The same, by its ``User/emailKey(_:)``.
  func account(ofEmail key: String) throws(LedgerError) -> Account?
  /// The users whose names match a text, in the order of their names, and the user with this address. In a matching name, each word of
  /// the text is the beginning of a word.
  func users(matching text: String, limit: Int) throws(LedgerError) -> [User]
  /// All users, in the order of their ids.
  func users(after: PageMark?, limit: Int) throws(LedgerError) -> Page<User>
  /// Whether two users are present members of a common conversation.
  func sharesConversation(_ one: String, with other: String) throws(LedgerError) -> Bool
  /// The sessions of a user, the newest first. Ended sessions stay until the next sign-in.
  func sessions(of user: String) throws(LedgerError) -> [AccessToken]

  /// The token with this SHA-256; `nil`: there is none. One that is expired or taken back is found, too.
  func token(hash: [UInt8]) throws(LedgerError) -> AccessToken?
  /// All tokens but sessions, in the order in which they were made.
  func tokens() throws(LedgerError) -> [AccessToken]
  /// The readers of an attachment: the members of its conversation that see its message; without a conversation, the participants of its
  /// message, in their order. The sender can be missing.
  func participants(of key: Int64) throws(LedgerError) -> [String]

  /// A message, by its ids; `nil`: there is none.
  func message(_ id: String, of conversation: String) throws(LedgerError) -> MessageRecord?

  /// A conversation for a member or a former member; `nil`: missing, or never a member.
  ///
  /// - Parameter user: `nil`: without a reader.
  func conversation(_ id: String, for user: String?) throws(LedgerError) -> ConversationView?
  /// The same without the number of unread messages and the last message, which take longer to read than all the rest.
  func membership(of id: String, for user: String?) throws(LedgerError) -> ConversationView?
  /// The conversations of a user, or all, in the order in which they were begun.
  func conversations(of user: String?, after: PageMark?, limit: Int) throws(LedgerError)
    -> Page<ConversationView>
  /// The visible messages that answer to a search, with the words in their text or in their attachments. As with attachments, a page may
  /// have few, or none, and not be the last.
  ///
  /// - Parameter user: `nil`: all conversations.
  func search(_ query: SearchQuery, for user: String?, after: PageMark?, limit: Int) throws(LedgerError)
    -> Page<SearchHit>
  /// The message of a sender with a client's id; `nil`: there is none.
  func message(writtenAs clientId: String, by sender: String) throws(LedgerError) -> Message?
  /// The visible messages of a conversation, newest first.
  ///
  /// - Parameters:
  ///   - member: `nil`: all messages.
  ///   - before: the number above; `nil`: from the newest.
  func messages(in conversation: Conversation, seenBy member: Member?, before: Int64?, limit: Int)
    throws(LedgerError) -> [Message]
  /// A visible message, by its number.
  func message(_ number: Int64, in conversation: Conversation, seenBy member: Member?) throws(LedgerError)
    -> Message?
  /// The visible attachments of messages, by the id of the message, in order of intake.
  func attachments(ofMessages ids: [String], in conversation: String, seenBy member: Member?)
    throws(LedgerError) -> [String: [AttachmentRecord]]
  /// The other users with which a user shares a conversation, as present members, in order; at most 10,000.
  func companions(of user: String) throws(LedgerError) -> [String]
  /// Some messages whose time is over, the earliest first.
  func expiredMessages(at now: Int64, limit: Int) throws(LedgerError) -> [Message]
  /// The unfinished uploads of messages, by the id of the message.
  func uploads(ofMessages ids: [String], in conversation: String, at now: Int64) throws(LedgerError)
    -> [String: [UploadRecord]]
  /// The visible changes after one exchange and up to another, by conversation; see ``Position/number``. The answer ends with the exchange
  /// at which it has about `limit` messages.
  ///
  /// - Parameter user: `nil`: in all conversations.
  /// - Returns: the changes, and the number of the last exchange in them.
  func changes(of user: String?, after: Int64, upTo: Int64, limit: Int) throws(LedgerError)
    -> (changes: [ConversationChange], upTo: Int64)
  /// The changes of one exchange in one conversation; `nil`: no such conversation, or no change.
  func changes(in conversation: String, at number: Int64) throws(LedgerError) -> ConversationChange?

  /// The upload with this id; `nil`: there is none, or it is over.
  func upload(_ id: String) throws(LedgerError) -> UploadRecord?
  /// How many uploads have not become attachments, and may still.
  ///
  /// - Parameters:
  ///   - owner: whose; `nil`: anybody's.
  ///   - now: in milliseconds since 1970.
  func openUploads(of owner: UploadOwner?, at now: Int64) throws(LedgerError) -> Int
  /// Which these are, in the order of their ids.
  func openUploads(
    of owner: UploadOwner?, at now: Int64, after: PageMark?, limit: Int
  ) throws(LedgerError) -> Page<UploadRecord>
  /// All uploads, in the order of their ids.
  func uploads(after: PageMark?, limit: Int) throws(LedgerError) -> Page<UploadRecord>

  /// Where the stream of changes is now.
  func position() throws(LedgerError) -> Position
  /// What has changed after a position, in order, with no change that would be added before them later. `nil`: the ledger has
  /// another history, or no longer has all that came after the position.
  func changes(since: Position, limit: Int) throws(LedgerError) -> ChangePage?
  /// The deliveries that have ended, or were queued again, in the exchange that led to this position, as they are now. Those that
  /// are gone since are left out; so are all where the ledger no longer has that change.
  func deliveries(changedAt: Position) throws(LedgerError) -> [DeliveryRecord]
}

extension LedgerQueries {
  /// Passes attachments to a body in the order of the filter, until it returns false.
  public func attachments(
    _ filter: AttachmentFilter = AttachmentFilter(), each body: (AttachmentRecord) throws -> Bool
  ) throws {
    var mark: PageMark?
    repeat {
      let page = try attachments(filter, after: mark, limit: 500)
      for record in page.rows where try !body(record) { return }
      mark = page.next
    } while mark != nil
  }
}

/// Where the next page of an answer begins. Opaque: the ledger's own.
public struct PageMark: Sendable, Hashable {
  public var text: String

  public init(_ text: String) { self.text = text }
}

public struct Page<Row: Sendable>: Sendable {
  public var rows: [Row]
  /// `nil`: it was the last.
  public var next: PageMark?

  public init(_ rows: [Row], next: PageMark?) {
    self.rows = rows
    self.next = next
  }
}

/// One try of one stage, as recorded.
public struct AttemptRecord: Sendable {
  public var number: Int
  public var step: Step
  public var recordedAt: Int64

  package init(number: Int, step: Step, recordedAt: Int64) {
    (self.number, self.step, self.recordedAt) = (number, step, recordedAt)
  }
}

/// One delivery, as recorded.
public struct DeliveryRecord: Sendable {
  /// Its place in the ledger.
  public var key: Int64
  public var id: String
  public var attachmentId: String
  public var type: String
  public var channel: String
  public var recipient: String
  public var status: DeliveryStatus
  /// Why the last try failed, as code and sentence.
  public var code: String?
  public var reason: String?
  public var finishedAt: Int64?
  /// Tries that were begun, where it is pending.
  public var attempts: Int
  /// In how many milliseconds it is tried, where it is pending; 0: it is due, or under way.
  public var nextDue: Int64?

  package init(
    key: Int64, id: String, attachmentId: String, type: String, channel: String, recipient: String,
    status: DeliveryStatus, code: String? = nil, reason: String? = nil, finishedAt: Int64? = nil,
    attempts: Int = 0, nextDue: Int64? = nil
  ) {
    (self.key, self.id, self.attachmentId, self.type) = (key, id, attachmentId, type)
    (self.channel, self.recipient, self.status) = (channel, recipient, status)
    (self.code, self.reason, self.finishedAt) = (code, reason, finishedAt)
    (self.attempts, self.nextDue) = (attempts, nextDue)
  }
}

/// The queue and the counts, for `status`.
public struct LedgerStatus: Sendable {
  public struct Lane: Sendable {
    public var name: LaneName
    public var due = 0
    public var scheduled = 0
    public var leased = 0
    /// Links that are fetched once they are asked for; see ``Want/prefetch``.
    public var notPrefetched = 0
    /// In how many milliseconds the next scheduled job is due; `nil`: none is scheduled.
    public var nextDue: Int64?
    public var pause: Pause?

    public init(_ name: LaneName) { self.name = name }

    /// In all.
    public var jobs: Int { due + scheduled + leased + notPrefetched }
  }

  public var attachments: [(status: Status, count: Int64, bytes: Int64)] = []
  public var lanes: [Lane] = []
  public var deadLetters: Int64 = 0
  /// Links that could not be fetched.
  public var failedDownloads: Int64 = 0
  /// When the oldest attachment in the queue was taken in, in milliseconds since 1970.
  public var oldestQueuedAt: Int64?

  public init() {}
}
