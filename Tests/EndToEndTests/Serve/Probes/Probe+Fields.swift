extension Probe {
  /// Which host is meant.
  static let hosts: [Probe] =
    [
      refused("no Host", "GET /version HTTP/1.1\r\n\r\n"),
      refused("Host twice", get("/version", "Host: x\r\n")),
      refused("Host twice, different", get("/version", "Host: y\r\n")),
      refused("Host twice with HTTP/1.0", "GET /version HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n"),
      refused("Host empty", "GET /version HTTP/1.1\r\nHost:\r\n\r\n"),
      refused("Host of white space", "GET /version HTTP/1.1\r\nHost: \t \r\n\r\n"),
    ]
    + [
      "x, y", "x y", "x\ty", "x/y", "x\\y", "x?y", "x#y", "u@x", "http://x", "<x>", "\"x\"", "x;y", "x=y",
      "*",
      "\u{C3}\u{A9}", "x|y", "{x}", "x'y", "x`y", "x$y", "x(y)",
    ].map { refused("Host: \($0)", "GET /version HTTP/1.1\r\nHost: \($0)\r\n\r\n") }
    + [
      "\u{0}", "x\u{0}y", "x\u{1}", "x\u{7F}", "x\r\n y", "x\ny", "x\ry",
    ].map {
      refused("Host with a control: \($0.debugDescription)", "GET /version HTTP/1.1\r\nHost: \($0)\r\n\r\n")
    }
    + ["x:80", "[::1]:80", "127.0.0.1", "X.Example.COM.", "xn--e1afmkfd", "a_b"].map {
      answered("Host: \($0)", "GET /version HTTP/1.1\r\nHost: \($0)\r\n\r\n", 200)
    }
    + [
      answered("HOST", "GET /version HTTP/1.1\r\nHOST:x\r\n\r\n", 200),
      refused("a space before Host's colon", "GET /version HTTP/1.1\r\nHost : x\r\n\r\n"),
      refused("a folded Host", "GET /version HTTP/1.1\r\nHost:\r\n x\r\n\r\n"),
      refused("a space before Host", "GET /version HTTP/1.1\r\n Host: x\r\n\r\n"),
      answered("X-Forwarded-Host is none", get("/version", "X-Forwarded-Host: y\r\nX-Host: y\r\n"), 200),
      answered(
        "other paths in fields", get("/version", "X-Original-URL: /metrics\r\nX-Rewrite-URL: /metrics\r\n"),
        200),
    ]

  /// Names and values, how many and how long.
  static let fields: [Probe] =
    [
      "", " ", "X ", "X\t", "X Y", "X\tY", "X\u{0}", "\u{0}X", "X\u{1}", "X\u{7F}", "X\u{80}", "\u{C3}\u{A9}",
      "X(", "X)",
      "X/Y", "X@", "X[", "X]", "X{", "X}", "X\"", "X\\", "X;", "X<", "X=", "X>", "X?", "X,",
    ].map { refused("a name \($0.debugDescription)", get("/version", "\($0): y\r\n")) }
    + [
      "\u{0}", "a\u{0}b", "\u{1}", "a\u{B}b", "a\u{C}b", "\u{1B}[2J", "\u{7F}", "a\rb", "a\nb", "a\r\n b",
      "a\r\n\tb",
      "\r\n b", "a\r\r\nb", "a\r",
    ].map { refused("a value \($0.debugDescription)", get("/version", "X: \($0)\r\n")) }
    + [
      "", " ", "\t", "a\tb", "\u{80}", "\u{FF}\u{FE}", "\u{C3}\u{A9}", ":", ": : :", "a,b,,", "\"", "\\",
      "%00", "%0d%0aX: y",
    ].map { answered("the value \($0.debugDescription)", get("/version", "X: \($0)\r\n"), 200) }
    + [
      refused("no colon", get("/version", "X\r\n")),
      refused("a line that is a word and more", get("/version", "GET /metrics HTTP/1.1\r\n")),
      refused(
        "the first field goes on with the request line", "GET /version HTTP/1.1\r\n X: y\r\nHost: x\r\n\r\n"),
      refused("bare LFs", "GET /version HTTP/1.1\nHost: x\n\n"),
      refused("bare CRs", "GET /version HTTP/1.1\rHost: x\r\r"),
      refused("a bare LF at the end of the header", "GET /version HTTP/1.1\r\nHost: x\r\n\n"),
      refused("LF and CR", "GET /version HTTP/1.1\n\rHost: x\n\r\n\r"),
      refused("two CRs and an LF", "GET /version HTTP/1.1\r\r\nHost: x\r\r\n\r\r\n"),
      refused(
        "a line separator of Unicode", "GET /version HTTP/1.1\u{C2}\u{85}Host: x\u{C2}\u{85}\r\n\r\n",
        [400, 505]),
      answered("a name of all signs", get("/version", "!#$%&'*+-.^_`|~09azAZ: y\r\n"), 200),
      answered("no space after the colon", get("/version", "X:y\r\n"), 200),
      answered("a name with a colon in its value", get("/version", "X:Y: z\r\n"), 200),
      answered("a field twice", get("/version", "X: y\r\nX: z\r\n"), 200),
      answered("100 fields", get("/version", String(repeating: "X: y\r\n", count: 99)), 200),
      refused("101 fields", get("/version", String(repeating: "X: y\r\n", count: 100)), [431]),
      refused("5,000 fields", get("/version", String(repeating: "X: y\r\n", count: 5000)), [431]),
      answered("a head of 32 KiB", head(32 << 10), 200),
      refused("a head of 32 KiB and 2 bytes", head((32 << 10) + 2), [431]),
      refused("a head of 1 MiB", head(1 << 20), [431]),
      refused("a name without an end", get().dropLast() + String(repeating: "X", count: 40_000), [431]),
      answered(
        "a value of 10,000 bytes above 7F",
        get("/version", "X: \(String(repeating: "\u{FF}", count: 10_000))\r\n"), 200),
      Probe(
        name: "three values of 10,000 bytes above 7F",
        text: get(
          "/version", String(repeating: "X: \(String(repeating: "\u{FF}", count: 10_000))\r\n", count: 3)),
        answers: [[200, 431]], ending: .kept),
      refused(
        "a value of 30,000 bytes above 7F",
        get("/version", "X: \(String(repeating: "\u{FF}", count: 30_000))\r\n"), [431]),
    ]

  /// Of so many bytes, in fields of at most 1,000.
  private static func head(_ count: Int) -> String {
    var lines = ""
    var rest = count - get().utf8.count
    while rest > 0 {
      let some = rest < 2000 ? rest : 1000
      lines += "X: \(String(repeating: "y", count: some - 5))\r\n"
      rest -= some
    }
    return get("/version", lines)
  }

  /// Who asks, and for what method.
  static let credentials: [Probe] =
    [
      "", " ", "Bearer", "Bearer ", "Bearer x", "Bearer TOKEN x", "Basic TOKEN", "Basic", "TOKEN",
      "Bearer: TOKEN",
      "Bearer\u{A0}TOKEN", "Bearer TOKEN\u{A0}", "Bearer \u{FF}\u{FE}", "Bearer \"TOKEN\"",
      "Bearer TOKEN,Bearer TOKEN",
      "Bearer %00", "Bearer ' OR 1=1--", "Bearer %s%s%n", "Bearer ../../etc/passwd", "Negotiate TOKEN",
      "Bearer sluice_",
    ].map {
      answered(
        "the credential \($0.debugDescription)", get("/v1/attachments", "Authorization: \($0)\r\n"), 401)
    }
    + [
      answered("bearer", get("/v1/attachments", "authorization: bearer TOKEN\r\n"), 200),
      answered(
        "two spaces after Bearer", get("/v1/attachments", "Authorization: Bearer  TOKEN\r\n"), 200, 401),
      answered(
        "a credential twice",
        get("/v1/attachments", "Authorization: Bearer TOKEN\r\nAuthorization: Bearer TOKEN\r\n"), 401),
      answered("a credential and a worse one", asked("/v1/attachments", "Authorization: Basic x\r\n"), 401),
      answered(
        "a credential of 20,000 bytes",
        get("/v1/attachments", "Authorization: Bearer \(String(repeating: "a", count: 20_000))\r\n"), 401),
      answered(
        "a credential for another server", get("/v1/attachments", "Proxy-Authorization: Bearer TOKEN\r\n"),
        401),
      answered("a credential in the query", get("/v1/attachments?token=TOKEN"), 401),
      answered("a credential in a cookie", get("/v1/attachments", "Cookie: token=TOKEN\r\n"), 401),
      answered(
        "another sender", get("/v1/attachments", "X-Forwarded-User: ann\r\nRemote-User: ann\r\n"), 401),
      answered("the figures, of a user", asked("/metrics"), 403),
      answered("the figures, from this machine", get("/metrics", "X-Forwarded-For: 127.0.0.1\r\n"), 401),
      answered("a method in a field of GET", get("/version", "X-HTTP-Method-Override: DELETE\r\n"), 200),
      answered(
        "GET in a field of POST", "POST /version HTTP/1.1\r\nHost: x\r\nX-HTTP-Method-Override: GET\r\n\r\n",
        200),
      answered(
        "a method that is none",
        "POST /version HTTP/1.1\r\nHost: x\r\nX-HTTP-Method-Override: G\u{FF}T\r\n\r\n", 405),
      answered(
        "an empty method", "POST /version HTTP/1.1\r\nHost: x\r\nX-HTTP-Method-Override:\r\n\r\n", 405),
      answered(
        "CONNECT in a field", "POST /version HTTP/1.1\r\nHost: x\r\nX-HTTP-Method-Override: CONNECT\r\n\r\n",
        405),
      answered(
        "a method twice",
        "POST /version HTTP/1.1\r\nHost: x\r\nX-HTTP-Method-Override: GET\r\nX-HTTP-Method-Override: PUT\r\n\r\n",
        405),
    ]
}
