/// A number of bytes as users write it: `10MB` is 10 × 1024 × 1024. A bare number is not a size.
public struct ByteSize: Sendable, Equatable {
  public let bytes: Int64

  public init?(_ text: String) {
    guard let (number, unit) = split(text) else { return nil }
    let factor: Int64
    switch unit.uppercased() {
    case "B": factor = 1
    case "KB", "KIB": factor = 1 << 10
    case "MB", "MIB": factor = 1 << 20
    case "GB", "GIB": factor = 1 << 30
    case "TB", "TIB": factor = 1 << 40
    default: return nil
    }
    let (bytes, overflow) = number.multipliedReportingOverflow(by: factor)
    if overflow { return nil }
    self.bytes = bytes
  }

  /// The largest unit that divides the number: `10MB`.
  public static func text(_ bytes: Int64) -> String {
    for (unit, shift) in [("TB", Int64(40)), ("GB", 30), ("MB", 20), ("KB", 10)]
    where bytes > 0 && bytes & ((1 << shift) - 1) == 0 {
      return "\(bytes >> shift)\(unit)"
    }
    return "\(bytes)B"
  }

  /// Rounded for reading: `31.4 MB`.
  public static func rounded(_ bytes: Int64) -> String {
    var value = Double(bytes)
    var unit = "B"
    // A value that would round up to 1024.0 is shown in the next unit.
    for next in ["KB", "MB", "GB", "TB"] where value >= (unit == "B" ? 1024 : 1023.95) {
      value /= 1024
      unit = next
    }
    if unit == "B" { return "\(bytes) B" }
    let tenths = Int64((value * 10).rounded())
    return "\(tenths / 10).\(tenths % 10) \(unit)"
  }
}

/// A duration as users write it: `500ms`, `30s`, `5m`, `2h`. A bare number is not a duration.
public struct Interval: Sendable, Equatable {
  /// A hundred years. Sums with the time now fit into 64 bits, also in nanoseconds.
  public static let longest: Int64 = 36_500 * 86_400_000

  public let milliseconds: Int64

  public init?(_ text: String) {
    guard let (number, unit) = split(text) else { return nil }
    let factor: Int64
    switch unit {
    case "ms": factor = 1
    case "s": factor = 1000
    case "m": factor = 60_000
    case "h": factor = 3_600_000
    case "d": factor = 86_400_000
    default: return nil
    }
    let (milliseconds, overflow) = number.multipliedReportingOverflow(by: factor)
    if overflow || milliseconds > Self.longest { return nil }
    self.milliseconds = milliseconds
  }

  /// The largest unit that divides the number: `30s`.
  public static func text(_ milliseconds: Int64) -> String {
    for (unit, factor) in [("h", Int64(3_600_000)), ("m", 60_000), ("s", 1000)]
    where milliseconds > 0 && milliseconds % factor == 0 {
      return "\(milliseconds / factor)\(unit)"
    }
    return "\(milliseconds)ms"
  }
}

/// The digits and the unit; `nil` if the text is not ASCII, because some letters outside ASCII fold to
/// letters inside.
private func split(_ text: String) -> (Int64, Substring)? {
  guard text.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
  let digits = text.prefix { $0.isASCII && $0.isNumber }
  guard !digits.isEmpty, let number = Int64(digits) else { return nil }
  return (number, text[digits.endIndex...].drop { $0 == " " })
}
