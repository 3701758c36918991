/// The fields of a mail's header, one after the other, unfolded (RFC 5322, section 2.2). Lines that are none are left out.
struct HeaderFields: IteratorProtocol {
  struct Field {
    /// In lower case.
    var name: String
    var body: [UInt8]
  }

  private let bytes: [UInt8]
  /// The start of the next line.
  private var place: Int
  /// After the last line.
  private let end: Int

  /// - Parameter isCut: more bytes follow. The last line is left out then: half an address may be the address of another person.
  init(_ bytes: [UInt8], isCut: Bool) {
    self.bytes = bytes
    place = 0
    end = isCut ? (bytes.lastIndex(of: Self.lineFeed) ?? -1) + 1 : bytes.count
  }

  private static let lineFeed = UInt8(ascii: "\n")
  private static let carriageReturn = UInt8(ascii: "\r")

  /// `nil`: the header has ended.
  mutating func next() -> Field? {
    while let line = nextLine(), !line.isEmpty {
      guard !Self.isBlank(line[line.startIndex]), let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
        continue
      }
      var name = line[..<colon]
      while let last = name.last, Self.isBlank(last) { name.removeLast() }
      if name.isEmpty || !name.allSatisfy({ (33...126).contains($0) }) { continue }
      var body = Array(line[(colon + 1)...])
      while place < end, Self.isBlank(bytes[place]), let more = nextLine() { body += more }
      return Field(name: String(decoding: name, as: UTF8.self).lowercased(), body: body)
    }
    place = end
    return nil
  }

  /// Without its end; `nil`: there is none.
  private mutating func nextLine() -> ArraySlice<UInt8>? {
    if place >= end { return nil }
    let feed = bytes[place..<end].firstIndex(of: Self.lineFeed)
    var line = bytes[place..<(feed ?? end)]
    if line.last == Self.carriageReturn { line.removeLast() }
    place = feed.map { $0 + 1 } ?? end
    return line
  }

  static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}
