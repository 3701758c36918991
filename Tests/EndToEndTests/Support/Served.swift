import CPlatform
import Foundation
import Glibc
import Testing

/// A running `sluice serve`, and a client of it.
final class ServedHome {
  let folder: TemporaryFolder
  let home: String
  private let process: Process
  private let name = "serve-\(UUID().uuidString)"
  private(set) var port: UInt16 = 0

  /// - Parameters:
  ///   - home: relative to the folder.
  ///   - port: 0: any.
  ///   - program: another than the one under test.
  ///   - limits: what a shell does before it becomes the program.
  init(
    _ folder: TemporaryFolder, home: String = "home", port: UInt16 = 0, options: [String] = [],
    environment: [String: String] = [:], program: String = SluiceCommand.folder + "/sluice",
    limits: String = ":"
  ) throws {
    (self.folder, self.home) = (folder, home)
    let words = ["serve", "--home", home, "--listen", "127.0.0.1:\(port)", "--format", "json"] + options
    process = try SluiceCommand.start(
      ["-c", limits + " && exec \"$@\"", "sh", program] + words, in: folder,
      out: folder.path + "/\(name).out", err: folder.path + "/\(name).err", environment: environment,
      program: "/bin/sh")
    try Resident.wait("it says where it listens") {
      self.errors.contains("listening on") || !self.process.isRunning
    }
    let address = errors.split(separator: "\n").first { $0.contains("listening on http://127.0.0.1:") }
    self.port = try #require(address?.split(separator: ":").last.flatMap { UInt16($0) }, "\(errors)")
  }

  /// Has it read its pipeline again.
  func reload() throws {
    func reloads() -> Int { errors.components(separatedBy: "the pipeline was read again").count }
    let before = reloads()
    kill(process.processIdentifier, SIGHUP)
    try Resident.wait("it has read its pipeline again") { reloads() > before }
  }

  deinit {
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
  }

  var errors: String { (try? folder.read("\(name).err")) ?? "" }

  var coordinator: pid_t { process.processIdentifier }

