import CPlatform
import FrontWire
import LedgerPort
import Platform
import Scheduler
import Wire

// The way of a request: asked, perhaps waiting, answered.
extension FrontDoor {
  /// Why a body did not come.
  enum BodyFault: Error { case tooLong, cut }

  /// Answers requests that came together.
  ///
  /// - Parameter api: of the thread that calls; `nil`: it has none, or the ledger is away.
  /// - Throws: where the process cannot have such a request.
  func begin(_ requests: [FrontRequest], _ life: UInt64, _ api: API?) throws(FrameError) {
    let entries = requests.map { (serial: $0.serial, entry: entry(of: $0)) }
    var open: [FrontRequest] = []
    open.reserveCapacity(requests.count)
    for (index, end) in try desk.open(entries).enumerated() {
      if let end {
        log?.add(entries[index].entry, end)
      } else {
        open.append(requests[index])
      }
    }
    let answers = api?.answers(open) ?? open.map { _ in (.reply(Problem.away.reply), nil) }
    if let api, !api.later.isEmpty {
      _ = intake.send(api.later, ticket: 0)
      api.later = []
    }
    var short: [NumberedReply] = []
    var bytes = 0
    for (request, (next, asker)) in zip(open, answers) {
      if let asker, log != nil { desk.note(request.serial, asker) }
      guard open.count > 1, case .reply(let reply) = next, reply.length <= FrontReply.sharedLimit else {
        answer(next, RequestDesk.Asked(request: request, life: life), api)
        continue
      }
      if bytes + reply.length > FrontReply.sharedLimit {
        desk.send(.replies(short))
        (short, bytes) = ([], 0)
      }
      short.append(NumberedReply(serial: request.serial, reply: dressing.dressed(reply, for: request)))
      bytes += reply.length
    }
    if !short.isEmpty { desk.send(.replies(short)) }
  }

  /// What the log is to say of a request.
  private func entry(of request: FrontRequest) -> AccessLog.Entry {
    if log == nil { return .unlogged }
    return AccessLog.Entry(request, peer: ClientAddress.of(request, trusting: proxies))
  }

  /// Requests have ended, one way or the other.
  func forget(_ ends: [UInt64: FrontEnd]) throws(FrameError) {
    for (entry, end) in try desk.close(ends) { log?.add(entry, end) }
    streams.remove(ends.keys)
    waits.remove(ends.keys)
    presence.end(ends.keys)
  }

  func answer(_ answer: API.Answer, _ asked: RequestDesk.Asked, _ api: API?) {
    switch answer {
    case .reply(let reply): send(dressing.dressed(reply, for: asked.request), asked.serial)
    case .inform(let reply, let next):
      desk.send(.inform(serial: asked.serial, dressing.dressed(reply, for: asked.request)))
      self.answer(next, asked, api)
    case .file(let reply, let file):
      hold(asked, api)
      desk.send(.reply(serial: asked.serial, dressing.dressed(reply, for: asked.request)), file)
    case .stream(let reply, let listener):
      hold(asked, api)
      desk.send(.reply(serial: asked.serial, dressing.dressed(reply, for: asked.request)))
      // The user is online before the first event.
      if settings.rules.messages && settings.rules.presence, !listener.isHidden, let user = listener.user {
        presence.begin(asked.serial, user)
      }
      streams.add(asked.serial, listener)
      // Another thread may have heard of its end meanwhile.
      if !desk.isOpen(asked.serial) {
        streams.remove([asked.serial])
        presence.end([asked.serial])
      }
    case .commands(let commands, let next):
      if !send(commands, RequestDesk.Waiting(asked: asked, next: next)) {
        self.answer(.reply(Problem.away.reply), asked, api)
      }
    case .await(let id, let seconds):
      desk.await(id, asked, until: Clock.monotonic() + UInt64(seconds) * 1_000_000_000)
      // It may have ended before anybody waited.
      guard let api else { return }
      let next = API.answer { try api.fetched(id, asked.request, isOverdue: false) }
      if case .await = next { return }
      if desk.stopAwaiting(id, asked.serial) { self.answer(next, asked, api) }
    case .tell(let events, let reply):
      if streams.count > 0 { streams.tell(events) }
      send(dressing.dressed(reply, for: asked.request), asked.serial)
    case .hash(let next):
      if !hashes.offer((asked, next)) { self.answer(.reply(Problem.busy.reply), asked, api) }
    case .wait(let seconds, let seen, let next):
      hold(asked, api)
      let until = Clock.monotonic() + UInt64(seconds) * 1_000_000_000
      waits.add(ChangeWaits.Waiting(asked: asked, seen: seen, until: until, next: next))
      // Another thread may have heard of its end meanwhile.
      if !desk.isOpen(asked.serial) { waits.remove([asked.serial]) }
    case .search(let asker, let next):
      if let problem = searches.offer(by: asker, asked, next) {
        self.answer(.reply(problem.reply), asked, api)
      }
    case .look(let next):
      let found = api.map { api in API.answer { try next(api) } }
      self.answer(found ?? .reply(Problem.away.reply), asked, api)
    case .body(let limit, let next):
      desk.read(RequestDesk.Reading(asked: asked, limit: limit, next: next))
      desk.send(.takeBody(serial: asked.serial, limit: limit))
    case .upload(let id, let step): take(step, of: id, asked, api)
    case .check(let order, let file, let asker, let next):
      hold(asked, api)
      let checking = RequestDesk.Checking(asked: asked, asker: asker, next: next)
      if !desk.check(checking) { return self.answer(.reply(Problem.manyChecks.reply), asked, api) }
      desk.send(.store(serial: asked.serial, order), file)
    case .store(let id, let order, let file, let next):
      hold(asked, api)
      desk.store(RequestDesk.Storing(asked: asked, upload: id, next: next))
      desk.send(.store(serial: asked.serial, order), file)
    }
  }

