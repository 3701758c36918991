import Foundation
import Wire

/// An answer that is wrong, or no content, and what has to come of it.
struct BrokenAnswer: Sendable {
  var name: String
  /// `fail gone`, `retry short-body`: the verdict and its code.
  var expected: String
  var query = ""
  var change: @Sendable (inout TransferWork) -> Void = { _ in }
  var answer: @Sendable (Exchange) -> Void

  /// Bytes that are sent as they are, after which the connection is closed.
  static func raw(
    _ name: String, _ expected: String, _ text: String,
    _ change: @escaping @Sendable (inout TransferWork) -> Void = { _ in }
  ) -> BrokenAnswer {
    BrokenAnswer(name: name, expected: expected, change: change) { exchange in
      exchange.send(text)
      exchange.close()
    }
  }

  static func status(_ status: Int, _ expected: String, _ headers: String..., query: String = "")
    -> BrokenAnswer
  {
    let headers = headers
    return BrokenAnswer(
      name: "\(status)\(query.isEmpty ? "" : " to a signed link")", expected: expected, query: query
    ) { exchange in exchange.answer(status, headers, []) }
  }

  private static let ok = "HTTP/1.1 200 OK\r\n"

  static let all: [BrokenAnswer] =
    lengths + chunks + heads + silence + encodings + statuses + redirects + sizes