  /// The process that speaks HTTP; 0: there is none.
  var server: pid_t {
    for entry in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
      guard let pid = pid_t(entry),
        let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
        let end = text.lastIndex(of: ")")
      else { continue }
      let fields = text[text.index(after: end)...].split(separator: " ")
      if text.contains("(sluice-httpd)"), fields.count > 1, pid_t(fields[1]) == process.processIdentifier {
        return pid
      }
    }
    return 0
  }

  /// Makes a token.
  func token(_ name: String, _ options: String...) throws -> String {
    let made = try SluiceCommand.run(["tokens", "add", name, "--home", home] + options, in: folder)
    #expect(made.status == 0, "\(made.err)")
    return made.out.trimmingCharacters(in: .newlines)
  }

  /// Sends a signal and waits for the end.
  func stop(_ signal: Int32 = SIGTERM) -> Int32 {
    kill(process.processIdentifier, signal)
    process.waitUntilExit()
    return process.terminationStatus
  }

  struct Answer {
    var status = 0
    /// Names in small letters.
    var fields: [String: String] = [:]
    var body = Data()
    var text: String { String(decoding: body, as: UTF8.self) }

    func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
      try JSONDecoder().decode(type, from: body)
    }
  }

  /// A connection to it.
  func connected() throws -> Int32 { try Self.connected(port) }

  static func connected(_ port: UInt16) throws -> Int32 {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    try #require(socket >= 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    if connected == 0 { return socket }
    let code = errno
    close(socket)
    throw Lost(why: "connect: \(code)")
  }

  /// The connection ended before the answer.
  struct Lost: Error { var why = "" }

  /// Asks for something over a connection of its own.
  ///
  /// - Parameters:
  ///   - body: goes with its length.
  ///   - leaving: after so many bytes of the body the client is gone.
  func ask(
    _ method: String, _ path: String, token: String? = nil, _ fields: [String] = [], body: Data? = nil,
    leaving: Int? = nil
  ) throws -> Answer {
    try Self.ask(port, method, path, token: token, fields, body: body, leaving: leaving)
  }

  /// The same where a server may listen on a port.
  static func ask(
    _ port: UInt16, _ method: String, _ path: String, token: String? = nil, _ fields: [String] = [],
    body: Data? = nil, leaving: Int? = nil
  ) throws -> Answer {
    let socket = try connected(port)
    defer { close(socket) }
    sluice_limit_receiving(socket, 20_000)
    let lines =
      ["\(method) \(path) HTTP/1.1", "Host: x", "Connection: close"]
      + (token.map { ["Authorization: Bearer \($0)"] } ?? [])
      + (body.map { ["Content-Length: \($0.count)"] } ?? []) + fields
    var request = Data((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    if let body { request += body.prefix(leaving ?? body.count) }
    var rest = request[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        send(socket, $0.baseAddress, min($0.count, 64 << 10), Int32(MSG_NOSIGNAL))
      }
      // It may have answered already, and takes no more.
      if count <= 0 { break }
      rest = rest.dropFirst(count)
    }
    if leaving != nil { throw Lost() }
    var bytes = Data()
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    while case let count = recv(socket, &piece, piece.count, 0), count != 0 {
      if count < 0 { throw Lost(why: "\(method) \(path): error \(errno) after \(bytes.count) bytes") }
      bytes += piece[..<count]
    }
    return try parsed(bytes, of: method)
  }

  private static func parsed(_ bytes: Data, of method: String) throws -> Answer {
    guard let blank = bytes.range(of: Data("\r\n\r\n".utf8)) else {
      throw Lost(why: "\(method): \(bytes.count) bytes are no answer")
    }
    let lines = String(decoding: bytes[..<blank.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
    var answer = Answer()
    answer.status = Int(lines[0].split(separator: " ").dropFirst().first ?? "") ?? 0
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      answer.fields[parts[0].lowercased()] = parts.last?.trimmingCharacters(in: .whitespaces)
    }
    answer.body = bytes[blank.upperBound...]
    if let length = answer.fields["content-length"].flatMap(Int.init), answer.body.count < length,
      method != "HEAD"
    {
      throw Lost(why: "\(method): \(answer.body.count) of \(length) bytes")
    }
    if answer.fields["transfer-encoding"] == "chunked" { answer.body = try joined(answer.body) }
    return answer
  }

  private static func joined(_ chunks: Data) throws -> Data {
    var (rest, body) = (chunks[...], Data())
    while true {
      let end = try #require(rest.range(of: Data("\r\n".utf8)))
      let size = try #require(Int(String(decoding: rest[..<end.lowerBound], as: UTF8.self), radix: 16))
      if size == 0 { return body }
      body += rest[end.upperBound..<end.upperBound + size]
      rest = rest[(end.upperBound + size + 2)...]
    }
  }
}

/// A client that listens to events.
final class EventClient {
  struct Event {
    var kind: String
    var id: String
    var data: String
  }

  private var socket: Int32
  private var text = ""
  private var hasHead = false
  private(set) var lastId: String?
  /// Whether it is told of what is on no record.
  var hearsProgress = false
  private var isClosed = false

  /// - Parameter socket: connected, with the request sent.
  init(_ socket: Int32) { self.socket = socket }

  deinit { close() }

  func close() {
    if socket >= 0 { Glibc.close(socket) }
    socket = -1
  }

  /// The next event; `nil`: none comes within so many milliseconds, or the stream has ended.
  func next(within milliseconds: Int32 = 10_000) -> Event? {
    while true {
      while let end = text.range(of: "\n\n") {
        let block = text[..<end.lowerBound]
        text = String(text[end.upperBound...])
        var fields: [String: String] = [:]
        // The lines between are those of chunks.
        for line in block.split(whereSeparator: \.isNewline) {
          let parts = line.split(separator: ":", maxSplits: 1)
          if parts.count == 2 { fields[String(parts[0])] = parts[1].trimmingCharacters(in: .whitespaces) }
        }
        guard let kind = fields["event"] else { continue }
        if let id = fields["id"] { lastId = id }
        if ["progress", "transfer"].contains(kind) && !hearsProgress { continue }
        return Event(kind: kind, id: fields["id"] ?? "", data: fields["data"] ?? "")
      }
      if !read(within: milliseconds) { return nil }
    }
  }

  private func read(within milliseconds: Int32) -> Bool {
    var one = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
    if poll(&one, 1, milliseconds) <= 0 { return false }
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    let count = recv(socket, &piece, piece.count, 0)
    if count <= 0 {
      isClosed = true
      return false
    }
    text += String(decoding: piece[..<count], as: UTF8.self)
    if !hasHead, let end = text.range(of: "\r\n\r\n") {
      hasHead = true
      text = String(text[end.upperBound...])
    }
    return true
  }

  /// Whether the server has closed it.
  func isOver() -> Bool {
    while read(within: 10) {}
    return isClosed
  }
}

extension ServedHome {
  func listen(_ token: String, _ fields: [String] = []) throws -> EventClient {
    let socket = try connected()
    let lines = ["GET /v1/events HTTP/1.1", "Host: x", "Authorization: Bearer \(token)"] + fields
    let request = Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    try #require(send(socket, request, request.count, Int32(MSG_NOSIGNAL)) == request.count)
    return EventClient(socket)
  }
}
