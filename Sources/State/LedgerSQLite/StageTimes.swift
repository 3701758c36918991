import LedgerPort

/// Reads what stages took from what attempts recorded: for each attempt a line, a JSON array of arrays of stage, verdict, code,
/// message and microseconds, as this program writes it. A line that is anything else is left out from where it is.
enum StageTimes {
  static func read(_ said: [UInt8]) -> [SurveyedAttachment.StageTime] {
    var times: [SurveyedAttachment.StageTime] = []
    said.withUnsafeBufferPointer { bytes in
      var rest = Scanner(bytes)
      while rest.index < bytes.count {
        readLine(&rest, &times)
        rest.skipLine()
      }
    }
    return times
  }

  private static func readLine(_ rest: inout Scanner, _ times: inout [SurveyedAttachment.StageTime]) {
    guard rest.skip("[") else { return }
    repeat {
      guard rest.skip("["), let stage = rest.string(), rest.skip(","), rest.skipValue(), rest.skip(","),
        rest.skipValue(), rest.skip(","), rest.skipValue(), rest.skip(","), let number = rest.number(),
        rest.skip("]")
      else { return }
      times.append(
        .init(
          stage: String(decoding: UnsafeBufferPointer(rebasing: stage), as: UTF8.self), microseconds: number))
    } while rest.skip(",")
  }

  private struct Scanner {
    private let bytes: UnsafeBufferPointer<UInt8>
    private(set) var index = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
      guard index < bytes.count, bytes[index] == UInt8(ascii: scalar) else { return false }
      index += 1
      return true
    }

    /// Goes to the beginning of the next line.
    mutating func skipLine() {
      while index < bytes.count, bytes[index] != UInt8(ascii: "\n") { index += 1 }
      index += 1
    }

    /// The bytes of a string, with its escapes as they are.
    mutating func string() -> Slice<UnsafeBufferPointer<UInt8>>? {
      guard skip("\"") else { return nil }
      let start = index
      while index < bytes.count {
        switch bytes[index] {
        case UInt8(ascii: "\""):
          index += 1
          return bytes[start..<index - 1]
        case UInt8(ascii: "\n"): return nil
        case UInt8(ascii: "\\") where index + 1 < bytes.count && bytes[index + 1] != UInt8(ascii: "\n"):
          index += 2
        default: index += 1
        }
      }
      return nil
    }

    /// Skips a string or `null`.
    mutating func skipValue() -> Bool {
      skip("n") ? skip("u") && skip("l") && skip("l") : string() != nil
    }

    /// A whole number that is not negative.
    mutating func number() -> Int64? {
      var number: Int64 = 0
      let start = index
      while index < bytes.count, case let digit = bytes[index] &- UInt8(ascii: "0"), digit < 10 {
        let (tens, overflow) = number.multipliedReportingOverflow(by: 10)
        let (sum, more) = tens.addingReportingOverflow(Int64(digit))
        if overflow || more { return nil }
        number = sum
        index += 1
      }
      return index > start ? number : nil
    }
  }
}
