/// What a head must keep to beside its grammar, which the parser has checked.
///
/// Each rule is there because a proxy in front may understand the same bytes otherwise, and so where a request ends (RFC 9112, 3.2,
/// 6.1, 6.3 and 11.2).
enum HeadRules {
  /// - Parameter target: where that stands in the head.
  /// - Throws: the fault, after which the connection is closed.
  static func apply(
    to head: inout RequestHead, target: Range<Int>, majorVersion: Int, _ limits: RequestLimits
  ) throws(RequestFault) {
    guard majorVersion == 1, head.minorVersion <= 1 else {
      throw RequestFault(505, "HTTP/1.1 and HTTP/1.0 are spoken here")
    }
    // llhttp skips spaces after the method, and takes them within a name.
    if !beginsPlainly(head, target) {
      throw RequestFault(400, "the request line has more than two spaces")
    }
    let tokenBytes = tokenBytes
    for field in head.fields where field.name.isEmpty || !head.raw[field.name].allSatisfy(tokenBytes.contains)
    {
      throw RequestFault(400, "a field of the header has a name that is none")
    }
    // A byte that is no UTF-8 becomes three, and who reads the text is to be asked for no more than the bytes were.
    for field in head.fields where field.value.count * 3 > limits.head {
      guard head.text(field.value).utf8.count <= limits.head else {
        throw RequestFault(431, "a field of the header has too many bytes that are no UTF-8")
      }
    }
    try checkTarget(head, target)
    head.host = try host(of: head)
    head.framing = try framing(of: head)
    let expectations = head.values("expect")
    if !expectations.isEmpty {
      guard expectations.count == 1, expectations[0].lowercased() == "100-continue" else {
        throw RequestFault(417, "Expect is another than 100-continue")
      }
      // A client of HTTP/1.0 waits for nothing (RFC 9110, 10.1.1).
      head.expectsContinue = head.minorVersion == 1 && head.framing != .none
    }
  }

  /// Whether the request line is method, space, target, space, version.
  private static func beginsPlainly(_ head: RequestHead, _ target: Range<Int>) -> Bool {
    let space = UInt8(ascii: " ")
    return head.raw.starts(with: head.method.utf8) && target.lowerBound == head.method.utf8.count + 1
      && head.raw.count > target.upperBound + 6 && head.raw[target.lowerBound - 1] == space
      && head.raw[target.upperBound] == space
      && head.raw[(target.upperBound + 1)...].starts(with: "HTTP/".utf8)
  }

  /// RFC 9110, 5.6.2.
  static func isTokenByte(_ byte: UInt8) -> Bool { tokenBytes.contains(byte) }

  private static let lettersAndDigits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
  private static let tokenBytes = ASCIISet(lettersAndDigits + "!#$%&'*+-.^_`|~")
  private static let hostBytes = ASCIISet(lettersAndDigits + "-._~:[]%")

  private static func checkTarget(_ head: RequestHead, _ target: Range<Int>) throws(RequestFault) {
    if head.method == "CONNECT" { throw RequestFault(501, "the method is not known here") }
    if head.raw[target].contains(where: { $0 <= 0x20 || $0 >= 0x7F || $0 == UInt8(ascii: "#") }) {
      throw RequestFault(400, "the target of the request has a character that must be written as %XX")
    }
    let isForServer = head.target == "*" && head.method == "OPTIONS"
    guard head.raw[target].first == UInt8(ascii: "/") || isForServer || authority(of: head.target) != nil
    else {
      throw RequestFault(400, "the target of the request does not begin with /")
    }
  }

  /// Servers differ in what they heed where a target in absolute form and the field name different hosts (RFC 9112, 3.2.2): they
  /// must agree.
  private static func host(of head: RequestHead) throws(RequestFault) -> String {
    let hosts = head.values("host")
    if hosts.count > 1 { throw RequestFault(400, "there are several fields Host") }
    guard let host = hosts.first else {
      if head.minorVersion == 0 { return "" }
      throw RequestFault(400, "there is no field Host")
    }
    let isPlain = host.utf8.allSatisfy(hostBytes.contains)
    if !isPlain || host.isEmpty && head.minorVersion == 1 {
      throw RequestFault(400, "the field Host names no host")
    }
    if let authority = authority(of: head.target), authority.lowercased() != host.lowercased() {
      throw RequestFault(400, "the target and the field Host name different hosts")
    }
    return host
  }

  /// Host and port of a target in absolute form; `nil`: it has another.
  private static func authority(of target: String) -> String? {
    if target.utf8.first == UInt8(ascii: "/") { return nil }
    let scheme = ["http://", "https://"].first { target.lowercased().hasPrefix($0) }
    guard let scheme else { return nil }
    return String(target.dropFirst(scheme.count).prefix { $0 != "/" && $0 != "?" })
  }

  private static func framing(of head: RequestHead) throws(RequestFault) -> RequestHead.Framing {
    let lengths = head.values("content-length")
    let codings = head.values("transfer-encoding")
    if !codings.isEmpty {
      if head.minorVersion == 0 { throw RequestFault(400, "HTTP/1.0 knows no Transfer-Encoding") }
      if !lengths.isEmpty { throw RequestFault(400, "Content-Length stands beside Transfer-Encoding") }
      if codings.count > 1 { throw RequestFault(400, "there are several fields Transfer-Encoding") }
      if codings[0].lowercased() != "chunked" {
        throw RequestFault(501, "Transfer-Encoding is another than chunked")
      }
      return .chunked
    }
    guard let text = lengths.first else { return .none }
    let digits = text.utf8
    guard lengths.count == 1, !digits.isEmpty, digits.count <= 18,
      digits.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }), let count = Int64(text)
    else {
      throw RequestFault(400, "Content-Length is not one number")
    }
    return count == 0 ? .none : .length(count)
  }
}
