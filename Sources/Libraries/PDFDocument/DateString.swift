/// A date as RFC 3339 writes it, in UTC. Text must parse to its end.
package enum DateString {
  /// From the information dictionary, in which some writers put dates of ISO 8601.
  package static func utc(pdf text: String) -> String? {
    var reader = Reader(text)
    return (reader.isISO ? reader.iso() : reader.pdf())?.utc
  }

  /// From XMP.
  package static func utc(xmp text: String) -> String? {
    var reader = Reader(text)
    return reader.iso()?.utc
  }

  private struct Moment {
    var year = 0
    var month = 1
    var day = 1
    var minute = 0  // of the day
    var second = 0

    var utc: String? {
      var moment = self
      while moment.minute < 0 {
        moment.minute += 1_440
        moment.day -= 1
        if moment.day > 0 { continue }
        moment.month -= 1
        if moment.month == 0 { (moment.year, moment.month) = (moment.year - 1, 12) }
        moment.day = Self.days(moment.year, moment.month)
      }
      while moment.minute >= 1_440 {
        moment.minute -= 1_440
        moment.day += 1
        if moment.day <= Self.days(moment.year, moment.month) { continue }
        (moment.month, moment.day) = (moment.month + 1, 1)
        if moment.month > 12 { (moment.year, moment.month) = (moment.year + 1, 1) }
      }
      guard 0...9_999 ~= moment.year else { return nil }
      func padded(_ number: Int, _ width: Int = 2) -> String {
        let digits = String(number)
        return String(repeating: "0", count: width - digits.utf8.count) + digits
      }
      return "\(padded(moment.year, 4))-\(padded(moment.month))-\(padded(moment.day))"
        + "T\(padded(moment.minute / 60)):\(padded(moment.minute % 60)):\(padded(moment.second))Z"
    }

    static func days(_ year: Int, _ month: Int) -> Int {
      switch month {
      case 4, 6, 9, 11: 30
      case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
      default: 31
      }
    }
  }

  private struct Reader {
    var rest: ArraySlice<UInt8>

    /// Without the white space around it, and the zeros that some writers put behind.
    init(_ text: String) {
      rest = Array(text.utf8)[...].drop { Self.isBlank($0) }
      while let last = rest.last, Self.isBlank(last) { rest.removeLast() }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { [0, 9, 10, 13, 32].contains(byte) }

    /// Whether a hyphen follows the year.
    var isISO: Bool { rest.dropFirst(4).first == UInt8(ascii: "-") }

    /// `D:YYYYMMDDHHmmSSOHH'mm` (ISO 32000-2, 7.9.4). Parts may be missing from the end; without a relation to UTC,
    /// the date is in UTC. Writers leave out the `D:` or the apostrophes, or add zeros and apostrophes to `Z`.
    mutating func pdf() -> Moment? {
      if take("D"), !take(":") { return nil }
      guard var moment = date() else { return nil }
      if rest.isEmpty { return moment }
      let sign = take("Z") ? 0 : take("+") ? -1 : take("-") ? 1 : nil
      guard let sign else { return nil }
      if sign == 0 { return rest.allSatisfy { $0 == 0x30 || $0 == UInt8(ascii: "'") } ? moment : nil }
      guard let hours = number(2, 0...23) else { return nil }
      var minutes = 0
      _ = take("'")
      if !rest.isEmpty {
        guard let part = number(2, 0...59) else { return nil }
        minutes = part
        _ = take("'")
      }
      guard rest.isEmpty else { return nil }
      moment.minute += sign * (hours * 60 + minutes)
      return moment
    }

    /// A whole date with a time and its relation to UTC, as in XMP (ISO 16684-1, 8.2.1.1).
    mutating func iso() -> Moment? {
      guard let year = number(4, 1...9_999), take("-"), let month = number(2, 1...12), take("-"),
        let day = number(2, 1...Moment.days(year, month)), take("T"), let hour = number(2, 0...23), take(":"),
        let minute = number(2, 0...59)
      else { return nil }
      var moment = Moment(year: year, month: month, day: day, minute: hour * 60 + minute)
      if take(":") {
        guard let second = number(2, 0...59) else { return nil }
        moment.second = second
        if take(".") {
          let fraction = rest.prefix { 0x30...0x39 ~= $0 }
          guard !fraction.isEmpty else { return nil }
          rest = rest.dropFirst(fraction.count)
        }
      }
      if take("Z") { return rest.isEmpty ? moment : nil }
      guard let sign = take("+") ? -1 : take("-") ? 1 : nil, let hours = number(2, 0...23), take(":"),
        let minutes = number(2, 0...59), rest.isEmpty
      else { return nil }
      moment.minute += sign * (hours * 60 + minutes)
      return moment
    }

    /// As many of the parts as there are digits for.
    private mutating func date() -> Moment? {
      guard let year = number(4, 1...9_999) else { return nil }
      var moment = Moment(year: year)
      var parts: [Int] = []
      let ranges = [1...12, 1...31, 0...23, 0...59, 0...59]
      for range in ranges {
        guard let byte = rest.first, 0x30...0x39 ~= byte else { break }
        guard let part = number(2, range) else { return nil }
        parts.append(part)
      }
      if parts.count > 0 { moment.month = parts[0] }
      if parts.count > 1 { moment.day = parts[1] }
      if parts.count > 2 { moment.minute = parts[2] * 60 }
      if parts.count > 3 { moment.minute += parts[3] }
      if parts.count > 4 { moment.second = parts[4] }
      return moment.day <= Moment.days(year, moment.month) ? moment : nil
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
      guard rest.first == UInt8(ascii: character) else { return false }
      rest.removeFirst()
      return true
    }

    /// Exactly so many digits, with a value in the range.
    private mutating func number(_ digits: Int, _ range: ClosedRange<Int>) -> Int? {
      let part = rest.prefix(digits)
      guard part.count == digits, part.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
      let value = part.reduce(0) { $0 * 10 + Int($1 - 0x30) }
      guard range.contains(value) else { return nil }
      rest = rest.dropFirst(digits)
      return value
    }
  }
}
