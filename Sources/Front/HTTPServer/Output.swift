import Glibc
import Platform

/// What is written to a connection, in order.
struct Output {
  enum Piece {
    case bytes([UInt8], from: Int)
    case file(SharedDescriptor, Range<Int64>)
    /// The same, in the letters of Base64.
    case encoded(SharedDescriptor, Range<Int64>)
  }

  /// What writing came to.
  enum Result: Equatable {
    case all
    /// The client has to take something first.
    case some
    /// The connection is lost, or a file is shorter than it was said to be.
    case broken
  }

  private var pieces: [Piece] = []
  private var first = 0
  /// Bytes in memory that are not written.
  private(set) var pending = 0

  /// Bytes of a file that are encoded at a time; whole groups of three.
  private static let encodedPart: Int64 = 48 << 10
  /// Pieces that have no more together become one: a head and a short body go with one call.
  private static let joined = 16 << 10
  /// Bytes of a file that are written before other connections have their turn.
  private static let turn: Int64 = 1 << 20

  var isEmpty: Bool { first == pieces.count }

  mutating func add(_ bytes: [UInt8]) {
    if bytes.isEmpty { return }
    pending += bytes.count
    if case .bytes(var before, let start) = pieces.last, before.count + bytes.count <= Self.joined {
      // The array is no other's, so that it grows where it is.
      pieces.removeLast()
      before += bytes
      pieces.append(.bytes(before, from: start))
    } else {
      pieces.append(.bytes(bytes, from: 0))
    }
  }

  mutating func add(_ file: SharedDescriptor, _ range: Range<Int64>) {
    if !range.isEmpty { pieces.append(.file(file, range)) }
  }

  mutating func addEncoded(_ file: SharedDescriptor, _ range: Range<Int64>) {
    if !range.isEmpty { pieces.append(.encoded(file, range)) }
  }

  /// Encodes the next bytes of a file that is to be written so. False: it is shorter than it was said to be.
  private mutating func encodeNext() -> Bool {
    guard case .encoded(let file, let range) = pieces[first] else { return true }
    let end = min(range.lowerBound + Self.encodedPart, range.upperBound)
    var bytes = [UInt8](repeating: 0, count: Int(end - range.lowerBound))
    guard pread(file.number, &bytes, bytes.count, off_t(range.lowerBound)) == bytes.count else {
      return false
    }
    let letters = bytes.withUnsafeBytes { Base64.letters(of: $0) }
    pending += letters.count
    let rest: [Piece] = end < range.upperBound ? [.encoded(file, end..<range.upperBound)] : []
    pieces.replaceSubrange(first...first, with: [.bytes(letters, from: 0)] + rest)
    return true
  }

  /// Writes what the socket takes.
  ///
  /// - Parameter written: is told how many bytes those were.
  mutating func write(to socket: Int32, _ written: (Int) -> Void) -> Result {
    var quota = Self.turn
    while first < pieces.count {
      if quota <= 0 { return .some }
      if !encodeNext() { return .broken }
      let (count, rest) = Self.write(pieces[first], to: socket, hasMore: first + 1 < pieces.count, quota)
      if count < 0 {
        if errno == EINTR { continue }
        return errno == EAGAIN || errno == EWOULDBLOCK ? .some : .broken
      }
      if count == 0 { return .broken }
      written(count)
      quota -= Int64(count)
      if case .bytes = pieces[first] { pending -= count }
      if let rest {
        pieces[first] = rest
      } else {
        first += 1
      }
    }
    pieces.removeAll()
    first = 0
    return .all
  }

  /// - Returns: what the call returned, and what of the piece is left.
  private static func write(
    _ piece: Piece, to socket: Int32, hasMore: Bool, _ quota: Int64
  ) -> (count: Int, rest: Piece?) {
    switch piece {
    case .bytes(let bytes, let start):
      let flags = Int32(MSG_NOSIGNAL) | (hasMore ? Int32(MSG_MORE) : 0)
      let count = bytes.withUnsafeBytes { buffer in
        Glibc.send(socket, buffer.baseAddress.map { $0 + start }, buffer.count - start, flags)
      }
      if count < 0 { return (count, piece) }
      return (count, start + count == bytes.count ? nil : .bytes(bytes, from: start + count))
    case .file(let file, let range):
      var offset = Int(range.lowerBound)
      let count = sendfile(socket, file.number, &offset, Int(min(Int64(range.count), quota)))
      if count < 0 { return (count, piece) }
      let next = range.lowerBound + Int64(count)
      return (count, next == range.upperBound ? nil : .file(file, next..<range.upperBound))
    case .encoded: return (-1, piece)  // never: it was encoded before
    }
  }
}
