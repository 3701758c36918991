import Wire

/// What the coordinator tells the process that answers clients of ClamAV's daemon. A frame of a SOCK_SEQPACKET socket each.
public enum ToDoor: Sendable, Equatable {
  /// The first: it begins. The sockets that it takes connections from come along, in the order of the doors.
  case doors(DoorSetup)
  /// The content that it asked about may come, into the file whose descriptor comes along; at most so many bytes.
  case take(serial: UInt64, limit: Int64)
  /// What the client is told after `stream: `, such as `OK`.
  case answer(serial: UInt64, String)
  /// It takes no more connections, lets those under way end, and ends.
  case close

  /// Bytes of an answer, at most.
  public static let answerLimit = 512

  public var frame: [UInt8] {
    switch self {
    case .doors(let setup):
      var writer = FrameWriter(.doors)
      setup.write(to: &writer)
      return writer.bytes
    case .take(let serial, let limit):
      var writer = FrameWriter(.take)
      writer.write(serial)
      writer.write(limit)
      return writer.bytes
    case .answer(let serial, let text):
      var writer = FrameWriter(.answer)
      writer.write(serial)
      writer.write(text)
      return writer.bytes
    case .close: return FrameWriter(.close).bytes
    }
  }

  public init(_ frame: UnsafeRawBufferPointer) throws(FrameError) {
    var reader = FrameReader(frame)
    switch try reader.kind() {
    case .doors: self = .doors(try DoorSetup(&reader))
    case .take:
      self = .take(serial: try reader.integer(UInt64.self), limit: try reader.integer(Int64.self))
    case .answer:
      self = .answer(
        serial: try reader.integer(UInt64.self), try reader.requiredText(atMost: Self.answerLimit))
    case .close: self = .close
    default: throw FrameError("a frame that has no place here")
    }
    try reader.end()
  }
}

/// What that process tells the coordinator, which trusts none of it.
public enum FromDoor: Sendable, Equatable {
  /// It takes connections. The parts of the sandbox in force, as bits.
  case open(sandbox: UInt32)
  /// A client of the door with this number has a content to be judged. The serial names it from now on. The peer is whose it is: places
  /// are shared by it.
  case asked(serial: UInt64, door: UInt32, peer: String)
  /// All of it is in the file; or why not.
  case taken(serial: UInt64, TakenContent)
  /// Its client has left, or has its answer: always told, once for each.
  case left(serial: UInt64)

  /// Bytes of a peer's name, at most.
  public static let peerLimit = 64

  public var frame: [UInt8] {
    switch self {
    case .open(let sandbox):
      var writer = FrameWriter(.open)
      writer.write(sandbox)
      return writer.bytes
    case .asked(let serial, let door, let peer):
      var writer = FrameWriter(.asked)
      writer.write(serial)
      writer.write(door)
      writer.write(peer)
      return writer.bytes
    case .taken(let serial, let content):
      var writer = FrameWriter(.taken)
      writer.write(serial)
      writer.write(content.rawValue)
      return writer.bytes
    case .left(let serial):
      var writer = FrameWriter(.left)
      writer.write(serial)
      return writer.bytes
    }
  }

  public init(_ frame: UnsafeRawBufferPointer) throws(FrameError) {
    var reader = FrameReader(frame)
    switch try reader.kind() {
    case .open: self = .open(sandbox: try reader.integer(UInt32.self))
    case .asked:
      self = .asked(
        serial: try reader.integer(UInt64.self), door: try reader.integer(UInt32.self),
        peer: try reader.requiredText(atMost: Self.peerLimit))
    case .taken:
      let serial = try reader.integer(UInt64.self)
      guard let content = TakenContent(rawValue: try reader.integer(UInt8.self)) else {
        throw FrameError("a content that is none")
      }
      self = .taken(serial: serial, content)
    case .left: self = .left(serial: try reader.integer(UInt64.self))
    default: throw FrameError("a frame that has no place here")
    }
    try reader.end()
  }
}

/// What became of a content on its way into a file.
public enum TakenContent: UInt8, Sendable {
  case whole
  /// The disk has no room for it, or cannot be written.
  case notWritten
}

/// What the process that answers clients of ClamAV's daemon is to be.
public struct DoorSetup: Sendable, Equatable {
  /// Connections at once.
  public var connections: UInt32
  /// The longest file that it may write, in bytes.
  public var longestFile: Int64
  /// Bytes of address space that it may have.
  public var memory: Int64
  /// Whether it may serve where the kernel lacks a part of the sandbox.
  public var requiresSandbox: Bool
  /// What it answers to `VERSION`.
  public var version: String

  public init(
    connections: UInt32, longestFile: Int64, memory: Int64, requiresSandbox: Bool, version: String
  ) {
    (self.connections, self.longestFile, self.memory) = (connections, longestFile, memory)
    (self.requiresSandbox, self.version) = (requiresSandbox, version)
  }

  func write(to writer: inout FrameWriter) {
    writer.write(connections)
    writer.write(longestFile)
    writer.write(memory)
    writer.write(requiresSandbox)
    writer.write(version)
  }

  init(_ reader: inout FrameReader) throws(FrameError) {
    connections = try reader.integer(UInt32.self)
    longestFile = try reader.integer(Int64.self)
    memory = try reader.integer(Int64.self)
    requiresSandbox = try reader.boolean()
    version = try reader.requiredText(atMost: 200)
  }
}
