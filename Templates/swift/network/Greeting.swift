import Glibc
import StageKit

/// Asks a service on the network about each content's hash: a line there, a line back, `ok` or a reason.
struct Greeting: Stage {
  static let about = About(
    id: "greeting", version: "0.1.0", summary: "Asks a service about each content's hash.",
    capability: .network,
    keys: ["greeting.answer": "What the service said."],
    codes: [
      "refused": "The service says no.",
      "unavailable": "The service does not answer.",
      "no-such-host": "The service's name has no address.",
    ])

  static let host = Option<String>.text("host", default: "127.0.0.1", help: "The service's name or address.")
  static let port = Option<Int64>.integer("port", default: 7007, help: "Its TCP port.").within(1...65535)
  static let timeout = Option<Int64>.duration("timeout", default: "5s", help: "How long an answer may take.")
    .within(10...60_000)
  static let options: [any OptionDeclaration] = [host, port, timeout]

  /// The service's address, as connect(2) takes it.
  private let address: [UInt8]
  private let family: Int32
  private let limit: timeval

  init(_ opening: Opening) throws(Outcome) {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var found: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(opening[Self.host], String(opening[Self.port]), &hints, &found)
    guard code == 0, let found else {
      throw .fail("no-such-host", "\(opening[Self.host]): \(String(cString: gai_strerror(code)))")
    }
    defer { freeaddrinfo(found) }
    family = found.pointee.ai_family
    address = Array(
      UnsafeRawBufferPointer(start: found.pointee.ai_addr, count: Int(found.pointee.ai_addrlen)))
    let milliseconds = Int(opening[Self.timeout])
    limit = timeval(tv_sec: milliseconds / 1000, tv_usec: milliseconds % 1000 * 1000)
  }

  func process(_ attachment: Attachment) throws(Outcome) {
    let answer = try ask("\(attachment.sha256 ?? "")\n")
    attachment.annotate("greeting.answer", answer)
    if answer != "ok" { throw .reject("refused", "the service says: \(answer)") }
  }

  /// The first line of the answer, at most 200 printable characters: the network is hostile.
  private func ask(_ question: String) throws(Outcome) -> String {
    let connection = socket(family, Int32(SOCK_STREAM.rawValue), 0)
    if connection < 0 { throw Self.unavailable("making a socket") }
    defer { close(connection) }
    for option in [SO_SNDTIMEO, SO_RCVTIMEO] {
      var limit = limit
      setsockopt(connection, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
    }
    let isConnected = address.withUnsafeBytes { bytes in
      guard let start = bytes.bindMemory(to: sockaddr.self).baseAddress else { return false }
      return connect(connection, start, socklen_t(bytes.count)) == 0
    }
    if !isConnected { throw Self.unavailable("connecting") }
    let bytes = Array(question.utf8)
    if send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) != bytes.count {
      throw Self.unavailable("asking")
    }
    var answer: [UInt8] = []
    var letter: UInt8 = 0
    while answer.count < 200 {
      let count = recv(connection, &letter, 1, 0)
      if count < 0 { throw Self.unavailable("waiting for an answer") }
      if count == 0 || letter == UInt8(ascii: "\n") { break }
      if (0x20..<0x7F).contains(letter) { answer.append(letter) }
    }
    // An empty answer is not a consent.
    if answer.isEmpty { throw .retry("unavailable", "the service closed the connection without an answer") }
    return String(decoding: answer, as: UTF8.self)
  }

  private static func unavailable(_ doing: String) -> Outcome {
    .retry("unavailable", "\(doing): \(String(cString: strerror(errno)))")
  }
}

private let exported = Exported(Greeting.self)

@c(greeting_stage)
public func greeting_stage(_ hostMajor: UInt32) -> UnsafePointer<sluice_stage>? { exported.description }
