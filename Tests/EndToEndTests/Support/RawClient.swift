import Foundation
import Glibc

/// A client of a coordinator's socket that sends what no `sluice` would send.
final class RawClient {
  let socket: Int32

  init(_ path: String) throws {
    socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    if connected != 0 { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
  }

  deinit {
    close(socket)
  }

  func send(_ bytes: [UInt8]) { _ = Glibc.send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }

  /// The bytes received until the other end closes, or for so many seconds.
  func received(within seconds: Int) -> String {
    var limit = timeval(tv_sec: seconds, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var all: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 4096)
    while case let count = recv(socket, &piece, piece.count, 0), count > 0 { all += piece[..<count] }
    return String(decoding: all, as: UTF8.self)
  }

  /// One file to take in, encoded as a client does.
  static func enqueue(conversation: String, path: String) -> [UInt8] {
    var message: [UInt8] = [32]
    func number<Value: FixedWidthInteger>(_ value: Value) {
      withUnsafeBytes(of: value.littleEndian) { message += $0 }
    }
    func text(_ value: String?) {
      guard let value else { return number(UInt32.max) }
      number(UInt32(value.utf8.count))
      message += Array(value.utf8) + [0]
    }
    number(UInt32(1))
    message.append(1)
    number(UInt32(1))
    text(conversation)
    text(nil)
    text("ann")
    number(UInt32(0))
    text(nil)
    text("a.txt")
    text(nil)
    text(nil)
    text(path)
    number(Int64(5))
    number(Int64(5))
    message.append(0)
    number(Int64(0))
    number(Int64(0))
    for _ in 0..<4 { text(nil) }
    message.append(0)
    number(Int64(0))
    for _ in 0..<3 { text(nil) }
    message.append(0)
    text("raw")
    return withUnsafeBytes(of: UInt32(message.count).littleEndian) { Array($0) } + message
  }
}
