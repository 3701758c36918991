import Testing

@testable import FrontDoor

/// When a server counts as hung.
struct PulseTests {
  private static let second: UInt64 = 1_000_000_000

  /// Looks at a pulse once a second, and says at which look it has stopped.
  private func look(_ beats: [UInt64], isServing: Bool = true, waits: Bool = false) -> Int? {
    var pulse = Pulse()
    return beats.indices.first { index in
      pulse.hasStopped(
        beats[index], isServing: isServing, at: UInt64(index + 1) * Self.second, waits: waits)
    }
  }

  @Test func tenSecondsWithoutASignAreTooMany() {
    #expect(look([5] + Array(repeating: 5, count: 20)) == 10)
    let slow: [UInt64] = (1...50).map { $0 / 9 + 1 }
    #expect(look(slow) == nil, "one each nine seconds")
  }

  @Test func aStartMayTakeAMinute() {
    #expect(look(Array(repeating: 0, count: 55), isServing: false) == nil)
    #expect(look(Array(repeating: 0, count: 100), isServing: false) == 59)
  }

  @Test func oneThatWaitsForADiskIsNotEnded() {
    #expect(look(Array(repeating: 5, count: 100), waits: true) == nil)
  }

  /// Time that passes between two looks is none of the process's.
  @Test func aMachineThatSleptIsNoReason() {
    var pulse = Pulse()
    func hasStopped(_ beat: UInt64, atHour hour: UInt64) -> Bool {
      pulse.hasStopped(beat, isServing: true, at: hour * 3600 * Self.second, waits: false)
    }
    for hour in 1...9 as ClosedRange<UInt64> {
      let hasStopped = hasStopped(1, atHour: hour)
      #expect(!hasStopped)
    }
    let isGone = hasStopped(2, atHour: 11)
    #expect(!isGone && pulse.missed == 0)
  }
}
