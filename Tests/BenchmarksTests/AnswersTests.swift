import Platform
import Testing

@testable import sluice_bench

struct AnswersTests {
  @Test func theEarliestComesFirst() {
    var answers = Answers()
    var random = SplitMix(state: 3)
    let times = (0..<500).map { _ in random.next() % 100 }
    for (slot, time) in times.enumerated() { answers.insert(time, UInt32(slot)) }
    var taken: [Int] = []
    while let slot = answers.popFirst(until: 100) { taken.append(Int(slot)) }
    // Of the same time in the order of insertion.
    #expect(taken == times.indices.sorted { (times[$0], $0) < (times[$1], $1) })
  }

  @Test func whatIsNotDueStays() {
    var answers = Answers()
    answers.insert(20, 2)
    answers.insert(10, 1)
    #expect(answers.popFirst(until: 9) == nil)
    #expect(answers.popFirst(until: 10) == 1)
    #expect(answers.popFirst(until: 10) == nil)
    #expect(answers.first == 20)
  }
}
