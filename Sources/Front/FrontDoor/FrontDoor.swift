import CPlatform
import FrontWire
import Glibc
import HomeFolder
import Identity
import LedgerPort
import LedgerSQLite
import Pipeline
import Platform
import Scheduler
import Synchronization
import Wire
import Workers

/// The way in over HTTP: a process without rights that speaks with the world, and threads of this one that answer what it asks.
///
/// That process is started again where it ends. Nothing is lost with it but the connections it had.
public final class FrontDoor: Sendable {
  public struct Settings: Sendable {
    /// The program `sluice-httpd`.
    public var executable: String
    /// Of this program, as clients are told.
    public var version: String
    public var rules = ServeRules()
    /// Whether the pipeline fetches links.
    public var fetches = false
    /// Whether some are fetched only once they are asked for.
    public var prefetches = false
    /// The key that signs links, 32 bytes; `nil`: the server draws one, and links end with it.
    public var linkKey: [UInt8]?
    /// `nil`: tokens that others have signed are not accepted.
    public var identity: JSONWebTokens?
    /// Judges contents that are not kept; it is ended with the door. See ``FrontDoor/judge(with:)``.
    public var checker: Checker?
    /// Whether it must not serve where the kernel lacks a part of the sandbox.
    public var requiresSandbox = true

    public init(executable: String, version: String) {
      (self.executable, self.version) = (executable, version)
    }
  }

  let home: Home
  let settings: Settings
  private let sockets: [SharedDescriptor]
  let intake: Intake
  private let say: @Sendable (String) -> Void
  private let life: ServerLife
  let desk: RequestDesk
  let tally = EndTally()
  let streams: EventStreams
  private let links: LinkSigner
  private let reporting = OneAtATime()
  private let objects = CheckedObjects()
  /// In milliseconds since 1970.
  private let begun = Clock.now()
  let dressing: Dressing
  /// Whose word on where a client is counts.
  let proxies: [AddressRange]
  /// `nil`: none is wished for.
  let log: AccessLog?
  private let results = Mailbox<(ticket: UInt64, results: [CommandResult])>(capacity: 4096)
  /// Attachments that have ended, and that requests wait for.
  private let late = Mailbox<String>(capacity: 100_000)
  /// Requests with a password to hash. A request beyond the capacity is refused.
  let hashes = Mailbox<(asked: RequestDesk.Asked, next: @Sendable () throws -> API.Answer)>(capacity: 100)
  let searches = SearchLine()
  let waits = ChangeWaits()
  let presence = Presence()
  private let tries = SignInTries()
  /// The first one keeps the process.
  private let threads = Mutex<[Thread]>([])
  /// What judges now.
  private let judging: Mutex<Checker?>

  /// The users whose coming or going the server tells in one second. The rest waits.
  private static let mostSights = 100

  /// Threads that answer, each with a connection to the ledger of its own.
  private static let readers = 2

  /// - Parameters:
  ///   - sockets: those that connections come from; they listen.
  ///   - intake: where commands go. What comes of them is to be told with ``answer(_:_:)``.
  ///   - say: tells the operator a line. Any thread calls it.
  public init(
    _ home: Home, _ settings: Settings, sockets: [SharedDescriptor], intake: Intake,
    say: @escaping @Sendable (String) -> Void
  ) throws(SystemError) {
    (self.home, self.settings, self.sockets, self.intake) = (home, settings, sockets, intake)
    self.say = say
    judging = Mutex(settings.checker)
    desk = RequestDesk(connections: settings.rules.connections)
    links = try LinkSigner(key: settings.linkKey)
    dressing = Dressing(settings.rules)
    proxies = settings.rules.trustProxy.compactMap { AddressRange($0) }
    log = try settings.rules.accessLog.map { path throws(SystemError) in
      try AccessLog(path == AccessLog.standardOutput ? path : home.file(path), say: say)
    }
    life = try ServerLife("the HTTP server", say: say)
    streams = try EventStreams(
      finish: { [desk] in desk.send(.finish(serial: $0)) }, abort: { [desk] in desk.send(.abort(serial: $0)) }
    ) {
      [desk] serials, bytes in
      for start in stride(from: 0, to: serials.count, by: ToFront.mostSerials) {
        let some = Array(serials[start..<min(start + ToFront.mostSerials, serials.count)])
        for part in stride(from: 0, to: bytes.count, by: FrontReply.partLimit) {
          let end = min(part + FrontReply.partLimit, bytes.count)
          desk.send(.parts(serials: some, Array(bytes[part..<end])))
        }
      }
    }
    let started = [
      try Thread { [self] in keepServing() }, try Thread { [self] in passResults() },
      try Thread { [self] in keepOrder() }, try Thread { [self] in hashPasswords() },
      try Thread { [self] in answerSearches() },
      try Thread { [self] in streams.run({ try? home.reader() }, until: life.stopping) },
    ]
    threads.withLock { $0 = started }
  }

  /// What judges contents that are not kept.
  var checker: Checker? { judging.withLock { $0 } }

