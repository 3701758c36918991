import CPlatform
import ClamdServer
import Glibc
import HTTPServer
import Platform
import Synchronization
import Testing

/// A server of clamd's protocol on a thread of its own, with clients over pairs of sockets and over loopback.
final class RunningDoor: Sendable {
  /// What becomes of contents. Those that have a `!` are found.
  enum Manner: Sendable {
    case judges
    /// None ever may come.
    case takesNone
    /// One after the other; the next once the one before has ended or left.
    case takesOne
    case answersNever
    /// After each piece that comes it waits for a turn of the loop.
    case pauses
    /// Answers before it has all.
    case answersEarly
  }

  struct Count: Sendable {
    var connections = 0
    var begun = 0
    var ended = 0
    var dropped = 0
  }

  private let path: String
  private let port: UInt16
  private let count = Mutex(Count())
  private let stopping: SharedDescriptor
  private let draining: SharedDescriptor
  private let asking: SharedDescriptor
  private let thread = Mutex<Platform.Thread?>(nil)

  init(_ manner: Manner = .judges, limit: Int64 = 1 << 20, limits: ClamdServer.Limits = .init()) throws {
    var random = SystemRandomNumberGenerator()
    path = "/tmp/sluice-door-\(getpid())-\(random.next())"
    let unix = try #require(try ListenAddress.unix(path: path).listen().first)
    let tcp = try #require(try ListenAddress.tcp(host: "127.0.0.1", port: 0).listen().first)
    port = try #require(ListenAddress.name(of: tcp.number).split(separator: ":").last.flatMap { UInt16($0) })
    let events = (0..<4).map { _ in SharedDescriptor(Descriptor(owning: sluice_eventfd())) }
    (stopping, draining, asking) = (events[0], events[1], events[2])
    let started = try Platform.Thread { [self, events] in
      do {
        let loop = try EventLoop()
        let handler = Handler(manner, limit, self, turn: events[3].number)
        let server = ClamdServer(loop, limits, version: "ClamAV 1.2.3/1/x", handler: handler)
        for (door, socket) in [unix, tcp].enumerated() {
          try server.listen(on: Descriptor(owning: dup(socket.number)), door: UInt32(door))
        }
        _ = try loop.watch(events[0].number, EventLoop.Interest(reads: true)) { _ in loop.stop() }
        _ = try loop.watch(events[1].number, EventLoop.Interest(reads: true)) { _ in
          sluice_eventfd_clear(events[1].number)
          server.drain()
        }
        _ = try loop.watch(events[2].number, EventLoop.Interest(reads: true)) { _ in
          sluice_eventfd_clear(events[2].number)
          self.count.withLock { $0.connections = server.count }
        }
        _ = try loop.watch(events[3].number, EventLoop.Interest(reads: true)) { _ in
          sluice_eventfd_clear(events[3].number)
          handler.resume()
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
    unlink(path)
  }

  func drain() { sluice_eventfd_raise(draining.number) }

  /// Waits until the counts are as they should be.
  func waitFor(_ isSo: (Count) -> Bool) {
    for _ in 0..<1000 {
      sluice_eventfd_raise(asking.number)
      usleep(10_000)
      if count.withLock({ isSo($0) }) { return }
    }
    let last = count.withLock { $0 }
    Issue.record("it never came: \(last)")
  }

  func connect(isLocal: Bool = true) throws -> DoorClient {
    try DoorClient(isLocal ? .unix(path) : .tcp(host: "127.0.0.1", port: port))
  }

  private final class Handler: ClamdHandler {
    private let manner: Manner
    private let limit: Int64
    private unowned let door: RunningDoor
    private var paused: [ClamdJob] = []
    private var queue: [ClamdJob] = []

    private func leave(_ job: ClamdJob) {
      guard let index = queue.firstIndex(where: { $0 === job }) else { return }
      queue.remove(at: index)
      if index == 0 { queue.first?.take(atMost: limit) }
    }

    /// The content of a job.
    private final class Content { var bytes: [UInt8] = [] }

    /// Raised where some are paused.
    private let turn: Int32

    init(_ manner: Manner, _ limit: Int64, _ door: RunningDoor, turn: Int32) {
      (self.manner, self.limit, self.door, self.turn) = (manner, limit, door, turn)
    }

    func begin(_ job: ClamdJob) {
      door.count.withLock { $0.begun += 1 }
      job.context = Content()
      if case .takesNone = manner { return }
      if case .takesOne = manner {
        queue.append(job)
        if queue.count == 1 { job.take(atMost: limit) }
        return
      }
      job.take(atMost: limit)
      if case .answersEarly = manner { job.answer("no room. ERROR") }
      guard case .file(let file) = job.kind else { return }
      var room = [UInt8](repeating: 0, count: 100)
      let count = max(pread(file.number, &room, room.count, 0), 0)
      (job.context as? Content)?.bytes = Array(room[..<count])
      end(job)
    }

    func take(_ bytes: UnsafeRawBufferPointer, of job: ClamdJob) -> Bool {
      (job.context as? Content)?.bytes += bytes
      guard case .pauses = manner else { return true }
      paused.append(job)
      sluice_eventfd_raise(turn)
      return false
    }

    func resume() {
      let all = paused
      paused = []
      for job in all { job.resume() }
    }

    func end(_ job: ClamdJob) {
      door.count.withLock { $0.ended += 1 }
      if case .answersNever = manner { return }
      let bytes = (job.context as? Content)?.bytes ?? []
      let verdict = bytes.contains(UInt8(ascii: "!")) ? "Bad FOUND" : "OK"
      // For tests to compare what came with what was sent.
      job.answer("\(bytes.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF }) \(verdict)")
      leave(job)
    }

    func drop(_ job: ClamdJob) {
      door.count.withLock { $0.dropped += 1 }
      leave(job)
    }
  }
}

/// A client that sends what it is told.
final class DoorClient {
  private(set) var socket: Int32

  enum Place {
    case unix(String)
    case tcp(host: String, port: UInt16)
  }

  init(_ place: Place) throws {
    let status: Int32
    switch place {
    case .unix(let path):
      socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
      status = Self.connect(socket, &address)
    case .tcp(_, let port):
      socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
      status = Self.connect(socket, &address)
    }
    try #require(status == 0)
    sluice_limit_receiving(socket, 20_000)
    sluice_limit_sending(socket, 20_000)
  }

  private static func connect<Address>(_ socket: Int32, _ address: inout Address) -> Int32 {
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(socket, $0, socklen_t(MemoryLayout<Address>.size))
      }
    }
  }

  deinit { close() }

  func close() {
    if socket >= 0 { Glibc.close(socket) }
    socket = -1
  }

  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(socket, $0.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { return false }
      sent += count
    }
    return true
  }

