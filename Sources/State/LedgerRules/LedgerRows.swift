import LedgerPort
import Pipeline
import Platform

/// The rows of a ledger in one transaction, as the rules read and write them. An engine says where they are, and decides nothing.
///
/// The rules are extensions of this protocol. They ask for rows by key. An engine may load what an exchange is about before, and
/// store what has changed at its end.
package protocol LedgerRows {
  associatedtype Failure: Error

  var hash: SHA256 { get }
  /// Whether an attachment was ever taken out of another. Where none was, no rule looks for trees.
  var hasExpansions: Bool { get set }
  mutating func nextId() -> String
  /// See ``Lease/turn``.
  mutating func turn(of sender: String) throws(Failure) -> Int64

  // MARK: Jobs

  func job(_ key: JobKey) throws(Failure) -> JobRow?
  mutating func addJob(_ job: NewJob) throws(Failure)
  /// Ends the lease of a job, if it has one. A job that is not there stays away.
  ///
  /// - Parameters:
  ///   - uncounted: attempts more that nothing which the job is to blame for has ended.
  ///   - crashes: workers more that it took down.
  mutating func setJob(_ key: JobKey, _ state: JobRow.State, uncounted: Int64, crashes: Int64)
    throws(Failure)
  mutating func setPriority(_ key: JobKey, _ priority: Int64) throws(Failure)
  /// - Parameter reason: why its result is not wanted any more; `nil`: it is.
  mutating func setCancellation(_ key: JobKey, _ reason: String?) throws(Failure)
  mutating func removeJob(_ key: JobKey) throws(Failure)
  /// Removes a job that is leased under this token. False: it is not.
  mutating func endJob(_ key: JobKey, _ token: Token) throws(Failure) -> Bool

  // MARK: Attachments

  func attachment(_ key: Int64) throws(Failure) -> AttachmentRow?
  /// - Parameters:
  ///   - messageId: of its message, which is there.
  ///   - parent: what its content was taken out of.
  mutating func addAttachment(
    _ item: IntakeItem, id: String, identity: [UInt8], messageId: String, parent: Int64?, at now: Int64
  ) throws(Failure) -> Int64
  /// Gives a queued attachment its final state, but for its derived objects. False: it is not queued.
  mutating func endAttachment(
    _ key: Int64, _ outcome: AttachmentOutcome, fingerprint: String?, at now: Int64
  ) throws(Failure) -> Bool
  /// Takes away all that its end has written into its row.
  mutating func reopenAttachment(_ key: Int64) throws(Failure)
  /// The path of the object of an earlier attempt.
  mutating func setKept(_ key: Int64, _ path: String?) throws(Failure)
  mutating func setSource(_ key: Int64, _ path: [UInt8], modified: Int64?) throws(Failure)
  /// Names an attachment that nobody has named (``IntakeItem/unnamed``).
  mutating func nameUnnamed(_ key: Int64, _ name: String) throws(Failure)
  /// Removes its row, and its message where that is empty then.
  mutating func removeAttachment(_ key: Int64, _ row: AttachmentRow) throws(Failure)
  /// The attachment with this identity.
  func known(_ identity: [UInt8]) throws(Failure) -> (key: Int64, id: String, status: Status)?
  /// The id of the attachment with this identity that a person has deleted.
  func deleted(_ identity: [UInt8]) throws(Failure) -> String?
  /// - Parameter identity: `nil`: no file is known by it.
  /// - Returns: its key.
  mutating func addTombstone(_ id: String, identity: [UInt8]?, by person: String, at now: Int64)
    throws(Failure) -> Int64
  mutating func count(_ status: Status, _ attachments: Int64, bytes: Int64) throws(Failure)
  /// Adds a message unless it is there. `nil`: it was not.
  mutating func addMessage(_ item: IntakeItem, id: String, at now: Int64) throws(Failure) -> MessageRecord?

  /// What commands about an attachment have to see, by its id; `isMade` and `isCheck` have questions of their own.
  func fact(ofAttachment id: String, at time: Int64) throws(Failure) -> AttachmentDecision.Fact?
  /// See ``AttachmentDecision/Fact/isMade``.
  func isObjectMade(_ key: Int64) throws(Failure) -> Bool
  /// See ``AttachmentDecision/Fact/isCheck``.
  func isCheck(_ key: Int64) throws(Failure) -> Bool

  // MARK: Attempts and events

  /// False: this attempt is on record, and stays as it is.
  mutating func addAttempt(_ number: Int, of key: Int64, _ steps: [Step], at now: Int64) throws(Failure)
    -> Bool
  /// The number of the last that is on record.
  func lastAttempt(of key: Int64) throws(Failure) -> Int64?
  /// The types of its events, oldest first.
  func toldTypes(of key: Int64) throws(Failure) -> [String]
  /// - Returns: its key.
  mutating func addEvent(_ event: OutgoingEvent, of attachment: Int64, at now: Int64) throws(Failure) -> Int64
  /// Adds a delivery with its job, which is due. An engine may lease it at once where nothing else of its lane is due.
  ///
  /// - Parameters:
  ///   - delivery: its key is given here.
  ///   - earlier: attempts that may have been made before.
  mutating func addDelivery(
    _ delivery: LeasedDelivery, ofEvent event: Int64, priority: Int64, earlier: Int64, turn: Int64,
    _ tally: ExchangeTally
  ) throws(Failure)
  mutating func endDelivery(_ key: Int64, _ status: DeliveryStatus, _ reason: Reason?, at now: Int64)
    throws(Failure)
  /// Why its last try failed.
  mutating func noteDelivery(_ key: Int64, _ reason: Reason) throws(Failure)
  /// Makes pending again what has ended.
  mutating func reopenDelivery(_ key: Int64) throws(Failure)
  func fact(ofDelivery key: DeliveryDecision.Key, at time: Int64) throws(Failure) -> DeliveryDecision.Fact?
  /// Removes the attempts and the events of an attachment, with their deliveries and the jobs of these.
  mutating func removeHistory(of key: Int64) throws(Failure)

  // MARK: Names of objects

  /// Takes a path for a content, once more where it has it.
  mutating func takeName(_ path: String, _ sha256: [UInt8]) throws(Failure) -> NameAnswer
  /// 0: the object is to be deleted. `nil`: the path is free.
  func uses(ofName path: String) throws(Failure) -> Int64?
  /// An attachment less has its object there. With the last the path is free.
  mutating func leaveName(_ path: String) throws(Failure)
  /// The same, but with the last the object is to be deleted from the store, and nothing may have the path before.
  mutating func giveUpName(_ path: String) throws(Failure)
  /// The objects beside that of an attachment, by name.
  func derived(of key: Int64) throws(Failure) -> [DerivedObject]
  mutating func setDerived(_ key: Int64, _ objects: [DerivedObject]) throws(Failure)

  // MARK: Trees

  func parent(of key: Int64) throws(Failure) -> Int64?
  func expansion(of key: Int64) throws(Failure) -> ExpansionRow?
  mutating func setExpansion(_ key: Int64, _ row: ExpansionRow?) throws(Failure)
  /// An attachment with an expansion waits for so many children, and this was said of it.
  mutating func setWaiting(_ key: Int64, open: Int64, _ outcome: AttachmentOutcome, _ steps: [Step])
    throws(Failure)
  /// It waits no longer, and none of its children is open.
  mutating func endWaiting(_ key: Int64) throws(Failure)
  func queuedChildren(of key: Int64) throws(Failure) -> Int64
  /// The children of an attachment become those of another, or of none.
  mutating func moveChildren(of key: Int64, to parent: Int64?) throws(Failure)
  /// Whether contents at any level below an attachment have ended without being completed.
  func hasUnfinishedContents(_ key: Int64) throws(Failure) -> Bool
  /// The ids of the contents at all levels below an attachment, in no order.
  func contents(of key: Int64) throws(Failure) -> [String]

  // MARK: Lanes and tokens

  /// `nil`: there is no such lane.
  func pauses(of lane: LaneName) throws(Failure) -> [Pause]?
  mutating func setPause(_ lane: LaneName, _ pause: Pause, at now: Int64) throws(Failure)
  mutating func liftPause(_ lane: LaneName, _ cause: Pause.Cause) throws(Failure)
  /// Makes due what of a lane waits for later.
  mutating func hastenAll(of lane: LaneName, at time: Int64) throws(Failure)
  func fact(ofToken id: String) throws(Failure) -> TokenDecision.Fact?
  func facts(ofTokensOf user: ByteText) throws(Failure) -> [String: TokenDecision.Fact]
  mutating func addToken(_ token: AccessToken, hash: [UInt8]) throws(Failure)
  mutating func revokeToken(_ id: String, at now: Int64) throws(Failure)

  // MARK: Uploads

  func row(ofUpload id: String) throws(Failure) -> UploadRecord?
  func hasUpload(ofAttachment id: String) throws(Failure) -> Bool
  /// Those that are no attachment yet, and may still become one.
  func openUploadCount(of owner: UploadOwner, at now: Int64) throws(Failure) -> Int
  /// Adds an upload, or changes it.
  mutating func setUpload(_ upload: UploadRecord) throws(Failure)
  mutating func removeUpload(_ id: String) throws(Failure)
  /// - Returns: the ids of those that were removed.
  mutating func removeUploads(ofAttachment id: String) throws(Failure) -> [String]

  // MARK: Transfers

  /// Whether the key that seals links is at hand.
  var hasSealer: Bool { get }
  /// What makes two links the same. `nil`: the key that seals them is not at hand.
  func identity(of link: Link) throws(Failure) -> [UInt8]?
  func transfer(withIdentity identity: [UInt8]) throws(Failure) -> Int64?
  /// The transfer of a link; adds it where there is none.
  mutating func transfer(for link: Link, identity: [UInt8], at now: Int64) throws(Failure) -> Int64
  /// What fetches the content of an attachment; `nil`: it is a file.
  func transfer(of attachment: Int64) throws(Failure) -> Int64?
  /// - Parameter item: with which the attachment was taken in.
  mutating func addLink(_ attachment: Int64, to transfer: Int64, _ item: IntakeItem) throws(Failure)
  mutating func removeLink(_ attachment: Int64, _ row: AttachmentRow) throws(Failure)
  func needs(of transfer: Int64) throws(Failure) -> TransferNeeds
  /// Whether its content is here, and the name that the server gave it.
  func fetched(_ transfer: Int64) throws(Failure) -> (isHere: Bool, fileName: String?)
  /// A transfer that has ended is to be fetched again: it has neither come nor failed.
  mutating func reopenTransfer(_ key: Int64) throws(Failure)
  mutating func endTransfer(_ key: Int64, _ content: FetchedContent, at now: Int64) throws(Failure)
  mutating func endTransfer(_ key: Int64, _ reason: Reason, isRejected: Bool, at now: Int64) throws(Failure)
  mutating func setProgress(_ key: Int64, _ state: TransferState) throws(Failure)
  /// - Parameter restarts: how often more it was begun again at 0.
  mutating func noteTransfer(_ key: Int64, _ reason: Reason, restarts: Int64) throws(Failure)
  mutating func removeTransfer(_ key: Int64) throws(Failure)
  /// Makes due what waits for a transfer, and names what nobody has named.
  ///
  /// - Returns: the attachments that have its link, a thousand at most.
  mutating func wakeWaiting(for transfer: Int64, name: String?, at time: Int64) throws(Failure) -> [Int64]
  /// The highest priority of what waits for a transfer; `nil`: nothing does.
  func highestWaiting(for transfer: Int64) throws(Failure) -> Int64?
  /// The attachments that have the link of a transfer, in order.
  func attachments(of transfer: Int64) throws(Failure) -> [Int64]
  /// - Parameter key: of an attachment. `nil`, here and as the answer: it is none with a link.
  func linkFact(ofAttachment key: Int64?) throws(Failure) -> LinkFact?
  /// Gives a transfer another link. What is sealed belongs to its identity, and is sealed anew.
  mutating func setLink(_ transfer: Int64, _ link: Link, identity: [UInt8], _ state: TransferState)
    throws(Failure)
  /// The attachments of a transfer become those of another.
  mutating func moveLinks(of transfer: Int64, to other: Int64) throws(Failure)
  /// What may be shown of a link stands where a file has its path.
  mutating func nameSources(of transfer: Int64, _ name: [UInt8]) throws(Failure)
}

