import CPlatform
import Glibc
import HTTPServer
import Platform

/// What is done with contents that clients have.
///
/// All of it is called on the loop's thread.
public protocol ClamdHandler: AnyObject {
  /// A client has a content. Its bytes wait until ``ClamdJob/take(atMost:)`` is called.
  func begin(_ job: ClamdJob)
  /// Some of its bytes. False: no more, until ``ClamdJob/resume()``.
  func take(_ bytes: UnsafeRawBufferPointer, of job: ClamdJob) -> Bool
  /// It is whole.
  func end(_ job: ClamdJob)
  /// Its client has left, or is told that it is too long: no answer is wanted any more.
  func drop(_ job: ClamdJob)
}

/// Speaks as ClamAV's daemon does (clamd(8)), on one thread. It knows nothing of how contents are judged: that is the handler's.
///
/// No path is ever opened, and nothing that a client says changes how this works.
public final class ClamdServer {
  /// Times are in milliseconds.
  public struct Limits: Sendable {
    /// Connections at once. Others wait in the kernel.
    public var connections = 1000
    /// Where there are as many, a peer that has more than half of them gives up those that have had no content for so long.
    public var quietTime: UInt64 = 5_000
    /// Contents of one connection that are under way at once.
    public var jobs = 16
    /// Of them, those of files that it has passed, each of which takes a descriptor.
    public var files = 4
    /// Until a command has come, or the next one.
    public var commandTime: UInt64 = 30_000
    /// Until a content is whole, from when it may come.
    public var contentTime: UInt64 = 120_000
    /// From when a content may come until it is answered.
    public var jobTime: UInt64 = 300_000
    /// A content of which fewer than so many bytes have come in this time gives its place up, where others wait for one.
    public var paceTime: UInt64 = 5_000
    public var paceBytes: Int64 = 16 << 10
    /// Until a file that a client has passed is read.
    public var readTime: UInt64 = 60_000
    /// Threads that read files, of all peers and of one: some may hang with theirs.
    public var readers = 8
    public var readersOfPeer = 4
    /// Until a client has taken all that it is sent.
    public var writeTime: UInt64 = 30_000
    /// Bytes of answers that are not sent, before nothing more is read.
    public var outputBytes = 64 << 10
    /// For which bytes are dropped that a client goes on sending after an answer that ends the connection; and how many.
    public var lingerTime: UInt64 = 5_000
    public var lingerBytes = 64 << 20

    public init() {}
  }

  public let loop: EventLoop
  public let limits: Limits
  /// What is answered to `VERSION`.
  public let version: String
  unowned let handler: any ClamdHandler
  private(set) var isDraining = false
  private var listeners: [(socket: Int32, door: UInt32, watch: EventLoop.Watch)] = []
  private var connections: [ObjectIdentifier: ClamdConnection] = [:]
  private var isFull = false
  private let buffer: UnsafeMutableRawBufferPointer

  private static let acceptsInATurn = 64
  /// Bytes of one read.
  public static let longestRead = 64 << 10

  static var now: UInt64 { Clock.monotonic() / 1_000_000 }

  /// - Parameter handler: lives as long as the server.
  public init(_ loop: EventLoop, _ limits: Limits, version: String, handler: any ClamdHandler) {
    (self.loop, self.limits, self.version, self.handler) = (loop, limits, version, handler)
    buffer = .allocate(byteCount: Self.longestRead, alignment: 16)
    loop.onTick { [weak self] in self?.checkDeadlines() }
  }

  deinit { buffer.deallocate() }

  /// Connections that are open.
  public var count: Int { connections.count }

  /// Contents that are under way.
  var jobs: Int { connections.values.reduce(0) { $0 + $1.jobCount } }

  /// Takes connections from a socket that listens, until it drains.
  ///
  /// - Parameter door: its number, which jobs of its clients have.
  public func listen(on socket: consuming Descriptor, door: UInt32) throws(SystemError) {
    let number = socket.release()
    _ = fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK)
    let watch = try loop.watch(number, EventLoop.Interest(reads: true)) { [unowned self] _ in
      accept(from: number, door)
    }
    listeners.append((number, door, watch))
  }

  /// Takes no more connections, closes those that are idle, and lets what is under way end.
  public func drain() {
    isDraining = true
    for listener in listeners {
      loop.forget(listener.watch)
      Glibc.close(listener.socket)
    }
    listeners = []
    for connection in connections.values { connection.drain() }
  }

  public func closeAll() {
    for connection in connections.values { connection.close() }
  }

  func withBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) { body(buffer) }

  func closed(_ connection: ClamdConnection) {
    connections[ObjectIdentifier(connection)] = nil
    if isFull { listen(true) }
  }

  private func accept(from listener: Int32, _ door: UInt32) {
    for _ in 0..<Self.acceptsInATurn {
      if connections.count >= limits.connections { return listen(false) }
      var address = sockaddr_storage()
      let socket = sluice_accept_at_once(listener, &address)
      // Without a descriptor for it, it waits as well.
      if socket < 0 { return errno == EMFILE || errno == ENFILE ? listen(false) : () }
      guard let connection = try? ClamdConnection(self, socket, door, PeerName(socket, address)) else {
        Glibc.close(socket)
        continue
      }
      connections[ObjectIdentifier(connection)] = connection
    }
  }

  /// Makes room for others where one peer has most of the connections, and does nothing with some.
  private func closeQuiet(_ now: UInt64) {
    let peers = Dictionary(grouping: connections.values, by: \.peer.text)
    guard let most = peers.values.first(where: { $0.count > limits.connections / 2 }) else { return }
    let quiet = most.filter { $0.isQuiet(now) }.sorted { $0.contentAt < $1.contentAt }
    for connection in quiet.prefix(max(limits.connections / 8, 1)) { connection.close() }
  }

  private func listen(_ accepts: Bool) {
    isFull = !accepts
    for listener in listeners { loop.change(listener.watch, EventLoop.Interest(reads: accepts)) }
  }

  private func checkDeadlines() {
    let now = Self.now
    if isFull && connections.count < limits.connections { listen(true) }
    if connections.count >= limits.connections { closeQuiet(now) }
    let isCrowded = connections.values.contains(where: \.hasWaiting)
    for connection in connections.values { connection.checkDeadlines(now, isCrowded: isCrowded) }
  }
}
