/// The `traceparent` of an event (https://www.w3.org/TR/trace-context): the member of its body that has this name.
///
/// A text of a sender's cannot pass for it: within a text of JSON a quote has a backslash before it.
enum Traceparent {
  private static let member = Array(#","traceparent":""#.utf8)
  private static let length = 55

  /// `nil`: the event has none that can stand in a header.
  static func of(_ body: UnsafeRawBufferPointer) -> String? {
    guard let first = start(body) else { return nil }
    let value = body[first...].prefix(length)
    guard value.count == length, value.allSatisfy(isAllowed) else { return nil }
    return String(decoding: value, as: UTF8.self)
  }

  private static func start(_ body: UnsafeRawBufferPointer) -> Int? {
    guard body.count >= member.count else { return nil }
    return (0...(body.count - member.count)).first { body[$0...].starts(with: member) }.map {
      $0 + member.count
    }
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte) || byte == UInt8(ascii: "-")
  }
}
