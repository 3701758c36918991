/// Reads the fields after the last chunk of a body, which are dropped.
///
/// They are held to the rules of the header: a server that ends a line at a bare LF, or goes on with the line before, finds the
/// end of the request elsewhere (RFC 9112, 7.1.2 and 11.2).
struct TrailerReader {
  private enum Place {
    case lineStart, name, value
    /// After the CR that ends a field, or all of them.
    case fieldEnd, end
  }

  private let limit: Int
  private var count = 0
  private var place = Place.lineStart

  /// - Parameter limit: bytes of all fields together.
  init(limit: Int) { self.limit = limit }

  /// - Returns: how many bytes it took, and whether the empty line after the fields was among them.
  mutating func take(_ bytes: UnsafeRawBufferPointer) throws(RequestFault) -> (taken: Int, isWhole: Bool) {
    for (index, byte) in bytes.enumerated() {
      if try take(byte) { return (index + 1, true) }
      if place != .end { count += 1 }
      if count > limit { throw RequestFault(431, "the fields after the body have more than \(limit) bytes") }
    }
    return (bytes.count, false)
  }

  /// Returns whether it was the last.
  private mutating func take(_ byte: UInt8) throws(RequestFault) -> Bool {
    let (cr, lf) = (UInt8(ascii: "\r"), UInt8(ascii: "\n"))
    switch (place, byte) {
    case (.lineStart, cr): place = .end
    case (.end, lf): return true
    case (.lineStart, _) where HeadRules.isTokenByte(byte): place = .name
    case (.name, _) where HeadRules.isTokenByte(byte): break
    case (.name, UInt8(ascii: ":")): place = .value
    case (.value, cr): place = .fieldEnd
    case (.value, _) where byte >= 0x20 && byte != 0x7F || byte == UInt8(ascii: "\t"): break
    case (.fieldEnd, lf): place = .lineStart
    default: throw RequestFault(400, "a field after the body is none")
    }
    return false
  }
}
