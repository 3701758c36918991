import CPlatform
import Glibc
import LedgerPort
import Objects
import Pipeline
import Platform
import Wire

/// A lease under way: what is known of it so far. Lives on the scheduler's thread.
final class Flight {
  /// Names it in this run.
  let serial: UInt64
  var lease: Lease
  let lane: Lane
  /// What its stages have said so far, and what is next. Of a delivery it is never asked.
  var run: AttachmentRun
  /// It shares no worker with another.
  var isAlone: Bool
  /// Where others wait for the same workers, one of each turn is next.
  var turn = Flight.usualTurn
  static let usualTurn: UInt64 = 0
  /// Whose it is: while works of an owner hold up workers, others may have more of them.
  var owner = Flight.usualTurn
  /// Workers that ended with it in hand, through no fault of its own.
  var redispatches = 0
  /// Where it is queued or works, by group.
  var dispatched: Dispatch?

  // The content.
  var content: Int32 = -1
  /// Its file when it was opened.
  var file = FileState()
  var isSealed = false
  /// Whether the file was open to no writer when it was opened here.
  var hasNoWriter = false
  /// New content, where a stage has made some, or the copy of a message: the memory that `content` reads.
  private var memory: Int32 = -1
  /// New content on its way, in memory that a worker may write.
  private(set) var output: Int32 = -1

  /// What stages may append beside the content, in memory that a worker may write.
  private(set) var piecesOutput: Int32 = -1
  /// What they have written there, taken over, by number.
  private(set) var pieceFiles: [PieceFile] = []
  /// The objects beside the content, once they are staged or known; `nil`: they are not yet.
  var derived: [DerivedObject]?
  /// Names of those that were staged for this attempt.
  var stagedDerived: [StagedName] = []
  /// The texts among those, for searches.
  var texts: [ContentText] = []
  /// What was taken out of the content, once it lies in files.
  var children: [NewChild] = []

  /// The stages that its content passed first, on their basis, where they promise to say the same of equal content.
  var fingerprint: String?

  /// A stored object with the same content, once that has been asked.
  var twin: String?
  var isTwinKnown = false
  /// It goes to the store before others with the same content.
  var holdsGate = false
  /// The name that the file of its transfer has in the store, so that it is linked there and not copied.
  var adopted: StagedName?
  /// A worker that may write to the store has had it.
  var isStoreTouched = false

  /// The state of a transfer.
  var fetch = FetchState()

  /// A person does not want it any more, and a worker may have it; `nil`: it goes on.
  var takenBack: TakenBack?
  /// The ledger has nothing of it any more: a person has deleted it, or has given the delivery up.
  var isGone = false
  /// Its lease has ended, and that is on its way to the ledger.
  var isSettled = false

  /// What a person has done to it.
  enum TakenBack {
    /// With the reason.
    case cancelled(String)
    /// It was wanted again before it had ended.
    case retried
    case deleted
  }

  /// What a worker was given.
  struct Dispatch {
    var first: Int
    var end: Int
    /// When it was handed over, in nanoseconds.
    var since: UInt64 = 0
  }

  init(serial: UInt64, lease: Lease, lane: Lane, _ plan: RunPlan) {
    run = AttachmentRun(plan, attempt: lease.counted)
    self.serial = serial
    self.lease = lease
    self.lane = lane
    isAlone = lease.crashes > 0
    (turn, owner) = (UInt64(bitPattern: lease.turn), UInt64(bitPattern: lease.turn))
  }

  deinit {
    discardOutput()
    discardPieces()
    dropContent()
  }

  var attachment: LeasedAttachment? {
    if case .attachment(let attachment) = lease.work { attachment } else { nil }
  }

  /// It is an attachment whose stages have content to work on.
  var isInLine: Bool { attachment != nil && run.isInLine }

  var delivery: LeasedDelivery? {
    if case .delivery(let delivery) = lease.work { delivery } else { nil }
  }

  /// Of itself, or of the attachment whose event it delivers.
  var attachmentId: String {
    switch lease.work {
    case .attachment(let attachment): attachment.origin.id
    case .delivery(let delivery): delivery.attachmentId
    case .transfer(let transfer): "transfer-\(transfer.key)"
    }
  }

  /// The name under which a stage leaves its object in the store.
  private(set) lazy var stagedName = attachment.map { StagedName(attachmentId: $0.origin.id, lease.token) }

  /// The places of the stages that a worker was given, with those before them in their group.
  func given(of group: Range<Int>) -> Range<Int> {
    group.prefix(dispatched?.end ?? group.count)
  }

