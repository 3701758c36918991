import Testing

@testable import Charsets

/// Words of headers, as Python's email reads them.
struct EncodedWordsTests {
  private let words = EncodedWords(Converters())

  @Test(arguments: [
    ("=?UTF-8?B?SGVsbG8=?= =?UTF-8?B?IHdvcmxk?=", "Hello world"),
    ("a =?utf-8?q?b?= c", "a b c"), ("=?utf-8?q?a_b=20c?=", "a b c"),
    ("=?iso-8859-1?Q?a?=\r\n =?iso-8859-1?Q?_b?=", "a b"),
    // Cut between the bytes of a character.
    ("=?utf-8?B?w7w=?= =?utf-8?B?w4M=?=", "üÃ"), ("=?utf-8?Q?=C3?= =?utf-8?Q?=BC?=", "ü"),
    ("=?UTF-8*de?Q?Gr=C3=BC=C3=9Fe?=", "Grüße"),
    ("=?iso-2022-jp?B?GyRCRnxLXBsoQg==?=", "日本"), ("=?shift_jis?B?h0A=?=", "①"),
    ("=?ks_c_5601-1987?B?jGM=?=", "똠"),
    ("Quarterly\r\n\treport", "Quarterly report"), ("=?x?", "=?x?"), ("=?utf-8?x?y?=", "=?utf-8?x?y?="),
    ("=?no-such?q?a?= b", "a b"), ("=?us-ascii?q?=FC?=", "ü"), ("=?utf-8?Q?a b?=", "a b"),
  ])
  func aWordIsDecoded(body: String, text: String) {
    #expect(words.decoded(body.utf8) == text)
  }

  @Test func bytesWithoutALabelAreUTF8OrWindows1252() {
    #expect(words.decoded([0x5A, 0xFC, 0x72]) == "Zür")
    #expect(words.decoded("Zür".utf8) == "Zür")
  }
}
