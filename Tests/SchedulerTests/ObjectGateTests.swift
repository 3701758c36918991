import Testing

@testable import Scheduler

struct ObjectGateTests {
  @Test func theFirstWithAContentGoesAheadAndTheOthersWait() {
    var gate = ObjectGate()
    let entered = [gate.enter("a", 1), gate.enter("a", 2), gate.enter("b", 3), gate.enter("a", 4)]
    #expect(entered == [true, false, true, false])
  }

  @Test func thoseWhoWaitedAreNamedOnceAndInOrder() {
    var gate = ObjectGate()
    for serial in 1...4 { _ = gate.enter("a", UInt64(serial)) }
    #expect(gate.leave("a") == [2, 3, 4])
    #expect(gate.leave("a").isEmpty)
  }

  @Test func whenTheFirstHasLeftTheNextIsFirst() {
    var gate = ObjectGate()
    _ = gate.enter("a", 1)
    _ = gate.enter("a", 2)
    _ = gate.leave("a")
    let next = [gate.enter("a", 2), gate.enter("a", 3)]
    #expect(next == [true, false])
  }

  @Test func leavingAnotherContentLetsNobodyGo() {
    var gate = ObjectGate()
    _ = gate.enter("a", 1)
    _ = gate.enter("a", 2)
    #expect(gate.leave("b").isEmpty)
    #expect(gate.leave("a") == [2])
  }
}
