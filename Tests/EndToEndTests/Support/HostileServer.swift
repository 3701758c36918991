import CPlatform
import Foundation
import FrontWire
import Glibc
import Platform
import Synchronization
import Testing
import Wire

/// A server that was taken over: it stands in for `sluice-httpd`, and says to the coordinator what a test wants.
final class HostileServer {
  /// A copy of `sluice` that has it in the place of its own.
  let program: String
  private let folder: TemporaryFolder
  private let listener: Int32
  /// For the processes that answer clients of ClamAV's daemon.
  private let doorListener: Int32
  private let lines = Lines()
  private let doorLines = Lines()
  private var serial: UInt64 = 1 << 40

  /// The sockets to the coordinator, of each process that it started.
  private final class Lines: Sendable {
    let sockets = Mutex<[Int32]>([])
  }

  init() throws {
    folder = try TemporaryFolder()
    program = folder.path + "/sluice"
    let manager = FileManager.default
    for name in try manager.contentsOfDirectory(atPath: SluiceCommand.folder)
    where name.hasPrefix("libsluice-") && name.hasSuffix(".so") || name == "sluice-worker" {
      try manager.createSymbolicLink(
        atPath: "\(folder.path)/\(name)", withDestinationPath: "\(SluiceCommand.folder)/\(name)")
    }
    try manager.copyItem(atPath: SluiceCommand.folder + "/sluice", toPath: program)
    try Self.compile(to: folder.path + "/sluice-httpd")
    listener = sluice_listen(folder.path + "/test")
    doorListener = sluice_listen(folder.path + "/clamd")
    try #require(listener >= 0 && doorListener >= 0)
    Thread.detachNewThread { [listener, lines] in
      Self.serve(listener, lines, FromFront.serving(sandbox: .max).frame)
    }
    Thread.detachNewThread { [doorListener, doorLines] in
      Self.serve(doorListener, doorLines, FromDoor.open(sandbox: .max).frame)
    }
  }

  deinit {
    // What waits for a connection is woken.
    for listener in [listener, doorListener] {
      shutdown(listener, Int32(SHUT_RDWR))
      close(listener)
    }
    for socket in [lines, doorLines].flatMap({ $0.sockets.withLock { $0 } }) { close(socket) }
  }

  private static func compile(to file: String) throws {
    let system = SluiceCommand.projectFolder + "/Sources/System"
    let words = [
      "-O1", "-w", "-I", system + "/CWorker/include", "-I", system + "/CPlatform/include",
      SluiceCommand.projectFolder + "/Tests/Fixtures/Front/stand-in.c",
      system + "/CWorker/watch.c", system + "/CWorker/crash.c", system + "/CWorker/names.c",
      system + "/CPlatform/platform.c", "-o", file,
    ]
    if try FixtureStages.run(FixtureStages.compiler, words) != 0 {
      throw FixtureStages.DoesNotCompile(name: "stand-in")
    }
  }

  /// Each that is started says that it serves, as one does that is as it should be.
  private static func serve(_ listener: Int32, _ lines: Lines, _ frame: [UInt8]) {
    while true {
      var one = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
      poll(&one, 1, -1)
      let connection = sluice_accept(listener)
      if connection < 0 { return }
      var (byte, socket, count): (UInt8, Int32, Int32) = (0, -1, 1)
      guard sluice_receive(connection, &byte, 1, &socket, &count, 0) == 1, count == 1 else { continue }
      sluice_limit_receiving(socket, 10_000)
      close(connection)
      _ = sluice_send(socket, frame, frame.count, nil, 0, 0)
      lines.sockets.withLock { $0.append(socket) }
    }
  }

  /// Processes that were started so far.
  var lives: Int { lines.sockets.withLock(\.count) }

  private var socket: Int32 { lines.sockets.withLock { $0.last ?? -1 } }

  // MARK: Frames

  func send(_ message: FromFront) { send(bytes: message.frame) }

