import Platform
import Testing

struct HexadecimalTests {
  @Test func everyByteIsWrittenAndRead() {
    let all = (0...255).map { UInt8($0) }
    let text = Hexadecimal.text(all)
    #expect(text.utf8.count == 512)
    #expect(text.hasPrefix("000102") && text.hasSuffix("fdfeff"))
    #expect(Hexadecimal.bytes(text) == all)
    #expect(Hexadecimal.bytes(text.uppercased()) == all)
  }

  @Test func nothingIsNothing() {
    #expect(Hexadecimal.text([]).isEmpty)
    #expect(Hexadecimal.bytes("") == [])
  }

  @Test(arguments: ["0", "abc", "0g", "g0", " 0", "+1", "-1", "0x", "0\u{301}", "é", "ａａ", "00 11"])
  func whatIsNoPairOfDigitsIsRefused(text: String) {
    #expect(Hexadecimal.bytes(text) == nil)
  }
}
