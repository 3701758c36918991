/// Finds the messages of a mailbox file (mbox(5); RFC 4155, appendix A). It is told the lines of the file, one after the other.
///
/// A line `From …` begins a message if it has a date as asctime(3) writes it; at the start or behind an empty line it does also if
/// the next line is a field of a header: texts have lines that begin so, and not all programs put a `>` before them. A `>From` is
/// left as it is, since nothing says whether that `>` was there before.
public struct MboxSplitter: Sendable {
  /// Where the current message begins; `nil`: none has begun.
  private var start: Int64?
  /// Where the last line began, if that was empty.
  private var emptyLine: Int64?
  private var isAtStart = true
  /// A line `From …` without a date: where the message before it ends, and one behind it begins.
  private var undecided: (end: Int64, start: Int64)?

  /// - Parameter start: where the first message begins, if that is known; else the first line `From …` says it.
  public init(from start: Int64? = nil) { self.start = start }

  /// Bytes of a line that are looked at.
  public static let looked = 1000

  /// Takes the next line.
  ///
  /// - Parameters:
  ///   - line: its first bytes, at least ``looked`` where it has them, with the newline that ends it.
  ///   - range: its bytes in the file, with that newline.
  /// - Returns: where the message lies that has ended before it, without the line `From …` before it and one empty line after it.
  public mutating func take(_ line: UnsafeRawBufferPointer, _ range: Range<Int64>) -> Range<Int64>? {
    var ended: Range<Int64>?
    if let place = undecided {
      undecided = nil
      if Self.isField(line) { ended = begin(place.start, after: place.end) }
    }
    if line.starts(with: Self.separator) {
      let end = emptyLine ?? range.lowerBound
      if Self.isDated(line) {
        ended = begin(range.upperBound, after: end)
      } else if isAtStart || emptyLine != nil {
        undecided = (end, range.upperBound)
      }
    }
    isAtStart = false
    emptyLine = Self.isEmpty(line) ? range.lowerBound : nil
    return ended
  }

  /// The file has ended. Returns where its last message lies.
  public mutating func finish(at end: Int64) -> Range<Int64>? {
    begin(end, after: emptyLine ?? end)
  }

  private mutating func begin(_ next: Int64, after end: Int64) -> Range<Int64>? {
    defer { start = next }
    return start.map { $0..<max($0, end) }
  }

  /// Whether some bytes begin as a mailbox file does.
  public static func begins(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.starts(with: separator), let end = bytes.firstIndex(of: lineFeed) else { return false }
    let (line, rest) = (bytes[...end], bytes[(end + 1)...])
    return isDated(UnsafeRawBufferPointer(rebasing: line)) || isField(UnsafeRawBufferPointer(rebasing: rest))
  }

  // MARK: Lines

  private static let separator = Array("From ".utf8)
  private static let lineFeed = UInt8(ascii: "\n")

  private static func isEmpty(_ line: UnsafeRawBufferPointer) -> Bool {
    line.count <= 2 && line.allSatisfy { $0 == lineFeed || $0 == UInt8(ascii: "\r") }
  }

  /// Whether a line has the form of a header's field (RFC 5322, sections 2.2 and 4.5).
  private static func isField(_ line: UnsafeRawBufferPointer) -> Bool {
    let name = line.prefix { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: ":") }
    let rest = line[name.endIndex...].first { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
    return !name.isEmpty && rest == UInt8(ascii: ":")
  }

  /// Whether a line has a weekday, a month, a day and a time, and a year behind them.
  private static func isDated(_ line: UnsafeRawBufferPointer) -> Bool {
    let words = line.prefix(looked).split { $0 <= UInt8(ascii: " ") }
    guard let weekday = words.lastIndex(where: { isName($0, of: weekdays) }), weekday + 4 < words.count else {
      return false
    }
    return isName(words[weekday + 1], of: months) && isNumber(words[weekday + 2], 1...2)
      && isTime(words[weekday + 3]) && words[(weekday + 4)...].contains { isNumber($0, 4...4) }
  }

  private typealias Word = Slice<UnsafeRawBufferPointer>

  private static let weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private static func isName(_ word: Word, of names: [String]) -> Bool {
    word.count == 3 && names.contains { word.elementsEqual($0.utf8) }
  }

  private static func isNumber(_ word: Word, _ length: ClosedRange<Int>) -> Bool {
    length ~= word.count && word.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
  }

  private static func isTime(_ word: Word) -> Bool {
    let parts = word.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    return 2...3 ~= parts.count && parts.allSatisfy { isNumber($0, 1...2) }
  }
}
