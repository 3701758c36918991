import Testing

@testable import Manifest

/// Addresses of fields such as `To`, and what is none.
struct AddressListTests {
  private static func addresses(_ body: String) -> [String] { AddressList(Array(body.utf8)).addresses }

  @Test(arguments: [
    ("a@b", ["a@b"]), ("a@b,c@d", ["a@b", "c@d"]), (" Anna <anna@example.com> ", ["anna@example.com"]),
    ("<anna@Example.COM>", ["anna@Example.COM"]), ("anna@example.com (Anna)", ["anna@example.com"]),
    ("\"Anna, A <x@y>\" <a@b>, c@d", ["a@b", "c@d"]), ("\"a\\\"<x@y>\" <a@b>", ["a@b"]),
    ("(a, b@c (d) \\) e) a@b (f)", ["a@b"]), ("a(1)@(2)b(3).c", ["a@b.c"]), ("a . b @ c . d", ["a.b@c.d"]),
    ("team: a@b, Carl <c@d>;, e@f", ["a@b", "c@d", "e@f"]), ("undisclosed-recipients:;", []),
    ("<@one,@two:a@b>", ["a@b"]), ("\"a b\"@c", ["\"a b\"@c"]), ("a@[192.0.2.1]", ["a@[192.0.2.1]"]),
    ("=?utf-8?Q?Anna=2C_A?= <a@b>", ["a@b"]), ("=?utf-8?Q?x=40y?=, a@b", ["a@b"]),
    ("jörg@müller.example", ["jörg@müller.example"]),
    ("o'neil+tag=x@a-b.example", ["o'neil+tag=x@a-b.example"]),
    ("x@y <a@b>", ["a@b"]), (",, a@b ,;", ["a@b"]),
  ])
  func anAddressIsTakenAsItIsWritten(body: String, expected: [String]) {
    #expect(Self.addresses(body) == expected)
  }

  @Test(arguments: [
    "", "a", "@", "a@", "@b", "a@b@c", "a b@c", "a@b c", "a..b@c", ".a@b", "a.@b", "a@b..c", "a@.b", "a@b.",
    "a@-b", "a@b-", "a@b_!", "a@\"b\"", "<a@b", "<<a@b>", "<a@b>>", "<a@b> <c@d>", "<a@b> c", "<>", "< >",
    "\"open@x", "(open a@b", "a@b (open", "a@[", "a@[]", "a@[b c]", "a@[b\\]c]", "a\\b@c", "a)@b", "a@b]",
    "\u{0}@b", "a@b\u{0}", "a\u{1B}@b", "\"a\u{7}b\"@c", "a@b\r", "a@b:c", "<@x a@b>", "[1]@b",
    "a@b <c@d> <e@f>",
  ])
  func whatIsNoAddressGivesNone(body: String) {
    #expect(Self.addresses(body) == [])
    #expect(Self.addresses("first@x, " + body).first == "first@x", "what stands before it is one")
  }

  @Test func whatIsMalformedTakesNoNeighbourWithIt() {
    #expect(Self.addresses("a@@b, c@d") == ["c@d"])
    #expect(Self.addresses("<a@b> <c@d>, e@f") == ["e@f"])
    #expect(Self.addresses("<a@b, c@d>, e@f") == ["e@f"])
  }

  @Test func anAddressHasAtMost254BytesAndIsUTF8() {
    let domain = String(repeating: "d", count: 252)
    #expect(Self.addresses("a@" + domain).count == 1)
    #expect(Self.addresses("aa@" + domain).isEmpty)
    #expect(AddressList([0x61, 0xFF, 0x40, 0x62]).addresses.isEmpty)
    #expect(AddressList([0x61, 0x40, 0xC3]).addresses.isEmpty)
  }

  /// Comments and lists may be as deep and long as a header: neither takes more than one pass.
  @Test func whatIsDeepOrLongIsReadOnce() {
    let depth = 100_000
    let deep = String(repeating: "(", count: depth) + String(repeating: ")", count: depth)
    #expect(Self.addresses(deep + "a@b") == ["a@b"])
    #expect(Self.addresses(String(repeating: "a@b,", count: 60_000)).count == 60_000)
    #expect(Self.addresses(String(repeating: "<", count: 200_000)).isEmpty)
    #expect(Self.addresses(String(repeating: "a.", count: 100_000) + "a@b").isEmpty)
  }
}
