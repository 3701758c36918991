import CPlatform
import Glibc
import Platform

/// A server of HTTP/1.1 on one thread (RFC 9110 and 9112). It knows nothing of what is served: that is the handler's.
public final class Server {
  public let loop: EventLoop
  public let limits: ServerLimits
  /// Why the last connections were refused, for the log: called for what never became a request.
  public var onRefusal: ((RequestFault, Peer) -> Void)?
  unowned let handler: any RequestHandler
  private(set) var isDraining = false
  private var listeners: [(socket: Int32, watch: EventLoop.Watch)] = []
  private var connections: [ObjectIdentifier: Connection] = [:]
  private var perAddress: [String: Int] = [:]
  /// Where it reads to. Who keeps what has come takes it from there.
  public let blocks = Blocks()
  /// Given up for a moment where the process has no descriptor left, so that a client is told and not left waiting.
  private var spare: Int32

  /// The last date that an answer had, which is that of all answers of its second.
  private var dated = (second: 0, text: "")

  private static let acceptsInATurn = 64
  /// Bytes of one read, of a body whose length is known and of all else.
  public static let (longRead, shortRead) = (256 << 10, 64 << 10)

  /// - Parameter handler: lives as long as the server.
  public init(_ loop: EventLoop, _ limits: ServerLimits = ServerLimits(), handler: any RequestHandler) {
    (self.loop, self.limits, self.handler) = (loop, limits, handler)
    spare = loop.spareDescriptor()
    loop.onTick { [weak self] in self?.checkDeadlines() }
  }

  deinit {
    if spare >= 0 { Glibc.close(spare) }
  }

  /// Connections that are open.
  public var count: Int { connections.count }

  /// Takes connections from a socket that listens, until it drains.
  public func listen(on socket: consuming Descriptor) throws(SystemError) {
    let number = socket.release()
    _ = fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK)
    let watch = try loop.watch(number, EventLoop.Interest(reads: true)) { [unowned self] _ in
      accept(from: number)
    }
    listeners.append((number, watch))
  }

  /// Takes no more connections, closes those that are idle, and lets requests under way end.
  public func drain() {
    isDraining = true
    for listener in listeners {
      loop.forget(listener.watch)
      Glibc.close(listener.socket)
    }
    listeners = []
    for connection in connections.values { connection.drain() }
  }

  /// Closes all that is left.
  public func closeAll() {
    for connection in connections.values { connection.close() }
  }

  // MARK: For connections

  /// For the field `Date` (RFC 9110, 6.6.1).
  var date: String {
    let now = time(nil)
    if now != dated.second { dated = (now, HTTPDate.text(now)) }
    return dated.text
  }

  func refusal(_ fault: RequestFault) -> Response { .text(fault.status, fault.reason + "\n") }

  func refused(_ fault: RequestFault, _ peer: Peer) { onRefusal?(fault, peer) }

  func closed(_ connection: Connection) {
    connections[ObjectIdentifier(connection)] = nil
    let place = place(of: connection.peer)
    guard !place.isEmpty, let count = perAddress[place] else { return }
    perAddress[place] = count > 1 ? count - 1 : nil
  }

  // MARK: Taking connections

  private func accept(from listener: Int32) {
    for _ in 0..<Self.acceptsInATurn {
      var address = sockaddr_storage()
      let socket = sluice_accept_at_once(listener, &address)
      if socket < 0 {
        if errno == EMFILE || errno == ENFILE { turnAway(from: listener) }
        return
      }
      let peer = Self.peer(address)
      let place = place(of: peer)
      guard connections.count < limits.connections,
        place.isEmpty || perAddress[place, default: 0] < limits.perAddress,
        let connection = try? Connection(self, socket, peer)
      else {
        Self.turnAway(socket)
        continue
      }
      if !place.isEmpty {
        perAddress[place, default: 0] += 1
        Self.set(TCP_NODELAY, 1, on: socket)
        // Without it the kernel takes megabytes for a client that reads none of them, and does not tell for minutes how far one is
        // that reads slowly: see ``ServerLimits/writeTime``.
        Self.set(TCP_NOTSENT_LOWAT, limits.unsent, on: socket)
      }
      connections[ObjectIdentifier(connection)] = connection
    }
  }

  private static func set(_ option: Int32, _ value: Int32, on socket: Int32) {
    var value = value
    setsockopt(socket, Int32(IPPROTO_TCP), option, &value, socklen_t(MemoryLayout<Int32>.size))
  }

  /// Without a descriptor for it, a connection would stay in the queue of the kernel, and the loop would turn for ever.
  private func turnAway(from listener: Int32) {
    if spare >= 0 { Glibc.close(spare) }
    // Not accept(2): the sandbox allows the one call.
    let socket = sluice_accept(listener)
    if socket >= 0 { Self.turnAway(socket) }
    spare = loop.spareDescriptor()
  }

  /// What a client is told that finds no room (RFC 9457).
  private static let tooMany: String = {
    let body =
      #"{"status":503,"code":"too-many-connections","detail":"too many connections are open","#
      + #""remedy":"try again in 5 seconds"}"# + "\n"
    return "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Type: application/problem+json\r\n"
      + "Cache-Control: no-store\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n" + body
  }()

  private static func turnAway(_ socket: Int32) {
    _ = send(socket, tooMany, tooMany.utf8.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
    Glibc.close(socket)
  }

  private func checkDeadlines() {
    let now = loop.now
    for connection in connections.values { connection.checkDeadlines(now) }
  }

  private static func peer(_ storage: sockaddr_storage) -> Peer {
    withUnsafeBytes(of: storage) { bytes in
      var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
      switch Int32(storage.ss_family) {
      case AF_INET:
        let address = bytes.load(as: sockaddr_in.self)
        var host = address.sin_addr
        inet_ntop(AF_INET, &host, &text, socklen_t(text.count))
        return Peer(address: Self.text(text), port: UInt16(bigEndian: address.sin_port))
      case AF_INET6:
        let address = bytes.load(as: sockaddr_in6.self)
        var host = address.sin6_addr
        inet_ntop(AF_INET6, &host, &text, socklen_t(text.count))
        return Peer(address: Self.text(text), port: UInt16(bigEndian: address.sin6_port))
      default: return Peer(address: "", port: 0)
      }
    }
  }

  private static func text(_ characters: [CChar]) -> String {
    String(decoding: characters.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// What a client has to itself: an address, or with IPv6 the network that one line is given. Empty: it may have any number of
  /// connections.
  private func place(of peer: Peer) -> String {
    if limits.proxies.contains(where: { $0.contains(peer.address) }) { return "" }
    var address = in6_addr()
    guard inet_pton(AF_INET6, peer.address, &address) == 1 else { return peer.address }
    return withUnsafeBytes(of: &address) { Hexadecimal.text(Array($0.prefix(8))) }
  }
}
