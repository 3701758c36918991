import CPlatform
import Glibc
import Ledger
import Platform
import Scheduler
import Synchronization
import Wire

/// Lets other processes hand files to a running scheduler. It has a thread of its own, which waits while the scheduler has
/// enough that is not yet recorded.
///
/// Whoever may connect is the operator: the socket can be reached by the home's owner and by root alone.
public final class ControlServer: Sendable {
  private let home: Home
  private let intake: Intake
  private let listener: Int32
  private let stopping: Int32
  /// The clients' descriptors by ticket: the scheduler's thread answers, and this one closes.
  private let clients = Mutex<[UInt64: Int32]>([:])
  private let thread = Mutex<Thread?>(nil)

  /// As many may be connected; others wait.
  private static let clientLimit = 128

  /// Listens in a home, whose lock is held.
  public init(_ home: Home, intake: Intake) throws(SystemError) {
    self.home = home
    self.intake = intake
    let listener = try ControlSocket.listen(home)
    stopping = sluice_eventfd()
    if stopping < 0 { throw SystemError("making an eventfd") }
    self.listener = listener.release()
    let thread = try Thread { [self] in serve() }
    self.thread.withLock { $0 = thread }
  }

  /// Tells the client that its files are on record.
  public func answer(_ ticket: UInt64, _ report: IntakeReport) {
    let message = ControlMessage.framed(ControlMessage.enqueued(report))
    clients.withLock { clients in
      guard let client = clients[ticket] else { return }
      // A client that does not read its answers is let go: it learns by that that it is not to count on them.
      let count = message.withUnsafeBytes {
        send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
      }
      if count != message.count { shutdown(client, Int32(SHUT_RDWR)) }
    }
  }

  /// Takes no more, and lets all clients go.
  public func stop() {
    sluice_eventfd_raise(stopping)
    thread.withLock { $0.take() }?.join()
    ControlSocket.remove(home)
    close(listener)
    close(stopping)
  }

  // MARK: The thread

  private func serve() {
    var inboxes: [UInt64: ControlInbox] = [:]
    var next: UInt64 = 1
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
    defer { room.deallocate() }
    while true {
      let known = clients.withLock { $0.map { (ticket: $0.key, descriptor: $0.value) } }
      var waiting = [pollfd(fd: stopping, events: Int16(POLLIN), revents: 0)]
      waiting.append(
        pollfd(fd: known.count < Self.clientLimit ? listener : -1, events: Int16(POLLIN), revents: 0))
      waiting += known.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
      if poll(&waiting, nfds_t(waiting.count), -1) < 0 && errno != EINTR { break }
      if waiting[0].revents != 0 { break }
      if waiting[1].revents != 0, let client = accept() {
        clients.withLock { $0[next] = client }
        inboxes[next] = ControlInbox()
        next += 1
      }
      for (client, state) in zip(known, waiting.dropFirst(2)) where state.revents != 0 {
        if !hear(client.ticket, client.descriptor, &inboxes[client.ticket, default: ControlInbox()], room) {
          inboxes[client.ticket] = nil
          forget(client.ticket)
        }
      }
    }
    for ticket in Array(inboxes.keys) { forget(ticket) }
  }

  private func accept() -> Int32? {
    let client = sluice_accept(listener)
    return client >= 0 ? client : nil
  }

  private func forget(_ ticket: UInt64) {
    clients.withLock { clients in
      if let client = clients.removeValue(forKey: ticket) { close(client) }
    }
  }

  /// Takes what a client has sent. False: it is gone, or says what makes no sense.
  private func hear(
    _ ticket: UInt64, _ client: Int32, _ inbox: inout ControlInbox, _ room: UnsafeMutableRawBufferPointer
  ) -> Bool {
    let count = recv(client, room.baseAddress, room.count, Int32(MSG_DONTWAIT))
    if count < 0 { return errno == EAGAIN || errno == EINTR }
    if count == 0 { return false }
    inbox.append(UnsafeRawBufferPointer(rebasing: room[..<count]))
    do {
      while let message = try inbox.next() {
        let items = try message.withUnsafeBytes { bytes throws(FrameError) in try ControlMessage.items(bytes)
        }
        // An empty batch would be the end of all intake.
        if items.isEmpty || !intake.send(items, ticket: ticket) { return false }
      }
      return true
    } catch {
      return false
    }
  }
}
