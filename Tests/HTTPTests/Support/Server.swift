import Foundation
import Glibc

/// A server on 127.0.0.1 that does whatever a test wants: it counts connections and requests, and a closure answers each with
/// bytes of its own choice. A thread serves each connection.
final class Server: Sendable {
  struct Request: Sendable {
    var line: String
    /// By lower-case name.
    var headers: [String: String]
    var body: [UInt8]

    var path: String { line.split(separator: " ").dropFirst().first.map(String.init) ?? "" }
    var method: String { line.split(separator: " ").first.map(String.init) ?? "" }
    /// The first byte of `Range: bytes=N-`.
    var first: Int? {
      guard let range = headers["range"], range.hasPrefix("bytes="), range.hasSuffix("-") else { return nil }
      return Int(range.dropFirst(6).dropLast())
    }
  }

  struct Failure: Error {
    var call: String
    var number = errno
  }

  let port: UInt16
  private let listener: Listener

  /// - Parameter address: of this machine.
  init(
    at address: UInt32 = 0x7F00_0001, _ answer: @escaping @Sendable (Request, Exchange) -> Void
  ) throws {
    let socket = try Self.listen(at: address)
    port = try Self.port(of: socket)
    listener = Listener(socket, answer)
    Thread.detachNewThread { [listener] in listener.run() }
  }

  deinit {
    listener.stop()
  }

  var connections: Int { listener.connections }
  var requests: [Request] { listener.requests }
  /// Bytes of bodies that the kernel has taken.
  var bodyBytes: Int { listener.bodyBytes }

  func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

  // MARK: Sockets

  static func listen(at number: UInt32 = 0x7F00_0001) throws -> Int32 {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    if socket < 0 { throw Failure(call: "socket") }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = number.bigEndian
    let bound = withUnsafePointer(to: address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    if bound != 0 { throw Failure(call: "bind") }
    if Glibc.listen(socket, 256) != 0 { throw Failure(call: "listen") }
    return socket
  }

  static func port(of socket: Int32) throws -> UInt16 {
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let got = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &size) }
    }
    if got != 0 { throw Failure(call: "getsockname") }
    return UInt16(bigEndian: address.sin_port)
  }

  /// Whether a process accepts connections at a port of 127.0.0.1.
  static func accepts(_ port: UInt16) throws -> Bool {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    if socket < 0 { throw Failure(call: "socket") }
    defer { close(socket) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = port.bigEndian
    return withUnsafePointer(to: address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    } == 0
  }

  /// A port on which no process listens.
  static func closedPort() throws -> UInt16 {
    let socket = try listen()
    defer { close(socket) }
    return try port(of: socket)
  }
}

/// Unchecked because every access to mutable state holds the lock.
final class Listener: @unchecked Sendable {
  private let socket: Int32
  private let answer: @Sendable (Server.Request, Exchange) -> Void
  private let lock = NSLock()
  private var requestList: [Server.Request] = []
  private var connectionCount = 0
  private var bodyCount = 0

  init(_ socket: Int32, _ answer: @escaping @Sendable (Server.Request, Exchange) -> Void) {
    self.socket = socket
    self.answer = answer
  }

  deinit {
    close(socket)
  }

  var connections: Int { lock.withLock { connectionCount } }
  var requests: [Server.Request] { lock.withLock { requestList } }
  var bodyBytes: Int { lock.withLock { bodyCount } }

  func add(body bytes: Int) { lock.withLock { bodyCount += bytes } }

  /// Wakes the thread, which then ends.
  func stop() { shutdown(socket, Int32(SHUT_RDWR)) }

  func run() {
    while true {
      let connection = accept(socket, nil, nil)
      if connection < 0 {
        if errno == EINTR || errno == ECONNABORTED { continue }
        return
      }
      _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
      lock.withLock { connectionCount += 1 }
      Thread.detachNewThread { self.serve(Exchange(connection, self)) }
    }
  }

  private func serve(_ exchange: Exchange) {
    while exchange.isOpen, let request = exchange.read() {
      lock.withLock { requestList.append(request) }
      answer(request, exchange)
    }
    exchange.close()
  }
}

/// One connection, used by its thread alone.
final class Exchange {
  private let socket: Int32
  private let listener: Listener
  private(set) var isOpen = true
  private var buffer = Data()

  init(_ socket: Int32, _ listener: Listener) {
    self.socket = socket
    self.listener = listener
    var patience = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var one: Int32 = 1
    setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
  }

  deinit {
    close()
  }

  func close() {
    if isOpen { Glibc.close(socket) }
    isOpen = false
  }

  /// Ends the connection with RST.
  func reset() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(socket, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    close()
  }

  /// Bytes of what the kernel takes at once are few, so that it can be seen when no one reads.
  func limitSending(to bytes: Int32) {
    var bytes = bytes
    setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
  }

  @discardableResult
  func send(_ text: String) -> Bool { send(Array(text.utf8), isBody: false) }

  /// Sends content. False: the other end is gone.
  @discardableResult
  func send(_ bytes: some Collection<UInt8>, isBody: Bool = true) -> Bool {
    guard isOpen else { return false }
    let bytes = Array(bytes)
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(
          socket, $0.baseAddress.map { $0 + done }, min(bytes.count - done, 64 << 10), Int32(MSG_NOSIGNAL))
      }
      if count < 0 && errno == EINTR { continue }
      if count <= 0 {
        close()
        return false
      }
      done += count
      if isBody { listener.add(body: count) }
    }
    return true
  }

  /// An answer with its length.
  func answer(_ status: Int = 200, _ headers: [String] = [], _ body: some Collection<UInt8>) {
    let lines: [String] = ["HTTP/1.1 \(status) Scripted", "Content-Length: \(body.count)"] + headers
    send(lines.joined(separator: "\r\n") + "\r\n\r\n")
    send(body)
  }

  /// An answer without content.
  func answer(_ status: Int, _ headers: String...) {
    answer(status, headers, [])
  }

  /// The next request; `nil`: the other end is gone.
  func read() -> Server.Request? {
    let blank = Data("\r\n\r\n".utf8)
    while true {
      if let end = buffer.range(of: blank) {
        let lines = String(decoding: buffer[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
          guard let colon = line.firstIndex(of: ":") else { return nil }
          headers[line[..<colon].lowercased()] = line[line.index(after: colon)...]
            .trimmingCharacters(in: .whitespaces)
        }
        let length = Int(headers["content-length"] ?? "") ?? 0
        while buffer.count < end.upperBound - buffer.startIndex + length { guard more() else { return nil } }
        let body = Array(buffer[end.upperBound..<(end.upperBound + length)])
        buffer = Data(buffer[(end.upperBound + length)...])
        return Server.Request(line: lines[0], headers: headers, body: body)
      }
      guard more() else { return nil }
      // The beginning of TLS, which is not spoken here.
      if buffer.first == 0x16 {
        send("HTTP/1.1 400 Bad Request\r\n\r\n")
        return nil
      }
    }
  }

  private func more() -> Bool {
    guard isOpen else { return false }
    var room = [UInt8](repeating: 0, count: 16 << 10)
    let count = recv(socket, &room, room.count, 0)
    if count > 0 { buffer.append(contentsOf: room[..<count]) }
    return count > 0
  }
}
