import Foundation
import Glibc

/// Clients that hold connections, and give or take little over them.
final class SlowClients {
  enum Kind: Sendable, CaseIterable {
    /// Nothing.
    case silent
    /// Half a head, and nothing more.
    case halfHead
    /// A field now and then, as `slowhttptest -H` and Slowloris do.
    case headers
    /// A byte of a head now and then.
    case headBytes
    /// A few bytes of a body now and then, as `slowhttptest -B` does.
    case body
    /// A byte of the size of a chunk now and then.
    case chunkSize
    /// A few bytes of an answer now and then, as `slowhttptest -X` does.
    case reader
  }

  let kind: Kind
  private(set) var connections: [RawConnection] = []
  private let source: String
  private let port: UInt16
  private let token: String
  /// A place whose content is long.
  private let long: String
  private var steps = 0

  /// - Parameter source: their address.
  init(_ kind: Kind, from source: String, to served: ServedHome, token: String, long: String) {
    (self.kind, self.source, port) = (kind, source, served.port)
    (self.token, self.long) = (token, long)
  }

  /// Opens so many connections more, each with what it begins with.
  func open(_ count: Int) throws {
    for _ in 0..<count {
      let connection = try RawConnection(
        port: port, from: source, receiveBuffer: kind == .reader ? 4096 : 0)
      connection.send(beginning)
      connections.append(connection)
    }
  }

  private var beginning: String {
    let post = "POST /v1/attachments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n"
    return switch kind {
    case .silent: ""
    case .halfHead, .headers: "GET /version HTTP/1.1\r\nHost: x\r\n"
    case .headBytes: "G"
    case .body: post + "Content-Length: 90000\r\n\r\n"
    case .chunkSize: post + "Transfer-Encoding: chunked\r\n\r\n"
    case .reader: "GET \(long) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n\r\n"
    }
  }

  /// Each gives or takes a little.
  func step() {
    steps += 1
    for connection in connections {
      switch kind {
      case .silent, .halfHead: break
      case .headers: connection.send("X-\(steps): y\r\n")
      case .headBytes: connection.send(steps == 1 ? "ET /" : "a")
      case .body: connection.send("hello")
      case .chunkSize: connection.send("0")
      case .reader: _ = connection.some(32, within: 0)
      }
    }
  }

  func close() { connections = [] }
}
