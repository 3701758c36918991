/// The value of `Content-Range` (RFC 9110, section 14.4).
enum ContentRange: Equatable {
  /// `bytes 5-9/10`; `nil`: the length of the whole is not told.
  case part(first: Int64, last: Int64, total: Int64?)
  /// `bytes */10`: the range that was asked for lies beyond the end.
  case outside(total: Int64)

  init?(_ text: String) {
    var text = text[...]
    guard text.utf8.count > 6, text.prefix(6).lowercased() == "bytes " else { return nil }
    text = text.dropFirst(6)
    let halves = text.split(separator: "/", omittingEmptySubsequences: false)
    guard halves.count == 2 else { return nil }
    if halves[0] == "*" {
      guard let total = Self.number(halves[1]) else { return nil }
      self = .outside(total: total)
      return
    }
    let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last
    else { return nil }
    if halves[1] == "*" {
      self = .part(first: first, last: last, total: nil)
    } else {
      guard let total = Self.number(halves[1]), last < total else { return nil }
      self = .part(first: first, last: last, total: total)
    }
  }

  private static func number(_ text: Substring) -> Int64? {
    guard (1...18).contains(text.utf8.count), text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
    return Int64(text)
  }
}
