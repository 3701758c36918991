extension Probe {
  private static func fetch(_ body: String, _ lines: String = "Content-Type: application/json\r\n") -> String
  {
    "POST /v1/fetch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer TOKEN\r\nPrefer: respond-async\r\n\(lines)"
      + "Content-Length: \(body.unicodeScalars.count)\r\n\r\n\(body)"
  }

  private static func deep(_ count: Int, _ begin: String, _ end: String) -> String {
    String(repeating: begin, count: count) + String(repeating: end, count: count)
  }

  /// Where bodies are JSON.
  static let bodies: [Probe] =
    [
      " ", "{", "}", "[", "[]", "{}", "null", "true", "1", "-", "\"", "\"x\"", "{]", "{\"url\"}",
      "{\"url\":}", "{\"url\":,}",
      "{,}", "{\"url\":1}", "{\"url\":null}", "{\"url\":true}", "{\"url\":[]}", "{\"url\":{}}",
      "{\"url\":\"\"}",
      "{\"url\":\"x\"", "{\"url\":\"x}", "{\"url\":\"ftp://x/y\"}", "{\"url\":\"ftp://x/y\",}", "{'url':'x'}",
      "{url:\"x\"}",
      "{\"url\":\"ftp://x\"}{}", "{\"url\":\"ftp://x\"} x", "{\"url\":\"ftp://x\"}\n{\"url\":\"ftp://y\"}",
      "{\"url\":\"ftp://x\",\"url\":\"ftp://y\"}", "{\"url\":\"ftp://x\",\"\\u0075rl\":\"ftp://y\"}",
      "/* x */{\"url\":\"x\"}", "{\"url\":\"x\"}//", "\u{EF}\u{BB}\u{BF}{\"url\":\"ftp://x\"}",
      "\u{FF}\u{FE}{\u{0}}\u{0}", "\u{0}",
      "{\"url\":\"ftp://x\u{0}\"}", "{\"url\":\"ftp://x\\u0000\"}", "{\"url\":\"http://x\\u0000/\"}",
      "{\"url\":\"ftp://x\n\"}",
      "{\"url\":\"ftp://x\t\"}", "{\"url\":\"\\x\"}", "{\"url\":\"\\u12\"}", "{\"url\":\"\\u\"}",
      "{\"url\":\"\\",
      "{\"url\":\"\\ud800\"}", "{\"url\":\"\\udc00\\ud800\"}", "{\"url\":\"\\ud800\\ud800\"}",
      "{\"\\ud800\":1,\"url\":\"ftp://x\"}", "{\"url\":\"\u{FF}\"}", "{\"url\":\"\u{C0}\u{AE}\"}",
      "{\"url\":\"\u{ED}\u{A0}\u{80}\"}",
      "{\"url\":NaN}", "{\"url\":Infinity}", "{\"url\":0x1}", "{\"url\":01}", "{\"url\":1.}", "{\"url\":.1}",
      "{\"url\":+1}",
      "{\"url\":1e400000}", "{\"priority\":1e999,\"url\":\"ftp://x\"}",
      "{\"priority\":99999999999999999999,\"url\":\"ftp://x\"}",
      "{\"priority\":-0,\"url\":\"ftp://x\"}", "{\"priority\":1.5,\"url\":\"ftp://x\"}",
      "{\"priority\":\(String(repeating: "9", count: 5000)),\"url\":\"ftp://x\"}",
      "{\"size\":\(String(repeating: "9", count: 5000))e-4990,\"url\":\"ftp://x\"}",
      "{\"nothing\":1,\"url\":\"ftp://x\"}",
      "{\"path\":\"/etc/passwd\"}", "{\"path\":\"/etc/passwd\",\"url\":\"http://x/y\"}",
      "{\"url\":\"file:///etc/passwd\"}",
      "{\"url\":\"gopher://x/y\"}", "{\"url\":\"javascript:alert(1)\"}", "{\"url\":\"//x/y\"}",
      "{\"url\":\"/x\"}", "{\"url\":\"http:\"}",
      "{\"url\":\"http://\"}", "{\"url\":\"http:///x\"}", "{\"url\":\"http://[::1\"}",
      "{\"url\":\"http://a b/\"}",
      "{\"url\":\"http://x:99999/\"}", "{\"url\":\"http://x:-1/\"}", "{\"url\":\"http://x\\r\\nHost: y/\"}",
      "{\"url\":\"http://x/\\r\\nX: y\"}", "{\"url\":\"ftp://x\",\"participants\":\"ben\"}",
      "{\"url\":\"ftp://x\",\"participants\":[1]}", "{\"url\":\"ftp://x\",\"participants\":[\"ben\",[]]}",
      String(repeating: "[", count: 60_000), deep(29_000, "[", "]"),
      String(repeating: "{\"a\":", count: 10_000),
      "{\"url\":\(deep(20_000, "[", "]"))}", "{\"a\":\(deep(5000, "{\"a\":", "}")),\"url\":\"ftp://x\"}",
      "{\(String(repeating: "\"a\":1,", count: 5000))\"url\":\"ftp://x\"}",
      "{\"\(String(repeating: "a", count: 60_000))\":1}",
      "{\"url\":\"ftp://\(String(repeating: "x", count: 60_000))\"}",
      "{\"url\":\"http://\(String(repeating: "x.", count: 20_000))\"}",
      "\"\(String(repeating: "\\u0041", count: 10_000))\"", String(repeating: "-", count: 60_000),
      String(repeating: " ", count: 65_536),
    ].map { body in
      // Whose upload it is may be asked before whether it can be.
      Probe(
        name: "JSON of \(body.utf8.count) bytes, \(body.prefix(50).debugDescription)", text: fetch(body),
        answers: [[400, 403, 422]], ending: .kept)
    }
    + [
      answered("JSON with half a character", fetch("{\"url\":\"http://127.0.0.1:1/\\ud800\"}"), 400),
      answered("JSON without a byte", fetch(""), 400),
      // Its last byte may have come before the answer, or not.
      Probe(
        name: "JSON of 65,537 bytes", text: fetch(String(repeating: " ", count: 65_537)), answers: [[413]],
        ending: .either),
      early("JSON of another type", fetch("{}", "Content-Type: text/plain\r\n"), 415),
      early("JSON of no type", fetch("{}", ""), 415),
      early(
        "JSON of two types", fetch("{}", "Content-Type: application/json\r\nContent-Type: text/plain\r\n"),
        415),
      answered(
        "JSON with a parameter", fetch("{}", "Content-Type: application/json; charset=utf-16\r\n"), 400),
      answered("JSON in capitals", fetch("{}", "Content-Type: APPLICATION/JSON\r\n"), 400),
      early("JSON of a form", fetch("url=x", "Content-Type: application/x-www-form-urlencoded\r\n"), 415),
    ]
}
