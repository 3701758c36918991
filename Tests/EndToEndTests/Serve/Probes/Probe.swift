import Testing

/// Bytes that a client sends over a connection of its own, and what a server may make of them.
struct Probe: Sendable {
  /// What becomes of the connection after the last answer.
  enum Ending: Sendable {
    /// The next request is answered.
    case kept
    /// The server closes it.
    case closed
    /// One or the other.
    case either
    /// There is no answer yet: more must come.
    case waits
  }

  let name: String
  /// `TOKEN`, `ATTACHMENT` and `UPLOAD` stand for what there is at the server. Each character is a byte, up to U+00FF.
  let text: String
  /// Of each answer, in order, the statuses that it may have. There is no other answer.
  let answers: [Set<Int>]
  let ending: Ending
  /// The first request is one for a head.
  var isHead = false
  /// 100 (Continue) comes before the last answer.
  var isContinued = false

  /// A request that must never be answered: it stands where a request cannot begin any more.
  static let stowaway = "GET /version HTTP/1.1\r\nHost: x\r\n\r\n"

  // MARK: Kinds

  /// What breaks the rules of HTTP itself: one answer, the connection is closed, and nothing that follows is read as a request.
  static func refused(_ name: String, _ text: String, _ statuses: Set<Int> = [400]) -> Probe {
    Probe(name: name, text: text + stowaway, answers: [statuses], ending: .closed)
  }

  /// A request that is understood, whatever the answer.
  static func answered(_ name: String, _ text: String, _ statuses: Int...) -> Probe {
    Probe(name: name, text: text, answers: [Set(statuses)], ending: .kept)
  }

  /// It is answered before its body was read: what follows is not read as a request.
  static func early(_ name: String, _ text: String, _ statuses: Int...) -> Probe {
    Probe(name: name, text: text + stowaway, answers: [Set(statuses)], ending: .closed)
  }

  /// Several requests.
  static func several(
    _ name: String, _ text: String, _ statuses: [Int], _ ending: Ending = .kept
  ) -> Probe {
    Probe(name: name, text: text, answers: statuses.map { [$0] }, ending: ending)
  }

  static func waiting(_ name: String, _ text: String) -> Probe {
    Probe(name: name, text: text, answers: [], ending: .waits)
  }

  // MARK: Texts

  /// A GET with these further lines.
  static func get(_ target: String = "/version", _ lines: String = "") -> String {
    "GET \(target) HTTP/1.1\r\nHost: x\r\n\(lines)\r\n"
  }

  /// The same, of a user.
  static func asked(_ target: String, _ lines: String = "") -> String {
    get(target, "Authorization: Bearer TOKEN\r\n" + lines)
  }

  /// An attachment in one request.
  static func post(_ lines: String, _ body: String = "") -> String {
    "POST /v1/attachments?filename=a.txt HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer TOKEN\r\n\(lines)\r\n\(body)"
  }

  static func chunked(_ body: String) -> String { post("Transfer-Encoding: chunked\r\n", body) }

  /// All of them, by theme.
  static let themes: KeyValuePairs = [
    "lengths": lengths, "codings": codings, "chunks": chunks, "trailers": trailers,
    "request lines": requestLines, "connections": connections, "hosts": hosts, "fields": fields,
    "credentials": credentials, "paths": paths, "queries": queries, "ranges": ranges,
    "conditions": conditions, "uploads": uploads, "parts": parts, "JSON": bodies,
  ]
}
