import CTLS
import Foundation
import Glibc
import Testing

/// A connection of an HTTP client that sends any bytes, with or without TLS, and reads answers one by one.
final class RawConnection {
  struct Answer {
    var status: Int
    /// Names in small letters, in their order.
    var fields: [(name: String, value: String)] = []
    var body: [UInt8] = []

    var text: String { String(decoding: body, as: UTF8.self) }

    func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }
  }

  /// It cannot be made.
  struct Failure: Error {
    var call: String
    var number = errno
  }

  private(set) var socket: Int32
  private let tls: Layer?
  /// What came and was not taken.
  private var bytes: [UInt8] = []
  /// The server sends no more.
  private(set) var isOver = false
  /// Statuses that came before final ones, such as 100.
  private(set) var interim: [Int] = []

  /// - Parameters:
  ///   - source: the address of this end: all of 127.0.0.0/8 are this machine's.
  ///   - receiveBuffer: bytes that the kernel keeps of what is not read; 0: as usual.
  init(port: UInt16, from source: String? = nil, isSecure: Bool = false, receiveBuffer: Int32 = 0) throws {
    socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    tls = isSecure ? try Layer() : nil
    if socket < 0 { throw Failure(call: "socket") }
    if receiveBuffer > 0 {
      var size = receiveBuffer
      setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }
    if let source {
      // The port is chosen with the connection, so that addresses do not share those that there are.
      var on: Int32 = 1
      setsockopt(
        socket, Int32(IPPROTO_IP), IP_BIND_ADDRESS_NO_PORT, &on, socklen_t(MemoryLayout<Int32>.size))
      try Self.with(source, 0) { if Glibc.bind(socket, $0, $1) != 0 { throw Failure(call: "bind") } }
    }
    try Self.with("127.0.0.1", port) {
      if Glibc.connect(socket, $0, $1) != 0 { throw Failure(call: "connect") }
    }
    // What is sent in two pieces is to arrive in two.
    var on: Int32 = 1
    setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    guard let tls else { return }
    while !tls.hasShakenHands {
      transmit(tls.outgoing())
      if !tls.hasShakenHands && !receive(within: 5000) { throw Failure(call: "handshake") }
    }
    transmit(tls.outgoing())
  }

  deinit { close() }

  func close() {
    if socket >= 0 { Glibc.close(socket) }
    socket = -1
  }

  private static func with(
    _ host: String, _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) throws -> Void
  ) throws {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    inet_pton(AF_INET, host, &address.sin_addr)
    try withUnsafePointer(to: address) {
      try $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        try body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }

  // MARK: Sending

  func send(_ text: String) { send(Array(text.utf8)) }

  func send(_ bytes: [UInt8]) {
    guard let tls else { return transmit(bytes) }
    // In pieces, so that no more than one is in memory twice.
    for start in stride(from: 0, to: bytes.count, by: 64 << 10) {
      tls.write(Array(bytes[start..<min(start + (64 << 10), bytes.count)]))
      transmit(tls.outgoing())
    }
  }

  /// A server that has closed takes no more, which is for its answer to tell.
  private func transmit(_ bytes: [UInt8]) {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(socket, $0.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
      }
      if count < 0 && errno == EINTR { continue }
      if count <= 0 { return }
      sent += count
    }
  }

  // MARK: Reading

  /// The next final answer; `nil`: there is none within so many milliseconds.
  ///
  /// - Parameter isHead: it has no body, whatever it says.
  func answer(isHead: Bool = false, within milliseconds: Int = 5000) -> Answer? {
    let end = Self.now + milliseconds
    while true {
      guard let head = take(through: Array("\r\n\r\n".utf8), before: end) else { return nil }
      var answer = Self.parsed(head)
      if (100..<200).contains(answer.status) {
        interim.append(answer.status)
        continue
      }
      if isHead || answer.status == 204 || answer.status == 304 { return answer }
      if answer.field("transfer-encoding")?.lowercased() == "chunked" {
        guard let body = takeChunks(before: end) else { return nil }
        answer.body = body
      } else if let length = answer.field("content-length").flatMap({ Int($0) }) {
        while bytes.count < length { if !receive(before: end) { return nil } }
        answer.body = take(length)
      } else {
        while receive(before: end) {}
        answer.body = take(bytes.count)
      }
      return answer
    }
  }

  /// At most so many bytes of what comes; empty: nothing comes within the time, or there is no more.
  func some(_ count: Int, within milliseconds: Int = 5000) -> [UInt8] {
    if bytes.isEmpty { _ = receive(within: milliseconds, atMost: count) }
    return take(min(count, bytes.count))
  }

  /// Whether the server closes within so many milliseconds without sending another byte.
  func isClosed(within milliseconds: Int = 1000) -> Bool {
    bytes.isEmpty && !receive(within: milliseconds) && isOver
  }

  /// Whether the server takes another byte: once it has closed, it answers with a reset.
  var isHeard: Bool { Glibc.send(socket, "x", 1, Int32(MSG_NOSIGNAL)) == 1 }

  private static func parsed(_ head: [UInt8]) -> Answer {
    let lines = String(decoding: head, as: UTF8.self).components(separatedBy: "\r\n").filter { !$0.isEmpty }
    let words = lines.first?.split(separator: " ") ?? []
    var answer = Answer(status: words.count > 1 && words[0] == "HTTP/1.1" ? Int(words[1]) ?? 0 : 0)
    answer.fields = lines.dropFirst().map { line in
      let parts = line.split(separator: ":", maxSplits: 1)
      return (
        parts.first?.lowercased() ?? "",
        parts.count == 2 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
      )
    }
    return answer
  }

  private func takeChunks(before end: Int) -> [UInt8]? {
    var body: [UInt8] = []
    while true {
      guard let line = take(through: Array("\r\n".utf8), before: end),
        let size = Int(String(decoding: line.dropLast(2), as: UTF8.self), radix: 16)
      else { return nil }
      while bytes.count < size + 2 { if !receive(before: end) { return nil } }
      body += take(size)
      _ = take(2)
      if size == 0 { return body }
    }
  }

  private func take(through mark: [UInt8], before end: Int) -> [UInt8]? {
    var start = 0
    while true {
      while start + mark.count <= bytes.count {
        if bytes[start] == mark[0] && bytes[start..<start + mark.count].elementsEqual(mark) {
          return take(start + mark.count)
        }
        start += 1
      }
      if !receive(before: end) { return nil }
    }
  }

  private func take(_ count: Int) -> [UInt8] {
    let taken = Array(bytes.prefix(count))
    bytes.removeFirst(taken.count)
    return taken
  }

  private static var now: Int { Int(ProcessInfo.processInfo.systemUptime * 1000) }

  private func receive(before end: Int) -> Bool { receive(within: max(end - Self.now, 0)) }

  /// Reads once. False: nothing came, or the server sends no more.
  private func receive(within milliseconds: Int, atMost most: Int = 64 << 10) -> Bool {
    if isOver || socket < 0 { return false }
    var one = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
    if poll(&one, 1, Int32(milliseconds)) <= 0 { return false }
    let piece = [UInt8](unsafeUninitializedCapacity: most) { room, count in
      count = max(recv(socket, room.baseAddress, most, 0), 0)
    }
    if piece.isEmpty {
      isOver = true
      return false
    }
    guard let tls else {
      bytes += piece
      return true
    }
    let (plain, isOver) = tls.read(piece)
    bytes += plain
    self.isOver = isOver
    // What came may be no data, such as a key.
    return !plain.isEmpty || !isOver
  }

  // MARK: TLS

  /// TLS between two memories. Certificates are not looked at.
  private final class Layer {
    private let context: OpaquePointer
    private let session: OpaquePointer
    private let input: OpaquePointer
    private let output: OpaquePointer

    init() throws {
      guard let context = SSL_CTX_new(TLS_client_method()), let session = SSL_new(context),
        let input = BIO_new(BIO_s_mem()), let output = BIO_new(BIO_s_mem())
      else { throw Failure(call: "SSL_new") }
      (self.context, self.session, self.input, self.output) = (context, session, input, output)
      SSL_set_connect_state(session)
      // They are the session's from now on.
      SSL_set_bio(session, input, output)
      SSL_do_handshake(session)
    }

    deinit {
      SSL_free(session)
      SSL_CTX_free(context)
    }

    var hasShakenHands: Bool { SSL_is_init_finished(session) == 1 }

    func write(_ bytes: [UInt8]) { SSL_write(session, bytes, Int32(bytes.count)) }

    /// What is to be sent.
    func outgoing() -> [UInt8] {
      var all: [UInt8] = []
      var piece = [UInt8](repeating: 0, count: 16 << 10)
      while case let count = BIO_read(output, &piece, Int32(piece.count)), count > 0 {
        all += piece[..<Int(count)]
      }
      return all
    }

    /// What is in bytes that came, and whether it was the end.
    func read(_ bytes: [UInt8]) -> (plain: [UInt8], isOver: Bool) {
      BIO_write(input, bytes, Int32(bytes.count))
      if !hasShakenHands {
        SSL_do_handshake(session)
        if !hasShakenHands { return ([], false) }
      }
      var plain: [UInt8] = []
      var piece = [UInt8](repeating: 0, count: 16 << 10)
      while true {
        let count = SSL_read(session, &piece, Int32(piece.count))
        if count > 0 {
          plain += piece[..<Int(count)]
        } else {
          return (plain, SSL_get_error(session, count) != SSL_ERROR_WANT_READ)
        }
      }
    }
  }
}
