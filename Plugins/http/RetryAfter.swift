/// The value of `Retry-After`: seconds or a date (RFC 9110, section 10.2.3).
enum RetryAfter {
  /// The longest wait that is believed, in milliseconds: a day.
  static let longest: Int64 = 86_400_000

  /// Milliseconds to wait, 0 to a day; `nil`: it says neither a number nor a date.
  ///
  /// - Parameter now: seconds since 1970.
  static func milliseconds(_ value: String?, now: Int64) -> Int64? {
    guard let value, !value.isEmpty else { return nil }
    if value.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) {
      guard value.utf8.count <= 9, let seconds = Int64(value) else { return longest }
      return min(seconds * 1000, longest)
    }
    guard let date = Validators.seconds(value) else { return nil }
    return min(max(date - now, 0), longest / 1000) * 1000
  }
}
