import Glibc
import Pipeline

/// The list of the pieces in a file, which the worker appends to them: a frame may be too short for it. A worker that has parsed
/// hostile content wrote it.
public enum PieceList {
  /// The longest list, in bytes.
  public static let limit: Int64 = 64 << 20

  public static func bytes(of pieces: [Piece]) -> [UInt8] {
    var writer = FrameWriter(.pieces)
    writer.write(pieces) { writer, piece in
      writer.write(piece.kind.rawValue)
      writer.write(UInt8(clamping: piece.stage))
      writer.write(piece.name)
      writer.write(piece.mediaType)
      writer.write(piece.range.lowerBound)
      writer.write(piece.range.upperBound)
    }
    return writer.bytes
  }

  /// Reads what follows the kind, and checks every bound.
  ///
  /// - Parameter end: bytes of the file that are before the list.
  public static func read(_ reader: inout FrameReader, end: Int64) throws(FrameError) -> [Piece] {
    var last: Int64 = 0
    let pieces = try reader.elements(atMost: Piece.mostDerived + Piece.mostChildren) {
      (reader) throws(FrameError) -> Piece in
      guard let kind = Piece.Kind(rawValue: try reader.integer(UInt8.self)) else {
        throw FrameError("unknown kind of piece")
      }
      let stage = Int(try reader.integer(UInt8.self))
      // Bytes that are not UTF-8 take three each once they are.
      let name = try reader.requiredText(atMost: Piece.childNameLimit * 3)
      let mediaType = try reader.text(atMost: 256)
      if kind == .derived {
        guard Piece.isName(name) else { throw FrameError("a name of a derived object that is none") }
        guard let mediaType, MediaTypePattern.isMediaType(mediaType) else {
          throw FrameError("a media type that is none")
        }
      }
      let start = try reader.integer(Int64.self)
      let stop = try reader.integer(Int64.self)
      guard start >= last, stop >= start, stop <= end else {
        throw FrameError("a piece that is not in its place")
      }
      last = stop
      return Piece(kind, name: name, mediaType: mediaType, range: start..<stop, stage: stage)
    }
    try reader.end()
    guard pieces.count(where: { $0.kind == .derived }) <= Piece.mostDerived else {
      throw FrameError("more than \(Piece.mostDerived) derived objects")
    }
    return pieces
  }

  /// Reads the list of the pieces in a file.
  ///
  /// - Throws: ``FrameError`` if it cannot be one, or the file is not as long as it should be.
  public static func read(_ file: Int32, at place: Range<Int64>) throws(FrameError) -> [Piece] {
    let bytes = try bytes(of: file, at: place)
    return try bytes.withUnsafeBytes { bytes in
      Result { () throws(FrameError) in
        var reader = FrameReader(bytes)
        guard case .pieces = try reader.kind() else { throw FrameError("no list of pieces") }
        return try read(&reader, end: place.lowerBound)
      }
    }.get()
  }

  /// Some bytes of a file with pieces.
  public static func bytes(of file: Int32, at place: Range<Int64>) throws(FrameError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: place.count)
    var count = 0
    while count < bytes.count {
      let start = off_t(place.lowerBound) + off_t(count)
      let read = bytes.withUnsafeMutableBytes {
        pread(file, $0.baseAddress.map { $0 + count }, $0.count - count, start)
      }
      if read < 0 && errno == EINTR { continue }
      if read < 0 { throw FrameError("pieces that cannot be read: \(String(cString: strerror(errno)))") }
      if read == 0 { throw FrameError("pieces that are not where they should be") }
      count += read
    }
    return bytes
  }
}
