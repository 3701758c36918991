import CPlatform
import Foundation
import Glibc
import Testing

/// A client of ClamAV's daemon, by clamd(8), or of what stands in its place.
final class ClamdClient: Sendable {
  let socket: Int32

  struct Failure: Error {
    var call: String
    var number = errno
  }

  /// - Parameter path: of a Unix socket.
  init(_ path: String) throws {
    socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    if FakeScanner.withAddress(of: path, { [socket] in connect(socket, $0, $1) }) != 0 {
      throw Failure(call: "connect")
    }
    limit()
  }

  init(port: UInt16) throws {
    socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    let connected = withUnsafePointer(to: &address) { [socket] pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    if connected != 0 { throw Failure(call: "connect") }
    limit()
  }

  deinit { close(socket) }

  /// So that a server that hangs fails the test.
  private func limit() {
    sluice_limit_receiving(socket, 20_000)
    sluice_limit_sending(socket, 20_000)
  }

  // MARK: What it sends

  /// False: the server takes no more.
  @discardableResult
  func send(_ bytes: some Collection<UInt8>) -> Bool {
    var rest = Array(bytes)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      if count <= 0 { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  @discardableResult
  func send(_ text: String) -> Bool { send(Array(text.utf8)) }

  static func chunk(_ bytes: some Collection<UInt8>) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: bytes.count >> (24 - 8 * $0)) } + Array(bytes)
  }

  /// A content as it stands after `INSTREAM`, in chunks of these lengths, again and again.
  static func chunks(_ bytes: some Collection<UInt8>, by sizes: [Int] = [2048]) -> [UInt8] {
    var (rest, all) = (Array(bytes)[...], [UInt8]())
    var next = 0
    while !rest.isEmpty {
      let size = sizes[next % sizes.count]
      all += chunk(rest.prefix(size))
      (rest, next) = (rest.dropFirst(size), next + 1)
    }
    return all + [0, 0, 0, 0]
  }

  /// Passes a descriptor with the byte that goes along.
  func pass(_ descriptors: Int32...) {
    _ = sluice_send(socket, [0], 1, descriptors, Int32(descriptors.count), 0)
  }

  /// It sends no more.
  func end() { shutdown(socket, Int32(SHUT_WR)) }

  // MARK: What it is told

  /// What comes until the server closes; `nil`: it does not, or breaks the connection.
  func rest() -> String? {
    var all: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = recv(socket, &piece, piece.count, 0)
      if count < 0 { return nil }
      if count == 0 { return String(decoding: all, as: UTF8.self) }
      all += piece[..<count]
    }
  }

  /// Whether an answer has begun to come.
  var hasAnswer: Bool {
    var one = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
    return poll(&one, 1, 0) > 0
  }

  /// The next answer, up to a NUL or a line feed; `nil`: there is none.
  func answer() -> String? {
    var all: [UInt8] = []
    var byte: UInt8 = 0
    while recv(socket, &byte, 1, 0) == 1 {
      if byte == 0 || byte == UInt8(ascii: "\n") { return String(decoding: all, as: UTF8.self) }
      all.append(byte)
    }
    return nil
  }

  /// Has a content judged, over a connection of its own; `nil`: the connection broke.
  static func verdict(
    _ path: String, _ content: some Collection<UInt8>, by sizes: [Int] = [2048]
  ) throws -> String? {
    let client = try ClamdClient(path)
    client.send(Array("zINSTREAM\0".utf8) + chunks(content, by: sizes))
    return client.answer()
  }
}

/// A running `sluice serve` with a door for clients of ClamAV's daemon.
final class ClamdDoor {
  let served: ServedHome
  let path: String
  var folder: TemporaryFolder { served.folder }

  /// Rejects what is neither text nor a whole PDF.
  static let judging = """
    version: 1
    stages:
      - use: mime
        options: { allow: [text/plain, application/pdf] }
      - use: pdf
        when: application/pdf
      - use: store
        options: { path: "{attachmentId}" }
    """

  /// - Parameters:
  ///   - judging: the pipeline that judges.
  ///   - settings: of the door, beside its address.
  ///   - more: doors.
  init(
    _ folder: TemporaryFolder, judging: String = ClamdDoor.judging,
    _ settings: String = "max-size: 1MB, unknown: error", more: String = "",
    environment: [String: String] = [:]
  ) throws {
    path = folder.path + "/clamd.sock"
    try folder.write("judge.yaml", judging)
    try folder.write(
      "serve.yaml",
      Pipelines.open
        + "\nserve: { clamd: [{ listen: \"unix:\(path)\", pipeline: judge.yaml, \(settings) }\(more)] }\n")
    served = try ServedHome(folder, options: ["--config", "serve.yaml"], environment: environment)
    let path = path
    try Resident.wait("the door is open") {
      guard let client = try? ClamdClient(path) else { return false }
      client.send("zPING\0")
      return client.answer() == "PONG"
    }
  }

  /// The process that speaks with clients; 0: there is none.
  var keeper: pid_t {
    children(of: served.coordinator).first {
      let words = try? String(contentsOfFile: "/proc/\($0)/cmdline", encoding: .utf8)
      return words?.contains("\0clamd\0") == true
    } ?? 0
  }

  var workers: [pid_t] {
    children(of: served.coordinator).filter {
      (try? String(contentsOfFile: "/proc/\($0)/comm", encoding: .utf8))?.hasPrefix("sluice-worker") == true
    }
  }

  private func children(of parent: pid_t) -> [pid_t] {
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(parent)/task")) ?? []
    return threads.flatMap { thread in
      let text = try? String(contentsOfFile: "/proc/\(parent)/task/\(thread)/children", encoding: .utf8)
      return (text ?? "").split(separator: " ").compactMap { pid_t($0) }
    }
  }

  func verdict(_ content: some Collection<UInt8>, by sizes: [Int] = [2048]) throws -> String? {
    try ClamdClient.verdict(path, content, by: sizes)
  }

  /// What it says to one command.
  func ask(_ command: String) throws -> String? {
    let client = try ClamdClient(path)
    client.send(command)
    return client.rest()
  }

  /// What it says of a file that its client has open.
  func verdict(file descriptor: Int32) throws -> String? {
    let client = try ClamdClient(path)
    client.send("zFILDES\0")
    client.pass(descriptor)
    return client.answer()?.replacing(/^fd\[[0-9]+\]/, with: "fd")
  }
}
