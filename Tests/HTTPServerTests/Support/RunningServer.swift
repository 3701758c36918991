import CPlatform
import Foundation
import Glibc
import HTTPServer
import Platform
import Synchronization
import Testing

/// A server on a free port, on a thread of its own.
final class RunningServer: Sendable {
  struct Count {
    var connections = 0
    var ended = 0
    var cut = 0
  }

  private let port: UInt16
  private let count: Mutex<Count>
  private let stopping: SharedDescriptor
  /// Raised by those who want to know how many connections there are.
  private let asking: SharedDescriptor
  private let thread: Mutex<Platform.Thread?>

  init(_ limits: ServerLimits = ServerLimits(), _ begin: @escaping @Sendable (Exchange) -> Void) throws {
    let listener = try #require(
      try ListenAddress.tcp(host: "127.0.0.1", port: 0).listen().first)
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) { pointer in
      _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        getsockname(listener.number, $0, &length)
      }
    }
    port = UInt16(bigEndian: address.sin_port)
    count = Mutex(Count())
    thread = Mutex(nil)
    stopping = SharedDescriptor(Descriptor(owning: sluice_eventfd()))
    asking = SharedDescriptor(Descriptor(owning: sluice_eventfd()))
    let (stop, ask) = (stopping.number, asking.number)
    let started = try Platform.Thread { [self] in
      do {
        let loop = try EventLoop()
        let handler = Handler(begin, self)
        let server = Server(loop, limits, handler: handler)
        try server.listen(on: Descriptor(owning: dup(listener.number)))
        _ = try loop.watch(stop, EventLoop.Interest(reads: true)) { _ in loop.stop() }
        _ = try loop.watch(ask, EventLoop.Interest(reads: true)) { _ in
          sluice_eventfd_clear(ask)
          self.count.withLock { $0.connections = server.count }
        }
        try loop.run()
        server.closeAll()
      } catch {
        Issue.record("\(error)")
      }
    }
    thread.withLock { $0 = started }
  }

  deinit {
    sluice_eventfd_raise(stopping.number)
  }

  func connect() throws -> Client { try Client(port) }

  func noteCut() { count.withLock { $0.cut += 1 } }

  /// Waits until the counts are as they should be.
  func waitFor(_ isSo: (Count) -> Bool) throws {
    for _ in 0..<500 {
      if count.withLock({ isSo($0) }) { return }
      sluice_eventfd_raise(asking.number)
      usleep(20_000)
    }
    let last = count.withLock { $0 }
    Issue.record("it never came: \(last)")
  }

  private final class Handler: RequestHandler {
    private let body: (Exchange) -> Void
    private unowned let server: RunningServer

    init(_ body: @escaping (Exchange) -> Void, _ server: RunningServer) {
      (self.body, self.server) = (body, server)
    }

    func begin(_ exchange: Exchange) {
      exchange.context = server
      body(exchange)
    }

    func ended(_ exchange: Exchange) { server.count.withLock { $0.ended += 1 } }
  }
}

/// Gathers the body of a request.
final class Collector: BodySink {
  private let exchange: Exchange
  private let then: ([UInt8]) -> Void
  private var bytes: [UInt8] = []

  init(_ exchange: Exchange, then: @escaping ([UInt8]) -> Void) {
    (self.exchange, self.then) = (exchange, then)
  }

  func start() {
    if exchange.head.framing == .none { return then([]) }
    exchange.readBody(into: self)
  }

  func take(_ piece: UnsafeRawBufferPointer) -> Bool {
    bytes += piece
    return true
  }

  func end() { then(bytes) }

  func cut() { (exchange.context as? RunningServer)?.noteCut() }
}

/// A client that sends what it is told.
final class Client {
  private var socket: Int32

  init(_ port: UInt16) throws {
    socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(connected == 0)
    var limit = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close() }

  func close() {
    if socket >= 0 { Glibc.close(socket) }
    socket = -1
  }

  func send(_ text: String) {
    let bytes = Array(text.utf8)
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(socket, $0.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { return }
      sent += count
    }
  }

  /// What comes, up to this text and with it.
  func read(until end: String) -> String {
    var bytes: [UInt8] = []
    while !String(decoding: bytes, as: UTF8.self).hasSuffix(end) {
      var byte: UInt8 = 0
      if recv(socket, &byte, 1, 0) <= 0 { break }
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// - Returns: how many bytes there were.
  func read(atMost count: Int) -> Int {
    var buffer = [UInt8](repeating: 0, count: count)
    return max(recv(socket, &buffer, count, 0), 0)
  }

  /// What comes until the server closes.
  func restBytes() -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(socket, &buffer, buffer.count, 0)
      if count <= 0 { return bytes }
      bytes += buffer[..<count]
    }
  }

  func rest() -> String { String(decoding: restBytes(), as: UTF8.self) }
}
