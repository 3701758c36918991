import Foundation
import Glibc

/// A webhook endpoint on the loopback address. It answers a call once the call is recorded.
final class Receiver {
  let socket: Int32
  let port: UInt16
  private let channel: String

  init(channel: String) throws {
    self.channel = channel
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let failed = withUnsafeMutablePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, size) != 0 || listen(socket, 64) != 0 || getsockname(socket, $0, &size) != 0
      }
    }
    if failed { throw Trouble("127.0.0.1", errno) }
    self.socket = socket
    port = UInt16(bigEndian: address.sin_port)
  }

  deinit {
    close(socket)
  }

  /// Serves one call.
  func serve(_ record: ([String: Any]) throws -> Void) throws {
    let connection = accepted()
    if connection < 0 { return }  // the client broke off
    defer { close(connection) }
    // A sender killed in the middle of a request must not block the next one.
    var patience = timeval(tv_sec: 5, tv_usec: 0)
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    guard let (id, body) = request(connection) else { return }
    try record(["saw": "call", "channel": channel, "id": id, "body": String(decoding: body, as: UTF8.self)])
    let answer = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
    _ = answer.withCString { send(connection, $0, answer.utf8.count, Int32(MSG_NOSIGNAL)) }
  }

  private func accepted() -> Int32 {
    let connection = accept(socket, nil, nil)
    if connection >= 0 { _ = fcntl(connection, F_SETFD, FD_CLOEXEC) }
    return connection
  }

  /// A complete request; `nil`: the client broke off.
  private func request(_ connection: Int32) -> (id: String, body: Data)? {
    var bytes = Data()
    var room = [UInt8](repeating: 0, count: 64 << 10)
    func more() -> Bool {
      let count = recv(connection, &room, room.count, 0)
      if count > 0 { bytes += room[..<count] }
      return count > 0
    }
    let blank = Data("\r\n\r\n".utf8)
    while bytes.range(of: blank) == nil { guard more() else { return nil } }
    guard let end = bytes.range(of: blank) else { return nil }
    var headers: [String: String] = [:]
    for line in String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
      .dropFirst()
    {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else { return nil }
      headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
    }
    guard let length = Int(headers["content-length"] ?? "") else { return nil }
    while bytes.count < end.upperBound + length { guard more() else { return nil } }
    return (headers["webhook-id"] ?? "", bytes[end.upperBound..<end.upperBound + length])
  }
}
