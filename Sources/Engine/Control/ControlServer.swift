import CPlatform
import Glibc
import HomeFolder
import LedgerPort
import Pipeline
import Platform
import Scheduler
import Synchronization
import Wire

/// Lets other processes pass commands to a running scheduler. It runs on its own thread, which waits while the
/// scheduler has enough files that are not yet recorded.
///
/// Only the home's owner and root can reach the socket. A client that sends invalid messages, or nothing for
/// long, is disconnected with the reason; other clients are not affected.
public final class ControlServer: Sendable {
  struct Client {
    var descriptor: Int32
    /// Batches received and not yet on record.
    var unanswered = 0
    /// When the client last sent a whole message, got an answer or connected, in nanoseconds of the monotonic
    /// clock.
    var since = Clock.monotonic()
    /// What was taken out of the batches that are not on record yet, in their order.
    var refused: [RefusedItems] = []
    /// What it was sent and the kernel has not taken yet.
    private(set) var unsent: [UInt8] = []

    /// Bytes of it, at most: an answer to 2,000 commands has a sentence for each.
    private static let mostUnsent = 16 << 20

    init(descriptor: Int32) { self.descriptor = descriptor }

    /// Sends a message, without waiting. False: the client is gone, or reads too little.
    mutating func send(_ message: [UInt8]) -> Bool {
      unsent += ControlMessage.framed(message)
      return sendRest() && unsent.count <= Self.mostUnsent
    }

    /// False: the client is gone.
    mutating func sendRest() -> Bool {
      while !unsent.isEmpty {
        let count = unsent.withUnsafeBytes {
          Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
        }
        if count < 0 && errno == EINTR { continue }
        if count < 0 { return errno == EAGAIN || errno == EWOULDBLOCK }
        unsent.removeFirst(count)
      }
      return true
    }
  }

  private let home: Home
  private let intake: Intake
  private let bound: IntakeBound?
  private let listener: Int32
  private let stopping: Int32
  /// Some client has more to be sent.
  private let sending: Int32
  /// By ticket. The scheduler's thread answers, and the server's thread closes.
  private let clients = Mutex<[UInt64: Client]>([:])
  private let thread = Mutex<Thread?>(nil)
  private let questions = Mutex(WorkersQuestions())
  private let pipeline = Mutex<PipelineInUse?>(nil)

  /// The most clients that may be connected.
  private static let clientLimit = 128
  /// How long a client may be silent, in nanoseconds; and how long if another client waits for its place.
  private static let silence: UInt64 = 30_000_000_000
  private static let silenceInACrowd: UInt64 = 1_000_000_000

  /// Listens in a home. The caller holds the home's lock.
  ///
  /// - Parameter bound: where the files of clients have to lie; `nil`: anywhere.
  public init(_ home: Home, intake: Intake, bound: IntakeBound? = nil) throws(SystemError) {
    self.home = home
    self.intake = intake
    self.bound = bound
    let listener = try ControlSocket.listen(home)
    (stopping, sending) = (sluice_eventfd(), sluice_eventfd())
    if stopping < 0 || sending < 0 { throw SystemError("making an eventfd") }
    self.listener = listener.release()
    let thread = try Thread { [self] in serve() }
    self.thread.withLock { $0 = thread }
  }

  /// What clients are told that ask for the pipeline, from now on.
  ///
  /// - Parameters:
  ///   - file: its path, absolute.
  ///   - isResident: the coordinator reads it again on SIGHUP.
  public func works(with definition: PipelineDefinition, file: String, isResident: Bool) {
    pipeline.withLock { $0 = PipelineInUse(definition, file: file, isResident: isResident) }
  }

  /// Tells the client that its commands are on record.
  public func answer(_ ticket: UInt64, _ results: [CommandResult]) {
    clients.withLock { clients in
      guard let client = clients[ticket] else { return }
      clients[ticket]?.unanswered -= 1
      let refused = client.refused.isEmpty ? nil : clients[ticket]?.refused.removeFirst()
      let results = refused?.added(to: results) ?? results
      clients[ticket]?.since = Clock.monotonic()
      // A client that does not read its answers is disconnected, and must hand its files over again.
      send(ControlMessage.results(results), to: &clients[ticket])
    }
  }

