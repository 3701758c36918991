import CPlatform
import Glibc
import Platform

/// A client of HTTP/1.1 with a connection that is kept.
final class HTTPClient {
  let socket: LoopbackSocket
  private var text: [UInt8] = []

  init(_ port: UInt16) throws { socket = try LoopbackSocket(connectingTo: 0x7F00_0001, port) }

  static func request(
    _ method: String, _ path: String, token: String? = nil, _ fields: [String] = [], length: Int? = nil
  ) -> [UInt8] {
    let lines =
      ["\(method) \(path) HTTP/1.1", "Host: x"] + (token.map { ["Authorization: Bearer \($0)"] } ?? [])
      + (length.map { ["Content-Length: \($0)"] } ?? []) + fields
    return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
  }

  func send(_ bytes: [UInt8]) throws {
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(
          socket.number, $0.baseAddress.map { $0 + done }, bytes.count - done, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { throw BenchError("the server takes no more: \(errno)") }
      done += count
    }
  }

  /// Sends a file: the kernel has its bytes, and the client is not to take time from the server.
  func send(file path: String, count: Int) throws {
    let file = try Descriptor.open(path, O_RDONLY)
    var (place, done): (off_t, Int) = (0, 0)
    while done < count {
      let sent = sendfile(socket.number, file.number, &place, count - done)
      if sent <= 0 { throw BenchError("the server takes no more: \(errno)") }
      done += sent
    }
  }

  struct Answer {
    var status: Int
    var head: String
    var body: [UInt8]

    /// - Parameter name: in small letters.
    func field(_ name: String) -> String? {
      let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix(name + ":") }
      return line.map { $0.dropFirst(name.count + 1).drop { $0 == " " } }.map(String.init)
    }
  }

  func answer() throws -> Answer {
    var room = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      if let answer = taken() { return answer }
      let count = recv(socket.number, &room, room.count, 0)
      if count <= 0 { throw BenchError("there is no answer") }
      text += room[..<count]
    }
  }

  private func taken() -> Answer? {
    guard let (head, start) = Self.head(of: text) else { return nil }
    var answer = Answer(
      status: Int(head.split(separator: " ").dropFirst().first ?? "") ?? 0, head: head, body: [])
    let length = answer.field("content-length").flatMap { Int($0) } ?? 0
    if text.count < start + length { return nil }
    answer.body = Array(text[start..<start + length])
    text.removeFirst(start + length)
    return answer
  }

  static func head(of bytes: [UInt8]) -> (text: String, end: Int)? {
    guard bytes.count >= 4 else { return nil }
    for place in 0...(bytes.count - 4)
    where bytes[place] == 13 && bytes[place + 1] == 10 && bytes[place + 2] == 13 && bytes[place + 3] == 10 {
      return (String(decoding: bytes[..<place], as: UTF8.self), place + 4)
    }
    return nil
  }
}

/// Clients that ask for the same again and again, each once it has its answer. One thread.
final class HTTPLoad {
  private final class Client {
    let socket: LoopbackSocket
    var head: [UInt8] = []
    /// Of the body that comes.
    var left = 0

    init(_ port: UInt16) throws { socket = try LoopbackSocket(connectingTo: 0x7F00_0001, port) }
  }

  private let clients: [Client]
  private let request: [UInt8]
  private let epoll: Int32
  private var room = [UInt8](repeating: 0, count: 256 << 10)

  init(_ port: UInt16, clients count: Int, _ request: [UInt8]) throws {
    self.request = request
    clients = try (0..<count).map { _ in try Client(port) }
    epoll = sluice_epoll()
    for (index, client) in clients.enumerated() {
      sluice_epoll_add(epoll, client.socket.number, UInt64(index), 1, 0)
    }
  }

  deinit { close(epoll) }

  /// - Returns: the answers that came in so many seconds, all with the status 200.
  func run(seconds: Double) throws -> Int {
    let end = Clock.monotonic() + UInt64(seconds * 1e9)
    var (answers, waiting) = (0, clients.count)
    for client in clients { try ask(client) }
    var ready = [sluice_ready](repeating: sluice_ready(), count: 64)
    while waiting > 0 {
      let count = sluice_epoll_wait(epoll, &ready, 64, 10_000)
      if count <= 0 { throw BenchError("no answers come") }
      for event in ready[..<Int(count)] {
        let client = clients[Int(event.tag)]
        guard try take(client) else { continue }
        answers += 1
        if Clock.monotonic() < end { try ask(client) } else { waiting -= 1 }
      }
    }
    return answers
  }

  private func ask(_ client: Client) throws {
    if send(client.socket.number, request, request.count, Int32(MSG_NOSIGNAL)) != request.count {
      throw BenchError("a request was not taken")
    }
  }

  /// True: an answer is whole.
  private func take(_ client: Client) throws -> Bool {
    let count = recv(client.socket.number, &room, room.count, Int32(MSG_DONTWAIT))
    if count < 0 && errno == EAGAIN { return false }
    if count <= 0 { throw BenchError("a connection was closed") }
    if client.left > 0 {
      client.left -= count
      return client.left == 0
    }
    client.head += room[..<count]
    guard let (head, end) = HTTPClient.head(of: client.head) else { return false }
    guard head.hasPrefix("HTTP/1.1 200") else { throw BenchError("the answer is \(head.prefix(40))") }
    let answer = HTTPClient.Answer(status: 200, head: head, body: [])
    let length = answer.field("content-length").flatMap { Int($0) } ?? 0
    client.left = length - (client.head.count - end)
    client.head.removeAll(keepingCapacity: true)
    return client.left == 0
  }
}