  /// False: the program ends, and takes none.
  private func send(_ commands: [Command], _ waiting: RequestDesk.Waiting) -> Bool {
    let ticket = desk.wait(waiting)
    if intake.send(commands, ticket: ticket) { return true }
    return desk.takeWaiting(ticket) == nil
  }

  /// What came of commands that a request waited for.
  func goOn(_ waiting: RequestDesk.Waiting, _ next: API.Answer, _ api: API?) {
    guard let id = waiting.upload else { return answer(next, waiting.asked, api) }
    if case .upload(id, let step) = next {
      desk.change(id, false, waiting.asked.serial)
      return take(step, of: id, waiting.asked, api)
    }
    leave(id, waiting.asked, next, api)
  }

  /// Its token is looked at again while it is under way.
  private func hold(_ asked: RequestDesk.Asked, _ api: API?) {
    if let credential = api?.credential(of: asked.request) { desk.hold(asked.serial, credential) }
  }

  /// Sends an answer. A long answer goes as a file in memory, so that a slow client gets all of it.
  private func send(_ reply: FrontReply, _ serial: UInt64) {
    guard case .bytes(let bytes) = reply.content, bytes.count > FrontReply.partLimit else {
      return desk.send(.reply(serial: serial, reply))
    }
    guard let file = Self.memory(bytes) else {
      return desk.send(.reply(serial: serial, Problem.away.reply))
    }
    var head = reply
    head.content = .file(0..<Int64(bytes.count))
    desk.send(.reply(serial: serial, head), file)
  }

  /// A file in memory; `nil`: no room.
  private static func memory(_ bytes: [UInt8]) -> SharedDescriptor? {
    let number = sluice_memfd("sluice-answer", 0)
    if number < 0 { return nil }
    let file = SharedDescriptor(Descriptor(owning: number))
    return bytes.withUnsafeBytes { Descriptor.writeAll($0, to: number).error == 0 } ? file : nil
  }

  // MARK: Bodies

  func take(_ body: Result<[UInt8], BodyFault>, of serial: UInt64, _ api: API?) {
    guard let reading = desk.takeReading(serial) else { return }
    switch body {
    case .success(let bytes) where bytes.count > reading.limit:
      answer(.reply(Problem.longBody(reading.limit).reply), reading.asked, api)
    case .success(let bytes):
      let next = api.map { api in API.answer { try reading.next(api, bytes) } } ?? .reply(Problem.away.reply)
      answer(next, reading.asked, api)
    case .failure(.tooLong): answer(.reply(Problem.longBody(reading.limit).reply), reading.asked, api)
    case .failure(.cut): break
    }
  }

