import Glibc
import StageKit

extension Journal {
  /// The beginning of an event's line: its id comes first in the JSON.
  static func head(of id: String) -> [UInt8] { Array("{\"id\":\"\(id)\"".utf8) }

  static let opening = Array("{\"id\":\"".utf8)
  /// The number of bytes read at a time.
  private static let pieceSize = 256 << 10

  /// Which of these events are in the file. Reads the whole file once, unless `wanted` is empty.
  func ids(among wanted: Set<String>) throws(Outcome) -> Set<String> {
    guard let longest = wanted.map(\.utf8.count).max() else { return [] }
    let end = try length()
    var found: Set<String> = []
    let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceSize, alignment: 4096)
    defer { piece.deallocate() }
    /// The bytes of a line that are needed to read its id.
    let needed = Self.opening.count + longest + 1
    var offset: off_t = 0
    var atLineStart = true
    while offset < end {
      let bytes = UnsafeRawBufferPointer(rebasing: piece[..<(try read(into: piece, at: offset))])
      if bytes.isEmpty { break }
      let isLast = offset + off_t(bytes.count) >= end
      var position = 0
      while position < bytes.count {
        if atLineStart {
          // A beginning that is cut by the end of the buffer is read again with the next one.
          if !isLast && position > 0 && bytes.count - position < needed { break }
          let line = UnsafeRawBufferPointer(rebasing: bytes[position...])
          if let id = Self.id(atStartOf: line, longest: longest), wanted.contains(id) { found.insert(id) }
          atLineStart = false
        }
        let rest = UnsafeRawBufferPointer(rebasing: bytes[position...])
        guard let start = rest.baseAddress, let newline = memchr(start, 10, rest.count) else {
          position = bytes.count
          break
        }
        position += start.distance(to: UnsafeRawPointer(newline)) + 1
        atLineStart = true
      }
      offset += off_t(position)
    }
    return found
  }

  /// The id at the start of a line, if it is not longer than the longest id wanted.
  private static func id(atStartOf line: UnsafeRawBufferPointer, longest: Int) -> String? {
    guard line.starts(with: opening) else { return nil }
    let id = line.dropFirst(opening.count).prefix(longest + 1).prefix { $0 != UInt8(ascii: "\"") }
    return id.count <= longest ? String(decoding: id, as: UTF8.self) : nil
  }

  private func read(into piece: UnsafeMutableRawBufferPointer, at offset: off_t) throws(Outcome) -> Int {
    while true {
      let count = pread(file, piece.baseAddress, piece.count, offset)
      if count >= 0 { return count }
      if errno != EINTR { throw .retry("unreadable", "looking for lines: \(Self.reason(errno))") }
    }
  }
}
