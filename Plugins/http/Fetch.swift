import CCurl
import Glibc
import Outbound
import StageKit

/// One transfer: its requests one after the other, and the file that is written.
final class Fetch {
  enum Phase {
    case waiting
    /// A request is under way.
    case asking
    /// It ends so, once its file is synced.
    case ending(Outcome?)
    case ended
  }

  let number: Int
  let transfer: Transfer
  let request: Request
  /// The name that the link gives to its file, before any redirect.
  private let linkName: String?
  private let trusted: HostPatterns
  private let credentials: [String]
  unowned let engine: Engine
  var phase = Phase.waiting
  var question: Question
  private(set) var redirects = 0
  private(set) var cameFromPublic = false

  // The answer at hand.
  private var reader = HeadReader()
  var head: AnswerHead?
  var decision: Decision?
  /// What a callback has found wrong.
  var fault: Outcome?
  /// What is held does not go with what comes.
  var mustRestart = false
  /// Where in the content the next byte of the body belongs.
  private var position: Int64 = 0
  /// Where it ends, as the answer's head says.
  private var end: Int64?
  private var decoder: ContentDecoder?
  private var discarded = 0
  /// How an answer without content begins.
  private(set) var explanation: [UInt8] = []
  /// Of a body that is decoded.
  private var encodedBytes: Int64 = 0

  // The file.
  var file: ContentFile
  /// With which its bytes can be gone on.
  var validators = Validators()
  var total: Int64?
  /// Rises when the file starts afresh.
  var generation = 0
  var isSyncing = false

  // Standing still.
  /// The host said so.
  private(set) var isHeld = false
  /// libcurl does not read from the connection.
  var isPaused = false
  /// The round of its last turn, and the bytes that it has read in it.
  private var turn = (round: 0, bytes: 0)
  /// When that was.
  private(set) var lastTurn: Int64 = 0
  private var keepsBuffer = false
  private var bufferKeptUntil = Int64.max

  // Milliseconds of the monotonic clock.
  var started: Int64 = 0
  /// When ``leastBytes`` had come, or the head: a server that sends fewer within the time it has is as good as silent.
  var lastByte: Int64 = 0
  /// That have come since.
  private(set) var bytesSince = 0
  private static let leastBytes = 1024
  var lastCheckpoint: Int64 = 0
  var lastReport: Int64 = 0
  var decided: Int64 = 0
  private var heldSince: Int64 = 0
  /// The last number of bytes that was told.
  var reported: Int64 = -1

  /// The most of an answer without content that is read, in bytes, so that its connection can be used again.
  private static let discardLimit = 64 << 10

  init(
    _ transfer: Transfer, number: Int, question: Question, credentials: [String], trusted: HostPatterns,
    request: Request, engine: Engine
  ) {
    self.transfer = transfer
    self.number = number
    self.question = question
    linkName = FileName.of(question.link)
    self.credentials = credentials
    self.trusted = trusted
    self.request = request
    self.engine = engine
    let start = transfer.start
    file = ContentFile(
      transfer.content, held: question.form == .body && question.method == .get ? start.bytes : 0)
    validators = Validators(etag: start.etag, modified: start.modified)
    self.question.resume = ResumePlan.make(
      held: file.length, validators, total: start.total, expectedSize: question.expectedSize,
      knowsHash: question.knowsHash)
    toldBytes = start.bytes
  }

  /// The last checkpoint that was told.
  private var toldBytes: Int64

  /// Whether a secret of the operator's goes with the request.
  var sendsCredential: Bool { !credentials.isEmpty && trusted.contain(question.link.host) }

  var isReceivingContent: Bool {
    if case .content? = decision { true } else { false }
  }

  func hasCredential(of other: Fetch) -> Bool {
    sendsCredential && other.sendsCredential && credentials == other.credentials
  }

  // MARK: Asking

  /// Prepares the file and the next request. Returns why it cannot be sent; `nil`: it can.
  func prepare(now: Int64) -> Outcome? {
    if question.resume == nil, let outcome = startAfresh() { return outcome }
    if let outcome = cutToHeld() { return outcome }
    question.isTrusted = sendsCredential
    reader = HeadReader()
    (head, decision, fault, mustRestart, discarded, encodedBytes) = (nil, nil, nil, false, 0, 0)
    explanation = []
    lastByte = now
    let isReady = request.ready(
      question, credentials: question.isTrusted ? credentials : [], body: transfer.body)
    return isReady ? nil : .retry("unreachable", "there is no memory for a request")
  }

