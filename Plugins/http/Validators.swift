import CCurl

/// With what a server proves that its file is still the same, or shows that it is not.
struct Validators: Equatable {
  /// An entity tag. Only a strong one proves that the bytes are the same; another one proves that they are not.
  var etag: String?
  /// A `Last-Modified`, with ``weak`` before it where it is not as good as a strong validator.
  var modified: String?

  /// As in a weak entity tag.
  static let weak = "W/"

  /// The longest that is kept, in bytes.
  static let limit = 256

  init(etag: String? = nil, modified: String? = nil) {
    self.etag = etag
    self.modified = modified
  }

  /// Those of an answer.
  init(_ head: AnswerHead) {
    etag = head.text("etag").flatMap { Self.isKept($0) ? $0 : nil }
    // RFC 9110, section 8.8.2.2: strong if the answer was made at least a second after the change.
    guard let text = head.text("last-modified"), Self.isKept(text), let modified = Self.seconds(text) else {
      return
    }
    let isStrong = head.text("date").flatMap(Self.seconds).map { $0 - modified >= 1 } ?? false
    self.modified = isStrong ? text : Self.weak + text
  }

  private static func isKept(_ text: String) -> Bool {
    (1...(limit - weak.utf8.count)).contains(text.utf8.count)
      && text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
  }

  /// Whether there is a strong entity tag.
  var isStrong: Bool { etag.map(Self.isStrong) == true }

  /// What `If-Range` may say; `nil`: nothing proves that the file is the same.
  var condition: String? {
    if let etag, Self.isStrong(etag) { return etag }
    guard let modified, Self.isKept(modified), !modified.hasPrefix(Self.weak) else { return nil }
    return modified
  }

  /// Whether an answer with these is of another file than one with those: what both could tell must be the same.
  func differs(from other: Validators) -> Bool {
    func date(_ validators: Validators) -> Substring? {
      validators.modified.map { $0.hasPrefix(Self.weak) ? $0.dropFirst(Self.weak.count) : $0[...] }
    }
    if etag != other.etag { return true }
    let (mine, theirs) = (date(self), date(other))
    // Beside a strong tag the date may not have been told.
    return mine != theirs && !(isStrong && (mine == nil || theirs == nil))
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
