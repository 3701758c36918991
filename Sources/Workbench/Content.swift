import CPlatform
import Glibc
import Platform
import Wire

/// Content for a stage, open for reading.
public final class Content {
  /// Why there is no content.
  public struct Problem: Error, Sendable, CustomStringConvertible {
    public var code: String
    public var message: String
    public var description: String { message }
  }

  let descriptor: Descriptor
  let file: FileState
  /// In bytes.
  public var size: Int64 { file.size }

  /// - Parameter path: a file, or `-` for all of standard input.
  public convenience init(_ path: String) throws(Problem) { try self.init(path: Array(path.utf8)) }

  /// The same, of a path that need not be UTF-8.
  public convenience init(path: [UInt8]) throws(Problem) {
    try self.init(path == Array("-".utf8) ? try Self.standardInput() : try Self.opened(path))
  }

  /// What an attachment is read from, opened as the scheduler does.
  public convenience init(source: [UInt8]) throws(Problem) {
    let message = MboxPath(source)
    let number = (message?.file ?? source).withPath { sluice_open_source($0) }
    if number < 0 { throw Self.unopened() }
    let file = Descriptor(owning: number)
    if let message {
      try self.init(Self.copy(message, file.number))
    } else {
      try self.init(file)
    }
  }

  private static func copy(_ message: MboxPath, _ mailbox: Int32) throws(Problem) -> Descriptor {
    do {
      let copy = try message.copy(from: mailbox)
      close(copy.memory)
      return Descriptor(owning: copy.content)
    } catch {
      switch error {
      case .moved:
        throw Problem(
          code: "source-changed", message: "its mailbox was changed, and the message is not where it was")
      case .system(let error): throw Problem(code: "unreadable", message: "\(error)")
      }
    }
  }

  public convenience init(bytes: [UInt8]) throws(Problem) {
    let memory = try Self.memory()
    try Self.write(bytes[...], to: memory.number)
    try self.init(memory)
  }

  /// `count` zero bytes, as a sparse file that takes no memory.
  public convenience init(zeros count: Int64) throws(Problem) {
    let memory = try Self.memory()
    if ftruncate(memory.number, off_t(count)) != 0 { throw Self.unreadable("making \(count) zeros") }
    try self.init(memory)
  }

  /// Takes over a descriptor.
  init(_ descriptor: consuming Descriptor) throws(Problem) {
    var facts = stat()
    if fstat(descriptor.number, &facts) != 0 { throw Self.unreadable("asking for the file's state") }
    if facts.st_mode & S_IFMT != S_IFREG {
      throw Problem(code: "not-a-file", message: "it is a folder, a device, a socket or a pipe")
    }
    self.descriptor = descriptor
    file = FileState(facts)
  }

  /// A descriptor of its own, for another thread.
  public func share() throws(Problem) -> SharedDescriptor {
    let number = fcntl(descriptor.number, F_DUPFD_CLOEXEC, 0)
    if number < 0 { throw Self.unreadable("opening the file") }
    return SharedDescriptor(Descriptor(owning: number))
  }

  /// Its beginning; bytes that are not UTF-8 become U+FFFD.
  func text(atMost limit: Int) -> String {
    var bytes = [UInt8](repeating: 0, count: Int(min(size, Int64(limit))))
    let count = pread(descriptor.number, &bytes, bytes.count, 0)
    return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
  }

  private static func opened(_ path: [UInt8]) throws(Problem) -> Descriptor {
    // Not blocking: the path may name a FIFO.
    let number = path.withPath { open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) }
    if number >= 0 { return Descriptor(owning: number) }
    throw unopened()
  }

  /// A file that does not open, by errno.
  private static func unopened() -> Problem {
    let isMissing = errno == ENOENT || errno == ENOTDIR
    return Problem(
      code: isMissing ? "missing" : "unreadable",
      message: "opening the file: \(String(cString: strerror(errno)))")
  }

  /// Bytes of standard input that are kept in memory.
  private static let inputLimit: Int64 = 1 << 30

  /// Copies standard input to memory: stages read content at any offset, and a pipe cannot seek.
  private static func standardInput() throws(Problem) -> Descriptor {
    let copy = try memory()
    var total: Int64 = 0
    var piece = [UInt8](repeating: 0, count: 256 << 10)
    while true {
      let count = read(STDIN_FILENO, &piece, piece.count)
      if count < 0 && errno == EINTR { continue }
      if count < 0 { throw unreadable("reading standard input") }
      if count == 0 { return copy }
      total += Int64(count)
      if total > inputLimit {
        throw Problem(
          code: "too-large",
          message: "standard input has more than 1 GiB, which is read into memory; name a file instead")
      }
      try write(piece[..<count], to: copy.number)
    }
  }

  static func memory() throws(Problem) -> Descriptor {
    let number = sluice_memfd("sluice-content", 1)
    if number < 0 { throw unreadable("making room in memory") }
    return Descriptor(owning: number)
  }

  private static func write(_ bytes: ArraySlice<UInt8>, to number: Int32) throws(Problem) {
    var rest = bytes
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      if count < 0 { throw unreadable("writing to memory") }
      rest = rest.dropFirst(count)
    }
  }

  private static func unreadable(_ doing: String) -> Problem {
    Problem(code: "unreadable", message: "\(doing): \(String(cString: strerror(errno)))")
  }
}

extension Content {
  /// Writes it to a new file.
  public func write(to path: String) throws(SystemError) {
    let file = try Descriptor.open(path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o644)
    var offset: off_t = 0
    while offset < size {
      let count = sendfile(file.number, descriptor.number, &offset, Int(size) - Int(offset))
      if count < 0 && errno == EINTR { continue }
      if count <= 0 { throw SystemError("copying") }
    }
  }
}
