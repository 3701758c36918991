import Glibc
import StageKit

/// One command to clamd and its reply, on a connection of its own.
///
/// IDSESSION would save a connection per attachment, some 20 µs of a scan that takes milliseconds, and would
/// let an error with one attachment affect another.
struct Dialogue {
  /// Everything that clamd sent until it closed the connection.
  struct Answer {
    var bytes: [UInt8]
    /// False: clamd replied before it had all.
    var wasSent: Bool
  }

  private enum Phase {
    case connecting(any Approach)
    case sending(Connection)
    case receiving(Connection)
  }

  private let content: Attachment?
  private var phase: Phase
  private var unsent: ArraySlice<UInt8>
  /// Bytes of content that were read.
  private var count: Int64 = 0
  /// All that is to be sent was sent, or is `unsent`.
  private var isAllRead: Bool
  private var answer = Answer(bytes: [], wasSent: false)

  /// The length of a chunk, in network byte order.
  private static let headerSize = 4
  private static let chunkSize: Int64 = 64 << 10
  /// The longest reply that is read, in bytes; the name of a signature has some dozens.
  private static let answerLimit = 4096

  /// Asks for the version.
  init(version route: Route) throws(Outcome) {
    (content, isAllRead) = (nil, true)
    unsent = Array("zVERSION\0".utf8)[...]
    phase = .connecting(try route.approach())
  }

  /// Asks about a content: the command, chunks with their lengths, and a length of zero.
  init(about content: Attachment, _ route: Route) throws(Outcome) {
    (self.content, isAllRead) = (content, false)
    unsent = Array("zINSTREAM\0".utf8)[...]
    phase = .connecting(try route.approach())
  }

  /// What poll(2) is to wait for.
  var interest: Interest {
    switch phase {
    case .connecting(let approach): approach.interest
    case .sending(let connection): Interest(descriptor: connection.socket, events: POLLIN | POLLOUT)
    case .receiving(let connection): Interest(descriptor: connection.socket, events: POLLIN)
    }
  }

  /// What to say where the time for it is over.
  var lateness: String {
    switch phase {
    case .connecting(let approach): approach.lateness
    case .sending: "the scanner took no more in time"
    case .receiving: "the scanner did not answer in time"
    }
  }

  /// Gets as far as it can without waiting; `nil`: it is not over.
  ///
  /// - Parameter ready: what poll(2) found.
  mutating func goOn(_ ready: Int16) throws(Outcome) -> Answer? {
    switch phase {
    case .connecting(let approach):
      if let connection = try approach.connection(ready) { phase = .sending(connection) }
    case .sending(let connection):
      if ready & Int16(POLLIN | POLLHUP | POLLERR) != 0 {
        phase = .receiving(connection)
      } else if ready != 0 {
        try send(through: connection)
      }
    case .receiving(let connection):
      if ready != 0, try connection.receive(into: &answer.bytes, atMost: Self.answerLimit) { return answer }
    }
    return nil
  }

  private mutating func send(through connection: Connection) throws(Outcome) {
    guard let sent = try connection.send(unsent) else { return phase = .receiving(connection) }
    unsent = unsent.dropFirst(sent)
    if !unsent.isEmpty { return }
    if isAllRead {
      answer.wasSent = true
      phase = .receiving(connection)
    } else if let content {
      try readChunk(of: content)
    }
  }

  private mutating func readChunk(of content: Attachment) throws(Outcome) {
    // A byte more than there should be: what has grown is found out.
    let length = min(max(content.size - count, 0) + 1, Self.chunkSize)
    var chunk = [UInt8](repeating: 0, count: Self.headerSize + Int(length))
    let read = try chunk.withUnsafeMutableBufferPointer { chunk throws(Outcome) -> Int in
      let bytes = UnsafeMutableRawBufferPointer(chunk)
      let room = UnsafeMutableRawBufferPointer(rebasing: bytes[Self.headerSize...])
      let read = try content.read(into: room, at: count)
      bytes.storeBytes(of: UInt32(read).bigEndian, as: UInt32.self)
      return read
    }
    count += Int64(read)
    // A file that shrinks or grows while it is read is not the measured content; growth is not followed.
    guard read == 0 ? count == content.size : count <= content.size else {
      throw .retry("source-changed", "the file was changed while it was read")
    }
    unsent = chunk[..<(Self.headerSize + read)]
    isAllRead = read == 0
  }
}
