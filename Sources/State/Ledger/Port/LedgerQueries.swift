import Pipeline

/// What can be asked of a ledger, one method a query. Long answers come in pages, so that no transaction stays open for long.
public protocol LedgerQueries: AnyObject {
  /// Runs a body whose queries all see the same moment.
  func snapshot<Value>(_ body: () throws -> Value) throws -> Value

  /// The coordinators that have joined and not left, but for the one that asks.
  func otherHolders() throws(LedgerError) -> Set<Int64>
  func status() throws(LedgerError) -> LedgerStatus
  /// Attachments in order of intake.
  func attachments(_ statuses: Set<Status>, after: PageMark?, limit: Int) throws(LedgerError) -> Page<
    AttachmentRecord
  >
  /// The attachments whose id begins with this text, at most ten.
  func attachments(idPrefix: String) throws(LedgerError) -> [AttachmentRecord]
  func attempts(of key: Int64) throws(LedgerError) -> [AttemptRecord]
  func deliveries(of key: Int64) throws(LedgerError) -> [DeliveryRecord]

  /// The objects of attachments, in order of intake.
  func objects(after: PageMark?, limit: Int) throws(LedgerError) -> Page<StoredObject>
  /// The object of an attachment; `nil`: it has none.
  func object(ofAttachment id: String) throws(LedgerError) -> StoredObject?
  /// Whether any attachment has an object.
  func hasObjects() throws(LedgerError) -> Bool
  /// Whether an attachment has its object at this path, with this content.
  func hasObject(at path: String, sha256: [UInt8]) throws(LedgerError) -> Bool
  /// Whether any attachment has its object at this path.
  func hasName(_ path: String) throws(LedgerError) -> Bool
  /// The path of the object of a completed attachment; `nil`: it is not completed.
  func path(ofCompleted id: String) throws(LedgerError) -> String?

  /// Where the stream of changes is now.
  func position() throws(LedgerError) -> Position
  /// What has changed after a position, in order, with no change that would be added before them later. `nil`: the ledger has
  /// another history, or no longer has all that came after the position.
  func changes(since: Position, limit: Int) throws(LedgerError) -> ChangePage?
}

extension LedgerQueries {
  /// Passes attachments to a body in order of intake, until it returns false.
  public func attachments(
    _ statuses: Set<Status> = Set(Status.allCases), each body: (AttachmentRecord) throws -> Bool
  ) throws {
    var mark: PageMark?
    repeat {
      let page = try attachments(statuses, after: mark, limit: 500)
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
  public var id: String
  public var type: String
  public var channel: String
  public var recipient: String
  public var status: String
  public var reason: String?
  public var finishedAt: Int64?

  package init(
    id: String, type: String, channel: String, recipient: String, status: String, reason: String?,
    finishedAt: Int64?
  ) {
    (self.id, self.type, self.channel, self.recipient) = (id, type, channel, recipient)
    (self.status, self.reason, self.finishedAt) = (status, reason, finishedAt)
  }
}

/// The queue and the counts, for `status`.
public struct LedgerStatus: Sendable {
  public struct Lane: Sendable {
    public var name: LaneName
    public var due = 0
    public var scheduled = 0
    public var leased = 0
    /// In how many milliseconds the next scheduled job is due; `nil`: none is scheduled.
    public var nextDue: Int64?
    public var pause: Pause?

    public init(_ name: LaneName) { self.name = name }
  }

  public var attachments: [(status: Status, count: Int64, bytes: Int64)] = []
  public var lanes: [Lane] = []
  public var deadLetters: Int64 = 0
  /// When the oldest attachment in the queue was taken in, in milliseconds since 1970.
  public var oldestQueuedAt: Int64?

  public init() {}
}
