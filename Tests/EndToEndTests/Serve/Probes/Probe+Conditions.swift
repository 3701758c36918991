extension Probe {
  private static func content(_ lines: String) -> String {
    asked("/v1/attachments/ATTACHMENT/content", lines)
  }

  /// Of a content of 14 bytes. What is malformed counts as not sent (RFC 9110, 14.2).
  static let ranges: [Probe] =
    [
      "bytes=0-0", "bytes=0-", "bytes=-1", "bytes=13-", "bytes=13-13", "bytes=0-5,3-8", "BYTES=0-1",
      "bytes=0-1, 2-3",
      "bytes=0-99999999999999999999", "bytes=-99999999999999999999", "bytes=0-9223372036854775807",
      "bytes=-9223372036854775807", "bytes=-9223372036854775808", "bytes=1-18446744073709551615",
      "bytes=00000-00001",
      "bytes=0-0,0-0,0-0,0-0,0-0,0-0,0-0,0-0", "bytes=0-1,99-",
    ].map { answered("Range: \($0)", content("Range: \($0)\r\n"), 206) }
    + [
      "bytes=14-", "bytes=-0", "bytes=99999999999999999999-", "bytes=9223372036854775807-9223372036854775807",
      "bytes=14-15,16-17", "bytes=18446744073709551616-",
    ].map { answered("Range: \($0)", content("Range: \($0)\r\n"), 416) }
    + [
      "", "bytes", "bytes=", "bytes=-", "bytes=5-2", "bytes=a-b", "bytes=0", "bytes=0--1", "bytes=--1",
      "bytes=+0-1",
      "bytes=0x0-0x1", "bytes=0-1,", "bytes=,0-1", "bytes=0-1,,2-3", "bytes=0-1;2-3", "bytes 0-1",
      "bytes = 0-1",
      "bytes=0 - 1", "items=0-1", "none", "bytes=0-1/14", "bytes=*/14", "bytes=0-1,3-4", "bytes=1e1-",
      "bytes=\u{FF}-1",
      "bytes=\u{D9}\u{A0}-\u{D9}\u{A1}", "bytes=\u{B2}-", "bytes=0-0\(String(repeating: ",0-0", count: 8))",
      "bytes=0-0\(String(repeating: ",0-0", count: 3000))", "bytes=\(String(repeating: "9", count: 9000))",
    ].map { answered("Range: \($0.prefix(60))", content("Range: \($0)\r\n"), 200) }
    + [
      answered("two ranges in two fields", content("Range: bytes=0-0\r\nRange: bytes=1-1\r\n"), 200),
      answered("If-Range without quotes", content("Range: bytes=0-0\r\nIf-Range: x\r\n"), 200),
      answered("If-Range empty", content("Range: bytes=0-0\r\nIf-Range:\r\n"), 200),
      answered("If-Range weak", content("Range: bytes=0-0\r\nIf-Range: W/\"x\"\r\n"), 200),
      answered(
        "If-Range of another day", content("Range: bytes=0-0\r\nIf-Range: Thu, 01 Jan 1970 00:00:00 GMT\r\n"),
        200),
      answered(
        "a range of what is not there", asked("/v1/attachments/x/content", "Range: bytes=0-0\r\n"), 404),
      answered("a range of a list", asked("/v1/attachments", "Range: bytes=0-0\r\n"), 200),
      Probe(
        name: "a range of a head",
        text:
          "HEAD /v1/attachments/ATTACHMENT/content HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer TOKEN\r\nRange: bytes=0-0\r\n\r\n",
        answers: [[200]], ending: .kept, isHead: true),
    ]

  /// Of the same content.
  static let conditions: [Probe] =
    [
      ("If-None-Match: *", 304), ("If-None-Match: \"x\", *", 304), ("If-None-Match: W/*", 200),
      ("If-None-Match: x", 200),
      ("If-None-Match: \"", 200), ("If-None-Match: W/", 200), ("If-None-Match: W/\"", 200),
      ("If-None-Match:", 200),
      ("If-None-Match: ,,,,", 200), ("If-None-Match: \"x\" \"y\"", 200), ("If-None-Match: \"\u{FF}\"", 200),
      ("If-None-Match: \(String(repeating: ",", count: 10_000))", 200),
      ("If-None-Match: \(String(repeating: "\"x\",", count: 5000))", 200),
      ("If-Match: *", 200), ("If-Match: x", 412), ("If-Match: \"x\"", 412), ("If-Match: W/\"x\"", 412),
      ("If-Match:", 412),
      ("If-Match: \"", 412), ("If-Match: \(String(repeating: "W/", count: 5000))", 412),
      ("If-Modified-Since: yesterday", 200), ("If-Modified-Since:", 200), ("If-Modified-Since: 0", 200),
      ("If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT", 200),
      ("If-Modified-Since: Fri, 31 Dec 9999 23:59:59 GMT", 304),
      ("If-Modified-Since: Fri, 99 Dec 2099 23:59:59 GMT", 200),
      ("If-Modified-Since: Fri, 31 Dec 2099 25:61:61 GMT", 200),
      ("If-Modified-Since: Fri, 31 Dec 99999999999999999999 00:00:00 GMT", 200),
      ("If-Modified-Since: Fri, 31 Dec 2099 23:59:59 +0100", 200),
      ("If-Modified-Since: 2099-12-31T23:59:59Z", 200),
      ("If-Modified-Since: Thursday, 31-Dec-99 23:59:59 GMT", 200),
      ("If-Unmodified-Since: yesterday", 200), ("If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT", 412),
      ("If-Match: \"x\"\r\nIf-Unmodified-Since: Fri, 31 Dec 9999 23:59:59 GMT", 412),
      ("If-None-Match: \"x\"\r\nIf-Modified-Since: Fri, 31 Dec 9999 23:59:59 GMT", 200),
      ("If-None-Match: *\r\nRange: bytes=99-", 304), ("If-Match: \"x\"\r\nRange: bytes=0-0", 412),
      ("Accept: text/html;q=2", 200), ("Accept-Encoding: gzip, br;q=x", 200), ("Accept-Encoding: *;q=0", 200),
    ].map { line, status in
      Probe(
        name: "\(line.prefix(60))", text: content(line + "\r\n"),
        // Two digits of a year are of this century or of the one before.
        answers: [line.contains("31-Dec-99") ? [200, 304] : [status]], ending: .kept)
    }
    + [
      answered("events, without a token", get("/v1/events"), 401),
      Probe(
        name: "events, as a head",
        text:
          "HEAD /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer TOKEN\r\nLast-Event-ID: \(String(repeating: "9", count: 9000))\r\n\r\n",
        answers: [[200]], ending: .kept, isHead: true),
    ]
}
