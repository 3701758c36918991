import CPlatform
import Glibc
import Platform
import Synchronization

/// Endpoints on 127.0.0.1 that answer every request at once, keep connections open, and count requests.
///
/// One thread serves all of them. A dead endpoint accepts connections, as the kernel does for a process that
/// hangs, and never answers.
final class Receiver: Sendable {
  /// The requests received by one endpoint.
  struct Tally: Sendable {
    var connections = 0
    var requests = 0
    /// Requests for a recipient that arrived after a later one for the same recipient.
    var misordered = 0
    /// Requests that were repeated or cannot be read.
    var odd = 0
    var first: UInt64 = 0
    var last: UInt64 = 0
    fileprivate var sequences: [String: Int] = [:]
  }

  let ports: [UInt16]
  private let shared: Shared
  private let thread: Thread

  init(endpoints: Int, dead: Set<Int> = []) throws {
    let epoll = sluice_epoll()
    if epoll < 0 { throw SystemError("making an epoll") }
    let stop = sluice_eventfd()
    if stop < 0 { throw SystemError("making an eventfd") }
    sluice_epoll_add(epoll, stop, UInt64(stop), 1, 0)
    var ports: [UInt16] = []
    var listeners: [Int32: Int] = [:]
    for endpoint in 0..<endpoints {
      let (socket, port) = try Self.listen()
      ports.append(port)
      listeners[socket] = endpoint
      if !dead.contains(endpoint) { sluice_epoll_add(epoll, socket, UInt64(socket), 1, 0) }
    }
    self.ports = ports
    let shared = Shared(endpoints)
    self.shared = shared
    self.stop = stop
    thread = try Thread { [listeners] in Server(epoll, stop, listeners, shared).run() }
  }

  private let stop: Int32

  /// Ends the thread and closes the endpoints.
  func end() {
    sluice_eventfd_raise(stop)
    thread.join()
  }

  var tallies: [Tally] { shared.tallies.withLock { $0 } }

  private static func listen() throws -> (Int32, UInt16) {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    if socket < 0 { throw SystemError("making a socket") }
    sluice_set_nonblocking(socket)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let failed = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, size) != 0 || Glibc.listen(socket, 128) != 0 || getsockname(socket, $0, &size) != 0
      }
    }
    if failed { throw SystemError("listening on 127.0.0.1") }
    return (socket, UInt16(bigEndian: address.sin_port))
  }
}

/// Counts written by the thread and read by others.
private final class Shared: Sendable {
  let tallies: Mutex<[Receiver.Tally]>

  init(_ endpoints: Int) {
    tallies = Mutex(Array(repeating: Receiver.Tally(), count: endpoints))
  }
}

/// State of the thread.
private final class Server {
  private let epoll: Int32
  private let stop: Int32
  private let listeners: [Int32: Int]
  private let shared: Shared
  private var connections: [Int32: (endpoint: Int, bytes: [UInt8])] = [:]
  private var room = [UInt8](repeating: 0, count: 64 << 10)
  private static let answer = Array("HTTP/1.1 204 No Content\r\n\r\n".utf8)

  init(_ epoll: Int32, _ stop: Int32, _ listeners: [Int32: Int], _ shared: Shared) {
    self.epoll = epoll
    self.stop = stop
    self.listeners = listeners
    self.shared = shared
  }

  deinit {
    for socket in connections.keys { close(socket) }
    for socket in listeners.keys { close(socket) }
    close(stop)
    close(epoll)
  }

  func run() {
    var ready = [sluice_ready](repeating: sluice_ready(), count: 64)
    while true {
      let count = sluice_epoll_wait(epoll, &ready, 64, -1)
      for index in 0..<Int(max(count, 0)) {
        let socket = Int32(ready[index].tag)
        if socket == stop { return }
        if let endpoint = listeners[socket] { take(socket, endpoint) } else { serve(socket) }
      }
    }
  }

  private func take(_ listener: Int32, _ endpoint: Int) {
    while true {
      let socket = accept(listener, nil, nil)
      if socket < 0 { return }
      _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
      sluice_set_nonblocking(socket)
      connections[socket] = (endpoint, [])
      sluice_epoll_add(epoll, socket, UInt64(socket), 1, 0)
      shared.tallies.withLock { $0[endpoint].connections += 1 }
    }
  }

  private func serve(_ socket: Int32) {
    guard var connection = connections.removeValue(forKey: socket) else { return }
    let count = recv(socket, &room, room.count, 0)
    if count <= 0 {
      close(socket)
      return
    }
    connection.bytes += room[..<count]
    while let request = Request(connection.bytes) {
      connection.bytes.removeFirst(request.size)
      shared.tallies.withLock { $0[connection.endpoint].add(request) }
      _ = send(socket, Self.answer, Self.answer.count, Int32(MSG_NOSIGNAL))
    }
    connections[socket] = connection
  }
}

/// A complete request at the beginning of the received bytes.
private struct Request {
  var size: Int
  var recipient: String
  var sequence: Int?

  init?(_ bytes: [UInt8]) {
    let parts = bytes.withUnsafeBytes { bytes -> (Int, String, Int?)? in
      guard let end = Self.find("\r\n\r\n", bytes),
        let length = Self.number(after: "Content-Length: ", UnsafeRawBufferPointer(rebasing: bytes[..<end])),
        bytes.count >= end + length
      else { return nil }
      let body = UnsafeRawBufferPointer(rebasing: bytes[end..<end + length])
      var recipient = ""
      if let start = Self.find("\"recipientId\":\"", body) {
        recipient = String(decoding: body[start...].prefix { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
      }
      return (end + length, recipient, Self.number(after: "\"sequence\":", body))
    }
    guard let parts else { return nil }
    (size, recipient, sequence) = parts
  }

  /// The offset after the text.
  private static func find(_ text: StaticString, _ bytes: UnsafeRawBufferPointer) -> Int? {
    var place = 0
    while place + text.utf8CodeUnitCount <= bytes.count, let base = bytes.baseAddress,
      let found = memchr(base + place, Int32(text.utf8Start.pointee), bytes.count - place)
    {
      place = UnsafeRawPointer(found) - base
      if place + text.utf8CodeUnitCount > bytes.count { break }
      if memcmp(base + place, text.utf8Start, text.utf8CodeUnitCount) == 0 {
        return place + text.utf8CodeUnitCount
      }
      place += 1
    }
    return nil
  }

  private static func number(after text: StaticString, _ bytes: UnsafeRawBufferPointer) -> Int? {
    find(text, bytes).flatMap { start in
      Int(String(decoding: bytes[start...].prefix { 0x30...0x39 ~= $0 }, as: UTF8.self))
    }
  }
}

extension Receiver.Tally {
  fileprivate mutating func add(_ request: Request) {
    let now = Clock.monotonic()
    if requests == 0 { first = now }
    last = now
    requests += 1
    guard let sequence = request.sequence, !request.recipient.isEmpty else {
      odd += 1
      return
    }
    let before = sequences[request.recipient] ?? -1
    if sequence < before { misordered += 1 }
    if sequence == before { odd += 1 }
    sequences[request.recipient] = max(sequence, before)
  }
}
