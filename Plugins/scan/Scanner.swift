import StageKit

/// The dialogue with clamd: one connection for each command.
///
/// IDSESSION would save a connection per attachment, some 20 µs of a scan that takes milliseconds, and would
/// let an error with one attachment affect another.
struct Scanner {
  private let route: Route
  private let timeout: Int64
  private var engine: String?
  private var engineIsOld = Deadline(after: 0)

  /// The length of a chunk, in network byte order.
  private static let headerSize = 4
  private static let chunkSize = 64 << 10
  /// The longest reply that is read, in bytes; the name of a signature has some dozens.
  private static let answerLimit = 4096
  /// How long a version is reused, in milliseconds. clamd loads a new database a few times a day.
  private static let engineAge: Int64 = 60_000

  /// - Parameter timeout: for all requests about one attachment, in milliseconds.
  init(at address: ScannerAddress, timeout: Int64, _ opening: Opening) throws(Outcome) {
    route = try Route(to: address, opening)
    self.timeout = timeout
  }

  /// clamd's reply for the content, and its version.
  mutating func scan(_ attachment: Attachment) throws(Outcome) -> (reply: Reply, engine: String?) {
    let deadline = Deadline(after: timeout)
    if engineIsOld.hasPassed {
      engine = try version(by: deadline)
      engineIsOld = Deadline(after: Self.engineAge)
    }
    return (try stream(attachment, by: deadline), engine)
  }

  /// "ClamAV 1.4.6/27800/Mon Oct  6 …", program and databases; `nil` if clamd does not tell
  /// (`EnableVersionCommand no`).
  private func version(by deadline: Deadline) throws(Outcome) -> String? {
    let connection = try route.connect(by: deadline)
    _ = try connection.send(Array("zVERSION\0".utf8)[...], by: deadline)
    let answer = try connection.receive(atMost: Self.answerLimit, by: deadline)
    guard let text = Reply.text(answer) else { throw Self.notClamd(answer) }
    return text.hasPrefix("ClamAV ") ? String(text.prefix(200)) : nil
  }

  private func stream(_ attachment: Attachment, by deadline: Deadline) throws(Outcome) -> Reply {
    let connection = try route.connect(by: deadline)
    let wasSent = try send(attachment, through: connection, by: deadline)
    let answer = try connection.receive(atMost: Self.answerLimit, by: deadline)
    switch Reply(answer) {
    case .nonsense: throw Self.notClamd(answer)
    case .clean where !wasSent, .found where !wasSent:
      throw .unavailable("the scanner gave its verdict before it had all of the content")
    case let reply: return reply
    }
  }

  /// Sends the command, the content in chunks with their lengths, and a length of zero. False: clamd replied
  /// before the end.
  private func send(
    _ attachment: Attachment, through connection: Connection, by deadline: Deadline
  ) throws(Outcome) -> Bool {
    var goesOn = try connection.send(Array("zINSTREAM\0".utf8)[...], by: deadline)
    var count: Int64 = 0
    var chunk = [UInt8](repeating: 0, count: Self.headerSize + Self.chunkSize)
    while goesOn {
      let read = try chunk.withUnsafeMutableBufferPointer { chunk throws(Outcome) -> Int in
        let bytes = UnsafeMutableRawBufferPointer(chunk)
        let room = UnsafeMutableRawBufferPointer(rebasing: bytes[Self.headerSize...])
        let read = try attachment.read(into: room, at: count)
        bytes.storeBytes(of: UInt32(read).bigEndian, as: UInt32.self)
        return read
      }
      count += Int64(read)
      // A file that shrinks or grows while it is read is not the measured content; growth is not followed.
      guard read == 0 ? count == attachment.size : count <= attachment.size else {
        throw .retry("source-changed", "the file was changed while it was read")
      }
      goesOn = try connection.send(chunk[..<(Self.headerSize + read)], by: deadline)
      if goesOn && read == 0 { return true }
    }
    return false
  }

  private static func notClamd(_ answer: [UInt8]) -> Outcome {
    .unavailable(
      answer.isEmpty ? "the scanner hung up without an answer" : "the scanner's answer is none of clamd's")
  }
}