  private static let lengths: [BrokenAnswer] = [
    raw(
      "a short body", "retry short-body",
      ok + "Content-Length: 1000\r\n\r\n" + String(repeating: "x", count: 500)),
    BrokenAnswer(name: "a short body and a reset", expected: "retry short-body") { exchange in
      exchange.send(ok + "Content-Length: 100000\r\n\r\n" + String(repeating: "x", count: 500))
      usleep(100_000)
      exchange.reset()
    },
    raw("no body at all", "retry short-body", ok + "Content-Length: 1000\r\n\r\n"),
    raw("a negative length", "retry malformed-answer", ok + "Content-Length: -5\r\n\r\nhello"),
    raw("a length that is no number", "retry malformed-answer", ok + "Content-Length: five\r\n\r\nhello"),
    raw("a length with a sign", "retry malformed-answer", ok + "Content-Length: +5\r\n\r\nhello"),
    raw("a hexadecimal length", "retry malformed-answer", ok + "Content-Length: 0x5\r\n\r\nhello"),
    raw("an empty length", "retry malformed-answer", ok + "Content-Length:\r\n\r\nhello"),
    raw("a list of lengths", "retry malformed-answer", ok + "Content-Length: 5, 5\r\n\r\nhello"),
    raw(
      "a length beyond all numbers", "retry malformed-answer",
      ok + "Content-Length: 99999999999999999999999\r\n\r\nhello"),
    raw("two lengths", "retry malformed-answer", ok + "Content-Length: 5\r\nContent-Length: 4\r\n\r\nhello"),
    raw(
      "a length and chunks", "retry malformed-answer",
      ok + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
  ]

  private static let chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"
  private static let trailers = Array(
    repeating: "X-T: \(String(repeating: "x", count: 1000))\r\n", count: 100
  ).joined()
  private static let chunks: [BrokenAnswer] = [
    raw("chunks that break off", "retry short-body", chunked + "5\r\nhello\r\n5\r\nhe"),
    raw("chunks without an end", "retry short-body", chunked + "5\r\nhello\r\n"),
    raw("a chunk without a length", "retry malformed-answer", chunked + "zz\r\nhello\r\n0\r\n\r\n"),
    raw("a chunk with a negative length", "retry malformed-answer", chunked + "-5\r\nhello\r\n0\r\n\r\n"),
    raw(
      "a chunk beyond all numbers", "retry malformed-answer",
      chunked + "FFFFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n"),
    raw(
      "trailers without end", "retry malformed-answer", chunked + "5\r\nhello\r\n0\r\n" + trailers + "\r\n"),
    raw("a chunk that is longer than it says", "retry malformed-answer", chunked + "3\r\nhello\r\n0\r\n\r\n"),
  ]

  private static let heads: [BrokenAnswer] = [
    raw("NUL in a header", "retry malformed-answer", ok + "X-A: a\0b\r\nContent-Length: 5\r\n\r\nhello"),
    raw("CR in a header", "retry malformed-answer", ok + "X-A: a\rX-B: b\r\nContent-Length: 5\r\n\r\nhello"),
    raw(
      "a length that goes on", "retry malformed-answer", ok + "Content-Length: 5\r\n 5\r\n\r\nhello"),
    raw(
      "a length in its second line", "retry malformed-answer", ok + "Content-Length:\r\n 5\r\n\r\nhello"),
    raw(
      "chunks in a second line", "retry malformed-answer",
      ok + "Transfer-Encoding:\r\n chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
    raw(
      "a first header that goes on", "retry malformed-answer|retry unreachable",
      ok + " X-A: a\r\nContent-Length: 5\r\n\r\nhello"),
    raw("a header without a colon", "retry malformed-answer", ok + "Content-Length 5\r\n\r\nhello"),
    raw("a space before the colon", "retry malformed-answer", ok + "Content-Length : 5\r\n\r\nhello"),
    raw("a header without a name", "retry malformed-answer", ok + ": 5\r\n\r\nhello"),
    BrokenAnswer(name: "endless headers", expected: "retry malformed-answer") { exchange in
      exchange.send(ok)
      var count = 0
      while exchange.send("X-\(count): \(String(repeating: "y", count: 1000))\r\n"), count < 100_000 {
        count += 1
      }
    },
    raw(
      "a header of 1 MB", "retry malformed-answer",
      ok + "X-A: \(String(repeating: "y", count: 1 << 20))\r\nContent-Length: 5\r\n\r\nhello"),
    raw(
      "a thousand informational answers", "retry malformed-answer",
      String(repeating: "HTTP/1.1 103 Early\r\n\r\n", count: 1000) + ok + "Content-Length: 5\r\n\r\nhello"),
    raw(
      "another protocol", "retry malformed-answer",
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nhello"),
    raw("a status below 100", "retry malformed-answer", "HTTP/1.1 099 x\r\nContent-Length: 5\r\n\r\nhello"),
    raw("a status above 599", "retry malformed-answer", "HTTP/1.1 999 x\r\nContent-Length: 5\r\n\r\nhello"),
    raw(
      "a status of four digits", "retry malformed-answer", "HTTP/1.1 2000 x\r\nContent-Length: 5\r\n\r\nhello"
    ),
    raw("no status", "retry malformed-answer", "HTTP/1.1 OK\r\nContent-Length: 5\r\n\r\nhello"),
    raw("no head", "retry malformed-answer", "hello, this is HTTP/0.9 and nothing but content\r\n"),
    raw("a head that breaks off", "retry unreachable|retry malformed-answer", ok + "Content-Le"),
  ]

  private static let silence: [BrokenAnswer] = [
    BrokenAnswer(name: "a connection that is closed", expected: "retry unreachable") { $0.close() },
    BrokenAnswer(name: "a connection that is reset", expected: "retry unreachable") { $0.reset() },
    BrokenAnswer(name: "silence", expected: "retry stalled") { _ in usleep(3_000_000) },
    BrokenAnswer(name: "silence in the body", expected: "retry stalled") { exchange in
      exchange.send(ok + "Content-Length: 1000\r\n\r\nhello")
      usleep(3_000_000)
    },
    BrokenAnswer(name: "a slow body", expected: "retry timed-out") { exchange in
      exchange.send(ok + "Content-Length: 1000000\r\n\r\n")
      for _ in 0..<200 {
        if !exchange.send(String(repeating: "x", count: 400)) { return }
        usleep(50_000)
      }
    },
    BrokenAnswer(name: "a body that drips", expected: "retry stalled") { exchange in
      exchange.send(ok + "Content-Length: 1000\r\n\r\n")
      for _ in 0..<200 {
        if !exchange.send("x") { return }
        usleep(50_000)
      }
    },
    BrokenAnswer(name: "a slow head", expected: "retry stalled") { exchange in
      exchange.send(ok)
      for _ in 0..<200 {
        if !exchange.send("X-A: b\r\n") { return }
        usleep(50_000)
      }
    },
  ]

  private static let encodings: [BrokenAnswer] = [
    raw(
      "gzip that was not asked for", "fail encoded",
      ok + "Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello"),
    raw(
      "a compression among them", "fail encoded",
      ok + "Content-Encoding: aws-chunked,gzip\r\nContent-Length: 5\r\n\r\nhello"),
    raw("brotli", "fail encoded", ok + "Content-Encoding: identity, br\r\nContent-Length: 5\r\n\r\nhello"),
    raw(
      "a transfer in gzip", "fail encoded",
      ok + "Transfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
    raw(
      "a page in the place of a document", "retry captive-portal",
      ok + "Content-Type: Text/HTML; charset=utf-8\r\nContent-Length: 5\r\n\r\nhello"
    ) { $0.declaredType = "application/pdf" },
  ]

  private static let statuses: [BrokenAnswer] = [
    status(201, "fail refused"), status(202, "fail refused"),
    raw("204", "fail refused", "HTTP/1.1 204 x\r\n\r\n"),
    status(205, "fail refused"),
    raw(
      "206 that was not asked for", "retry malformed-answer",
      "HTTP/1.1 206 x\r\nContent-Range: bytes 0-4/5\r\nContent-Length: 5\r\n\r\nhello"),
    status(300, "fail refused"), raw("304", "fail refused", "HTTP/1.1 304 x\r\n\r\n"),
    status(305, "fail refused"),
    status(400, "fail refused"), status(401, "fail unauthorized"), status(402, "fail refused"),
    status(403, "fail forbidden"), status(404, "fail gone"), status(407, "fail refused"),
    status(408, "retry server-busy"), status(410, "fail gone"), status(416, "fail refused"),
    status(418, "fail refused"), status(425, "retry server-busy"), status(429, "retry server-busy"),
    status(451, "fail refused"), status(500, "retry server-busy"), status(501, "fail refused"),
    status(502, "retry server-busy"), status(503, "retry server-busy"), status(504, "retry server-busy"),
    status(505, "fail refused"), status(507, "retry server-busy"), status(511, "retry captive-portal"),
    status(403, "fail forbidden", query: "?X-Amz-Date=1&X-Amz-Signature=hidden"),
    status(404, "fail gone", query: "?Expires=1&Key=hidden"),
    status(410, "fail gone", query: "?sv=1&sig=hidden"),
    error("of a token that has expired", "fail expired", "<Code>ExpiredToken</Code>"),
    error("of a request that has expired", "fail expired", "<Code>ExpiredRequest</Code><Message>x</Message>"),
    error("of another kind", "fail refused", "<Code>InvalidArgument</Code><Message>ExpiredToken</Message>"),
    error("that says so in a second code", "fail refused", "<Code>x</Code><Code>ExpiredToken</Code>"),
    error(
      "that says so late", "fail refused", String(repeating: " ", count: 4096) + "<Code>ExpiredToken</Code>"),
    error("without an end", "fail refused", "<Code>Expired"),
  ]

  /// What a storage service says with 400.
  private static func error(_ name: String, _ expected: String, _ text: String) -> BrokenAnswer {
    BrokenAnswer(name: "an error \(name)", expected: expected, query: "?X-Amz-Signature=hidden") { exchange in
      exchange.answer(
        400, ["Content-Type: application/xml"], Array("<?xml version='1.0'?><Error>\(text)".utf8))
    }
  }

  private static let redirects: [BrokenAnswer] = [
    status(302, "retry malformed-answer"),
    redirect("to itself", "fail redirect-refused", "?again"),
    redirect("to ftp", "fail redirect-refused", "ftp://127.0.0.1/x"),
    redirect("to a file", "fail redirect-refused", "file:///etc/passwd"),
    redirect("with a user name", "fail redirect-refused", "http://hidden@127.0.0.1/x"),
    redirect("to a host that is no name", "fail redirect-refused", "http://a\u{2028}b.example/"),
    redirect("to a host with a space", "fail redirect-refused", "http://a b/"),
    redirect("to a private address", "fail address-not-allowed", "http://10.0.0.1/x"),
    redirect("to a cloud's metadata", "fail address-not-allowed", "http://169.254.169.254/latest/meta-data"),
    BrokenAnswer(name: "redirects to two places", expected: "retry malformed-answer") { exchange in
      exchange.answer(302, "Location: /a", "Location: /b")
    },
    BrokenAnswer(name: "a POST moved by 301", expected: "fail redirect-refused", change: { post(&$0) }) {
      exchange in
      exchange.answer(301, "Location: /good")
    },
    BrokenAnswer(
      name: "a POST moved to another port", expected: "fail redirect-refused", change: { post(&$0) }
    ) { exchange in exchange.answer(307, "Location: http://127.0.0.1:1/good") },
    BrokenAnswer(
      name: "a POST moved to another port for good", expected: "fail redirect-refused", change: { post(&$0) }
    ) { exchange in exchange.answer(308, "Location: http://127.0.0.1:1/good") },
  ]

  @Sendable private static func post(_ work: inout TransferWork) {
    work.method = "POST"
    work.body = Array("x".utf8)
  }

  private static func redirect(_ name: String, _ expected: String, _ target: String) -> BrokenAnswer {
    BrokenAnswer(name: "a redirect \(name)", expected: expected) { $0.answer(302, "Location: \(target)") }
  }

  private static let sizes: [BrokenAnswer] = [
    BrokenAnswer(
      name: "more than is allowed", expected: "reject too-large-to-fetch", change: { $0.limit = 999 }
    ) { $0.answer(200, [], sample(1000)) },
    BrokenAnswer(
      name: "more than is allowed, without a length", expected: "reject too-large-to-fetch",
      change: { $0.limit = 99_999 }
    ) { exchange in
      exchange.send("HTTP/1.0 200 OK\r\n\r\n")
      exchange.send(sample(100_000))
      exchange.close()
    },
    raw(
      "a length of exabytes", "reject too-large-to-fetch",
      ok + "Content-Length: 999999999999999999\r\n\r\nhello"),
    BrokenAnswer(
      name: "less than was expected", expected: "fail size-mismatch", change: { $0.expectedSize = 1001 }
    ) { $0.answer(200, [], sample(1000)) },
    BrokenAnswer(
      name: "less than was expected, without a length", expected: "fail size-mismatch",
      change: { $0.expectedSize = 1001 }
    ) { exchange in
      exchange.send("HTTP/1.0 200 OK\r\n\r\n")
      exchange.send(sample(1000))
      exchange.close()
    },
    BrokenAnswer(
      name: "more than was expected, without a length", expected: "fail size-mismatch",
      change: { $0.expectedSize = 999 }
    ) { exchange in
      exchange.send("HTTP/1.0 200 OK\r\n\r\n")
      exchange.send(sample(1000))
      exchange.close()
    },
  ]
}
