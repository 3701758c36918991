import Platform
import Testing

struct AddressRangeTests {
  @Test func anAddressIsInItsRange() throws {
    let cases: [(range: String, address: String, isIn: Bool)] = [
      ("127.0.0.1", "127.0.0.1", true), ("127.0.0.1", "127.0.0.2", false),
      ("10.0.0.0/8", "10.255.1.2", true), ("10.0.0.0/8", "11.0.0.0", false),
      ("10.1.2.0/23", "10.1.3.255", true), ("10.1.2.0/23", "10.1.4.0", false),
      ("0.0.0.0/0", "255.255.255.255", true), ("0.0.0.0/0", "::1", false),
      ("::1", "::1", true), ("::1", "0:0:0:0:0:0:0:1", true), ("::1", "::2", false),
      ("fd00::/8", "fdff::1", true), ("fd00::/8", "fc00::1", false),
      ("2001:db8::/33", "2001:db8:7fff::", true), ("2001:db8::/33", "2001:db8:8000::", false),
      ("127.0.0.1", "::ffff:127.0.0.1", true), ("127.0.0.1", "", false), ("127.0.0.1", "host", false),
    ]
    for (text, address, isIn) in cases {
      let range = try #require(AddressRange(text), "\(text)")
      #expect(range.contains(address) == isIn, "\(address) in \(text)")
    }
  }

  @Test func whatIsNoRangeIsNone() {
    for text in [
      "", "/", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/8/8", "::/129", "10.0.0",
      "localhost", "10.0.0.0 /8",
    ] {
      #expect(AddressRange(text) == nil, "'\(text)'")
    }
  }
}
