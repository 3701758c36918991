import Foundation

/// A server in clamd's place that answers as a test says.
///
/// One thread per connection. It knows enough of clamd's protocol to detect the end of the content.
final class FakeScanner: Sendable {
  enum Manner: Sendable {
    /// Answers once it has all of the content.
    case answers(@Sendable ([UInt8]) -> [UInt8])
    /// Answers before it has read any content, and closes.
    case answersEarly([UInt8])
    /// Answers one byte at a time, with a pause in microseconds between them.
    case drips([UInt8], pause: UInt32)
    /// Closes after reading this much of the content.
    case hangsUp(after: Int)
    /// Reads everything and sends nothing.
    case isSilent
    /// Accepts the connection and reads nothing.
    case readsNothing
    /// Leaves connections in the queue.
    case takesNothing
    /// Treats even the question for its version like content.
    case answersEverything([UInt8])
  }

  enum Place {
    case unix(String)
    case tcp
  }

  /// Its address in the form of the stage's `address`.
  let address: String
  private let listener: Int32

  struct Failure: Error {
    var call: String
    var number = errno
  }

  init(at place: Place, _ manner: Manner) throws {
    switch place {
    case .unix(let path):
      let made = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      guard Self.withAddress(of: path, { bind(made, $0, $1) }) == 0 else { throw Failure(call: "bind") }
      let queue: Int32 = if case .takesNothing = manner { 0 } else { 100 }
      if listen(made, queue) != 0 { throw Failure(call: "listen") }
      listener = made
      address = "unix:" + path
    case .tcp:
      listener = try WebhookReceiver.listen()
      address = "tcp:127.0.0.1:\(try WebhookReceiver.port(of: listener))"
    }
    if case .takesNothing = manner { return }
    Thread.detachNewThread { [listener] in
      while true {
        let connection = accept(listener, nil, nil)
        if connection < 0 {
          if errno == EINTR || errno == ECONNABORTED { continue }
          return
        }
        _ = fcntl(connection, F_SETFD, FD_CLOEXEC)  // a process started by a test must not keep it open
        Thread.detachNewThread {
          FakeConnection(connection).serve(manner)
          close(connection)
        }
      }
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))  // wakes the thread, which then ends
    close(listener)
  }

  /// Calls with the address of a Unix socket.
  static func withAddress(of path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
    return withUnsafePointer(to: address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }
}

/// One connection of the fake scanner.
private struct FakeConnection {
  private let socket: Int32

  init(_ socket: Int32) {
    self.socket = socket
    // If the other end is forgotten, the thread must not wait for ever.
    var patience = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
  }

  func serve(_ manner: FakeScanner.Manner) {
    if case .answersEverything(let answer) = manner {
      _ = command()
      say(answer)
      return
    }
    guard let command = command() else { return }
    guard command == "zINSTREAM" else {
      say(Array((command == "zVERSION" ? "ClamAV 0.0.0/1/of a test\0" : "UNKNOWN COMMAND\0").utf8))
      return
    }
    switch manner {
    case .answers(let answer): if let content = content() { say(answer(content)) }
    case .answersEarly(let answer): say(answer)
    case .drips(let answer, let pause):
      _ = content()
      for byte in answer {
        if !say([byte]) { return }
        usleep(pause)
      }
    case .hangsUp(let count): _ = take(count)
    case .isSilent:
      _ = content()
      _ = take(1)  // until the other side gives up
    case .readsNothing:
      var state = pollfd(fd: socket, events: 0x2000 /* POLLRDHUP, a macro of _GNU_SOURCE */, revents: 0)
      poll(&state, 1, 20_000)
    case .takesNothing, .answersEverything: break
    }
  }

  private func command() -> String? {
    var bytes: [UInt8] = []
    while bytes.count < 64, let byte = take(1)?.first {
      if byte == 0 { return String(decoding: bytes, as: UTF8.self) }
      bytes.append(byte)
    }
    return nil
  }

  /// All chunks up to the empty one; `nil`: the client broke off.
  private func content() -> [UInt8]? {
    var content: [UInt8] = []
    while let header = take(4) {
      let count = header.reduce(0) { $0 << 8 | Int($1) }
      if count == 0 { return content }
      guard let chunk = take(count) else { return nil }
      content += chunk
    }
    return nil
  }

  private func take(_ count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let got = bytes.withUnsafeMutableBytes {
        recv(socket, $0.baseAddress.map { $0 + done }, count - done, 0)
      }
      if got <= 0 { return nil }
      done += got
    }
    return bytes
  }

  @discardableResult
  private func say(_ bytes: [UInt8]) -> Bool {
    var done = 0
    while done < bytes.count {
      let count = bytes[done...].withUnsafeBytes {
        send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { return false }
      done += count
    }
    return true
  }
}
