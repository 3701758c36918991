/// Reads what a client says to ClamAV's daemon (clamd(8)): commands, and contents in chunks.
///
/// A command ends with a NUL where it begins with `z`, else with a line feed. After INSTREAM come chunks, each with its length
/// before it in four bytes, the highest first; one of no length is the last.
public struct ClamdParser: Sendable {
  /// What was read.
  public enum Event: Equatable {
    case command(ClamdCommand)
    /// Bytes of the content; valid only until the next call.
    case content(UnsafeRawBufferPointer)
    /// The content is whole.
    case end

    public static func == (one: Event, other: Event) -> Bool {
      switch (one, other) {
      case (.command(let one), .command(let other)): one == other
      case (.content(let one), .content(let other)): one.elementsEqual(other)
      case (.end, .end): true
      default: false
      }
    }
  }

  private enum State {
    case command
    /// So many bytes of a chunk's length have come.
    case length(UInt32, count: Int)
    /// So many bytes of a chunk are still to come.
    case chunk(UInt32)
  }

  private var state = State.command
  private var line: [UInt8] = []

  /// Bytes of a command, at most. Paths are never opened, but clients send them.
  public static let longestCommand = 8 << 10

  public init() {}

  /// Whether nothing of a command has come.
  public var isIdle: Bool { if case .command = state { line.isEmpty } else { false } }

  /// A content follows, in chunks.
  public mutating func expectContent() { state = .length(0, count: 0) }

  /// Takes bytes, up to the end of a command or of a chunk.
  ///
  /// - Returns: how many it took, and what they are; `nil`: more has to come.
  /// - Throws: where a command has no end; nothing more may be read.
  public mutating func take(
    _ bytes: UnsafeRawBufferPointer
  ) throws(ClamdFault) -> (taken: Int, event: Event?) {
    switch state {
    case .command: return try takeCommand(bytes)
    case .length(var length, var count):
      var taken = 0
      while taken < bytes.count && count < 4 {
        length = length << 8 | UInt32(bytes[taken])
        (taken, count) = (taken + 1, count + 1)
      }
      if count < 4 {
        state = .length(length, count: count)
        return (taken, nil)
      }
      state = length == 0 ? .command : .chunk(length)
      return (taken, length == 0 ? .end : nil)
    case .chunk(let left):
      let count = min(Int(left), bytes.count)
      state = count == Int(left) ? .length(0, count: 0) : .chunk(left - UInt32(count))
      return (count, count > 0 ? .content(UnsafeRawBufferPointer(rebasing: bytes[..<count])) : nil)
    }
  }

  private mutating func takeCommand(
    _ bytes: UnsafeRawBufferPointer
  ) throws(ClamdFault) -> (taken: Int, event: Event?) {
    for (index, byte) in bytes.enumerated() {
      let first = line.first ?? byte
      // A path may have a line feed where a NUL ends the command.
      if byte == 0 && !line.isEmpty || byte == UInt8(ascii: "\n") && first != UInt8(ascii: "z") {
        defer { line = [] }
        return (index + 1, .command(ClamdCommand(line)))
      }
      if line.count == Self.longestCommand { throw ClamdFault() }
      line.append(byte)
    }
    return (bytes.count, nil)
  }

  /// The client sends no more: what has come is the last command; `nil`: there is none.
  public mutating func end() -> ClamdCommand? {
    guard case .command = state, !line.isEmpty else { return nil }
    defer { line = [] }
    return ClamdCommand(line)
  }
}

/// A command without an end.
public struct ClamdFault: Error, Equatable {
  public init() {}
}

/// A command, and how its answer ends.
public struct ClamdCommand: Sendable, Equatable {
  public enum Verb: String, Sendable, CaseIterable {
    case ping = "PING"
    case version = "VERSION"
    case commands = "VERSIONCOMMANDS"
    case stats = "STATS"
    case inStream = "INSTREAM"
    case fileDescriptor = "FILDES"
    case session = "IDSESSION"
    case end = "END"
    case scan = "SCAN"
    case scanOn = "CONTSCAN"
    case scanMany = "MULTISCAN"
    case scanAll = "ALLMATCHSCAN"
    case reload = "RELOAD"
    case shutdown = "SHUTDOWN"

    /// It names a path on this machine.
    public var takesPath: Bool {
      switch self {
      case .scan, .scanOn, .scanMany, .scanAll: true
      default: false
      }
    }

    /// It is offered.
    public var isServed: Bool {
      switch self {
      case .reload, .shutdown: false
      default: !takesPath
      }
    }
  }

  /// `nil`: it is none of those.
  public let verb: Verb?
  /// What stands behind the verb and a space, printable; of a path.
  public let argument: String
  /// What ends its answer: a NUL or a line feed.
  public let terminator: UInt8

  init(_ line: [UInt8]) {
    let prefix = line.first
    terminator = prefix == UInt8(ascii: "z") ? 0 : UInt8(ascii: "\n")
    let isPrefixed = prefix == UInt8(ascii: "z") || prefix == UInt8(ascii: "n")
    var rest = line[(isPrefixed ? 1 : 0)...]
    if rest.last == UInt8(ascii: "\r") { rest.removeLast() }
    let word = rest.prefix { $0 != UInt8(ascii: " ") }
    let path = rest[word.endIndex...].dropFirst()
    let found = Verb(rawValue: String(decoding: word, as: UTF8.self))
    verb = path.isEmpty || found?.takesPath == true ? found : nil
    argument = String(
      decoding: path.prefix(256).map { $0 < 0x20 || $0 >= 0x7F || $0 == UInt8(ascii: ":") ? 0x3F : $0 },
      as: UTF8.self)
  }
}
