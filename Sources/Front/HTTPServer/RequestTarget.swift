/// The path and the query of a request's target, decoded once (RFC 3986, 2.1 and 3.3).
public struct RequestTarget: Sendable, Equatable {
  /// `["v1", "attachments", "a b"]` of `/v1/attachments/a%20b`. A segment may hold any character but `/` and NUL.
  public let segments: [String]
  /// Names and values in their order; `+` stands for a space, as forms write it.
  public let query: [(name: String, value: String)]

  public static let mostSegments = 32
  /// Names in the query.
  public static let mostParameters = 256

  /// - Parameter target: as it was sent, in origin or absolute form.
  /// - Throws: 400, where it is not well formed, or where two programs might understand it in two ways: segments `.` and `..`,
  ///   empty ones, an encoded `/`, a NUL, a `%` without two digits, or bytes that are no UTF-8; and where it has more than
  ///   ``mostSegments`` or ``mostParameters``.
  public init(_ target: String) throws(RequestFault) {
    var path = target.utf8[...]
    let (slash, question) = (UInt8(ascii: "/"), UInt8(ascii: "?"))
    for scheme in ["http://", "https://"] where path.first != slash {
      if Substring(path).lowercased().hasPrefix(scheme) {
        path = path.dropFirst(scheme.utf8.count).drop { $0 != slash && $0 != question }
      }
    }
    let mark = path.firstIndex(of: question) ?? path.endIndex
    var segments: [String] = []
    for part in path[..<mark].split(separator: slash, omittingEmptySubsequences: false).dropFirst() {
      let segment = try Self.decoded(part, isForm: false)
      if segment == "." || segment == ".." || segment.utf8.contains(slash) {
        throw RequestFault(400, "the path has a segment that is none")
      }
      segments.append(segment)
    }
    // `/v1/` is `/v1`.
    if segments.last?.isEmpty == true { segments.removeLast() }
    if segments.contains(where: \.isEmpty) { throw RequestFault(400, "the path has an empty segment") }
    if segments.count > Self.mostSegments {
      throw RequestFault(400, "the path has more than \(Self.mostSegments) segments")
    }
    self.segments = segments
    var query: [(String, String)] = []
    if mark < path.endIndex {
      for pair in path[path.index(after: mark)...].split(separator: UInt8(ascii: "&")) {
        let equals = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
        let value = pair[equals...].dropFirst()
        query.append((try Self.decoded(pair[..<equals], isForm: true), try Self.decoded(value, isForm: true)))
      }
    }
    if query.count > Self.mostParameters {
      throw RequestFault(400, "the query has more than \(Self.mostParameters) parameters")
    }
    self.query = query
  }

  public static func == (one: RequestTarget, other: RequestTarget) -> Bool {
    one.segments == other.segments && one.query.elementsEqual(other.query, by: ==)
  }

  private static func decoded(_ text: Substring.UTF8View, isForm: Bool) throws(RequestFault) -> String {
    // Most have nothing to decode.
    if !text.contains(where: { $0 == UInt8(ascii: "%") || $0 == 0 || isForm && $0 == UInt8(ascii: "+") }) {
      return String(Substring(text))
    }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var rest = text
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "%"):
        guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
          throw RequestFault(400, "the target has a % without two hexadecimal digits")
        }
        bytes.append(high << 4 | low)
      case UInt8(ascii: "+") where isForm: bytes.append(UInt8(ascii: " "))
      default: bytes.append(byte)
      }
    }
    guard !bytes.contains(0), let decoded = String(validating: bytes, as: UTF8.self) else {
      throw RequestFault(400, "the target has a NUL, or bytes that are no UTF-8")
    }
    return decoded
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
