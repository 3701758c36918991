import CPlatform
import Glibc
import Platform

/// The content of a file for one stage, open for reading.
struct StageInput: ~Copyable {
  /// Why there is no content.
  struct Problem: Error {
    var code: String
    var message: String
  }

  let descriptor: Descriptor
  let size: Int64
  let modified: Int64
  let changed: Int64

  /// - Parameter path: a file, or `-` for all of standard input.
  init(_ path: String) throws(Problem) {
    self = try Self.measured(path == "-" ? try Self.standardInput() : try Self.opened(path))
  }

  private init(descriptor: consuming Descriptor, facts: stat) {
    self.descriptor = descriptor
    size = Int64(facts.st_size)
    modified = Self.nanoseconds(facts.st_mtim)
    changed = Self.nanoseconds(facts.st_ctim)
  }

  private static func measured(_ descriptor: consuming Descriptor) throws(Problem) -> StageInput {
    var facts = stat()
    if fstat(descriptor.number, &facts) != 0 {
      throw Problem(code: "unreadable", message: String(cString: strerror(errno)))
    }
    if facts.st_mode & S_IFMT != S_IFREG {
      throw Problem(code: "not-a-file", message: "it is a folder, a device, a socket or a pipe")
    }
    return StageInput(descriptor: descriptor, facts: facts)
  }

  private static func opened(_ path: String) throws(Problem) -> Descriptor {
    // Not blocking: the path may name a FIFO.
    let number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    if number >= 0 { return Descriptor(owning: number) }
    throw Problem(
      code: errno == ENOENT || errno == ENOTDIR ? "missing" : "unreadable",
      message: "opening the file: \(String(cString: strerror(errno)))")
  }

  private static func nanoseconds(_ time: timespec) -> Int64 {
    Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  /// Stages read content where they like, and a pipe has no places: it is copied to memory.
  private static func standardInput() throws(Problem) -> Descriptor {
    let number = sluice_memfd("sluice-input", 0)
    if number < 0 { throw Problem(code: "unreadable", message: String(cString: strerror(errno))) }
    let copy = Descriptor(owning: number)
    var piece = [UInt8](repeating: 0, count: 256 << 10)
    while true {
      let count = read(STDIN_FILENO, &piece, piece.count)
      if count < 0 && errno == EINTR { continue }
      if count == 0 { return copy }
      guard count > 0, write(copy.number, piece, count) == count else {
        throw Problem(
          code: "unreadable", message: "reading standard input: \(String(cString: strerror(errno)))")
      }
    }
  }
}
