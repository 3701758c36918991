import CPlatform
import FrontWire
import Glibc
import Ledger
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
    /// Whether it must not serve where the kernel lacks a part of the sandbox.
    public var requiresSandbox = true

    public init(executable: String, version: String) {
      (self.executable, self.version) = (executable, version)
    }
  }

  /// A request, and the life of the process that it came from.
  private struct Asked {
    var request: FrontRequest
    var life: UInt64
    var serial: UInt64 { request.serial }
  }

  /// A request whose commands are on their way to the ledger.
  private struct Waiting {
    var asked: Asked
    var next: @Sendable ([CommandResult]) -> API.Answer
  }

  /// A request whose body is being stored.
  private struct Storing {
    var asked: Asked
    var upload: String
    var next: @Sendable (API, Stored) throws -> API.Answer
  }

  private struct State {
    /// Where the process is heard and told; -1: there is none.
    var socket: Int32 = -1
    var life: UInt64 = 0
    var waiting: [UInt64: Waiting] = [:]
    /// By serial.
    var storing: [UInt64: Storing] = [:]
    /// Uploads that a body is stored of, and the steps that wait until it has ended.
    var underway: [String: UInt64] = [:]
    var parked: [String: [(asked: Asked, step: API.UploadStep)]] = [:]
    /// Those of other clients of the intake are small.
    var lastTicket: UInt64 = 1 << 63
    /// The last life in which it took connections.
    var servingLife: UInt64 = 0
  }

  private let home: Home
  private let settings: Settings
  private let sockets: [SharedDescriptor]
  private let intake: Intake
  private let say: @Sendable (String) -> Void
  private let stopping: SharedDescriptor
  private let state = Mutex(State())
  private let results = Mailbox<(ticket: UInt64, results: [CommandResult])>(capacity: 4096)
  /// Files of uploads whose attachments are completed.
  private let spent = Mutex<[String]>([])
  private let threads = Mutex<[Thread]>([])

  /// Threads that answer, each with a connection to the ledger of its own.
  private static let readers = 2
  /// Milliseconds that requests under way have when the program ends.
  private static let drainTime: Int32 = 5000

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
    let stopping = sluice_eventfd()
    if stopping < 0 { throw SystemError("making an eventfd") }
    self.stopping = SharedDescriptor(Descriptor(owning: stopping))
    let started = [
      try Thread { [self] in keepServing() }, try Thread { [self] in passResults() },
      try Thread { [self] in keepUploads() },
    ]
    threads.withLock { $0 = started }
  }

  /// Tells what came of commands. Others' tickets are none of its business.
  public func answer(_ ticket: UInt64, _ results: [CommandResult]) {
    if ticket >= 1 << 63 { self.results.send((ticket, results)) }
  }

  /// Tells of an attachment that is completed: its upload's file is not needed any more.
  public func completed(_ record: AttachmentRecord) {
    guard record.outcome.status == .completed,
      let name = record.source.split(separator: UInt8(ascii: "/")).last
    else { return }
    let id = String(decoding: name, as: UTF8.self)
    if Tus.isId(id) { spent.withLock { $0.append(id) } }
  }

  /// Takes no more connections, lets requests under way end for a few seconds, and ends.
  public func stop() {
    sluice_eventfd_raise(stopping.number)
    results.close()
    for thread in threads.withLock({ $0 }) { thread.join() }
  }

  // MARK: The life of the process

  private func keepServing() {
    var failures = 0
    while true {
      do throws(SystemError) {
        try serve()
      } catch {
        say("the HTTP server cannot be started: \(error)")
      }
      // One that served and was killed is missed.
      let hasServed = state.withLock { $0.servingLife == $0.life }
      failures = hasServed ? 0 : min(failures + 1, 8)
      if isStopping(within: Int32(100 << failures)) { return }
    }
  }

  /// Waits so many milliseconds, or until it is to end.
  private func isStopping(within milliseconds: Int32) -> Bool {
    var one = pollfd(fd: stopping.number, events: Int16(POLLIN), revents: 0)
    return poll(&one, 1, milliseconds) > 0
  }

  /// Starts a process, and answers it until it ends.
  private func serve() throws(SystemError) {
    let process = try ChildProcess(executable: settings.executable, words: ["serve", String(getpid())])
    let setup = FrontSetup(
      connections: UInt32(settings.rules.connections), perAddress: UInt32(settings.rules.perAddress),
      longestFile: settings.rules.longest,
      requiresSandbox: settings.requiresSandbox)
    let frame = ToFront.serve(setup).frame
    let numbers = sockets.map(\.number)
    if sluice_send(process.socket, frame, frame.count, numbers, Int32(numbers.count), 0) < 0 {
      process.kill()
      process.reap()
      throw SystemError("telling it what to serve")
    }
    let socket = process.socket
    let life = state.withLock { state in
      state.socket = socket
      state.life += 1
      return state.life
    }
    var readers: [Thread] = []
    for _ in 0..<Self.readers { readers.append(try Thread { [self] in answerRequests(on: socket, life) }) }
    let cause = waitForEnd(of: process)
    shutdown(socket, Int32(SHUT_RDWR))
    for reader in readers { reader.join() }
    state.withLock { state in
      state.socket = -1
      state.waiting = state.waiting.filter { $0.value.asked.life != life }
      // What was being stored is not any more.
      (state.storing, state.underway, state.parked) = ([:], [:], [:])
    }
    if !isStopping(within: 0) {
      let words = ChildProcess.printable(process.words)
      say(
        "the HTTP server ended (\(cause))\(words.isEmpty ? "" : ": \(words)"); it is started again, and clients may connect anew"
      )
    }
  }

  /// Waits until a process has ended, which is told to where the program ends.
  private func waitForEnd(of process: ChildProcess) -> WorkerDeath.Cause {
    var isTold = false
    var left = Self.drainTime
    while true {
      _ = process.drainStandardError()
      if let cause = process.ended() { return cause }
      var watched = [
        pollfd(fd: process.handle, events: Int16(POLLIN), revents: 0),
        pollfd(
          fd: process.isStandardErrorClosed ? -1 : process.standardError, events: Int16(POLLIN), revents: 0),
        pollfd(fd: isTold ? -1 : stopping.number, events: Int16(POLLIN), revents: 0),
      ]
      let wait: Int32 = isTold ? 50 : 1000
      poll(&watched, nfds_t(watched.count), wait)
      if watched[2].revents != 0 {
        isTold = true
        send(.drain)
      } else if isTold {
        left -= wait
        if left <= 0 { process.kill() }
      }
    }
  }

  // MARK: Requests

  /// Answers what the process asks, until it ends or says something that it may not.
  private func answerRequests(on socket: Int32, _ life: UInt64) {
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: Frame.limit, alignment: 16)
    defer { room.deallocate() }
    var api: API?
    while true {
      let count = sluice_receive(socket, room.baseAddress, room.count, nil, nil, 0)
      if count == 0 || (count < 0 && errno != EMSGSIZE) { return }
      do throws(FrameError) {
        if count < 0 { throw FrameError("a frame of more than \(Frame.limit) bytes") }
        switch try FromFront(UnsafeRawBufferPointer(rebasing: room[..<count])) {
        case .serving: tellThatItServes()
        case .request(let request):
          let asked = Asked(request: request, life: life)
          let api = open(&api)
          answer(api?.answer(request) ?? .reply(Problem.away.reply), asked, api)
        case .stored(let serial, let stored): take(stored, of: serial, open(&api))
        case .body, .cut, .ended: break
        }
      } catch {
        say("the HTTP server says what it may not: \(error)")
        shutdown(socket, Int32(SHUT_RDWR))
        return
      }
    }
  }

  /// What a thread answers with; `nil`: the ledger is away.
  private func open(_ api: inout API?) -> API? {
    if api == nil {
      api = try? API(home, version: settings.version, rules: settings.rules)
    }
    return api
  }

  private func tellThatItServes() {
    let isFirst = state.withLock { state in
      defer { state.servingLife = state.life }
      return state.servingLife == 0
    }
    guard isFirst else { return }
    for socket in sockets { say("listening on \(ListenAddress.name(of: socket.number))") }
  }

  /// - Parameter api: of the thread that calls; `nil`: it has none, or the ledger is away.
  private func answer(_ answer: API.Answer, _ asked: Asked, _ api: API?) {
    switch answer {
    case .reply(var reply):
      if asked.request.segments.prefix(2) == ["v1", "uploads"] { reply.fields.append(Tus.version) }
      send(reply, asked.serial)
    case .file(let reply, let file): send(.reply(serial: asked.serial, reply), file)
    case .commands(let commands, let next):
      let ticket = state.withLock { state in
        state.lastTicket += 1
        state.waiting[state.lastTicket] = Waiting(asked: asked, next: next)
        return state.lastTicket
      }
      if intake.send(commands, ticket: ticket) { return }
      _ = state.withLock { $0.waiting.removeValue(forKey: ticket) }
      send(Problem.away.reply, asked.serial)
    case .upload(let id, let step): take(step, of: id, asked, api)
    case .store(let id, let order, let file, let next):
      state.withLock { state in
        state.storing[asked.serial] = Storing(asked: asked, upload: id, next: next)
        state.underway[id] = asked.serial
      }
      send(.store(serial: asked.serial, order), file)
    }
  }

  // MARK: Uploads

  /// Does a step, once no other request is at the upload: a new one counts more, since the connection of the one before may be lost
  /// without anybody having noticed.
  private func take(_ step: API.UploadStep, of id: String, _ asked: Asked, _ api: API?) {
    let other = state.withLock { state -> UInt64? in
      if let other = state.underway[id] {
        state.parked[id, default: []].append((asked, step))
        return other
      }
      // Held until the step is done, or what it stores is.
      state.underway[id] = asked.serial
      return nil
    }
    if let other { return send(.abort(serial: other)) }
    guard let api else { return leave(id, asked, .reply(Problem.away.reply)) }
    let next = API.answer { try api.take(step, id, asked.request) }
    if case .store = next { return answer(next, asked, api) }
    leave(id, asked, next)
    resume(id, api)
  }

  /// Answers, and lets others have the upload.
  private func leave(_ id: String, _ asked: Asked, _ next: API.Answer) {
    state.withLock { if $0.underway[id] == asked.serial { $0.underway[id] = nil } }
    answer(next, asked, nil)
  }

  /// What was stored of a body, and what follows from that.
  private func take(_ stored: Stored, of serial: UInt64, _ api: API?) {
    guard let storing = state.withLock({ $0.storing.removeValue(forKey: serial) }) else { return }
    let next = api.map { api in API.answer { try storing.next(api, stored) } } ?? .reply(Problem.away.reply)
    leave(storing.upload, storing.asked, next)
    if let api { resume(storing.upload, api) }
  }

  /// Takes the next step that waited for an upload.
  private func resume(_ id: String, _ api: API) {
    let next = state.withLock { state -> (asked: Asked, step: API.UploadStep)? in
      guard state.underway[id] == nil, var parked = state.parked[id], !parked.isEmpty else { return nil }
      let first = parked.removeFirst()
      state.parked[id] = parked.isEmpty ? nil : parked
      return first
    }
    if let next { take(next.step, of: id, next.asked, api) }
  }

  /// Deletes files of uploads that are not needed, and gives up what took too long.
  private func keepUploads() {
    var api: API?
    repeat {
      if let api = open(&api) {
        let used = { (id: String) in self.state.withLock { $0.underway[id] != nil } }
        let commands = (try? api.sweepUploads(isUsed: used)) ?? []
        if !commands.isEmpty { _ = intake.send(commands, ticket: 0) }
      }
      for _ in 0..<Self.sweepTime {
        let spent = spent.withLock { list in
          defer { list = [] }
          return list
        }
        if let api { for id in spent { api.drop(id) } }
        if isStopping(within: 1000) { return }
      }
    } while true
  }

  /// Seconds between two sweeps.
  private static let sweepTime = 60

  /// Passes on what came of commands. So the scheduler, which tells it, never waits for a slow process.
  private func passResults() {
    var api: API?
    while case let all = results.receive(), !all.isEmpty {
      for (ticket, results) in all {
        let waiting = state.withLock { $0.waiting.removeValue(forKey: ticket) }
        if let waiting { answer(waiting.next(results), waiting.asked, open(&api)) }
      }
    }
  }

  /// Sends an answer, in parts where it is long.
  private func send(_ reply: FrontReply, _ serial: UInt64) {
    guard case .bytes(let bytes) = reply.content, bytes.count > FrontReply.partLimit else {
      return send(.reply(serial: serial, reply))
    }
    var head = reply
    head.content = .stream
    send(.reply(serial: serial, head))
    for start in stride(from: 0, to: bytes.count, by: FrontReply.partLimit) {
      send(
        .part(serial: serial, Array(bytes[start..<min(start + FrontReply.partLimit, bytes.count)])))
    }
    send(.finish(serial: serial))
  }

  /// Nothing is told to a process that has ended.
  private func send(_ message: ToFront, _ file: SharedDescriptor? = nil) {
    let frame = message.frame
    let numbers = file.map { [$0.number] } ?? []
    state.withLock { state in
      if state.socket < 0 { return }
      _ = sluice_send(state.socket, frame, frame.count, numbers, Int32(numbers.count), 0)
    }
  }
}
