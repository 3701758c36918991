import LedgerPort
import Pipeline
import Platform

/// The rows of a ledger in one transaction, as the rules read and write them. An engine says where they are, and decides nothing.
///
/// The rules are extensions of this protocol, and ask for rows by key. An engine may load the rows of an exchange before its
/// beginning, and store the changed rows at its end.
package protocol LedgerRows {
  associatedtype Failure: Error

  var hash: SHA256 { get }
  /// Whether an attachment was ever taken out of another attachment. If not, no rule looks for trees.
  var hasExpansions: Bool { get set }
  /// Whether there is a conversation. If not, no rule looks for one.
  var hasConversations: Bool { get set }
  mutating func nextId() -> String
  /// See ``Lease/turn``.
  mutating func turn(of owner: String) throws(Failure) -> Int64

  // MARK: Jobs

  func job(_ key: JobKey) throws(Failure) -> JobRow?
  mutating func addJob(_ job: NewJob) throws(Failure)
  /// Gives a job another state, and ends its lease. A missing job stays missing.
  ///
  /// - Parameters:
  ///   - uncounted: added to the number of attempts that do not count against the job.
  ///   - crashes: added to the number of workers that the job took down.
  mutating func setJob(_ key: JobKey, _ state: JobRow.State, uncounted: Int64, crashes: Int64)
    throws(Failure)
  mutating func setPriority(_ key: JobKey, _ priority: Int64) throws(Failure)
  /// - Parameter reason: why nobody wants the result any more; `nil`: somebody does.
  mutating func setCancellation(_ key: JobKey, _ reason: String?) throws(Failure)
  mutating func removeJob(_ key: JobKey) throws(Failure)
  /// Removes a job if this token has leased it. False: another token has, or no token.
  mutating func endJob(_ key: JobKey, _ token: Token) throws(Failure) -> Bool

  // MARK: Attachments

  func attachment(_ key: Int64) throws(Failure) -> AttachmentRow?
  /// - Parameters:
  ///   - messageId: the id of an existing message.
  ///   - parent: the key of the attachment that held its content.
  mutating func addAttachment(
    _ item: IntakeItem, id: String, identity: [UInt8], messageId: String, parent: Int64?, at now: Int64
  ) throws(Failure) -> Int64
  /// Gives a queued attachment its final state, without its derived objects. False: the attachment is not queued.
  mutating func endAttachment(
    _ key: Int64, _ outcome: AttachmentOutcome, fingerprint: String?, at now: Int64
  ) throws(Failure) -> Bool
  /// Clears the columns that the end of the attachment wrote.
  mutating func reopenAttachment(_ key: Int64) throws(Failure)
  /// The path of the object of an earlier attempt.
  mutating func setKept(_ key: Int64, _ path: String?) throws(Failure)
  mutating func setSource(_ key: Int64, _ path: [UInt8], modified: Int64?) throws(Failure)
  /// Names an attachment that still has the name ``IntakeItem/unnamed``.
  mutating func nameUnnamed(_ key: Int64, _ name: String) throws(Failure)
  /// Removes the row, and the message if it has no number and no other attachment belongs to it.
  mutating func removeAttachment(_ key: Int64, _ row: AttachmentRow) throws(Failure)
  /// The attachment with this identity.
  func known(_ identity: [UInt8]) throws(Failure) -> (key: Int64, id: String, status: Status)?
  /// The id of a deleted attachment with this identity.
  func deleted(_ identity: [UInt8]) throws(Failure) -> String?
  /// - Parameter identity: `nil`: a later intake takes the same file in.
  /// - Returns: its key.
  mutating func addTombstone(_ id: String, identity: [UInt8]?, by person: String, at now: Int64)
    throws(Failure) -> Int64
  mutating func count(_ status: Status, _ attachments: Int64, bytes: Int64) throws(Failure)
  /// Adds a message, or returns the record of the existing message.
  mutating func addMessage(_ item: IntakeItem, id: String, at now: Int64) throws(Failure) -> MessageRecord?
  /// A user's message is a service's from now on: no other service takes its id over.
  mutating func claimMessage(_ id: String, of conversationId: String) throws(Failure)
  /// Gives a message without a number another id.
  ///
  /// - Returns: the keys of its attachments, in order.
  mutating func renameMessage(_ id: String, of conversationId: String, to other: String) throws(Failure)
    -> [Int64]

  /// Gives the attachments of a message to another message. A message without a number and without attachments is removed.
  ///
  /// - Returns: their keys, in order.
  mutating func moveAttachments(
    ofMessage id: String, in conversationId: String, to other: String, in otherConversation: String
  ) throws(Failure) -> [Int64]
  /// The participants of a message, in the order of its first attachment.
  func participants(ofMessage id: String, in conversationId: String) throws(Failure) -> [String]
  /// An attachment without its steps and its derived objects; `nil`: deleted, or never there.
  func record(ofAttachment id: String) throws(Failure) -> AttachmentRecord?

  /// The fact for commands about an attachment, by its id, without `isMade` and `isCheck`.
  func fact(ofAttachment id: String, at time: Int64) throws(Failure) -> AttachmentDecision.Fact?
  /// See ``AttachmentDecision/Fact/isMade``.
  func isObjectMade(_ key: Int64) throws(Failure) -> Bool
  /// See ``AttachmentDecision/Fact/isCheck``.
  func isCheck(_ key: Int64) throws(Failure) -> Bool

  // MARK: Attempts and events

  /// False: this attempt is on record already, and stays unchanged.
  mutating func addAttempt(_ number: Int, of key: Int64, _ steps: [Step], at now: Int64) throws(Failure)
    -> Bool
  /// The number of the last recorded attempt.
  func lastAttempt(of key: Int64) throws(Failure) -> Int64?
  /// The types of its events, oldest first.
  func toldTypes(of key: Int64) throws(Failure) -> [String]
  /// - Returns: its key.
  mutating func addEvent(_ event: OutgoingEvent, of attachment: Int64, at now: Int64) throws(Failure) -> Int64
  /// Adds a delivery with a due job. An engine may lease the job at once if the lane has no other due job.
  ///
  /// - Parameters:
  ///   - delivery: the engine draws its key.
  ///   - earlier: number of attempts that an earlier ledger may have made.
  mutating func addDelivery(
    _ delivery: LeasedDelivery, ofEvent event: Int64, priority: Int64, earlier: Int64, turn: Int64,
    _ tally: ExchangeTally
  ) throws(Failure)
  mutating func endDelivery(_ key: Int64, _ status: DeliveryStatus, _ reason: Reason?, at now: Int64)
    throws(Failure)
  /// Notes why the last try failed.
  mutating func noteDelivery(_ key: Int64, _ reason: Reason) throws(Failure)
  /// Makes an ended delivery pending again.
  mutating func reopenDelivery(_ key: Int64) throws(Failure)
  func fact(ofDelivery key: DeliveryDecision.Key, at time: Int64) throws(Failure) -> DeliveryDecision.Fact?
  /// Removes the attempts and the events of an attachment, with their deliveries and the jobs of these.
  mutating func removeHistory(of key: Int64) throws(Failure)

  // MARK: Names of objects

  /// Takes a path for a content, once more where it has it.
  mutating func takeName(_ path: String, _ sha256: [UInt8]) throws(Failure) -> NameAnswer
  /// 0: the store has to delete the object. `nil`: the path is free.
  func uses(ofName path: String) throws(Failure) -> Int64?
  /// Counts one use less. With the last use, the path becomes free.
  mutating func leaveName(_ path: String) throws(Failure)
  /// Counts one use less. With the last use, the store has to delete the object, and the path stays blocked until then.
  mutating func giveUpName(_ path: String) throws(Failure)
  /// The derived objects of an attachment, by name.
  func derived(of key: Int64) throws(Failure) -> [DerivedObject]
  mutating func setDerived(_ key: Int64, _ objects: [DerivedObject]) throws(Failure)
  /// Keeps a text for searches as long as an attachment has its object. False: it is on record.
  mutating func keepText(_ text: ContentText) throws(Failure) -> Bool
  /// The messages with numbers whose attachments have a derived object with this content.
  func messages(withDerived sha256: [UInt8]) throws(Failure) -> [Message]

  // MARK: Trees

  func parent(of key: Int64) throws(Failure) -> Int64?
  func expansion(of key: Int64) throws(Failure) -> ExpansionRow?
  mutating func setExpansion(_ key: Int64, _ row: ExpansionRow?) throws(Failure)
  /// An attachment with an expansion waits for `open` children; keeps the results of its stages so far.
  mutating func setWaiting(_ key: Int64, open: Int64, _ outcome: AttachmentOutcome, _ steps: [Step])
    throws(Failure)
  /// The attachment no longer waits, and has no open children.
  mutating func endWaiting(_ key: Int64) throws(Failure)
  func queuedChildren(of key: Int64) throws(Failure) -> Int64
  /// Gives the children of an attachment another parent, or no parent.
  mutating func moveChildren(of key: Int64, to parent: Int64?) throws(Failure)
  /// Whether contents at any level below an attachment have ended without being completed.
  func hasUnfinishedContents(_ key: Int64) throws(Failure) -> Bool
  /// The ids of the contents at all levels below an attachment, in no order.
  func contents(of key: Int64) throws(Failure) -> [String]

  // MARK: Conversations

  func conversation(_ id: String) throws(Failure) -> Conversation?
  /// The direct conversation of a pair.
  func direct(of pair: String) throws(Failure) -> Conversation?
  /// - Returns: its key.
  mutating func addConversation(_ conversation: Conversation, pair: String?) throws(Failure) -> Int64
  /// Writes the changeable columns.
  mutating func setConversation(_ conversation: Conversation) throws(Failure)
  func member(_ user: String, of conversation: Int64) throws(Failure) -> Member?
  /// The members and former members, in the order of the bytes of their names.
  func members(of conversation: Int64) throws(Failure) -> [Member]
  /// Adds a member, or changes it.
  mutating func setMember(_ member: Member, of conversation: Int64) throws(Failure)
  /// A message, by its number.
  func message(_ number: Int64, in conversationId: String) throws(Failure) -> Message?
  /// A message with a number, by its id.
  func message(withId id: String, in conversationId: String) throws(Failure) -> Message?
  func message(ofClient id: String, from sender: String) throws(Failure) -> Message?
  mutating func writeMessage(_ message: Message) throws(Failure)
  /// Writes the changeable columns of the message with this id.
  mutating func setMessage(_ message: Message) throws(Failure)
  /// Has searches find a message with a number by its text and its attachments as they are now.
  mutating func makeFindable(_ message: Message) throws(Failure)
  /// Keeps an earlier text of a message.
  mutating func addVersion(of message: Message, _ text: String, at now: Int64) throws(Failure)
  mutating func removeVersions(of message: Message) throws(Failure)
  func attachmentIds(ofMessage id: String, in conversationId: String) throws(Failure) -> [String]

  /// The ids of the conversations of a member or former member, in the order in which they were begun.
  func conversationIds(of user: String) throws(Failure) -> [String]

  // MARK: Users

  func row(ofUser id: String) throws(Failure) -> Account?
  /// The account with this ``User/emailKey(_:)``.
  func row(ofEmail key: String) throws(Failure) -> Account?
  /// Adds an account, or changes it.
  mutating func setAccount(_ account: Account) throws(Failure)
  /// The first conversation of a member or former member with this key or a later one.
  func nextConversation(of user: String, from key: Int64) throws(Failure) -> Conversation?
  /// The messages of a sender with numbers in a range, without deleted messages that have lost their client's id.
  func messages(from sender: String, in conversationId: String, after: Int64, upTo last: Int64)
    throws(Failure)
    -> [Message]
  /// The ids of some attachments of a sender, in order.
  ///
  /// - Parameter key: where to begin.
  /// - Returns: the last visited key; `nil`: there are no more.
  func attachments(from sender: String, after key: Int64) throws(Failure) -> (ids: [String], last: Int64?)
  mutating func prolongSession(_ token: String, until: Int64) throws(Failure)
  /// Removes the ended sessions of a user, and the sessions with the earliest ends, so that at most so many stay.
  mutating func removeEndedSessions(of user: String, leaving most: Int, at now: Int64) throws(Failure)
  /// Removes the sessions of a user, except for one.
  mutating func removeSessions(of user: String, except kept: String?) throws(Failure)
  /// Removes a session of a user, by the id of its token; `nil`: all.
  mutating func removeSessions(of user: String, only one: String?) throws(Failure)

  // MARK: Lanes and tokens

  /// `nil`: there is no such lane.
  func pauses(of lane: LaneName) throws(Failure) -> [Pause]?
  mutating func setPause(_ lane: LaneName, _ pause: Pause, at now: Int64) throws(Failure)
  mutating func liftPause(_ lane: LaneName, _ cause: Pause.Cause) throws(Failure)
  /// Makes the scheduled jobs of a lane due.
  mutating func hastenAll(of lane: LaneName, at time: Int64) throws(Failure)
  func fact(ofToken id: String) throws(Failure) -> TokenDecision.Fact?
  func facts(ofTokensOf user: ByteText) throws(Failure) -> [String: TokenDecision.Fact]
  mutating func addToken(_ token: AccessToken, hash: [UInt8]) throws(Failure)
  mutating func revokeToken(_ id: String, at now: Int64) throws(Failure)

  // MARK: Uploads

  func row(ofUpload id: String) throws(Failure) -> UploadRecord?
  func hasUpload(ofAttachment id: String) throws(Failure) -> Bool
  /// The number of unfinished uploads that have not expired.
  func openUploadCount(of owner: UploadOwner, at now: Int64) throws(Failure) -> Int
  /// Adds an upload, or changes it.
  mutating func setUpload(_ upload: UploadRecord) throws(Failure)
  /// The ids of the unfinished uploads of a message.
  func openUploads(ofMessage id: String, in conversationId: String) throws(Failure) -> [String]
  /// Removes the unfinished uploads of an owner, and the unfinished uploads by services for this user.
  ///
  /// - Returns: their ids.
  mutating func removeUploads(of owner: UploadOwner) throws(Failure) -> [String]
  mutating func removeUpload(_ id: String) throws(Failure)
  /// - Returns: the ids of the removed uploads.
  mutating func removeUploads(ofAttachment id: String) throws(Failure) -> [String]

  // MARK: Transfers

  /// Whether the ledger has the key that seals links.
  var hasSealer: Bool { get }
  /// Two links with the same identity share a transfer. `nil`: the key that seals links is missing.
  func identity(of link: Link) throws(Failure) -> [UInt8]?
  func transfer(withIdentity identity: [UInt8]) throws(Failure) -> Int64?
  /// The transfer of a link; adds it where there is none.
  mutating func transfer(for link: Link, identity: [UInt8], at now: Int64) throws(Failure) -> Int64
  /// The transfer that fetches the content of an attachment; `nil`: the content is a file.
  func transfer(of attachment: Int64) throws(Failure) -> Int64?
  /// - Parameter item: the item of the intake.
  mutating func addLink(_ attachment: Int64, to transfer: Int64, _ item: IntakeItem) throws(Failure)
  mutating func removeLink(_ attachment: Int64, _ row: AttachmentRow) throws(Failure)
  func needs(of transfer: Int64) throws(Failure) -> TransferNeeds
  /// Whether its content is here, and the name that the server gave it.
  func fetched(_ transfer: Int64) throws(Failure) -> (isHere: Bool, fileName: String?)
  /// Clears the result of an ended transfer, so that it can be fetched again.
  mutating func reopenTransfer(_ key: Int64) throws(Failure)
  mutating func endTransfer(_ key: Int64, _ content: FetchedContent, at now: Int64) throws(Failure)
  mutating func endTransfer(_ key: Int64, _ reason: Reason, isRejected: Bool, at now: Int64) throws(Failure)
  mutating func setProgress(_ key: Int64, _ state: TransferState) throws(Failure)
  /// - Parameter restarts: added to the number of restarts at 0.
  mutating func noteTransfer(_ key: Int64, _ reason: Reason, restarts: Int64) throws(Failure)
  mutating func removeTransfer(_ key: Int64) throws(Failure)
  /// Makes due the attachments that wait for a transfer, and names the unnamed attachments among them.
  ///
  /// - Returns: the attachments with its link, a thousand at most.
  mutating func wakeWaiting(for transfer: Int64, name: String?, at time: Int64) throws(Failure) -> [Int64]
  /// The highest priority among the attachments that wait for a transfer; `nil`: no attachment waits.
  func highestWaiting(for transfer: Int64) throws(Failure) -> Int64?
  /// The attachments with the link of a transfer, by key.
  func attachments(of transfer: Int64) throws(Failure) -> [Int64]
  /// - Parameter key: the key of an attachment; `nil`, as the answer: an attachment without a link.
  func linkFact(ofAttachment key: Int64?) throws(Failure) -> LinkFact?
  /// Gives a transfer another link and identity, and seals its values anew for the identity.
  mutating func setLink(_ transfer: Int64, _ link: Link, identity: [UInt8], _ state: TransferState)
    throws(Failure)
  /// Gives the attachments of a transfer another transfer.
  mutating func moveLinks(of transfer: Int64, to other: Int64) throws(Failure)
  /// Sets the shown source of the attachments of a transfer.
  mutating func nameSources(of transfer: Int64, _ name: [UInt8]) throws(Failure)
}
