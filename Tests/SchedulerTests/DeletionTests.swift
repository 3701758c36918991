import Platform
import Testing

@testable import Scheduler

/// Which objects are deleted when.
struct DeletionTests {
  private var deletions = Deletions()
  private let error = SystemError("deleting the object a", code: 5)

  @Test mutating func whatIsHeldWaits() {
    deletions.add(["a", "b"])
    #expect(deletions.nextBatch(at: 1, isHeld: { $0 == "a" }) == ["b"])
    #expect(deletions.nextBatch(at: 1, isHeld: { _ in false }) == nil, "one batch at a time")
    #expect(deletions.includes("a") && deletions.includes("b") && !deletions.includes("c"))
    #expect(deletions.take([nil], at: 2) == nil && !deletions.isSettled)
    #expect(deletions.takeDone() == ["b"] && deletions.takeDone() == [])
    #expect(!deletions.includes("b"))
    #expect(deletions.nextBatch(at: 3, isHeld: { _ in false }) == ["a"])
  }

  @Test mutating func whatIsUnderWayOrDoneIsNotDoneAgain() {
    deletions.add(["a"])
    _ = deletions.nextBatch(at: 1, isHeld: { _ in false })
    deletions.add(["a"])
    _ = deletions.take([nil], at: 1)
    deletions.add(["a"])
    #expect(deletions.nextBatch(at: 1, isHeld: { _ in false }) == nil)
    #expect(deletions.takeDone() == ["a"] && deletions.isSettled)
    deletions.add(["a"])
    #expect(
      deletions.nextBatch(at: 1, isHeld: { _ in false }) == ["a"], "another object may have had the path")
  }

  @Test mutating func whatFailsIsTriedAgainLater() {
    deletions.add(["a"])
    var time: Int64 = 0
    for wait in [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000] as [Int64] {
      #expect(deletions.nextBatch(at: time, isHeld: { _ in false }) == ["a"])
      let told = deletions.take([error], at: time)
      #expect((told != nil) == (wait == 1000 && time == 0), "it is told once")
      #expect(deletions.isSettled && deletions.nextTry == time + wait)
      #expect(deletions.nextBatch(at: time + wait - 1, isHeld: { _ in false }) == nil)
      time += wait
    }
    _ = deletions.nextBatch(at: time, isHeld: { _ in false })
    #expect(deletions.take([nil], at: time) == nil && deletions.nextTry == nil && !deletions.isBehind)
  }
}