  // MARK: Attachments that are waited for

  /// Answers where an attachment has ended; else the request waits on.
  func look(_ id: String, _ asked: RequestDesk.Asked, _ api: API, isOverdue: Bool = false) {
    let next = API.answer { try api.fetched(id, asked.request, isOverdue: isOverdue) }
    if case .await = next {
      // It was not told yet that it ended.
      return desk.await(id, asked, until: Clock.monotonic() + UInt64(API.fetchTime) * 1_000_000_000)
    }
    answer(next, asked, api)
  }

  /// Answers the requests with a change in the ledger, and the overdue requests.
  func lookForChanges(_ api: API, isLast: Bool) {
    guard let position = try? api.ledger.position() else { return }
    let now = isLast ? .max : Clock.monotonic()
    for var waiting in waits.take(at: position, now) {
      var isNothing = false
      let next = API.answer {
        if let next = try waiting.next(api, waiting.until <= now) { return next }
        isNothing = true
        return .reply(Problem.away.reply)
      }
      waiting.seen = position
      if isNothing { waits.add(waiting) } else { answer(next, waiting.asked, api) }
    }
  }

  // MARK: Uploads

  /// Does a step, once no other request is at the upload: a new one counts more, since the connection of the one before may be lost
  /// without anybody having noticed.
  private func take(_ step: API.UploadStep, of id: String, _ asked: RequestDesk.Asked, _ api: API?) {
    if let next = attempt(step, of: id, asked, api) { leave(id, asked, next, api) }
  }

  /// - Returns: what it came to; `nil`: the request has not got the upload, or keeps it while its body comes.
  private func attempt(
    _ step: API.UploadStep, of id: String, _ asked: RequestDesk.Asked, _ api: API?
  ) -> API.Answer? {
    switch desk.claim(id, (asked, step)) {
    case .mine: break
    case .parked(let other, isNewer: true):
      desk.send(.abort(serial: other))
      return nil
    case .crowded:
      answer(.reply(Problem.away.reply), asked, api)
      return nil
    case .parked, .over: return nil
    }
    guard let api else { return .reply(Problem.away.reply) }
    let next = API.answer { try api.take(step, id, asked.request) }
    guard case .store = next else { return next }
    answer(next, asked, api)
    return nil
  }

  /// Answers, and lets others have the upload, one after the other; once what the answer changes is on record.
  private func leave(_ id: String, _ asked: RequestDesk.Asked, _ next: API.Answer, _ api: API?) {
    var (asked, next): (RequestDesk.Asked, API.Answer?) = (asked, next)
    while true {
      if case .commands(let commands, let then) = next {
        desk.change(id, true, asked.serial)
        if send(commands, RequestDesk.Waiting(asked: asked, upload: id, next: then)) { return }
        next = .reply(Problem.away.reply)
      }
      if let next {
        desk.release(id, asked.serial)
        answer(next, asked, api)
      }
      guard let api, let parked = desk.takeParked(id) else { return }
      (asked, next) = (parked.asked, attempt(parked.step, of: id, parked.asked, api))
    }
  }

  /// What was stored of a body, and what follows from that.
  func take(_ stored: Stored, of serial: UInt64, _ api: API?) {
    if let checking = desk.takeChecking(serial) { return judge(stored, checking, api) }
    guard let storing = desk.takeStoring(serial) else { return }
    let next = api.map { api in API.answer { try storing.next(api, stored) } } ?? .reply(Problem.away.reply)
    leave(storing.upload, storing.asked, next, api)
  }

  // MARK: Checks

  /// Has what was stored of a body judged, and answers.
  private func judge(_ stored: Stored, _ checking: RequestDesk.Checking, _ api: API?) {
    let asked = checking.asked
    guard let checker, let next = checking.next else {
      return answer(.reply(Problem.away.reply), asked, api)
    }
    var check: Check?
    let fault = API.answer {
      check = try next(stored)
      return .reply(Problem.away.reply)
    }
    guard let check else { return answer(fault, asked, api) }
    let isForUser = checking.asker.role == .user
    checker.check(check) { [self] result in
      tally.add(result, door: "http")
      answer(.reply(API.judgement(result, isForUser: isForUser)), asked, nil)
    }
  }
}