  private func cutToHeld() -> Outcome? {
    let error = file.cut(to: file.length)
    return error == 0 ? nil : fileFault(error)
  }

  /// Forgets what is held. The host is told before a byte of it changes.
  func startAfresh() -> Outcome? {
    if toldBytes > 0 { tell(bytes: 0, Validators(), nil) }
    generation += 1
    validators = Validators()
    total = nil
    let error = file.cut(to: 0)
    return error == 0 ? nil : fileFault(error)
  }

  /// Follows a redirect. Throws why it is not followed.
  func follow(status: Int, to target: String, _ settings: Settings) throws(Outcome) {
    let isPublic = request.isFromPublicAddress
    guard redirects < settings.redirects else {
      throw Redirect.tooMany(settings.redirects, question.link.host)
    }
    question = try Redirect.follow(
      question, status: status, to: target, admission: settings.admission, isPublic: isPublic)
    redirects += 1
    cameFromPublic = isPublic
  }

  // MARK: What comes

  /// Takes a line of the head. False ends the request.
  func receive(line: UnsafeRawBufferPointer) -> Bool {
    note(line.count)
    do throws(MalformedAnswer) {
      if decision != nil {
        try reader.skipTrailer(line)
        return true
      }
      guard let head = try reader.read(line) else { return true }
      self.head = head
      decide(head)
    } catch {
      fault = error.outcome(of: question.link.host)
      return false
    }
    return fault == nil
  }

  /// Whether it has read so much in this round that others are next.
  private var hasHadTurn: Bool {
    if turn.round != engine.round { (turn, lastTurn) = ((engine.round, 0), engine.now) }
    return turn.bytes >= Engine.turnSize
  }

  private func note(_ bytes: Int) {
    bytesSince += bytes
    if bytesSince >= Self.leastBytes { (lastByte, bytesSince) = (engine.now, 0) }
  }

  private func decide(_ head: AnswerHead) {
    let decision = Decision(head, to: question, now: Int64(time(nil)))
    self.decision = decision
    decided = engine.now
    (lastByte, bytesSince) = (decided, 0)
    guard case .content(let body) = decision else { return }
    decoder = ContentDecoder(question.form)
    (position, end) = (body.first, body.end)
    if body.first == 0 && body.overlap == 0 {
      fault = startAfresh()
      question.resume = nil
    }
    (validators, total) = (body.validators, body.total)
    // The host looks whether there is room for all of them.
    if question.form == .body, let total, total - file.length >= Self.announced {
      tell(bytes: file.synced, validators, total)
    }
  }

  /// Bytes to come from which on their number is told before they come.
  private static let announced: Int64 = 1 << 20

  /// Takes a piece of the body. Returns how much of it, or that it is to come again later.
  func receive(body bytes: UnsafeRawBufferPointer) -> Int {
    guard case .content? = decision else {
      note(bytes.count)
      discarded += bytes.count
      explanation += bytes.prefix(ExpiryCode.limit - explanation.count)
      return discarded <= Self.discardLimit ? bytes.count : 0
    }
    if engine.mustPause(self) || hasHadTurn {
      isPaused = true
      if isHeld { keepReceiveBuffer() }
      return Int(CURL_WRITEFUNC_PAUSE)
    }
    note(bytes.count)
    turn.bytes += bytes.count
    engine.took(bytes.count)
    guard decoder != nil else { return take(bytes) ? bytes.count : 0 }
    encodedBytes += Int64(bytes.count)
    // Line ends, escapes and other members of the JSON are no content.
    guard encodedBytes / 2 <= question.limit + (1 << 20) else {
      fault = Decision.tooLarge(nil, question)
      return 0
    }
    do throws(ContentDecoder.Fault) {
      return try decoder?.decode(bytes) { take($0) } == true ? bytes.count : 0
    } catch {
      fault = .fail("bad-encoding", "\(question.link.host): \(error.reason)")
      return 0
    }
  }

