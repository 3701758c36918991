import CCrypto
import Foundation
import Glibc

/// A web server on 127.0.0.1 that makes content up, at a rate that can be changed, and counts what it sends.
///
/// - `/content/SIZE/NAME` has so many bytes, which follow from the path. With `?pause=MS` it rests at the half. With `?unmeasured`
///   no length is told, and it ends with its connection. With `?lapse` it breaks off at the half, and a request for the rest is
///   answered as by a storage service that takes the link no longer.
/// - `/unauthorized/NAME` is answered with 401.
/// - `/missing/NAME` is not there, after as long as `?pause=MS` says.
/// - `/reset/NAME` sends 64 KiB, rests, and resets the connection.
final class ContentServer: Sendable {
  struct Request: Sendable {
    var path: String
    /// Seconds since 1970, when its head had come.
    var time: Double
    /// The first byte that was asked for.
    var first: Int
  }

  let port: UInt16
  private let state: State

  /// - Parameter rate: bytes a second of all connections together; 0: no limit.
  init(rate: Int = 0) throws {
    let socket = try WebhookReceiver.listen()
    port = try WebhookReceiver.port(of: socket)
    state = State(socket, rate)
    Thread.detachNewThread { [state] in state.accept() }
  }

  deinit {
    state.stop()
  }

  var url: String { "http://127.0.0.1:\(port)" }

  /// From now on, and for what waits.
  func setRate(_ rate: Int) { state.lock.withLock { state.rate = rate } }

  var requests: [Request] { state.lock.withLock { state.requests } }

  func requests(of path: String) -> [Request] { requests.filter { $0.path == path } }

  /// Bytes of bodies that the kernel has taken.
  func bytes(of paths: [String]) -> Int {
    state.lock.withLock { paths.reduce(0) { $0 + state.sent[$1, default: 0] } }
  }

  /// Answers under way.
  var active: Int { state.lock.withLock { state.active } }

  // MARK: Content

  /// A prime, so that what is gone on with at a wrong place differs.
  private static let length = 1_048_573

  private static let pool: [UInt8] = {
    var random = UInt64(0x9E37_79B9_7F4A_7C15)
    return (0..<length).map { _ in
      random ^= random << 13
      random ^= random >> 7
      random ^= random << 17
      return UInt8(truncatingIfNeeded: random >> 32)
    }
  }()

  /// Hands over the bytes of a content from one place to another, in pieces.
  static func pieces(
    of path: String, from first: Int, to end: Int, _ body: (UnsafeRawBufferPointer) -> Bool
  ) {
    var seed = 7
    for byte in path.utf8 { seed = (seed * 31 + Int(byte)) % length }
    pool.withUnsafeBytes { pool in
      var place = first
      while place < end {
        let start = (seed + place) % length
        let count = min(64 << 10, length - start, end - place)
        if !body(UnsafeRawBufferPointer(rebasing: pool[start..<start + count])) { return }
        place += count
      }
    }
  }

  static func size(of path: String) -> Int? {
    let parts = path.split(separator: "/")
    return parts.count == 3 && parts[0] == "content" ? Int(parts[1]) : nil
  }

  /// The SHA-256 of a content, as hexadecimal digits.
  static func sha256(of path: String) -> String {
    guard let context = EVP_MD_CTX_new(), let size = size(of: path) else { return "" }
    defer { EVP_MD_CTX_free(context) }
    EVP_DigestInit_ex(context, EVP_sha256(), nil)
    pieces(of: path, from: 0, to: size) { EVP_DigestUpdate(context, $0.baseAddress, $0.count) == 1 }
    var digest = [UInt8](repeating: 0, count: 32)
    EVP_DigestFinal_ex(context, &digest, nil)
    return digest.map { String(format: "%02x", $0) }.joined()
  }

  // MARK: Serving

  /// Unchecked because every access to what changes holds the lock.
  private final class State: @unchecked Sendable {
    let lock = NSLock()
    let socket: Int32
    var rate: Int
    var requests: [Request] = []
    var sent: [String: Int] = [:]
    var active = 0
    /// When the line is free again, in seconds of the monotonic clock.
    private var freeAt = 0.0

    init(_ socket: Int32, _ rate: Int) { (self.socket, self.rate) = (socket, rate) }

    deinit { close(socket) }

    /// Wakes the thread, which then ends.
    func stop() { shutdown(socket, Int32(SHUT_RDWR)) }

    func accept() {
      while true {
        let connection = Glibc.accept(socket, nil, nil)
        if connection < 0 {
          if errno == EINTR || errno == ECONNABORTED { continue }
          return
        }
        _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
        Thread.detachNewThread { ContentConnection(connection, self).serve() }
      }
    }

    /// Waits until bytes may be sent.
    func wait(toSend count: Int) {
      var wait = 0.0
      repeat {
        wait = lock.withLock {
          let now = ProcessInfo.processInfo.systemUptime
          if rate == 0 || freeAt <= now {
            freeAt = rate == 0 ? 0 : max(freeAt, now - 0.05) + Double(count) / Double(rate)
            return 0
          }
          return freeAt - now
        }
        // A change of the rate holds for what waits, too.
        if wait > 0 { usleep(UInt32(min(wait, 0.05) * 1e6) + 1) }
      } while wait > 0
    }

