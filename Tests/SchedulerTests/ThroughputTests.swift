import Testing

@testable import Scheduler

struct ThroughputTests {
  private static let second: UInt64 = 1_000_000_000

  @Test func whatComesEvenlyHasItsRate() {
    var throughput = Throughput()
    for step in 0..<100 { throughput.add(1_000_000, at: 5 * Self.second + UInt64(step) * 100_000_000) }
    let rate = throughput.rate(at: 5 * Self.second + 9_900_000_000)
    #expect((9_000_000...11_000_000).contains(rate), "\(rate)")
  }

  @Test func whatWasLongAgoDoesNotCount() {
    var throughput = Throughput()
    throughput.add(1 << 30, at: Self.second)
    throughput.add(1 << 30, at: 2 * Self.second)
    #expect(throughput.rate(at: 3 * Self.second) > 1 << 28)
    #expect(throughput.rate(at: 60 * Self.second) == 0)
    throughput.add(1000, at: 61 * Self.second)
    #expect(throughput.rate(at: 62 * Self.second) <= 1000)
  }

  @Test func theFirstMomentSaysNoWonders() {
    var throughput = Throughput()
    #expect(throughput.rate(at: 7) == 0)
    throughput.add(1000, at: 7)
    throughput.add(1000, at: 8)
    #expect(throughput.rate(at: 9) <= 8000)
  }
}