  /// Has another judge from now on; what is under way ends with the one before.
  public func judge(with checker: Checker) {
    let before = judging.withLock { judging in
      defer { judging = checker }
      return judging
    }
    before?.retire()
  }

  /// Whether connections are taken.
  public var isServing: Bool { desk.isServing }

  /// Tells what came of commands. Others' tickets are none of its business.
  public func answer(_ ticket: UInt64, _ results: [CommandResult]) {
    streams.hurry()
    if ticket >= 1 << 63 { self.results.send((ticket, results)) }
  }

  /// Tells that commands were not done, since the disk of the ledger is full.
  public func foundNoRoom(_ ticket: UInt64) {
    if ticket >= 1 << 63 { results.send((ticket, [])) }
  }

  /// Tells what stages have said of an attachment that has not ended.
  public func passed(_ attachment: LeasedAttachment, _ steps: [Step]) {
    if streams.count > 0 { streams.tell(EventFeed.progress(attachment, steps)) }
  }

  /// Tells what is fetched now.
  public func fetching(_ downloads: DownloadsAtWork) {
    if streams.count > 0 { streams.tell(downloads.transfers) }
  }

  /// Tells of an attachment that has ended.
  public func ended(_ record: AttachmentRecord) {
    streams.hurry()
    tally.add(record)
    if desk.isAwaited(record.origin.id) { late.send(record.origin.id) }
  }

  /// Tells what came of a check by a client of ClamAV's daemon, which has no request that the log would tell of.
  ///
  /// - Parameters:
  ///   - door: its address.
  ///   - seconds: from the first byte to the answer.
  func judged(_ result: CheckResult, door: String, seconds: Double) {
    tally.add(result, door: door)
    log?.add(result, door: door, seconds: seconds)
  }

  /// Takes no more connections, and ends streams. Requests under way go on.
  public func drain() { life.drain() }

  /// Gives requests under way the last few seconds from now on.
  public func end() { life.stop() }

  /// Takes no more connections, lets requests under way end for a few seconds, which it tells, and ends.
  public func stop() {
    let underway = desk.openCount - streams.count
    if underway > 0 {
      say(
        "stopping: \(underway) \(underway == 1 ? "request ends" : "requests end") first, within \(ServerLife.drainTime / 1000) s; "
          + "a second signal ends it at once and loses nothing")
    }
    life.stop()
    checker?.stop()
    var threads = threads.withLock { $0 }
    // Requests need the other threads as long as the process serves.
    threads.removeFirst().join()
    results.close()
    late.close()
    hashes.close()
    searches.close()
    for thread in threads { thread.join() }
  }

  // MARK: The life of the process

  private func keepServing() {
    // One that served and was killed is missed.
    life.keep { () throws(SystemError) in
      try serve()
      return desk.isServing
    }
  }

  /// Starts a process, and answers it until it ends.
  private func serve() throws(SystemError) {
    let process = try ChildProcess(executable: settings.executable, words: ["serve", String(getpid())])
    let setup = FrontSetup(
      connections: UInt32(settings.rules.connections), perAddress: UInt32(settings.rules.perAddress),
      proxies: settings.rules.trustProxy, longestFile: settings.rules.longest,
      memory: Self.memory(connections: settings.rules.connections), requiresSandbox: settings.requiresSandbox)
    let frame = ToFront.serve(setup).frame
    let numbers = sockets.map(\.number)
    if sluice_send(process.socket, frame, frame.count, numbers, Int32(numbers.count), 0) < 0 {
      process.kill()
      process.reap()
      throw SystemError("telling it what to serve")
    }
    let socket = process.socket
    let life = desk.begin(socket)
    var readers: [Thread] = []
    for _ in 0..<Self.readers { readers.append(try Thread { [self] in answerRequests(on: socket, life) }) }
    let cause = self.life.waitForEnd(of: process, isServing: { desk.isServing }, isBroken: { desk.isBroken })
    {
      desk.send(.drain)
    }
    shutdown(socket, Int32(SHUT_RDWR))
    for reader in readers { reader.join() }
    let cutOff = FrontEnd(status: 0, received: 0, sent: 0, microseconds: 0, isWhole: false)
    for entry in desk.end(life) { log?.add(entry, cutOff) }
    streams.removeAll()
    waits.removeAll()
    presence.endAll()
    self.life.tellEnd(of: process, cause)
  }

  /// Bytes of address space that the process may have: for itself and its libraries, and for what connections hold, of which the
  /// most have an event stream or nothing to say. One of 10,000 that are idle takes 2 KiB, and each may have 32 KiB of header.
  private static func memory(connections: Int) -> Int64 {
    (1 << 30) + Int64(connections) * (64 << 10)
  }

  // MARK: Requests

