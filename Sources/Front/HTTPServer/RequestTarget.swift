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
    let bytes = target.utf8.span
    var place = Self.pathStart(target, bytes)
    var segments: [String] = []
    while place < bytes.count, bytes[place] == Self.slash {
      let end = Self.end(of: place + 1, in: bytes) { $0 == Self.slash || $0 == Self.question }
      let segment = try Self.decoded(bytes.extracting(place + 1..<end), isForm: false)
      if segment == "." || segment == ".." || segment.utf8.contains(Self.slash) {
        throw RequestFault(400, "the path has a segment that is none")
      }
      segments.append(segment)
      place = end
    }
    // `/v1/` is `/v1`.
    if segments.last?.isEmpty == true { segments.removeLast() }
    if segments.contains(where: \.isEmpty) { throw RequestFault(400, "the path has an empty segment") }
    if segments.count > Self.mostSegments {
      throw RequestFault(400, "the path has more than \(Self.mostSegments) segments")
    }
    self.segments = segments
    query = place < bytes.count ? try Self.parameters(bytes.extracting((place + 1)...)) : []
    if query.count > Self.mostParameters {
      throw RequestFault(400, "the query has more than \(Self.mostParameters) parameters")
    }
  }

  public static func == (one: RequestTarget, other: RequestTarget) -> Bool {
    one.segments == other.segments && one.query.elementsEqual(other.query, by: ==)
  }

  private static let (slash, question) = (UInt8(ascii: "/"), UInt8(ascii: "?"))

  /// Where the path begins: behind scheme and host of the absolute form.
  private static func pathStart(_ target: String, _ bytes: Span<UInt8>) -> Int {
    if !bytes.isEmpty && bytes[0] == slash { return 0 }
    let scheme = ["http://", "https://"].first { target.lowercased().hasPrefix($0) }
    return end(of: scheme?.utf8.count ?? 0, in: bytes) { $0 == slash || $0 == question }
  }

  /// The place of the first byte that ends what begins there.
  private static func end(of start: Int, in bytes: Span<UInt8>, _ ends: (UInt8) -> Bool) -> Int {
    var place = start
    while place < bytes.count, !ends(bytes[place]) { place += 1 }
    return place
  }

  private static func parameters(_ bytes: Span<UInt8>) throws(RequestFault) -> [(String, String)] {
    var (parameters, place): ([(String, String)], Int) = ([], 0)
    while place < bytes.count {
      let end = end(of: place, in: bytes) { $0 == UInt8(ascii: "&") }
      if end > place {
        let pair = bytes.extracting(place..<end)
        let equals = Self.end(of: 0, in: pair) { $0 == UInt8(ascii: "=") }
        parameters.append(
          (
            try decoded(pair.extracting(..<equals), isForm: true),
            try decoded(pair.extracting(min(equals + 1, pair.count)...), isForm: true)
          ))
      }
      place = end + 1
    }
    return parameters
  }

  static func decoded(_ text: Span<UInt8>, isForm: Bool) throws(RequestFault) -> String {
    let plain = end(of: 0, in: text) {
      $0 == UInt8(ascii: "%") || $0 == 0 || isForm && $0 == UInt8(ascii: "+")
    }
    // Most have nothing to decode.
    if plain == text.count { return text.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) } }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var place = 0
    while place < text.count {
      switch text[place] {
      case UInt8(ascii: "%"):
        guard place + 2 < text.count, let high = digit(text[place + 1]), let low = digit(text[place + 2])
        else {
          throw RequestFault(400, "the target has a % without two hexadecimal digits")
        }
        bytes.append(high << 4 | low)
        place += 2
      case UInt8(ascii: "+") where isForm: bytes.append(UInt8(ascii: " "))
      default: bytes.append(text[place])
      }
      place += 1
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
