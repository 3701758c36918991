import Bytes
import Glibc
import Platform

/// Reads a mailbox file message by message. Used by one thread.
///
/// A program of mail may write to the file meanwhile: what was there at the beginning is read.
public final class MboxReader {
  /// A message that was found.
  public struct Message: Sendable {
    public var range: Range<Int64>
    /// Of the message's bytes; empty: it is longer than ``MboxPath/limit``, and was not read.
    public var sha256: [UInt8]
    public var header: MessageHeader
  }

  /// Whether it was written to until its end was reached. Its last message is left out then.
  public private(set) var hasChanged = false

  private let descriptor: Int32
  /// As it was when it was opened.
  private let opened: State
  private var size: Int64 { opened.size }
  private var splitter = MboxSplitter()
  private let hash: SHA256
  private var isFinished = false

  /// From `place` to `end`: lines that were read and not told.
  private let buffer: UnsafeMutableRawBufferPointer
  private var place = 0
  private var end = 0
  /// How far the file was read.
  private var readTo: Int64 = 0

  /// - Parameter descriptor: of the mailbox, open for reading as long as it is read.
  public init(_ descriptor: Int32) throws(SystemError) {
    self.descriptor = descriptor
    opened = try State(of: descriptor)
    hash = try SHA256()
    buffer = .allocate(byteCount: 1 << 20, alignment: 16)
  }

  deinit { buffer.deallocate() }

  /// Whether an open file is a mailbox, by its first lines.
  public static func isMailbox(_ descriptor: Int32) -> Bool {
    var start = [UInt8](repeating: 0, count: 4 * MboxSplitter.looked)
    let count = pread(descriptor, &start, start.count, 0)
    return count > 0 && start[..<count].withUnsafeBytes { MboxSplitter.begins($0) }
  }

  /// The next message; `nil`: there is none. Those without a byte are left out.
  public func next() throws(SystemError) -> Message? {
    while let range = try nextRange() {
      if !range.isEmpty { return try message(range) }
    }
    return nil
  }

  private func message(_ range: Range<Int64>) throws(SystemError) -> Message {
    let start = try bytes(
      range.lowerBound..<min(range.upperBound, range.lowerBound + Int64(MessageHeader.limit)))
    let header = MessageHeader(start)
    if range.upperBound - range.lowerBound > MboxPath.limit {
      return Message(range: range, sha256: [], header: header)
    }
    hash.begin()
    start.withUnsafeBytes { hash.add($0) }
    var done = range.lowerBound + Int64(start.count)
    while done < range.upperBound {
      let piece = try bytes(done..<min(range.upperBound, done + (1 << 20)))
      piece.withUnsafeBytes { hash.add($0) }
      done += Int64(piece.count)
    }
    return Message(range: range, sha256: hash.finish(), header: header)
  }

  private func bytes(_ range: Range<Int64>) throws(SystemError) -> [UInt8] {
    var failure: SystemError?
    let bytes = [UInt8](unsafeUninitializedCapacity: range.count) { room, count in
      while count < room.count {
        let read = pread(
          descriptor, room.baseAddress.map { $0 + count }, room.count - count,
          off_t(range.lowerBound + Int64(count)))
        if read < 0 && errno == EINTR { continue }
        if read <= 0 {
          failure = SystemError("reading the mailbox", code: read == 0 ? EIO : errno)
          return
        }
        count += read
      }
    }
    if let failure { throw failure }
    return bytes
  }

  // MARK: Lines

  private func nextRange() throws(SystemError) -> Range<Int64>? {
    while !isFinished {
      guard let line = try nextLine() else {
        isFinished = true
        hasChanged = try State(of: descriptor) != opened
        // It may have been written only in part.
        return hasChanged ? nil : splitter.finish(at: size)
      }
      let start = UnsafeRawBufferPointer(rebasing: buffer[line.start])
      if let range = splitter.take(start, line.range) { return range }
    }
    return nil
  }

  /// The next line: its first bytes in the buffer, and its place in the file. `nil`: there is none.
  private func nextLine() throws(SystemError) -> (start: Range<Int>, range: Range<Int64>)? {
    let first = readTo - Int64(end - place)
    var searched = place
    while true {
      if let newline = buffer[searched..<end].firstNewline {
        defer { place = newline + 1 }
        return (place..<(newline + 1), first..<(readTo - Int64(end - newline - 1)))
      }
      if place > 0, let base = buffer.baseAddress {
        memmove(base, base + place, end - place)
        (place, end) = (0, end - place)
      }
      // Of a long line no more is looked at.
      if end == buffer.count { end = MboxSplitter.looked }
      searched = end
      if try !fill() {
        if first == readTo { return nil }
        place = end
        return (0..<end, first..<readTo)
      }
    }
  }

  /// False: all was read.
  private func fill() throws(SystemError) -> Bool {
    let room = UnsafeMutableRawBufferPointer(rebasing: buffer[end...].prefix(Int(size - readTo)))
    while !room.isEmpty {
      let count = pread(descriptor, room.baseAddress, room.count, off_t(readTo))
      if count < 0 && errno == EINTR { continue }
      if count <= 0 { throw SystemError("reading the mailbox", code: count == 0 ? EIO : errno) }
      end += count
      readTo += Int64(count)
      return true
    }
    return false
  }

  /// What tells whether a file was written to.
  private struct State: Equatable {
    var size: Int64
    private var seconds, nanoseconds: Int

    init(of descriptor: Int32) throws(SystemError) {
      var facts = stat()
      if fstat(descriptor, &facts) != 0 { throw SystemError("asking for the state of a mailbox") }
      size = Int64(facts.st_size)
      (seconds, nanoseconds) = (facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec)
    }
  }
}

extension Slice<UnsafeMutableRawBufferPointer> {
  /// The place of the first newline; `nil`: there is none.
  fileprivate var firstNewline: Int? {
    guard let base = base.baseAddress, let found = memchr(base + startIndex, 0x0A, count) else { return nil }
    return UnsafeRawPointer(base).distance(to: UnsafeRawPointer(found))
  }
}
