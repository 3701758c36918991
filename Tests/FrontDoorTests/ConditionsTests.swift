import FrontWire
import Testing

@testable import FrontDoor

/// What a client has already and what it wants of a content (RFC 9110, 13 and 14).
struct ConditionsTests {
  private static let modified = 1_700_000_000
  private static let before = "Tue, 14 Nov 2023 22:13:19 GMT"
  private static let same = "Tue, 14 Nov 2023 22:13:20 GMT"

  private static func outcome(_ fields: [(String, String)], method: String = "GET", size: Int64 = 10)
    -> Conditions.Outcome
  {
    Conditions.outcome(
      FrontRequest(
        serial: 1, method: method, segments: [], fields: fields.map { FrontRequest.Pair($0.0, $0.1) }),
      Conditions.Validators(tag: "\"a\"", modified: modified, size: size))
  }

  private static let tags: [([(String, String)], Conditions.Outcome)] = [
    ([], .whole),
    ([("if-match", "\"a\"")], .whole),
    ([("if-match", "\"b\", \"a\"")], .whole),
    ([("if-match", "\"b\""), ("if-match", "\"a\"")], .whole),
    ([("if-match", "*")], .whole),
    ([("if-match", "\"b\"")], .failed),
    ([("if-match", "W/\"a\"")], .failed),
    ([("if-match", "a")], .failed),
    ([("if-none-match", "\"a\"")], .unchanged),
    ([("if-none-match", "W/\"a\"")], .unchanged),
    ([("if-none-match", "*")], .unchanged),
    ([("if-none-match", "\"b\", \"c\"")], .whole),
    ([("if-match", "\"b\""), ("if-none-match", "\"a\"")], .failed),
    ([("if-unmodified-since", before)], .failed),
    ([("if-unmodified-since", same)], .whole),
    ([("if-match", "\"a\""), ("if-unmodified-since", before)], .whole),
    ([("if-modified-since", same)], .unchanged),
    ([("if-modified-since", before)], .whole),
    ([("if-none-match", "\"b\""), ("if-modified-since", same)], .whole),
    ([("if-modified-since", "yesterday")], .whole),
    ([("range", "bytes=0-0"), ("if-range", "\"a\"")], .part(0..<1)),
    ([("range", "bytes=0-0"), ("if-range", "\"b\"")], .whole),
    ([("range", "bytes=0-0"), ("if-range", "W/\"a\"")], .whole),
    ([("range", "bytes=0-0"), ("if-range", same)], .part(0..<1)),
    ([("range", "bytes=0-0"), ("if-range", before)], .whole),
    ([("range", "bytes=0-0"), ("if-none-match", "\"a\"")], .unchanged),
    ([("range", "bytes=99-"), ("if-match", "\"b\"")], .failed),
  ]

  @Test(arguments: tags)
  func conditionsComeInTheirOrder(fields: [(String, String)], expected: Conditions.Outcome) {
    #expect(Self.outcome(fields) == expected)
  }

  /// As nginx does.
  @Test(arguments: ["bytes=-500", "bytes=0-", "bytes=0-9", "bytes=5-"])
  func anEmptyContentHasNoParts(range: String) {
    #expect(Self.outcome([("range", range)], size: 0) == .whole)
  }

  private static let ranges: [(String, Conditions.Outcome)] = [
    ("bytes=0-", .part(0..<10)), ("bytes=-3", .part(7..<10)), ("bytes=-30", .part(0..<10)),
    ("bytes=2-4", .part(2..<5)), ("bytes=2-400", .part(2..<10)), ("BYTES=2-4", .part(2..<5)),
    ("bytes=9-99999999999999999999999", .part(9..<10)),
    ("bytes=10-", .unsatisfiable), ("bytes=-0", .unsatisfiable), ("bytes=99-100, 50-", .unsatisfiable),
    ("bytes=0-1,2-3", .part(0..<4)), ("bytes=4-5, 0-4", .part(0..<6)), ("bytes=0-1,5-6", .whole),
    ("bytes=0-1,99-", .part(0..<2)),
    ("bytes=4-2", .whole), ("bytes=", .whole), ("bytes=x-1", .whole), ("bytes=1", .whole),
    ("bytes=--1", .whole), ("bytes=+1-2", .whole), ("items=0-1", .whole), ("bytes 0-1", .whole),
    ("bytes=0-1,", .whole), ("bytes=0-0,1-1,2-2,3-3,4-4,5-5,6-6,7-7,8-8", .whole),
  ]

  @Test(arguments: ranges) func aRangeIsThatOfTheStandard(field: String, expected: Conditions.Outcome) {
    #expect(Self.outcome([("range", field)]) == expected)
  }

  @Test func onlyGETHasRanges() {
    #expect(Self.outcome([("range", "bytes=0-0")], method: "HEAD") == .whole)
  }

  /// Against sets of the bytes that are asked for.
  @Test func randomRangesAreThoseOfAModel() {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<100_000 {
      let size = Int64.random(in: 0...12, using: &random)
      var (specs, wanted): ([String], [Set<Int64>]) = ([], [])
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let (first, last) = (
          Int64.random(in: 0...14, using: &random), Int64.random(in: 0...14, using: &random)
        )
        switch Int.random(in: 0...2, using: &random) {
        case 0:
          specs.append("\(min(first, last))-\(max(first, last))")
          wanted.append(Set((min(first, last)...max(first, last)).filter { $0 < size }))
        case 1:
          specs.append("\(first)-")
          wanted.append(Set((0..<size).filter { $0 >= first }))
        default:
          specs.append("-\(first)")
          wanted.append(Set((0..<size).filter { $0 >= size - first }))
        }
      }
      let field = "bytes=" + specs.joined(separator: ",")
      let all = wanted.reduce(into: Set()) { $0.formUnion($1) }.sorted()
      let expected: Conditions.Outcome
      if let first = all.first, let last = all.last {
        expected = all.count == Int(last - first) + 1 ? .part(first..<last + 1) : .whole
      } else {
        expected = size == 0 ? .whole : .unsatisfiable
      }
      let found = Self.outcome([("range", field)], size: size)
      if found != expected {
        Issue.record("\(field) of \(size): \(found), and not \(expected)")
        return
      }
    }
  }

  @Test(arguments: [
    "Tue, 14 Nov 2023 22:13:20 GMT", "Tuesday, 14-Nov-23 22:13:20 GMT", "Tue Nov 14 22:13:20 2023",
  ])
  func aDateIsReadInItsThreeForms(text: String) {
    #expect(Conditions.seconds(text) == Self.modified)
    #expect(Conditions.seconds(text + " ") == nil && Conditions.seconds("x" + text) == nil)
  }
}
