import CPlatform
import Glibc

/// The place of a message in a mailbox file: `FILE//OFFSET+LENGTH+SHA256`.
///
/// No path without links has two slashes side by side, so that this cannot be that of a file, and no program opens the whole mailbox
/// for it by mistake.
public struct MboxPath: Sendable, Equatable {
  /// The path of the mailbox.
  public let file: [UInt8]
  /// The message's bytes in it.
  public let range: Range<Int64>
  /// Of these, 32 bytes.
  public let sha256: [UInt8]

  /// Bytes that a message may have: it is copied to memory to be worked on.
  public static let limit: Int64 = 256 << 20

  public init(file: [UInt8], _ range: Range<Int64>, sha256: [UInt8]) {
    (self.file, self.range, self.sha256) = (file, range, sha256)
  }

  private static let slash = UInt8(ascii: "/")

  /// `nil`: by its form it is none.
  public init?(_ path: [UInt8]) {
    guard let last = path.lastIndex(of: Self.slash), last > 1, path[last - 1] == Self.slash else {
      return nil
    }
    let words = path[(last + 1)...].split(separator: UInt8(ascii: "+"), omittingEmptySubsequences: false)
    guard words.count == 3, let offset = Int64(String(decoding: words[0], as: UTF8.self)), offset >= 0,
      let length = Int64(String(decoding: words[1], as: UTF8.self)), 0...Self.limit ~= length,
      offset <= Int64.max - length,
      let sha256 = Hexadecimal.bytes(String(decoding: words[2], as: UTF8.self)), sha256.count == 32
    else { return nil }
    self.init(file: Array(path[..<(last - 1)]), offset..<(offset + length), sha256: sha256)
  }

  /// Takes the beginning of a path apart, as ``place`` gives it and people write it: at least `FILE//OFFSET+LENGTH`, and as much of
  /// the hash as there is.
  ///
  /// - Returns: the path of the mailbox; and how what follows it begins, up to the hash or in it. `nil`: by its form it is none.
  public static func beginning(_ path: [UInt8]) -> (file: [UInt8], rest: [UInt8])? {
    guard let last = path.lastIndex(of: slash), last > 1, path[last - 1] == slash else { return nil }
    let words = path[(last + 1)...].split(separator: UInt8(ascii: "+"), omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    guard (2...3).contains(words.count), let offset = Int64(words[0]), offset >= 0,
      let length = Int64(words[1]), length >= 0
    else { return nil }
    let hash = words.count == 3 ? words[2].lowercased() : ""
    guard hash.utf8.count <= 64, hash.allSatisfy({ $0.isASCII && $0.isHexDigit }) else { return nil }
    return (Array(path[..<(last - 1)]), Array("//\(offset)+\(length)+\(hash)".utf8))
  }

  public var path: [UInt8] {
    file
      + Array("//\(range.lowerBound)+\(range.upperBound - range.lowerBound)+\(Hexadecimal.text(sha256))".utf8)
  }

  /// For people: without the hash.
  public var place: String {
    "\(String(decoding: file, as: UTF8.self))//\(range.lowerBound)+\(range.upperBound - range.lowerBound)"
  }

  // MARK: The message

  /// Why there is no copy.
  public enum Fault: Error {
    /// Something else is at the place now.
    case moved
    case system(SystemError)
  }

  /// A copy of a message in memory. Both descriptors belong to the caller.
  public struct Copy: Sendable {
    /// To read it.
    public let content: Int32
    /// With which `sluice_empty` frees it.
    public let memory: Int32

    /// Frees it. Once only.
    public func close() {
      sluice_empty(memory)
      Glibc.close(content)
      Glibc.close(memory)
    }
  }

  /// Copies the message, and compares it with what it was when it was found.
  ///
  /// - Parameter mailbox: open for reading.
  public func copy(from mailbox: Int32) throws(Fault) -> Copy {
    let memory = Descriptor(owning: sluice_memfd("sluice-content", 1))
    do {
      if memory.number < 0 { throw SystemError("making room for a message") }
      try read(mailbox) { (bytes) throws(SystemError) in try Self.write(bytes, to: memory.number) }
      let content = sluice_memory_reader(memory.number)
      if content < 0 { throw SystemError("sealing a message") }
      return Copy(content: content, memory: memory.release())
    } catch let error as SystemError {
      throw .system(error)
    } catch {
      throw .moved
    }
  }

  /// Whether the message is at its place.
  ///
  /// - Parameter mailbox: open for reading.
  public func isThere(in mailbox: Int32) -> Bool {
    do {
      try read(mailbox) { _ in }
      return true
    } catch {
      return false
    }
  }

  /// Passes the message to a body, a piece at a time. An error if it is not what it was.
  private func read(_ mailbox: Int32, _ body: (UnsafeRawBufferPointer) throws(SystemError) -> Void) throws {
    let hash = try SHA256()
    let piece = UnsafeMutableRawBufferPointer.allocate(
      byteCount: min(max(range.count, 1), 1 << 20), alignment: 16)
    defer { piece.deallocate() }
    var offset = range.lowerBound
    while offset < range.upperBound {
      let wanted = min(piece.count, Int(range.upperBound - offset))
      let count = pread(mailbox, piece.baseAddress, wanted, off_t(offset))
      if count < 0 && errno == EINTR { continue }
      if count < 0 { throw SystemError("reading the mailbox") }
      if count == 0 { throw Fault.moved }
      let bytes = UnsafeRawBufferPointer(rebasing: piece[..<count])
      hash.add(bytes)
      try body(bytes)
      offset += Int64(count)
    }
    if hash.finish() != sha256 { throw Fault.moved }
  }

  private static func write(_ bytes: UnsafeRawBufferPointer, to memory: Int32) throws(SystemError) {
    var rest = bytes
    while !rest.isEmpty {
      let count = Glibc.write(memory, rest.baseAddress, rest.count)
      if count < 0 && errno == EINTR { continue }
      if count < 0 { throw SystemError("copying a message to memory") }
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }
}
