import Testing

@testable import HTTPSource

/// Which transfer is read where more comes than can be read.
struct TurnTests {
  @Test func theOldestGoesFirstAndOthersHaveATurnFourTimesASecond() {
    func next(_ waiting: (number: Int, lastTurn: Int64)..., at now: Int64) -> Set<Int> {
      Engine.next(of: waiting, at: now)
    }
    #expect(next((7, 100), (3, 100), (5, 100), at: 110) == [3])
    #expect(next((7, 100), (5, 100), at: 110) == [5], "the oldest stands still for another reason")
    #expect(next((7, 100), (3, 340), (5, 120), at: 350) == [3, 7])
    #expect(next((7, 100), at: 101) == [7])
    #expect(next(at: 101).isEmpty)
  }
}