/// A job that is there.
package struct JobRow: Equatable, Sendable {
  package enum State: Equatable, Sendable {
    case due
    case scheduled(at: Int64)
    case leased(Token)
    /// For a transfer. Of a transfer: it is fetched once somebody asks.
    case waiting
    /// For children.
    case expanded
  }

  package var state: State
  package var priority: Int64
  /// Why its result is not wanted any more; `nil`: it is. Of a transfer: its link was replaced.
  package var cancellation: String?

  package init(_ state: State, priority: Int64, cancellation: String?) {
    (self.state, self.priority, self.cancellation) = (state, priority, cancellation)
  }
}

/// A job that is added, due or waiting.
package struct NewJob: Sendable {
  package var key: JobKey
  package var lane: LaneName
  package var priority: Int64
  package var isWaiting: Bool
  package var dueAt: Int64
  /// Attempts that were begun before.
  package var earlier: Int64
  /// See ``Lease/turn``.
  package var turn: Int64

  package init(
    _ key: JobKey, _ lane: LaneName, priority: Int64 = 0, isWaiting: Bool = false, dueAt: Int64,
    earlier: Int64 = 0, turn: Int64 = 0
  ) {
    (self.key, self.lane, self.priority, self.isWaiting) = (key, lane, priority, isWaiting)
    (self.dueAt, self.earlier, self.turn) = (dueAt, earlier, turn)
  }
}

