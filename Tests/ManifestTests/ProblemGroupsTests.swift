import LedgerPort
import Manifest
import Testing

struct ProblemGroupsTests {
  private func problem(_ line: Int, _ message: String) -> IntakeProblem {
    IntakeProblem("m:\(line)", message)
  }

  @Test func aMillionBadLinesAreOneRange() {
    var groups = ProblemGroups(manifest: "m")
    var shown = 0
    for line in 1...1_000_000 where groups.add(problem(line, "unknown key 'a'")) { shown += 1 }
    #expect(shown == ProblemGroups.shown && groups.count == 1_000_000)
    #expect(groups.rest.first == "1,000,000 in all: unknown key 'a': lines 1-1000000 of m")
  }

  @Test func keysAreToldApartAndNumbersAreNot() {
    var groups = ProblemGroups(manifest: "m")
    for line in 1...20 { _ = groups.add(problem(line, "unknown key '\(line % 2)'")) }
    for line in 21...30 { _ = groups.add(problem(line, "the line has \(line) bytes")) }
    #expect(
      groups.rest.dropLast() == [
        "10 in all: unknown key '1': lines 1, 3, 5, 7, 9, 11, 13, 15, 17, 19 of m",
        "10 in all: unknown key '0': lines 2, 4, 6, 8, 10, 12, 14, 16, 18, 20 of m",
        "10 in all: the line has 21 bytes: lines 21-30 of m",
      ])
  }

  /// Each line may have a mistake of its own.
  @Test func kindsAreBounded() {
    var groups = ProblemGroups(manifest: "m")
    for line in 1...100_000 { _ = groups.add(problem(line, "unknown key '\(line)'")) }
    #expect(groups.rest.count == 2)
    #expect(groups.rest.first == "99,900 in all: other reasons: lines 101-100000 of m")
  }

  @Test func aKindOfItsOwnGoesBeforeTheMessage() {
    var groups = ProblemGroups(manifest: nil)
    for line in 1...6 { _ = groups.add(IntakeProblem("m:\(line)", "from '\(line)'", kind: "from another")) }
    #expect(groups.rest.first == "6 in all: from another", "and without a manifest there are no lines")
  }

  @Test func aPathIsNoLine() {
    let groups = ProblemGroups(manifest: "m")
    #expect(groups.line(of: IntakeProblem("m:17", "")) == 17)
    #expect(groups.line(of: IntakeProblem("n:17", "")) == nil)
    #expect(groups.line(of: IntakeProblem("m", "")) == nil)
  }

  // MARK: Ranges

  @Test(arguments: [
    ([17, 19, 20, 21], "17, 19-21"), ([3, 1, 2], "1-3"), ([5, 1, 3, 2, 4], "1-5"), ([2, 2], "2"),
    ([9, 7, 8, 1], "1, 7-9"), ([1, 2, 4, 5, 3], "1-5"),
  ])
  func linesJoinToRanges(lines: [Int], text: String) {
    var ranges = LineRanges()
    for line in lines { ranges.add(line) }
    #expect(ranges.text == text)
  }

  @Test func rangesAreBoundedAndTheRestIsCounted() {
    var ranges = LineRanges()
    for line in stride(from: 1, to: 2001, by: 2) { ranges.add(line) }
    #expect(ranges.ranges.count == LineRanges.limit && ranges.unlisted == 800)
    #expect(ranges.text.hasSuffix(", 399 and 800 more"))
    ranges.add(400)
    #expect(ranges.text.hasSuffix(", 399-400 and 800 more"), "what joins a range finds room")
  }
}
