import Foundation
import Glibc

/// An endpoint on 127.0.0.1 that answers by a script and keeps the requests.
///
/// One thread serves one connection at a time: it reads one request, answers and closes. The socket is bound
/// to the loopback address only.
final class WebhookReceiver: Sendable {
  struct Answer: Sendable {
    var status: Int
    var headers: [String: String] = [:]

    static func status(_ status: Int, _ headers: [String: String] = [:]) -> Answer {
      Answer(status: status, headers: headers)
    }
  }

  struct Request: Sendable {
    var line: String
    /// By lower case name.
    var headers: [String: String]
    var body: Data
    /// When it had arrived completely.
    var time: Date
    /// The status of the answer.
    var status: Int

    var id: String { headers["webhook-id"] ?? "" }
    var event: Event { get throws { try JSONDecoder().decode(Event.self, from: body) } }
  }

  struct Failure: Error {
    var call: String
    var number = errno
  }

  let port: UInt16
  private let listener: Listener

  /// - Parameters:
  ///   - script: the answers in turn; the last one is repeated.
  ///   - pause: microseconds between a request and its answer.
  init(_ script: [Answer] = [.status(204)], pause: UInt32 = 0) throws {
    listener = Listener(try Self.listen(), script, pause: pause)
    port = try Self.port(of: listener.socket)
    Thread.detachNewThread { [listener] in listener.run() }
  }

  deinit {
    listener.stop()
  }

  var url: String { "http://127.0.0.1:\(port)/hook" }
  var requests: [Request] { listener.requests }

  /// Changes the answers from now on.
  func answer(_ script: Answer...) { listener.answer(script) }

  /// Waits until this number of requests has arrived.
  func wait(for count: Int, within seconds: Double = 10) -> Bool {
    let deadline = Date(timeIntervalSinceNow: seconds)
    while requests.count < count {
      if Date() > deadline { return false }
      usleep(2000)
    }
    return true
  }

  /// A port on which no process listens.
  static func closedPort() throws -> UInt16 {
    let socket = try listen()
    defer { close(socket) }
    return try port(of: socket)
  }

  // MARK: Sockets

  static func listen() throws -> Int32 {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    if socket < 0 { throw Failure(call: "socket") }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let bound = withUnsafePointer(to: address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    if bound != 0 { throw Failure(call: "bind") }
    if Glibc.listen(socket, 64) != 0 { throw Failure(call: "listen") }
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
}

/// The socket and the received requests, shared by the receiver and its thread.
///
/// Unchecked because every access to mutable state holds the lock.
private final class Listener: @unchecked Sendable {
  let socket: Int32
  private let pause: UInt32
  private let lock = NSLock()
  private var script: [WebhookReceiver.Answer]
  private var received: [WebhookReceiver.Request] = []

  init(_ socket: Int32, _ script: [WebhookReceiver.Answer], pause: UInt32) {
    self.socket = socket
    self.script = script
    self.pause = pause
  }

  deinit {
    close(socket)
  }

  var requests: [WebhookReceiver.Request] { lock.withLock { received } }

  func answer(_ script: [WebhookReceiver.Answer]) { lock.withLock { self.script = script } }

  /// Wakes the thread, which then ends.
  func stop() { shutdown(socket, Int32(SHUT_RDWR)) }

  func run() {
    while true {
      let connection = accept(socket, nil, nil)
      if connection < 0 {
        if errno == EINTR || errno == ECONNABORTED { continue }
        return
      }
      _ = fcntl(connection, F_SETFD, FD_CLOEXEC)  // a process started by a test must not keep it open
      // A sender killed in the middle of a request must not block the next one.
      var patience = timeval(tv_sec: 5, tv_usec: 0)
      setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
      serve(connection)
      close(connection)
    }
  }

  private func serve(_ connection: Int32) {
    guard var request = Self.read(connection) else { return }
    let answer = lock.withLock {
      let answer = script.count > 1 ? script.removeFirst() : script.first ?? .status(204)
      request.status = answer.status
      received.append(request)
      return answer
    }
    usleep(pause)
    var text = "HTTP/1.1 \(answer.status) Scripted\r\nConnection: close\r\nContent-Length: 0\r\n"
    for (name, value) in answer.headers { text += "\(name): \(value)\r\n" }
    let bytes = Array((text + "\r\n").utf8)
    _ = send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
  }

  /// A complete request; `nil`: the sender broke off.
  private static func read(_ connection: Int32) -> WebhookReceiver.Request? {
    var bytes = Data()
    var room = [UInt8](repeating: 0, count: 64 << 10)
    func more() -> Bool {
      let count = recv(connection, &room, room.count, 0)
      if count > 0 { bytes.append(contentsOf: room[..<count]) }
      return count > 0
    }
    let blank = Data("\r\n\r\n".utf8)
    while bytes.range(of: blank) == nil { guard more() else { return nil } }
    guard let end = bytes.range(of: blank) else { return nil }
    let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { return nil }
      headers[line[..<colon].lowercased()] = line[line.index(after: colon)...]
        .trimmingCharacters(in: .whitespaces)
    }
    guard let length = Int(headers["content-length"] ?? "") else { return nil }
    while bytes.count < end.upperBound + length { guard more() else { return nil } }
    return WebhookReceiver.Request(
      line: lines[0], headers: headers, body: bytes[end.upperBound..<end.upperBound + length], time: Date(),
      status: 0)
  }
}