  /// Where it does not take it, the client is disconnected.
  private func send(_ message: [UInt8], to client: inout Client?) {
    guard let descriptor = client?.descriptor else { return }
    if client?.send(message) != true {
      shutdown(descriptor, Int32(SHUT_RDWR))
    } else if client?.unsent.isEmpty == false {
      sluice_eventfd_raise(sending)
    }
  }

  /// Tells the client that nothing of its commands is on record, and lets it go.
  public func foundNoRoom(_ ticket: UInt64) {
    clients.withLock { clients in
      guard let client = clients[ticket] else { return }
      let text = "there is no room on the disk of the ledger; make room, then run the same command again"
      _ = clients[ticket]?.send(ControlMessage.declined(text))
      shutdown(client.descriptor, Int32(SHUT_RDWR))
    }
  }

  /// Tells the clients that have asked what the workers do.
  public func tell(_ workers: WorkersAtWork) {
    let message = ControlMessage.workers(workers)
    for ticket in questions.withLock({ $0.answer(workers, at: Clock.monotonic()) }) {
      sendAnswer(message, to: ticket)
    }
  }

  private func sendAnswer(_ message: [UInt8], to ticket: UInt64) {
    clients.withLock { clients in
      if clients[ticket] == nil { return }
      clients[ticket]?.unanswered -= 1
      clients[ticket]?.since = Clock.monotonic()
      // A client that does not read its answers is disconnected.
      send(message, to: &clients[ticket])
    }
  }

  /// Accepts no more clients, and disconnects all.
  public func stop() {
    sluice_eventfd_raise(stopping)
    thread.withLock { $0.take() }?.join()
    ControlSocket.remove(home)
    close(listener)
    close(stopping)
    close(sending)
  }

  // MARK: The thread

  private func serve() {
    var inboxes: [UInt64: ControlInbox] = [:]
    var next: UInt64 = 1
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
    defer { room.deallocate() }
    while true {
      let known = clients.withLock {
        $0.map { (ticket: $0.key, descriptor: $0.value.descriptor, isSending: !$0.value.unsent.isEmpty) }
      }
      var waiting = [stopping, listener, sending].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      waiting += known.map {
        pollfd(fd: $0.descriptor, events: Int16($0.isSending ? POLLIN | POLLOUT : POLLIN), revents: 0)
      }
      if poll(&waiting, nfds_t(waiting.count), 1000) < 0 && errno != EINTR { break }
      if waiting[0].revents != 0 { break }
      if waiting[2].revents != 0 { sluice_eventfd_clear(sending) }
      for (client, state) in zip(known, waiting.dropFirst(3)) where state.revents != 0 {
        if Int32(state.revents) & POLLOUT != 0, !sendRest(to: client.ticket) { continue }
        if Int32(state.revents) & ~POLLOUT == 0 { continue }
        hear(client.ticket, client.descriptor, &inboxes[client.ticket, default: ControlInbox()], room)
      }
      letGo(after: Self.silence, "nothing came for 30 seconds", atMost: .max)
      if waiting[1].revents != 0, accept(as: next) { next += 1 }
      let connected = clients.withLock { Set($0.keys) }
      inboxes = inboxes.filter { connected.contains($0.key) }
    }
    for ticket in clients.withLock({ Array($0.keys) }) { forget(ticket) }
  }

  /// False: the client is gone.
  private func sendRest(to ticket: UInt64) -> Bool {
    if clients.withLock({ $0[ticket]?.sendRest() }) == true { return true }
    forget(ticket)
    return false
  }

