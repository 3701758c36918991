import Foundation
import Platform
import Testing

struct UUIDv7Tests {
  private static let many: [String] = {
    var generator = UUIDv7Generator()
    return (0..<100_000).map { _ in generator.next() }
  }()

  @Test func idsOfOneGeneratorAscendAndAreUnique() {
    let isAscending = zip(Self.many, Self.many.dropFirst()).allSatisfy {
      $0.utf8.lexicographicallyPrecedes($1.utf8)
    }
    #expect(isAscending, "strictly, so that no two are equal")
  }

  /// RFC 9562, section 5.7.
  @Test func eachIsOfVersionSevenAndTheStandardVariantInLowerCase() {
    for id in Self.many.prefix(20_000) {
      let bytes = Array(id.utf8)
      let digits = bytes.enumerated().allSatisfy { index, byte in
        [8, 13, 18, 23].contains(index)
          ? byte == UInt8(ascii: "-")
          : (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
      }
      guard bytes.count == 36, digits, bytes[14] == UInt8(ascii: "7"), "89ab".utf8.contains(bytes[19]) else {
        Issue.record("\(id) is none")
        return
      }
    }
    #expect(UUID(uuidString: Self.many[0]) != nil)
  }

  @Test func anIdTellsWhenItWasMade() throws {
    let before = Clock.now()
    var generator = UUIDv7Generator()
    let id = generator.next()
    let after = Clock.now()
    let time = try #require(Int64(id.filter { $0 != "-" }.prefix(12), radix: 16))
    #expect((before...after).contains(time))
  }

  @Test func idsOfManyGeneratorsAreUnique() {
    var seen: Set<String> = []
    for _ in 0..<200 {
      var generator = UUIDv7Generator()
      for _ in 0..<10 { seen.insert(generator.next()) }
    }
    #expect(seen.count == 2000)
  }
}
