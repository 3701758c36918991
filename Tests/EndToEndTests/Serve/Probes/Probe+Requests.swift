extension Probe {
  private static func line(_ line: String) -> String { "\(line)\r\nHost: x\r\n\r\n" }

  /// First lines, and what stands before them.
  static let requestLines: [Probe] = [
    refused("HTTP/0.9", "GET /version\r\n\r\n", [400, 505]),
    refused("HTTP/0.9, as it was", "GET /version\r\n", [400, 505]),
    refused("HTTP/0.9 by number", line("GET /version HTTP/0.9"), [505]),
    refused("HTTP/1.2", line("GET /version HTTP/1.2"), [505]),
    refused("HTTP/1.9", line("GET /version HTTP/1.9"), [505]),
    refused("HTTP/1.01", line("GET /version HTTP/1.01"), [400, 505]),
    refused("HTTP/01.1", line("GET /version HTTP/01.1"), [400, 505]),
    refused("HTTP/1.1.1", line("GET /version HTTP/1.1.1"), [400, 505]),
    refused("HTTP/1,1", line("GET /version HTTP/1,1"), [400, 505]),
    refused("HTTP/1", line("GET /version HTTP/1"), [400, 505]),
    refused("HTTP/1.", line("GET /version HTTP/1."), [400, 505]),
    refused("HTTP/.1", line("GET /version HTTP/.1"), [400, 505]),
    refused("HTTP/-1.1", line("GET /version HTTP/-1.1"), [400, 505]),
    refused("HTTP/2", line("GET /version HTTP/2"), [400, 505]),
    refused("HTTP/2.0", line("GET /version HTTP/2.0"), [505]),
    refused("HTTP/3.0", line("GET /version HTTP/3.0"), [505]),
    refused("HTTP/65537.1", line("GET /version HTTP/65537.1"), [400, 505]),
    refused("the version in small letters", line("GET /version http/1.1"), [400, 505]),
    refused("the version with a space in it", line("GET /version HTTP /1.1")),
    refused("a space after the version", line("GET /version HTTP/1.1 "), [400, 505]),
    refused("a tab after the version", line("GET /version HTTP/1.1\t"), [400, 505]),
    refused("a word after the version", line("GET /version HTTP/1.1 GET"), [400, 505]),
    refused("another protocol", line("GET /version RTSP/1.0"), [400, 501, 505]),
    refused("another protocol's method", line("DESCRIBE /version RTSP/1.0"), [400, 501, 505]),
    refused("a source of ICE", line("SOURCE /version ICE/1.0"), [400, 501, 505]),
    refused("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [400, 505]),
    refused("a PRI of HTTP/1.1", line("PRI * HTTP/1.1"), [400, 501, 505]),
    refused("two spaces before the target", line("GET  /version HTTP/1.1")),
    refused("two spaces after the target", line("GET /version  HTTP/1.1")),
    refused("tabs instead of spaces", line("GET\t/version\tHTTP/1.1")),
    refused("a vertical tab instead of a space", line("GET\u{0B}/version HTTP/1.1")),
    refused("no target", line("GET HTTP/1.1"), [400, 505]),
    refused("a space instead of a target", line("GET  HTTP/1.1"), [400, 505]),
    refused("no method", line("/version HTTP/1.1")),
    refused("a space before the method", line(" GET /version HTTP/1.1")),
    refused("a NUL before the method", line("\u{0}GET /version HTTP/1.1")),
    refused("a byte order mark before the method", line("\u{EF}\u{BB}\u{BF}GET /version HTTP/1.1")),
    refused("a bare LF before the method", line("\nGET /version HTTP/1.1")),
    refused("a bare CR before the method", line("\rGET /version HTTP/1.1")),
    refused("two empty lines before the method", line("\r\n\r\nGET /version HTTP/1.1")),
    refused("a NUL in the method", line("GE\u{0}T /version HTTP/1.1")),
    refused("the method in small letters", line("get /version HTTP/1.1"), [400, 501]),
    refused("the method in both", line("Get /version HTTP/1.1"), [400, 501]),
    refused("a longer method", line("GETS /version HTTP/1.1"), [400, 501]),
    refused("a shorter method", line("GE /version HTTP/1.1"), [400, 501]),
    refused(
      "a method of 1,000 letters", line("\(String(repeating: "A", count: 1000)) /version HTTP/1.1"),
      [400, 501]),
    refused("a method with a colon", line("Host: /version HTTP/1.1"), [400, 501]),
    refused("CONNECT", "CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n", [400, 405, 501]),
    refused("CONNECT to a path", line("CONNECT /version HTTP/1.1"), [400, 405, 501]),
    refused("an authority as a target", line("GET x:80 HTTP/1.1")),
    refused("an asterisk of GET", line("GET * HTTP/1.1")),
    refused("an asterisk and more", line("OPTIONS *x HTTP/1.1")),
    refused("a target without a slash", line("GET version HTTP/1.1")),
    refused("a target with a space", line("GET /ver sion HTTP/1.1"), [400, 505]),
    refused("a target with a NUL", line("GET /ver\u{0}sion HTTP/1.1")),
    refused("a target with a tab", line("GET /ver\tsion HTTP/1.1")),
    refused("a target with a DEL", line("GET /ver\u{7F}sion HTTP/1.1")),
    refused("a target with bytes above 7F", line("GET /\u{C3}\u{A9} HTTP/1.1")),
    refused("a target with a fragment", line("GET /version#a HTTP/1.1")),
    refused("a query with a fragment", line("GET /version?a#b HTTP/1.1")),
    refused("another host in the target", line("GET http://y/version HTTP/1.1")),
    refused("another port in the target", line("GET http://x:81/version HTTP/1.1")),
    refused("a user in the target", line("GET http://u@x/version HTTP/1.1")),
    refused("a user and a password in the target", line("GET http://u:p@x/version HTTP/1.1")),
    refused("no host in the target", line("GET http:///version HTTP/1.1")),
    refused("one slash after the scheme", line("GET http:/version HTTP/1.1")),
    refused("another scheme", line("GET ftp://x/version HTTP/1.1")),
    refused("file as scheme", line("GET file:///etc/passwd HTTP/1.1")),
    refused("the start of TLS", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{FC}\u{3}\u{3}\r\n\r\n"),
    refused("a greeting of SSH", "SSH-2.0-OpenSSH_9.2\r\n"),
    refused("a greeting of SMTP", "EHLO x\r\n", [400, 501]),
    refused("an answer", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    refused("bytes FF", String(repeating: "\u{FF}", count: 64) + "\r\n\r\n"),
    refused("the header of a proxy", "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n", [400, 501]),
    refused(
      "the header of a proxy, in binary",
      "\r\n\r\n\u{0}\r\nQUIT\n\u{21}\u{11}\u{0}\u{C}\u{7F}\u{0}\u{0}\u{1}\u{7F}\u{0}\u{0}\u{1}\u{1}\u{BB}\u{1}\u{BB}"
    ),
    refused("a line of 8,194 bytes", line(long(8194)), [414]),
    refused("a line of 30,000 bytes", line(long(30_000)), [414]),
    refused("a line without an end", String(repeating: "A", count: 20_000), [414]),
    answered("a line of 8,192 bytes", line(long(8192)), 200),
    answered("an empty line before the method", line("\r\nGET /version HTTP/1.1"), 200),
    answered("the target in absolute form", line("GET http://x/version HTTP/1.1"), 200),
    answered("the target in absolute form, of TLS", line("GET https://x/version HTTP/1.1"), 200),
    answered("the scheme in capitals", line("GET HTTP://x/version HTTP/1.1"), 200),
    answered("an asterisk", line("OPTIONS * HTTP/1.1"), 200, 204, 404),
    answered("OPTIONS", line("OPTIONS /version HTTP/1.1"), 204),
    answered("TRACE", line("TRACE /version HTTP/1.1"), 405, 501),
    answered("PROPFIND", line("PROPFIND /version HTTP/1.1"), 405, 501),
    answered("PURGE", line("PURGE /version HTTP/1.1"), 405, 501),
    Probe(name: "HEAD", text: line("HEAD /version HTTP/1.1"), answers: [[200]], ending: .kept, isHead: true),
    Probe(
      name: "HTTP/1.0", text: "GET /version HTTP/1.0\r\n\r\n" + stowaway, answers: [[200]], ending: .closed),
    answered("HTTP/1.0, kept", "GET /version HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200),
    waiting("half a line", "GET /vers"),
    waiting("a head without an end", "GET /version HTTP/1.1\r\nHost: x\r\n"),
    waiting("an empty line", "\r\n"),
  ]

  /// A request line of so many bytes, its end included.
  private static func long(_ count: Int) -> String {
    "GET /version?a=\(String(repeating: "a", count: count - 26)) HTTP/1.1"
  }

  /// Bodies where there are none, several requests at once, and what they want of the connection.
  static let connections: [Probe] = [
    early("GET with a body", get("/version", "Content-Length: \(stowaway.utf8.count)\r\n"), 200),
    early(
      "GET with chunks", get("/version", "Transfer-Encoding: chunked\r\n") + "5\r\nhello\r\n0\r\n\r\n", 200),
    Probe(
      name: "HEAD with a body",
      text: "HEAD /version HTTP/1.1\r\nHost: x\r\nContent-Length: \(stowaway.utf8.count)\r\n\r\n" + stowaway,
      answers: [[200]], ending: .closed, isHead: true),
    early(
      "DELETE with a body",
      "DELETE /v1/uploads/x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer TOKEN\r\nTus-Resumable: 1.0.0\r\n"
        + "Content-Length: 5\r\n\r\nhello", 404),
    early(
      "OPTIONS with a body", "OPTIONS /v1/uploads HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", 204),
    early("PUT with a body", "PUT /version HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", 405),
    early("a body for nobody", "POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", 404),
    early(
      "a body without a token", "POST /v1/attachments HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
      401),
    early("a body for /livez", "POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", 200, 405),
    answered("GET with an empty body", get("/version", "Content-Length: 0\r\n"), 200),
    several("ten at once", String(repeating: get(), count: 10), Array(repeating: 200, count: 10)),
    several(
      "a hundred at once", String(repeating: get("/livez"), count: 100), Array(repeating: 200, count: 100)),
    several(
      "bodies one behind the other",
      post("Content-Length: 5\r\n", "hello") + post("Content-Length: 2\r\n", "hi") + get(), [201, 201, 200]),
    several(
      "chunks one behind the other",
      chunked("5\r\nhello\r\n0\r\n\r\n") + chunked("2\r\nhi\r\n0\r\n\r\n") + get(), [201, 201, 200]),
    several("an empty line between", get() + "\r\n" + get(), [200, 200]),
    several(
      "the first wants to be the last", get("/version", "Connection: close\r\n") + get(), [200], .closed),
    several("the second is wrong", get() + "GET /version HTTP/1.1\r\n\r\n" + get(), [200, 400], .closed),
    several(
      "the second has two lengths", get() + post("Content-Length: 1\r\nContent-Length: 2\r\n") + get(),
      [200, 400], .closed),
    several("Connection: CLOSE", get("/version", "Connection: CLOSE\r\n"), [200], .closed),
    several("close among others", get("/version", "Connection: x, close\r\n"), [200], .closed),
    several("close and keep-alive", get("/version", "Connection: keep-alive, close\r\n"), [200], .closed),
    answered("Connection empty", get("/version", "Connection:\r\n"), 200),
    answered("Connection: closed", get("/version", "Connection: closed\r\n"), 200),
    answered("Connection: Host", get("/version", "Connection: Host\r\n"), 200),
    // It is none of HTTP's, and llhttp heeds it, as others do.
    several("Proxy-Connection: close", get("/version", "Proxy-Connection: close\r\n"), [200], .closed),
    answered("Keep-Alive: timeout=-1", get("/version", "Keep-Alive: timeout=-1\r\n"), 200),
    answered(
      "an upgrade to WebSocket",
      get(
        "/version",
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n"
      ),
      200),
    answered(
      "an upgrade to HTTP/2",
      get("/version", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"),
      200),
    answered("an upgrade to TLS", get("/version", "Connection: Upgrade\r\nUpgrade: TLS/1.0\r\n"), 200),
    several(
      "an upgrade and a body",
      post("Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 5\r\n", "hello") + get(), [201, 200]),
    Probe(
      name: "100-continue", text: post("Expect: 100-continue\r\nContent-Length: 5\r\n"), answers: [],
      ending: .waits, isContinued: true),
    answered(
      "100-continue, and the body at once", post("Expect: 100-continue\r\nContent-Length: 5\r\n", "hello"),
      201),
    answered("100-Continue", post("Expect: 100-Continue\r\nContent-Length: 5\r\n", "hello"), 201),
    answered("100-continue without a body", get("/version", "Expect: 100-continue\r\n"), 200),
    early(
      "100-continue without a token",
      "POST /v1/attachments HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n", 401),
    early("100-continue, too long", post("Expect: 100-continue\r\nContent-Length: 500000\r\n"), 413),
    refused("another expectation", post("Expect: 200-ok\r\nContent-Length: 5\r\n"), [417]),
    refused(
      "two expectations", post("Expect: 100-continue\r\nExpect: 100-continue\r\nContent-Length: 5\r\n"), [417]
    ),
    refused(
      "a list of expectations", post("Expect: 100-continue, 100-continue\r\nContent-Length: 5\r\n"), [417]),
    refused("an empty expectation", post("Expect:\r\nContent-Length: 5\r\n"), [417]),
    refused(
      "an expectation with a parameter", post("Expect: 100-continue;a=b\r\nContent-Length: 5\r\n"), [417]),
  ]
}
