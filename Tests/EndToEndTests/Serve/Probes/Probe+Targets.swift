extension Probe {
  /// Paths that are understood in two ways, or lead out of where they begin.
  static let paths: [Probe] =
    [
      "/..", "/.", "/../version", "/version/..", "/v1/../version", "/./version", "/version/.", "//version",
      "/version//",
      "/v1//attachments", "/../../../../etc/passwd", "/%2e%2e/version", "/%2e/version", "/.%2e/version",
      "/%2E%2E/version",
      "/version/%2e%2e", "/v1/attachments/..%2f..%2fmetrics", "/version%2f", "/%2fversion",
      "/v1%2fattachments",
      "/version%00", "/%00", "/v1/attachments/a%00b", "/%c0%ae%c0%ae/version", "/%c0%afetc", "/%e0%80%af",
      "/%f0%80%80%af",
      "/%ff", "/%fe", "/%80", "/%c3", "/%ed%a0%80", "/%f4%90%80%80", "/%", "/%2", "/%zz", "/%u0041",
      "/%%32%65",
      "/%-1", "/version%", "//", "///", "//x/version", String(repeating: "/b", count: 33),
      String(repeating: "/c", count: 3000),
    ].map { answered("the path \($0.prefix(40))", get($0), 400) }
    + [
      "/", "/VERSION", "/version;a=b", "/version%20", "/%20version", "/version%0a", "/version%0d%0aX:%20y",
      "/version%1b%5b2J",
      "/version.json", "/%5c..%5c..%5cversion", "/..%5cversion", "/..;/version", "/...",
      "/%252e%252e/version", "/%252f",
      "/v1", "/v1/", "/v2/attachments", "/index.php", "/.env", "/.git/config", "/wp-login.php", "/cgi-bin/sh",
      "/v1/nothing", "/v1/attachments/a/b/c", "/%ef%bc%8f", "/v1/%ef%bc%8e%ef%bc%8e/version",
      "/vers%e2%80%8bion",
      String(repeating: "/a", count: 32), "/\(String(repeating: "%61", count: 2500))",
    ].map { answered("the path \($0.prefix(40))", get($0), 404) }
    + [
      "/version/", "/%76ersion", "/%76%65%72%73%69%6f%6e", "/version?", "/version?a=b", "/version/?a",
      "/version?\(String(repeating: "a&", count: 256))",
    ].map {
      answered("the path \($0.prefix(40))", get($0), 200)
    }
    + ["<", ">", "\"", "\\", "^", "`", "{", "|", "}"].map {
      Probe(
        name: "the path /version\($0)", text: get("/version\($0)"), answers: [[400, 404]], ending: .either)
    }
    + [
      "%27%20OR%201=1--", "%25", "*", "_", "%2a", "%5b", "0", "-1", "%c3%a9", "%f0%9f%98%80", "%e2%80%aex",
      "%0a", "%1b%5b2J",
      "00000000-0000-0000-0000-000000000000", "A%20B", "%24%7bjndi:x%7d", String(repeating: "a", count: 7000),
    ].flatMap { id in
      ["", "/content", "/link"].map {
        answered("the attachment \(id.prefix(20))\($0)", asked("/v1/attachments/\(id)\($0)"), 404)
      }
    }
    + [
      answered("an attachment, to who has no token", get("/v1/attachments/ATTACHMENT"), 401),
      answered("an attachment in capitals", asked("/v1/attachments/ATTACHMEN%54X"), 404),
      answered("a part of an id", asked("/v1/attachments/0"), 404),
      answered(
        "a link that is none", get("/v1/attachments/ATTACHMENT/content?token=00&until=9&mac=00"), 401, 400),
      answered(
        "a link with empty parts", get("/v1/attachments/ATTACHMENT/content?token=&expires=&signature="), 401,
        400),
    ]

  /// Queries that are malformed, or ask for what there is not.
  static let queries: [Probe] =
    [
      "a=%", "a=%2", "%zz", "a=%00", "%00=b", "a=%ff", "%c0%ae=b", "a=%ed%a0%80", "a=b%",
      String(repeating: "a&", count: 257),
      String(repeating: "a=b&", count: 1500),
    ].map { answered("the query \($0.prefix(40))", get("/version?" + $0), 400) }
    + [
      "limit=0", "limit=-1", "limit=201", "limit=1e2", "limit=0x10", "limit=", "limit", "limit=1.0",
      "limit=%31%00",
      "limit=99999999999999999999", "limit=%D9%A1", "limit=NaN", "limit=%201", "status=nonsense",
      "status=queued,nonsense",
      "status=COMPLETED", "since=yesterday", "since=-1", "since=99999999999999999999", "since=2026-02-31",
      "since=1e9h",
      "since=9999999999999999999d", "until=", "sha256=", "sha256=00", "after=x", "after=%FF", "after=0",
      "after=-1",
      "after=99999999999999999999-99999999999999999999", "after=", "unknown=1", "%6cimi=1", "Limit=1",
      "limit[]=1",
      "=", "=1", "a&b", "sha256=\(String(repeating: "g", count: 64))",
      "sha256=\(String(repeating: "0", count: 65))",
      "after=\(String(repeating: "A", count: 6000))",
    ].map { answered("the list with \($0.prefix(40))", asked("/v1/attachments?" + $0), 400) }
    + [
      "", "&", "&&&", "limit=1", "limit=%31", "%6cimit=1", "limit=+1", "limit=1&limit=2", "status=",
      "status=,,",
      "status=completed,completed", "name=%00", "name='", "name=%25", "name=*",
      "name=\(String(repeating: "%c3%a9", count: 1000))",
      "code=%E2%80%AE", "conversation=..%2f..", "type=TEXT/PLAIN", "since=2h", "stage=%27%3b--",
    ].map { answered("the list with '\($0.prefix(40))'", asked("/v1/attachments?" + $0), 200, 400) }
    + [
      "filename=", "filename=..", "filename=..%2f..%2fetc%2fpasswd", "filename=%0d%0aX:%20y",
      "filename=%1b%5b2J",
      "filename=a&filename=b", "filename=\(String(repeating: "a", count: 5000))", "filename=%E2%80%AEtxt.exe",
      "filename=CON",
      "conversationId=..%2f..%2f..", "conversationId=%2fetc", "conversationId=a%2fb", "messageId=",
      "reference=%0a",
      "participants=%5B", "participants=%5B%5B%5B", "participants=null", "filetype=%0d%0a", "filetype=x",
      "type=a%2fb%3bc",
    ].map {
      // What comes of such names is the pipeline's to decide, and the store's.
      Probe(
        name: "a content with \($0.prefix(40))",
        text:
          "POST /v1/attachments?\($0) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer TOKEN\r\nContent-Length: 5\r\n\r\nhello",
        answers: [[201, 400, 403, 422]], ending: .either)
    }
}
