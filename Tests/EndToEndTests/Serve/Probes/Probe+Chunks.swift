extension Probe {
  private static let hello = "5\r\nhello\r\n"

  /// Bodies in chunks, of which one server may see another end.
  static let chunks: [Probe] = [
    answered("chunks", chunked("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"), 201),
    answered("a chunk of 10, as A", chunked("A\r\n0123456789\r\n0\r\n\r\n"), 201),
    answered("a chunk of 10, as a", chunked("a\r\n0123456789\r\n0\r\n\r\n"), 201),
    answered("a size with zeros before", chunked("0000000000000000000000005\r\nhello\r\n0\r\n\r\n"), 201),
    answered("a last chunk of several zeros", chunked(hello + "0000\r\n\r\n"), 201),
    answered("an extension", chunked("5;a=b\r\nhello\r\n0;c\r\n\r\n"), 201),
    answered("an extension in quotes", chunked("5;a=\"b;c\"\r\nhello\r\n0\r\n\r\n"), 201),
    answered(
      "extensions of 250 bytes", chunked("5;\(String(repeating: "a", count: 250))\r\nhello\r\n0\r\n\r\n"), 201
    ),
    refused(
      "extensions of 257 bytes", chunked("5;\(String(repeating: "a", count: 257))\r\nhello\r\n0\r\n\r\n")),
    refused(
      "an extension of 60,000 bytes", chunked("5;\(String(repeating: "a", count: 60_000))\r\nhello\r\n")),
    refused("an empty extension", chunked("5;\r\nhello\r\n0\r\n\r\n")),
    refused("spaces around an extension", chunked("5 ; a = b\r\nhello\r\n0\r\n\r\n")),
    refused("a bare LF after an extension", chunked("5;a\nhello\r\n0\r\n\r\n")),
    refused("a bare LF in an extension", chunked("5;a\nb\r\nhello\r\n0\r\n\r\n")),
    refused("a bare CR in an extension", chunked("5;a\rb\r\nhello\r\n0\r\n\r\n")),
    refused("a bare LF in quotes", chunked("5;a=\"\n\"\r\nhello\r\n0\r\n\r\n")),
    refused("a line end in quotes", chunked("5;a=\"b\r\n\"\r\nhello\r\n0\r\n\r\n")),
    refused("a NUL in an extension", chunked("5;a\u{0}\r\nhello\r\n0\r\n\r\n")),
    refused("a control in an extension", chunked("5;a=\u{1}\r\nhello\r\n0\r\n\r\n")),
    refused("no size", chunked("\r\nhello\r\n0\r\n\r\n")),
    refused("an extension alone", chunked(";a=b\r\nhello\r\n0\r\n\r\n")),
    refused("a size below 0", chunked("-5\r\nhello\r\n0\r\n\r\n")),
    refused("a size with a plus", chunked("+5\r\nhello\r\n0\r\n\r\n")),
    refused("a size with 0x", chunked("0x5\r\nhello\r\n0\r\n\r\n")),
    refused("a size with an h", chunked("5h\r\nhello\r\n0\r\n\r\n")),
    refused("a size with an underscore", chunked("0_5\r\nhello\r\n0\r\n\r\n")),
    refused("a size with a comma", chunked("5,5\r\nhello\r\n0\r\n\r\n")),
    refused("a size that is a word", chunked("five\r\nhello\r\n0\r\n\r\n")),
    refused("a size in quotes", chunked("\"5\"\r\nhello\r\n0\r\n\r\n")),
    refused("a size of 17 digits", chunked("10000000000000005\r\nhello\r\n0\r\n\r\n")),
    refused("a size of 40 digits", chunked("\(String(repeating: "f", count: 40))\r\nhello\r\n0\r\n\r\n")),
    refused("a space after the size", chunked("5 \r\nhello\r\n0\r\n\r\n")),
    refused("a tab after the size", chunked("5\t\r\nhello\r\n0\r\n\r\n")),
    refused("a space before the size", chunked(" 5\r\nhello\r\n0\r\n\r\n")),
    refused("a NUL after the size", chunked("5\u{0}\r\nhello\r\n0\r\n\r\n")),
    refused("a bare LF after the size", chunked("5\nhello\r\n0\r\n\r\n")),
    refused("a bare CR after the size", chunked("5\rhello\r\n0\r\n\r\n")),
    refused("two CRs after the size", chunked("5\r\r\nhello\r\n0\r\n\r\n")),
    refused("a chunk that is shorter", chunked("5\r\nhell\r\n0\r\n\r\n")),
    refused("a chunk that is longer", chunked("5\r\nhello!\r\n0\r\n\r\n")),
    refused("no line end after a chunk", chunked("5\r\nhello0\r\n\r\n")),
    refused("a bare LF after a chunk", chunked("5\r\nhello\n0\r\n\r\n")),
    refused("a bare CR after a chunk", chunked("5\r\nhello\r0\r\n\r\n")),
    refused("an empty line after a chunk", chunked("5\r\nhello\r\n\r\n0\r\n\r\n")),
    refused("a bare LF after the last size", chunked(hello + "0\n\r\n")),
    refused("a length instead of chunks", chunked("hello")),
    waiting("a chunk of 2^63 - 1", chunked("7fffffffffffffff\r\nhello")),
    waiting("no last chunk", chunked(hello)),
    waiting("no end after the last chunk", chunked(hello + "0\r\n")),
    Probe(
      name: "chunks, and more than an upload may have",
      text: chunked("20000\r\n\(String(repeating: "x", count: 0x20000))\r\n" + hello), answers: [[413]],
      ending: .closed),
  ]

  /// What follows the last chunk.
  static let trailers: [Probe] = [
    answered("a trailer", chunked(hello + "0\r\nX: y\r\n\r\n"), 201),
    answered("two trailers", chunked(hello + "0\r\nX: y\r\nZ:\r\n\r\n"), 201),
    answered("a trailer with a length", chunked(hello + "0\r\nContent-Length: 5\r\n\r\n"), 201),
    answered("a trailer with a coding", chunked(hello + "0\r\nTransfer-Encoding: gzip\r\n\r\n"), 201),
    answered("a trailer with a host", chunked(hello + "0\r\nHost: other\r\n\r\n"), 201),
    answered("a trailer with Connection", chunked(hello + "0\r\nConnection: close\r\n\r\n"), 201),
    answered(
      "trailers of 4,000 bytes", chunked(hello + "0\r\nX: \(String(repeating: "y", count: 4000))\r\n\r\n"),
      201),
    refused(
      "trailers of 5,000 bytes", chunked(hello + "0\r\nX: \(String(repeating: "y", count: 5000))\r\n\r\n"),
      [431]),
    refused(
      "2,000 trailers", chunked(hello + "0\r\n\(String(repeating: "X:\r\n", count: 2000))\r\n"), [431]),
    refused("a bare LF after a trailer", chunked(hello + "0\r\nX: y\n\r\n")),
    refused("a bare LF after the trailers", chunked(hello + "0\r\nX: y\r\n\n")),
    refused("a bare LF instead of trailers", chunked(hello + "0\r\n\n")),
    refused("a bare CR in a trailer", chunked(hello + "0\r\nX: a\rb\r\n\r\n")),
    refused("a bare CR instead of trailers", chunked(hello + "0\r\n\rX")),
    refused("a NUL in a trailer", chunked(hello + "0\r\nX: \u{0}\r\n\r\n")),
    refused("a folded trailer", chunked(hello + "0\r\nX: y\r\n z\r\n\r\n")),
    refused("a space before a trailer", chunked(hello + "0\r\n X: y\r\n\r\n")),
    refused("a space before a trailer's colon", chunked(hello + "0\r\nX : y\r\n\r\n")),
    refused("a trailer without a name", chunked(hello + "0\r\n: y\r\n\r\n")),
    refused("a trailer without a colon", chunked(hello + "0\r\nX\r\n\r\n")),
    refused("a request as a trailer", chunked(hello + "0\r\nGET /version HTTP/1.1\r\nHost: x\r\n\r\n")),
  ]
}
