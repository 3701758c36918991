import Glibc
import Pipeline
import Testing
import Wire

/// Lists of pieces, as a worker that was taken over may write them.
struct PieceListTests {
  private static let pieces = [
    Piece(.derived, name: "head", mediaType: "text/plain", range: 0..<10, stage: 0),
    Piece(.child, name: "../a\u{202E}b", mediaType: nil, range: 10..<10, stage: 1),
    Piece(.child, name: "", mediaType: "no type", range: 12..<20, stage: 1),
  ]

  private static func read(_ pieces: [Piece], end: Int64 = 20) throws -> [Piece] {
    try PieceList.bytes(of: pieces).withUnsafeBytes { bytes in
      var reader = FrameReader(bytes)
      guard case .pieces = try reader.kind() else { throw FrameError("another kind") }
      return try PieceList.read(&reader, end: end)
    }
  }

  @Test func aListIsReadAsItWasWritten() throws {
    #expect(try Self.read(Self.pieces) == Self.pieces)
    #expect(try Self.read([]) == [])
  }

  @Test func piecesThatOverlapOrLieBeyondAreRefused() {
    func piece(_ range: Range<Int64>) -> Piece {
      Piece(.child, name: "", mediaType: nil, range: range, stage: 0)
    }
    for ranges: [Range<Int64>] in [[0..<21], [-1..<3], [0..<10, 9..<12], [10..<12, 0..<3], [0..<(.max)]] {
      #expect(throws: FrameError.self, "\(ranges)") { try Self.read(ranges.map(piece)) }
    }
    #expect(throws: Never.self) { try Self.read([piece(0..<10), piece(10..<20), piece(20..<20)]) }
  }

  /// A range whose end is before its beginning is nothing that Swift could hold.
  @Test func aRangeThatEndsBeforeItBeginsIsRefused() {
    var bytes = PieceList.bytes(of: [Piece(.child, name: "", mediaType: nil, range: 5..<9, stage: 0)])
    bytes.replaceSubrange(
      (bytes.count - 8)..., with: withUnsafeBytes(of: Int64(4).littleEndian) { Array($0) })
    #expect(throws: FrameError.self) {
      try bytes.withUnsafeBytes { bytes in
        var reader = FrameReader(bytes)
        _ = try reader.kind()
        return try PieceList.read(&reader, end: 20)
      }
    }
  }

  @Test(arguments: ["", "A", "a b", "-a", "a-", "a--b", "a/b", "..", "ä", String(repeating: "a", count: 65)])
  func whatIsNoNameIsRefused(name: String) {
    #expect(!Piece.isName(name))
    #expect(throws: FrameError.self) {
      try Self.read([Piece(.derived, name: name, mediaType: "a/b", range: 0..<1, stage: 0)])
    }
  }

  @Test func namesAreWordsJoinedByHyphens() {
    for name in ["a", "0", "page-1", "a-b-c", String(repeating: "a", count: 64)] {
      #expect(Piece.isName(name))
    }
  }

  @Test(arguments: [nil, "", "text", "text/", "a/b/c", "text/plain\n"]) func whatIsNoTypeIsRefused(
    type: String?
  ) {
    #expect(throws: FrameError.self) {
      try Self.read([Piece(.derived, name: "a", mediaType: type, range: 0..<1, stage: 0)])
    }
  }

  @Test func moreDerivedObjectsThanAreAllowedAreRefused() {
    func list(_ count: Int) -> [Piece] {
      (0..<count).map { Piece(.derived, name: "n-\($0)", mediaType: "a/b", range: 0..<0, stage: 0) }
    }
    #expect(throws: Never.self) { try Self.read(list(Piece.mostDerived)) }
    #expect(throws: FrameError.self) { try Self.read(list(Piece.mostDerived + 1)) }
  }

  @Test func aNameOfAChildHasABound() {
    let long = String(repeating: "a", count: Piece.childNameLimit * 3 + 1)
    #expect(throws: FrameError.self) {
      try Self.read([Piece(.child, name: long, mediaType: nil, range: 0..<1, stage: 0)])
    }
  }

  @Test func aListThatIsCutOrChangedIsReadOrRefused() {
    let bytes = PieceList.bytes(of: Self.pieces)
    func read(_ bytes: [UInt8]) throws -> [Piece] {
      try bytes.withUnsafeBytes { bytes in
        var reader = FrameReader(bytes)
        _ = try reader.kind()
        return try PieceList.read(&reader, end: 20)
      }
    }
    for length in 1..<bytes.count {
      #expect(throws: FrameError.self, "\(length) bytes") { try read(Array(bytes.prefix(length))) }
    }
    #expect(throws: FrameError.self) { try read(bytes + [0]) }
    for place in 1..<bytes.count {
      for value: UInt8 in [0, 1, 0x7F, 0x80, 0xFF] {
        var changed = bytes
        changed[place] = value
        guard let pieces = try? read(changed) else { continue }  // refused is well
        var last: Int64 = 0
        for piece in pieces {
          #expect(piece.range.lowerBound >= last && piece.range.upperBound <= 20)
          last = piece.range.upperBound
        }
      }
    }
  }

  /// What a worker says of where the list lies.
  @Test func aListThatIsNotWhereItShouldBeIsRefused() throws {
    let stream = try #require(tmpfile())
    defer { fclose(stream) }
    let file = fileno(stream)
    let bytes = [UInt8](repeating: 7, count: 20) + PieceList.bytes(of: Self.pieces)
    #expect(write(file, bytes, bytes.count) == bytes.count)
    let end = Int64(bytes.count)
    #expect(try PieceList.read(file, at: 20..<end) == Self.pieces)
    for place: Range<Int64> in [0..<end, 19..<end, 20..<(end + 1), 20..<(end - 1), end..<(end + 4)] {
      #expect(throws: FrameError.self, "\(place)") { try PieceList.read(file, at: place) }
    }
  }
}
