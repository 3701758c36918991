import CPlatform
import FrontWire

/// What a client has of a content already, and what it wants of it (RFC 9110, 13 and 14).
struct Conditions {
  /// What is to be sent.
  enum Outcome: Equatable {
    case whole
    case part(Range<Int64>)
    /// 304
    case unchanged
    /// 412
    case failed
    /// 416
    case unsatisfiable
  }

  /// The content as it is.
  struct Validators {
    /// With its quotes; strong.
    var tag: String
    /// In seconds since 1970.
    var modified: Int
    var size: Int64
  }

  /// In the order of RFC 9110, 13.2.2. Of a field that is not well formed nothing is taken.
  static func outcome(_ request: FrontRequest, _ content: Validators) -> Outcome {
    let isMatch = request.values("if-match")
    if !isMatch.isEmpty {
      if !contains(isMatch, content.tag, isWeak: false) { return .failed }
    } else if let date = request.field("if-unmodified-since").flatMap(seconds), content.modified > date {
      return .failed
    }
    let isNone = request.values("if-none-match")
    if !isNone.isEmpty {
      if contains(isNone, content.tag, isWeak: true) { return .unchanged }
    } else if let date = request.field("if-modified-since").flatMap(seconds), content.modified <= date {
      return .unchanged
    }
    guard request.method == "GET", let range = request.field("range") else { return .whole }
    if let condition = request.field("if-range"), condition != content.tag,
      // A date is no strong validator of what was changed a moment ago; a content never changes, its tag does not either.
      seconds(condition) != content.modified
    {
      return .whole
    }
    return outcome(ofRange: range, content.size)
  }

  // MARK: Tags

  /// Whether a list of tags has this one, or is `*`.
  private static func contains(_ values: [String], _ tag: String, isWeak: Bool) -> Bool {
    for value in values {
      var rest = Substring(value)
      while let part = nextTag(&rest) {
        if part.tag == "*" { return true }
        if part.tag == tag && (isWeak || !part.isWeak) { return true }
      }
    }
    return false
  }

  /// Takes the first tag of a list; `nil`: what follows is none.
  private static func nextTag(_ list: inout Substring) -> (tag: String, isWeak: Bool)? {
    list = list.drop { $0 == " " || $0 == "\t" || $0 == "," }
    if list.first == "*" {
      list = list.dropFirst()
      return ("*", false)
    }
    let isWeak = list.hasPrefix("W/")
    if isWeak { list = list.dropFirst(2) }
    guard list.first == "\"", let end = list.dropFirst().firstIndex(of: "\"") else { return nil }
    let tag = String(list[...end])
    list = list[list.index(after: end)...]
    return (tag, isWeak)
  }

  // MARK: Dates

  /// Seconds since 1970 of a date in one of the three forms that there have been (RFC 9110, 5.6.7).
  static func seconds(_ text: String) -> Int? {
    for form in ["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"] {
      var seconds: Int64 = 0
      if sluice_parse_time(text, form, &seconds) == 0 { return Int(seconds) }
    }
    return nil
  }

  // MARK: Ranges

  /// Of several ranges one is sent where they join; else all of the content, which is allowed (RFC 9110, 14.2).
  private static func outcome(ofRange text: String, _ size: Int64) -> Outcome {
    // No part of an empty content can be named (RFC 9110, 14.4), and clients ask for the last bytes of whatever there is.
    guard size > 0, text.lowercased().hasPrefix("bytes=") else { return .whole }
    var ranges: [Range<Int64>] = []
    var count = 0
    for part in text.dropFirst(6).split(separator: ",", omittingEmptySubsequences: false) {
      count += 1
      guard count <= rangeLimit else { return .whole }
      switch wanted(part.trimmed, size) {
      case .malformed: return .whole
      case .outside: continue
      case .bytes(let range): ranges.append(range)
      }
    }
    guard var joined = ranges.min(by: { $0.lowerBound < $1.lowerBound }) else { return .unsatisfiable }
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if range.lowerBound > joined.upperBound { return .whole }
      joined = joined.lowerBound..<max(joined.upperBound, range.upperBound)
    }
    return .part(joined)
  }

  private static let rangeLimit = 8

  private enum Wanted {
    case malformed
    /// The content has none of these bytes.
    case outside
    case bytes(Range<Int64>)

    init(_ start: Int64, _ end: Int64, of size: Int64) {
      self = start < min(end, size) ? .bytes(start..<min(end, size)) : .outside
    }
  }

  /// One range of the field: `0-499`, `500-`, or `-500` for the last.
  private static func wanted(_ text: Substring, _ size: Int64) -> Wanted {
    guard let dash = text.firstIndex(of: "-") else { return .malformed }
    let (first, last) = (text[..<dash], text[text.index(after: dash)...])
    func number(_ text: Substring) -> Int64? {
      guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
      // More digits than a file can have bytes.
      return Int64(text) ?? .max
    }
    if first.isEmpty { return number(last).map { Wanted(max(size - $0, 0), size, of: size) } ?? .malformed }
    guard let start = number(first) else { return .malformed }
    if last.isEmpty { return Wanted(start, size, of: size) }
    guard let end = number(last), end >= start else { return .malformed }
    return Wanted(start, end == .max ? end : end + 1, of: size)
  }
}

extension Substring {
  fileprivate var trimmed: Substring {
    var text = drop { $0 == " " || $0 == "\t" }
    while let last = text.last, last == " " || last == "\t" { text = text.dropLast() }
    return text
  }
}
