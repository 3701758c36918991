import CPlatform
import Glibc
import Platform

/// A thread that answers requests which may block: a sync, a rename, an open on a file system that hangs. The scheduler goes on
/// meanwhile.
final class RequestThread<Request: Sendable, Reply: Sendable>: Sendable {
  private let exchange: Exchange
  private let thread: Thread

  /// - Parameters:
  ///   - serve: answers a request, once or in parts.
  ///   - rest: called after each request, and with `true` when none has come for a while; where it returns true then, again and again.
  ///     Not before the first request: until it is sent, what is rested on belongs to the thread that sends it.
  init(
    rest: (@Sendable (_ isIdle: Bool) -> Bool)? = nil,
    _ serve: @escaping @Sendable (Request, _ reply: (Reply) -> Void) -> Void
  ) throws(SystemError) {
    let exchange = try Exchange()
    self.exchange = exchange
    thread = try Thread { exchange.run(serve, rest) }
  }

  /// Readable when a reply waits.
  var readable: Int32 { exchange.readable }

  func send(_ request: Request) {
    exchange.inbox.send(request)
  }

  /// The replies that are there.
  func replies() -> [Reply] {
    sluice_eventfd_clear(exchange.readable)
    return exchange.outbox.poll()
  }

  /// Waits until it has answered all requests, and ends the thread.
  func stop() {
    exchange.inbox.close()
    thread.join()
  }

  /// Lets the thread end by itself, when it has answered all requests. The answers are dropped.
  func abandon() {
    exchange.inbox.close()
    thread.detach()
  }

  /// What both threads use. It lives as long as one of them does.
  private final class Exchange: Sendable {
    let inbox = Mailbox<Request>(capacity: .max)
    let outbox = Mailbox<Reply>(capacity: .max)
    let readable: Int32

    /// Milliseconds without a request after which the thread is idle; and until it rests again.
    private static var idleAfter: Int { 10 }
    private static var idleFor: Int { 500 }

    init() throws(SystemError) {
      let descriptor = sluice_eventfd()
      if descriptor < 0 { throw SystemError("making an eventfd") }
      readable = descriptor
    }

    deinit {
      close(readable)
    }

    func run(
      _ serve: (Request, (Reply) -> Void) -> Void, _ rest: ((_ isIdle: Bool) -> Bool)?
    ) {
      var hasServed = false
      while true {
        var received: [Request]?
        if let rest, hasServed {
          received = inbox.receive(within: Self.idleAfter)
          while received == nil, rest(true) { received = inbox.receive(within: Self.idleFor) }
        }
        let requests = received ?? inbox.receive()
        if requests.isEmpty { return }
        hasServed = true
        for request in requests {
          serve(request) { reply in
            outbox.send(reply)
            sluice_eventfd_raise(readable)
          }
          _ = rest?(false)
        }
      }
    }
  }
}