  /// - Returns: whether the coordinator can have heard it.
  @discardableResult
  func send(bytes: [UInt8], waits: Bool = true) -> Bool {
    sluice_send(socket, bytes, bytes.count, nil, 0, waits ? 0 : 1) >= 0
  }

  struct Silent: Error {}

  /// The next that the coordinator says, with a descriptor that came along.
  func receive() throws -> (message: ToFront, file: Int32?) {
    var room = [UInt8](repeating: 0, count: Frame.limit)
    var (file, count): (Int32, Int32) = (-1, 1)
    let length = sluice_receive(socket, &room, room.count, &file, &count, 0)
    if length <= 0 { throw Silent() }
    let message = try room.withUnsafeBytes { try ToFront(UnsafeRawBufferPointer(rebasing: $0[..<length])) }
    return (message, count == 1 ? file : nil)
  }

  // MARK: Doors

  /// Processes that answer clients of ClamAV's daemon and were started so far.
  var doorLives: Int { doorLines.sockets.withLock(\.count) }

  private var doorSocket: Int32 { doorLines.sockets.withLock { $0.last ?? -1 } }

  func send(_ message: FromDoor) { send(toDoor: message.frame) }

  func send(toDoor bytes: [UInt8]) { _ = sluice_send(doorSocket, bytes, bytes.count, nil, 0, 0) }

  /// Whether the coordinator says something of contents within a moment.
  var hasNewsOfDoor: Bool {
    var one = pollfd(fd: doorSocket, events: Int16(POLLIN), revents: 0)
    return poll(&one, 1, 20) > 0 && one.revents & Int16(POLLIN) != 0
  }

  /// The next that the coordinator says of contents, with the file that came along.
  func receiveOfDoor() throws -> (message: ToDoor, file: Int32?) {
    var room = [UInt8](repeating: 0, count: Frame.limit)
    while true {
      var (file, count): (Int32, Int32) = (-1, 1)
      let length = sluice_receive(doorSocket, &room, room.count, &file, &count, 0)
      if length <= 0 { throw Silent() }
      let message = try room.withUnsafeBytes { try ToDoor(UnsafeRawBufferPointer(rebasing: $0[..<length])) }
      if case .doors = message {
        close(file)
        continue
      }
      return (message, count == 1 ? file : nil)
    }
  }

  // MARK: Requests

  func request(
    _ method: String, _ path: String, _ token: String?, _ fields: [(String, String)] = [],
    body: FrontRequest.Body = .none
  ) -> FrontRequest {
    let parts = path.split(separator: "?")
    let query = parts.dropFirst().first?.split(separator: "&").map { pair in
      let sides = pair.split(separator: "=", maxSplits: 1)
      return FrontRequest.Pair(String(sides[0]), String(sides.last ?? ""))
    }
    let own = (token.map { [("authorization", "Bearer \($0)")] } ?? []) + [("tus-resumable", "1.0.0")]
    serial += 1
    return FrontRequest(
      serial: serial, method: method,
      segments: parts[0].split(separator: "/").map(String.init), query: query ?? [],
      fields: (own + fields).map { FrontRequest.Pair($0.0, $0.1) }, body: body, peer: "127.0.0.1")
  }

  /// Asks, and waits for the first that is said of it.
  func ask(_ request: FrontRequest) throws -> (message: ToFront, file: Int32?) {
    send(.request(request))
    while true {
      let heard = try receive()
      switch heard.message {
      case .reply(request.serial, _), .store(request.serial, _), .takeBody(request.serial, _),
        .abort(request.serial):
        return heard
      default: if let file = heard.file { close(file) }
      }
    }
  }

  /// Asks for what is answered at once.
  func reply(_ request: FrontRequest) throws -> FrontReply {
    let heard = try ask(request)
    if let file = heard.file { close(file) }
    end(request)
    guard case .reply(_, let reply) = heard.message else { throw Silent() }
    return reply
  }

  func end(_ request: FrontRequest) {
    send(
      .ended([
        request.serial: FrontEnd(status: 200, received: 0, sent: 0, microseconds: 1, isWhole: true)
      ]))
  }
}