  @discardableResult
  func send(_ text: String) -> Bool { send(Array(text.utf8)) }

  func pass(_ descriptors: Int32..., bytes: [UInt8] = [0]) {
    _ = sluice_send(socket, bytes, bytes.count, descriptors, Int32(descriptors.count), 0)
  }

  func end() { shutdown(socket, Int32(SHUT_WR)) }

  /// What comes until the server closes; `nil`: it does not.
  func rest() -> String? {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(socket, &buffer, buffer.count, 0)
      if count < 0 && errno == ECONNRESET { return String(decoding: bytes, as: UTF8.self) }
      if count < 0 { return nil }
      if count == 0 { return String(decoding: bytes, as: UTF8.self) }
      bytes += buffer[..<count]
    }
  }

  static func chunks(_ bytes: [UInt8], by size: Int) -> [UInt8] {
    var all: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: size) {
      let piece = bytes[start..<min(start + size, bytes.count)]
      all += (0..<4).map { UInt8(truncatingIfNeeded: piece.count >> (24 - 8 * $0)) } + piece
    }
    return all + [0, 0, 0, 0]
  }

  /// As the server answers a content.
  static func answer(_ bytes: [UInt8]) -> String {
    let verdict = bytes.contains(UInt8(ascii: "!")) ? "Bad FOUND" : "OK"
    return "\(bytes.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF }) \(verdict)"
  }
}