  /// Takes content. False ends the request.
  private func take(_ content: UnsafeRawBufferPointer) -> Bool {
    var content = content[...]
    if position < file.length {
      let known = content.prefix(Int(min(file.length - position, Int64(content.count))))
      guard file.holds(UnsafeRawBufferPointer(rebasing: known), at: position) else {
        mustRestart = true
        return false
      }
      content = content.dropFirst(known.count)
      position += Int64(known.count)
    }
    let rest = UnsafeRawBufferPointer(rebasing: content)
    if rest.isEmpty { return true }
    if let end, position + Int64(rest.count) > end {
      noteExcess(end)
      return false
    }
    guard file.length + Int64(rest.count) <= question.limit else {
      fault = Decision.tooLarge(nil, question)
      return false
    }
    if let expected = question.expectedSize, file.length + Int64(rest.count) > expected {
      noteWrongSize(file.length + Int64(rest.count), expected)
      return false
    }
    let error = file.append(rest)
    position = file.length
    fault = error != 0 ? fileFault(error) : engine.syncIfMuch(self)
    return fault == nil
  }

  /// The whole body has come. Returns what is wrong; `nil`: nothing, unless ``mustRestart``.
  func wholeBody() -> Outcome? {
    do throws(ContentDecoder.Fault) { try decoder?.finish() } catch {
      return .fail("bad-encoding", "\(question.link.host): \(error.reason)")
    }
    if let total, position < total {
      return .retry(
        "short-body", "\(question.link.host) sent a part: \(position) of \(total) bytes are there")
    }
    if let expected = question.expectedSize, file.length != expected {
      noteWrongSize(file.length, expected)
      return fault
    }
    return nil
  }

  /// More comes than the head said: nothing tells what of it is content.
  private func noteExcess(_ end: Int64) {
    if question.resume != nil && !question.hasRestarted {
      mustRestart = true
    } else {
      _ = startAfresh()
      fault = .retry(
        MalformedAnswer.code, "\(question.link.host) sent more than the \(end) bytes that it announced")
    }
  }

  /// What was begun in an earlier attempt is fetched once more from the start; else the size is wrong for good.
  private func noteWrongSize(_ found: Int64, _ expected: Int64) {
    if question.resume != nil && !question.hasRestarted {
      mustRestart = true
    } else {
      fault = Decision.sizeMismatch(found, expected, question)
    }
  }

  // MARK: Standing still

  /// Returns whether it was otherwise.
  func hold(_ isHeld: Bool, now: Int64) -> Bool {
    if self.isHeld == isHeld { return false }
    self.isHeld = isHeld
    if isHeld {
      heldSince = now
    } else {
      // What it stood still does not count.
      started += now - heldSince
      lastByte = now
    }
    return true
  }

  /// The line is for another: the kernel is to ask for no more than it would now.
  func keepReceiveBuffer() {
    if !keepsBuffer { ReceiveBuffer.keep(true, of: request.handle) }
    (keepsBuffer, bufferKeptUntil) = (true, .max)
  }

  /// What the kernel has kept meanwhile is read first: it says nothing of how fast the line is.
  func letReceiveBufferGrow(now: Int64) {
    if keepsBuffer { bufferKeptUntil = now + Self.draining }
  }

  func lookAfterReceiveBuffer(now: Int64) {
    guard keepsBuffer, now >= bufferKeptUntil else { return }
    keepsBuffer = false
    ReceiveBuffer.keep(false, of: request.handle)
  }

  /// Milliseconds.
  private static let draining: Int64 = 1000

  // MARK: Telling

  /// Tells how far it is, after a sync.
  func tellCheckpoint(now: Int64) {
    lastCheckpoint = now
    guard question.form == .body, file.synced != toldBytes else { return }
    tell(bytes: file.synced, validators, total)
  }

  private func tell(bytes: Int64, _ validators: Validators, _ total: Int64?) {
    toldBytes = bytes
    let all = total ?? question.expectedSize
    transfer.checkpoint(
      Transfer.Checkpoint(
        bytes: bytes, total: all.flatMap { $0 >= bytes ? $0 : nil }, etag: validators.etag,
        modified: validators.modified))
  }

  func tellReceived(now: Int64) {
    guard file.length != reported, now - lastReport >= 250 else { return }
    (reported, lastReport) = (file.length, now)
    transfer.received(file.length)
  }

  /// Tells what the server says of the content.
  func describeContent() {
    guard let head else { return }
    if let name = FileName.of(head) ?? linkName { transfer.annotate("fileName", name) }
    if let type = head.text("content-type") { transfer.annotate("contentType", String(type.prefix(255))) }
  }
}
