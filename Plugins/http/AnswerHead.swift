/// What a server says before the body: the status, and those fields that matter here.
struct AnswerHead {
  let status: Int
  /// By lower-case name, in order; values without spaces around them.
  private(set) var fields: [String: [[UInt8]]] = [:]

  init(status: Int) {
    self.status = status
  }

  /// The others are not kept.
  private static let names: Set<String> = [
    "content-length", "transfer-encoding", "content-encoding", "content-range", "content-type",
    "content-disposition", "etag", "last-modified", "date", "location", "retry-after",
  ]

  mutating func add(_ name: String, _ value: [UInt8]) {
    if Self.names.contains(name) { fields[name, default: []].append(value) }
  }

  /// The value of a field that stands there once, or always with the same value, and is printable ASCII.
  func text(_ name: String) -> String? {
    guard let values = fields[name], let first = values.first, values.allSatisfy({ $0 == first }),
      !first.isEmpty, first.allSatisfy({ $0 >= 0x20 && $0 < 0x7F })
    else { return nil }
    return String(decoding: first, as: UTF8.self)
  }

  func has(_ name: String) -> Bool { fields[name] != nil }

  /// Where a redirect leads. Servers write spaces and letters beyond ASCII as they are; browsers take them so, too.
  var location: String? {
    guard let values = fields["location"], let first = values.first, !first.isEmpty,
      values.allSatisfy({ $0 == first })
    else { return nil }
    let digits = Array("0123456789ABCDEF".utf8)
    let escaped = first.flatMap { byte in
      0x21...0x7E ~= byte ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
    return String(decoding: escaped, as: UTF8.self)
  }

  /// The media type in lower case, without parameters.
  var mediaType: String? {
    text("content-type").map { text in
      String(text.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }).lowercased()
    }
  }

  /// Bytes of the body as `Content-Length` says; `nil`: it says nothing.
  ///
  /// RFC 9112, section 6.3: values that differ, or that are no numbers, are an error that cannot be mended.
  func contentLength() throws(MalformedAnswer) -> Int64? {
    guard has("content-length") else { return nil }
    guard let text = text("content-length"), text.utf8.count <= 100,
      text.utf8.allSatisfy({ 0x30...0x39 ~= $0 })
    else { throw MalformedAnswer("Content-Length is no single number") }
    guard let length = Int64(text), length < 1 << 60 else {
      throw MalformedAnswer("Content-Length is beyond all files")
    }
    return length
  }

  /// Whether the transfer is chunked. Another encoding of it is told with `isEncoded`.
  func transferEncoding() throws(MalformedAnswer) -> (isChunked: Bool, isEncoded: Bool) {
    guard let values = fields["transfer-encoding"] else { return (false, false) }
    if has("content-length") { throw MalformedAnswer("there are both Content-Length and Transfer-Encoding") }
    let isChunked = values.count == 1 && values[0].map { $0 | 0x20 }.elementsEqual("chunked".utf8)
    return (isChunked, !isChunked)
  }

  /// Whether the content is encoded in any way. Some servers write what changes no byte: a charset, `none`, or how an object of S3
  /// was once uploaded.
  var isContentEncoded: Bool {
    fields["content-encoding", default: []].contains { value in
      value.split(separator: UInt8(ascii: ",")).contains { coding in
        let name = String(decoding: coding, as: UTF8.self).lowercased().filter { $0 != " " && $0 != "\t" }
        return !name.isEmpty && !Self.plain.contains(name)
      }
    }
  }

  private static let plain: Set<String> = [
    "identity", "none", "binary", "8bit", "7bit", "utf-8", "utf8", "us-ascii", "iso-8859-1", "aws-chunked",
  ]
}

/// An answer that breaks the rules of HTTP.
struct MalformedAnswer: Error, Equatable {
  static let code = "malformed-answer"

  let reason: String

  init(_ reason: String) {
    self.reason = reason
  }
}