    func note(_ count: Int, _ path: String) { lock.withLock { sent[path, default: 0] += count } }
  }

  /// One connection, used by its thread alone.
  private final class ContentConnection {
    private let socket: Int32
    private let state: State
    private var buffer: [UInt8] = []

    init(_ socket: Int32, _ state: State) {
      (self.socket, self.state) = (socket, state)
      // What the kernel takes at once is little, so that it shows when the other end takes nothing.
      var (room, one) = (Int32(64 << 10), Int32(1))
      setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &room, socklen_t(MemoryLayout<Int32>.size))
      setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    }

    func serve() {
      while let head = head() {
        state.lock.withLock { state.active += 1 }
        let goesOn = answer(head)
        state.lock.withLock { state.active -= 1 }
        if !goesOn { break }
      }
      close(socket)
    }

    private func head() -> String? {
      var room = [UInt8](repeating: 0, count: 8 << 10)
      while true {
        let text = String(decoding: buffer, as: UTF8.self)
        if let end = text.range(of: "\r\n\r\n") {
          buffer = Array(text[end.upperBound...].utf8)
          return String(text[..<end.lowerBound])
        }
        let count = recv(socket, &room, room.count, 0)
        if count <= 0 { return nil }
        buffer += room[..<count]
      }
    }

    /// False: the connection is at its end.
    private func answer(_ head: String) -> Bool {
      let now = Date().timeIntervalSince1970
      let lines = head.components(separatedBy: "\r\n")
      let target = lines[0].split(separator: " ").dropFirst().first.map(String.init) ?? "/"
      let path = String(target.prefix { $0 != "?" })
      let pause = target.range(of: "pause=").flatMap { UInt32(target[$0.upperBound...]) } ?? 0
      let etag = "\"\(path.count)-\(path.split(separator: "/").last ?? "")\""
      let range = lines.first { $0.lowercased().hasPrefix("range: bytes=") }
      let isSame = !lines.contains { $0.lowercased().hasPrefix("if-range:") && !$0.hasSuffix(etag) }
      let first =
        range.flatMap { isSame ? Int($0.drop { $0 != "=" }.dropFirst().dropLast()) : nil } ?? 0
      state.lock.withLock { state.requests.append(Request(path: path, time: now, first: first)) }
      guard let size = ContentServer.size(of: path) else { return refuse(path, pause) }
      let isPart = first > 0 && first < size
      let lapses = target.contains("?lapse&")
      if lapses && isPart { return send("HTTP/1.1 400 x\r\n\(Self.expired)") }
      let start = isPart ? first : 0
      let isMeasured = !target.hasSuffix("?unmeasured")
      let length = isMeasured ? "Content-Length: \(size - start)" : "Connection: close"
      let lengths = "\(length)\r\nETag: \(etag)\r\n"
      let part = isPart ? "Content-Range: bytes \(start)-\(size - 1)/\(size)\r\n" : ""
      guard send("HTTP/1.1 \(isPart ? 206 : 200) x\r\n\(lengths)\(part)\r\n") else { return false }
      let half = max(start, pause > 0 || lapses ? size / 2 : 0)
      guard body(path, start, half), !lapses else { return false }
      if pause > 0 { usleep(pause * 1000) }
      return body(path, half, size) && isMeasured
    }

    private static let expired: String = {
      let body = "<?xml version='1.0'?><Error><Code>ExpiredToken</Code><Message>x</Message></Error>"
      return "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }()

    private func refuse(_ path: String, _ pause: UInt32) -> Bool {
      if path.hasPrefix("/reset/") {
        _ = send("HTTP/1.1 200 x\r\nContent-Length: 1000000\r\n\r\n")
        _ = body(path, 0, 64 << 10)
        usleep(pause * 1000)
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        return false
      }
      usleep(pause * 1000)
      let status = path.hasPrefix("/unauthorized/") ? 401 : 404
      return send("HTTP/1.1 \(status) x\r\nContent-Length: 0\r\n\r\n")
    }

    private func body(_ path: String, _ first: Int, _ end: Int) -> Bool {
      var isWhole = true
      ContentServer.pieces(of: path, from: first, to: end) { piece in
        state.wait(toSend: piece.count)
        var rest = piece[...]
        while !rest.isEmpty {
          let bytes = UnsafeRawBufferPointer(rebasing: rest)
          let count = Glibc.send(socket, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
          if count < 0 && errno == EINTR { continue }
          guard count > 0 else {
            isWhole = false
            return false
          }
          state.note(count, path)
          rest = rest.dropFirst(count)
        }
        return true
      }
      return isWhole
    }

    private func send(_ text: String) -> Bool {
      let bytes = Array(text.utf8)
      return Glibc.send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }
  }
}
