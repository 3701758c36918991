/// How long ago something was, for people.
enum Age {
  /// The two largest units that matter: `3m 12s`.
  static func text(milliseconds: Int64) -> String {
    let seconds = max(milliseconds, 0) / 1000
    let parts = [
      (seconds / 86_400, "d"), (seconds / 3600 % 24, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s"),
    ]
    let first = parts.firstIndex { $0.0 > 0 } ?? parts.count - 1
    return parts[first...].prefix(2).map { "\($0.0)\($0.1)" }.joined(separator: " ")
  }
}