  /// Answers what the process asks, until it ends or says something that it may not.
  private func answerRequests(on socket: Int32, _ life: UInt64) {
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: Frame.limit, alignment: 16)
    defer { room.deallocate() }
    var api: API?
    while true {
      let count = sluice_receive(socket, room.baseAddress, room.count, nil, nil, 0)
      // It has ended, or says nothing, which is no frame.
      if count == 0 || (count < 0 && errno != EMSGSIZE) { return desk.giveUp() }
      do throws(FrameError) {
        if count < 0 { throw FrameError("a frame of more than \(Frame.limit) bytes") }
        switch try FromFront(UnsafeRawBufferPointer(rebasing: room[..<count])) {
        case .serving: tellThatItServes()
        case .request(let request): try begin([request], life, open(&api))
        case .requests(let requests): try begin(requests, life, open(&api))
        case .stored(let serial, let stored): take(stored, of: serial, open(&api))
        case .body(let serial, let bytes): take(.success(bytes), of: serial, open(&api))
        case .cut(let serial, let isTooLong):
          take(.failure(isTooLong ? .tooLong : .cut), of: serial, open(&api))
        case .ended(let ends): try forget(ends)
        }
      } catch {
        say("the HTTP server says what it may not: \(error)")
        desk.giveUp()
        shutdown(socket, Int32(SHUT_RDWR))
        return
      }
    }
  }

  /// What a thread answers with; `nil`: the ledger is away.
  func open(_ api: inout API?) -> API? {
    if api == nil {
      api = try? API(
        home, version: settings.version, rules: settings.rules, fetches: settings.fetches,
        prefetches: settings.prefetches, links: links,
        identity: settings.identity, reporting: reporting, objects: objects, tries: tries,
        present: presence
      ) {
        [desk, streams, tally] in
        FrontCounts(requests: desk.counts, streams: streams.count, ends: tally.counts)
      }
    }
    return api
  }

  private func tellThatItServes() {
    guard desk.serves() else { return }
    for socket in sockets { say("listening on \(ListenAddress.name(of: socket.number))") }
  }

  /// Passes on what came of commands. So the scheduler, which tells it, never waits for a slow process.
  private func passResults() {
    var api: API?
    while case let all = results.receive(), !all.isEmpty {
      for (ticket, results) in all {
        if let waiting = desk.takeWaiting(ticket) {
          goOn(waiting, results.isEmpty ? .reply(API.full.reply) : waiting.next(results), open(&api))
        }
      }
    }
  }

  /// Hashes the passwords in turn. A hash takes 32 MiB, and 0.3 s of a core.
  private func hashPasswords() {
    var api: API?
    while case let all = hashes.receive(), !all.isEmpty {
      for (asked, next) in all where desk.isOpen(asked.serial) {
        answer(API.answer(next), asked, open(&api))
      }
    }
  }

  /// Searches in turn, beside all other requests.
  private func answerSearches() {
    var api: API?
    searches.run { asked, next in
      if desk.isOpen(asked.serial) { answer(.look(next), asked, open(&api)) }
    }
  }

  /// Answers requests that waited for an attachment; each second, closes the connections of tokens that are worth nothing any more;
  /// and each minute, gives up uploads that took too long, and deletes files of uploads that are not needed.
  private func keepOrder() {
    var api: API?
    var second = 0
    var next = Clock.monotonic()
    repeat {
      let ended = late.receive(within: waits.isEmpty ? 1000 : ChangeWaits.interval)
      if let ended, ended.isEmpty { return }
      guard let api = open(&api) else { continue }
      for id in ended ?? [] { for asked in desk.takeAwaiting(id) { look(id, asked, api) } }
      if !waits.isEmpty { lookForChanges(api, isLast: life.isLast) }
      // Nothing ends any more once the scheduler has ended: nobody needs to wait.
      if life.isLast {
        for (id, asked) in desk.takeOverdue(at: .max) { look(id, asked, api, isOverdue: true) }
      }
      if Clock.monotonic() < next { continue }
      next = Clock.monotonic() + 1_000_000_000
      for (id, asked) in desk.takeOverdue(at: next) { look(id, asked, api, isOverdue: true) }
      for serial in desk.serials(where: { !api.isValid($0) }) where !streams.dismiss(serial) {
        desk.send(.abort(serial: serial))
      }
      for sight in presence.takeChanges(at: Clock.monotonic(), limit: Self.mostSights) {
        if let companions = try? api.ledger.companions(of: sight.user), !companions.isEmpty {
          streams.tell([EventFeed.presence(sight, to: companions)])
        }
      }
      log?.reopenWhereMoved()
      do {
        let commands = settings.rules.messages ? try api.sweepMessages() : []
        if !commands.isEmpty { _ = intake.send(commands, ticket: 0) }
      } catch {
        if second % 60 == 0 { say("messages whose time is over stay: \(error); the server tries again") }
      }
      if second % 60 == 0 {
        do {
          let commands = try api.sweepUploads(begun: begun, isUsed: desk.isUsed)
          if !commands.isEmpty { _ = intake.send(commands, ticket: 0) }
        } catch {
          say("uploads that took too long cannot be given up: \(error); it is tried again in a minute")
        }
      }
      second += 1
    } while true
  }
}
