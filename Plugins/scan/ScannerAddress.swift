import StageKit

/// Where the scanner listens, as it is written in a pipeline: `unix:/run/clamav/clamd.ctl`,
/// `tcp:127.0.0.1:3310`.
enum ScannerAddress {
  case unix(path: String)
  case tcp(host: String, port: UInt16)

  init(_ text: String) throws(Outcome) {
    if let path = Self.rest(of: text, after: "unix:") {
      // Workers have no working folder that a relative path could refer to.
      guard path.hasPrefix("/") else { throw Self.refusal("'\(path)' does not begin with /") }
      // `sun_path` of unix(7), less its NUL.
      guard path.utf8.count <= 107 else {
        throw Self.refusal("the path has \(path.utf8.count) bytes, and a socket's may have 107")
      }
      self = .unix(path: String(path))
    } else if let rest = Self.rest(of: text, after: "tcp:") {
      guard let colon = rest.lastIndex(of: ":"), let port = UInt16(rest[rest.index(after: colon)...]),
        port > 0
      else { throw Self.refusal("'\(text)' names no port; write tcp:127.0.0.1:3310") }
      var host = rest[..<colon]
      if host.hasPrefix("["), host.hasSuffix("]") {
        host = host.dropFirst().dropLast()
      } else if host.contains(":") {
        throw Self.refusal("write an IPv6 address in brackets, as in tcp:[::1]:3310")
      }
      guard !host.isEmpty else { throw Self.refusal("'\(text)' names no host; write tcp:127.0.0.1:3310") }
      self = .tcp(host: String(host), port: port)
    } else {
      throw Self.refusal("'\(text)' begins neither with unix: nor with tcp:")
    }
  }

  static func refusal(_ reason: String) -> Outcome { .fail("invalid-options", "address: \(reason)") }

  private static func rest(of text: String, after prefix: String) -> Substring? {
    text.hasPrefix(prefix) ? text.dropFirst(prefix.count) : nil
  }
}