  /// What a worker is given of it.
  func work(_ dispatch: Dispatch, takes: Work.Takes = [], room: ChildRoom = ChildRoom(contents: 0, bytes: 0))
    -> Work
  {
    // What an interrupted attempt did, or a worker that ended, may have taken effect: the stage is to know.
    let attempt = lease.attempt + redispatches
    switch lease.work {
    case .attachment(let attachment):
      var work = Work(
        attachment.origin, serial: serial, first: dispatch.first, end: dispatch.end, attempt: attempt,
        mediaType: run.mediaType,
        sha256: run.sha256, twin: twin, stagedName: isStoreTouched ? stagedName?.text : nil, file: fileNow,
        outcome: run.outcome, reason: run.reason,
        metadata: run.metadata)
      (work.takes, work.room) = (takes, room)
      return work
    case .delivery(let delivery):
      return Work(
        AttachmentOrigin(
          id: delivery.attachmentId, conversationId: delivery.conversationId, messageId: delivery.messageId,
          senderId: "", fileName: ""),
        serial: serial, first: dispatch.first, end: dispatch.end, attempt: attempt,
        event: .init(
          id: delivery.id, type: delivery.type, recipient: delivery.recipient, body: delivery.body)
      )
    case .transfer(let transfer):
      // To be hashed.
      return Work(
        AttachmentOrigin(
          id: "transfer-\(transfer.key)", conversationId: "", messageId: "", senderId: "", fileName: ""),
        serial: serial, first: dispatch.first, end: dispatch.end, attempt: attempt, file: file)
    }
  }

  // MARK: The content's file

  /// Takes over the descriptor of its source.
  func take(_ descriptor: Int32, _ state: FileState) {
    dropContent()
    (content, file) = (descriptor, state)
  }

  /// Takes over a copy of its source.
  func take(_ copy: MboxPath.Copy, _ state: FileState) {
    take(copy.content, state)
    memory = copy.memory
  }

  /// Whether the source was changed since it was opened.
  var isSourceChanged: Bool {
    if content < 0 || isSealed { return false }
    var facts = stat()
    return fstat(content, &facts) != 0 || FileState(facts) != fileNow
  }

  /// Its file, as stages are to find it. Where it is one file with objects of equal content, its status changes as any of them gets a
  /// path or loses one: nothing writes to it, and its hash was compared.
  private var fileNow: FileState {
    var facts = stat()
    guard content >= 0, !isSealed, attachment?.source.isShared == true, fstat(content, &facts) == 0 else {
      return file
    }
    let state = FileState(facts)
    return state.hasSameData(as: file) ? state : file
  }

  // MARK: New content

  /// Makes room for new content that a stage may write.
  func makeOutput() throws(SystemError) {
    discardOutput()
    output = sluice_memfd("sluice-output", 1)
    if output < 0 { throw SystemError("making room for new content") }
  }

  /// Makes room for what stages write beside the content.
  func makePieces() throws(SystemError) {
    discardPieces()
    piecesOutput = sluice_memfd("sluice-pieces", 1)
    if piecesOutput < 0 || fcntl(piecesOutput, F_SETFL, O_APPEND) != 0 {
      throw SystemError("making room for what stages derive")
    }
  }

  /// Takes over what stages have written beside the content, so that the worker that wrote it cannot change it now. Returns the
  /// file's number.
  func takePieces() throws(SystemError) -> Int {
    defer { discardPieces() }
    pieceFiles.append(try PieceFile(takingOver: piecesOutput))
    return pieceFiles.count - 1
  }

  func discardPieces() {
    if piecesOutput < 0 { return }
    sluice_empty(piecesOutput)
    close(piecesOutput)
    piecesOutput = -1
  }

  /// Frees the memory that a stage has written, also if a worker still holds a descriptor of it.
  func discardOutput() {
    if output < 0 { return }
    sluice_empty(output)
    close(output)
    output = -1
  }

  /// Replaces the content by what a stage wrote: a copy that only this process can change or keep.
  func replaceContent() -> SystemError? {
    let copy = sluice_memfd("sluice-content", 1)
    if copy < 0 { return SystemError("making room for new content") }
    var facts = stat()
    let reader = sluice_move_content(output, copy)
    let error = SystemError("taking new content over")
    discardOutput()
    if reader < 0 || fstat(reader, &facts) != 0 {
      sluice_empty(copy)
      close(copy)
      if reader >= 0 { close(reader) }
      return error
    }
    dropContent()
    (content, memory, isSealed) = (reader, copy, true)
    file = FileState(facts)
    isTwinKnown = false
    twin = nil
    fingerprint = nil  // it was of the old content
    return nil
  }

  /// Lets go of the content. Its memory goes with it, also where a worker has kept a descriptor.
  private func dropContent() {
    if content >= 0 { close(content) }
    if memory >= 0 {
      sluice_empty(memory)
      close(memory)
    }
    (content, memory) = (-1, -1)
  }

  /// Bytes of memory that its content takes, where that is no file, and what lies beside it.
  var memoryInUse: Int64 {
    let content = memory >= 0 ? file.size : 0
    return pieceFiles.isEmpty ? content : pieceFiles.reduce(content) { $0 + $1.size }
  }
}
