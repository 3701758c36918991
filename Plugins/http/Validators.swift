import CCurl

/// With what a server proves that its file is still the same.
struct Validators: Equatable {
  /// A strong entity tag.
  var etag: String?
  /// A `Last-Modified` that is as good as a strong one.
  var modified: String?

  /// The longest that is kept, in bytes.
  static let limit = 256

  init(etag: String? = nil, modified: String? = nil) {
    self.etag = etag
    self.modified = modified
  }

  /// Those of an answer.
  init(_ head: AnswerHead) {
    etag = head.text("etag").flatMap { Self.isStrong($0) ? $0 : nil }
    // RFC 9110, section 8.8.2.2: strong if the answer was made at least a second after the change.
    if let text = head.text("last-modified"), text.utf8.count <= Self.limit,
      let modified = Self.seconds(text),
      let date = head.text("date").flatMap(Self.seconds), date - modified >= 1
    {
      self.modified = text
    }
  }

  /// A quoted text without `W/` (RFC 9110, section 8.8.3).
  static func isStrong(_ etag: String) -> Bool {
    let bytes = Array(etag.utf8)
    return (2...limit).contains(bytes.count) && bytes.first == 0x22 && bytes.last == 0x22
      && bytes[1..<(bytes.count - 1)].allSatisfy { $0 > 0x20 && $0 != 0x22 && $0 < 0x7F }
  }

  /// Seconds since 1970 of a date in any form that HTTP has; `nil`: it is none.
  static func seconds(_ date: String) -> Int64? {
    guard date.utf8.count <= 64 else { return nil }
    let seconds = curl_getdate(date, nil)
    return seconds == -1 ? nil : Int64(seconds)
  }
}