/// What the rules ask of an attachment.
package struct AttachmentRow: Sendable {
  package var id: String
  package var identity: [UInt8]
  package var status: Status
  package var reason: (stage: String, code: String)?
  package var sizeBytes: Int64?
  package var url: String?
  /// The path of the object of an earlier attempt.
  package var kept: String?
  package var conversationId: String
  package var messageId: String
  package var senderId: String
  package var parent: Int64?
  /// As it was said when it was taken in.
  package var sourceSize: Int64

  package init(
    id: String, identity: [UInt8], status: Status, reason: (stage: String, code: String)?, sizeBytes: Int64?,
    url: String?, kept: String?, conversationId: String, messageId: String, senderId: String, parent: Int64?,
    sourceSize: Int64
  ) {
    (self.id, self.identity, self.status, self.reason) = (id, identity, status, reason)
    (self.sizeBytes, self.url, self.kept) = (sizeBytes, url, kept)
    (self.conversationId, self.messageId, self.senderId) = (conversationId, messageId, senderId)
    (self.parent, self.sourceSize) = (parent, sourceSize)
  }

  /// What the counts have of it.
  var countedBytes: Int64 { status == .queued ? 0 : min(max(sizeBytes ?? 0, 0), 1 << 50) }
}

/// What was taken out of an attachment; of the root of a tree, at all levels.
package struct ExpansionRow: Equatable, Sendable {
  package var contents: Int64 = 0
  package var bytes: Int64 = 0
  /// Of a root: how long stages have worked on what came out of it.
  package var microseconds: Int64 = 0
  /// Children that have not ended, while it waits for them.
  package var open: Int64 = 0
  /// Only ``LedgerRows/setWaiting(_:open:_:_:)`` and ``LedgerRows/endWaiting(_:)`` change it.
  package var isWaiting = false

  package init() {}
}

/// Who needs a transfer.
package struct TransferNeeds: Equatable, Sendable {
  /// Attachments that have its link; those of them that wait for it, and that are worked on or to be.
  package var links, waiting, working: Int64
  package var isLeased: Bool
  /// It has ended since its link was not taken any more.
  package var isExpired: Bool

  package init(links: Int64, waiting: Int64, working: Int64, isLeased: Bool, isExpired: Bool) {
    (self.links, self.waiting, self.working) = (links, waiting, working)
    (self.isLeased, self.isExpired) = (isLeased, isExpired)
  }
}

/// What a new link for an attachment has to see of its old one.
package struct LinkFact: Sendable {
  package var transfer: Int64
  /// Its content came.
  package var isFetched: Bool
  /// `nil`: it cannot be opened.
  package var link: Link?
  package var state: TransferState

  package init(transfer: Int64, isFetched: Bool, link: Link?, state: TransferState) {
    (self.transfer, self.isFetched, self.link, self.state) = (transfer, isFetched, link, state)
  }
}

package enum NameAnswer: Sendable {
  case taken
  /// Another content has the path.
  case othersContent
  /// The object there is to be deleted.
  case objectGoes
}