  /// Accepts a client; if there are too many, disconnects a silent one first. A client that cannot be
  /// accepted is told so.
  private func accept(as ticket: UInt64) -> Bool {
    let descriptor = sluice_accept(listener)
    if descriptor < 0 { return false }
    if clients.withLock({ $0.count }) >= Self.clientLimit {
      letGo(after: Self.silenceInACrowd, "others waited for its place", atMost: 1)
    }
    return clients.withLock { clients in
      if clients.count < Self.clientLimit {
        clients[ticket] = Client(descriptor: descriptor)
        _ = clients[ticket]?.send(ControlMessage.welcome())
        return true
      }
      var refused = Client(descriptor: descriptor)
      _ = refused.send(
        ControlMessage.declined("it serves \(clients.count) others at the moment, and has room for no more"))
      close(descriptor)
      return false
    }
  }

  /// Disconnects clients without requests under way that were silent for this long, the longest first.
  private func letGo(after silence: UInt64, _ reason: String, atMost limit: Int) {
    let now = Clock.monotonic()
    let silent = clients.withLock { clients in
      clients.filter { $0.value.unanswered == 0 && now - min($0.value.since, now) > silence }
        .sorted { $0.value.since < $1.value.since }.map(\.key)
    }
    for ticket in silent.prefix(limit) { decline(ticket, reason) }
  }

  private func decline(_ ticket: UInt64, _ reason: String) {
    clients.withLock { _ = $0[ticket]?.send(ControlMessage.declined(reason)) }
    forget(ticket)
  }

  private func forget(_ ticket: UInt64) {
    questions.withLock { $0.forget(ticket) }
    clients.withLock { clients in
      if let client = clients.removeValue(forKey: ticket) { close(client.descriptor) }
    }
  }

  /// Reads what a client has sent.
  private func hear(
    _ ticket: UInt64, _ client: Int32, _ inbox: inout ControlInbox, _ room: UnsafeMutableRawBufferPointer
  ) {
    let count = recv(client, room.baseAddress, room.count, Int32(MSG_DONTWAIT))
    if count < 0 && (errno == EAGAIN || errno == EINTR) { return }
    if count <= 0 { return forget(ticket) }
    inbox.append(UnsafeRawBufferPointer(rebasing: room[..<count]))
    do {
      while let message = try inbox.next() {
        let interest = try message.withUnsafeBytes { bytes throws(FrameError) in
          try ControlMessage.readQuestion(bytes)
        }
        if try message.withUnsafeBytes({ bytes throws(FrameError) in
          try ControlMessage.isPipelineQuestion(bytes)
        }) {
          let answer = ControlMessage.pipeline(
            try pipeline.withLock { try $0?.told(at: Clock.monotonic()) })
          clients.withLock { clients in
            clients[ticket]?.since = Clock.monotonic()
            send(answer, to: &clients[ticket])
          }
          continue
        }
        if let interest {
          if interest == .attends { intake.attend() }
          if !takeQuestion(ticket) { return decline(ticket, "it asks again before it has its answer") }
          continue
        }
        var commands = try message.withUnsafeBytes { bytes throws(FrameError) in
          try ControlMessage.readCommands(bytes)
        }
        // An empty batch would say that no more files are found.
        if commands.isEmpty { throw FrameError("a message with no command") }
        for case .takeIn(let items) in commands where items.isEmpty {
          throw FrameError("a command with no files")
        }
        let refused = RefusedItems(of: &commands, bound)
        clients.withLock { clients in
          clients[ticket]?.refused.append(refused)
          clients[ticket]?.unanswered += 1
          clients[ticket]?.since = Clock.monotonic()
        }
        if !intake.send(commands, ticket: ticket) { return decline(ticket, "it is about to end") }
      }
    } catch {
      decline(ticket, "what it was sent is no message: \(error)")
    }
  }

  /// A client asks what the workers do. False: it has asked already.
  private func takeQuestion(_ ticket: UInt64) -> Bool {
    clients.withLock { clients in
      clients[ticket]?.unanswered += 1
      clients[ticket]?.since = Clock.monotonic()
    }
    switch questions.withLock({ $0.take(from: ticket, at: Clock.monotonic()) }) {
    case .answer(let workers): sendAnswer(ControlMessage.workers(workers), to: ticket)
    case .ask: intake.askForWorkers()
    case .wait: break
    case .refuse: return false
    }
    return true
  }
}
