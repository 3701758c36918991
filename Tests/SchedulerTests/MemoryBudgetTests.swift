import Testing

@testable import Scheduler

struct MemoryBudgetTests {
  @Test func outputsWaitUntilThereIsRoomForAllTheyMayBe() {
    var budget = MemoryBudget(total: 250)
    for serial in 1...2 {
      #expect(budget.hasRoom(for: 100, held: 0, own: 0))
      budget.begin(UInt64(serial), 100)
    }
    #expect(!budget.hasRoom(for: 100, held: 0, own: 0))
    #expect(budget.hasRoom(for: 50, held: 0, own: 0))
    budget.end(1)
    #expect(budget.hasRoom(for: 100, held: 50, own: 0))
    #expect(!budget.hasRoom(for: 100, held: 51, own: 0), "what has been written counts as well")
  }

  @Test func whereThereIsNoOtherOneIsLetThroughHoweverLarge() {
    var budget = MemoryBudget(total: 10)
    #expect(budget.hasRoom(for: 100, held: 0, own: 0))
    budget.begin(1, 100)
    #expect(!budget.hasRoom(for: 1, held: 0, own: 0))
    budget.end(1)
    budget.end(1)
    #expect(budget.hasRoom(for: 100, held: 0, own: 0), "an end that is told twice counts once")
  }

  @Test func whatIsHeldKeepsNewOnesBackAndLetsItsOwnersGoOn() {
    var budget = MemoryBudget(total: 100)
    #expect(!budget.hasRoom(for: 60, held: 50, own: 0), "it would be more than all")
    #expect(budget.hasRoom(for: 60, held: 50, own: 50), "its going on is what gives memory back")
    budget.begin(1, 60)
    #expect(!budget.hasRoom(for: 60, held: 50, own: 50), "one at a time")
  }

  @Test func theSameAttachmentBegunAgainCountsOnce() {
    var budget = MemoryBudget(total: 200)
    budget.begin(1, 100)
    budget.begin(1, 100)
    #expect(budget.hasRoom(for: 100, held: 0, own: 0))
  }
}
