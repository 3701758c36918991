import Scheduler
import Testing

@testable import FrontDoor

/// When there is something to tell of what is fetched.
struct TransferWatchTests {
  private static let second: UInt64 = 1_000_000_000

  private func transfer(_ key: Int64, _ bytes: Int64, isHeld: Bool = false) -> DownloadsAtWork.Transfer {
    DownloadsAtWork.Transfer(key: key, fileName: "a", link: "l", bytes: bytes, total: 100, isHeld: isHeld)
  }

  @Test func itIsToldFourTimesASecondAtMostAndWhereSomethingChanged() {
    var watch = TransferWatch()
    var count = 0
    for tick in 0..<100 {
      let now = Self.second + UInt64(tick) * Self.second / 100
      count += watch.take([transfer(1, Int64(tick))], at: now).moving.count
    }
    #expect(count == 4)
    // What stands still has nothing to tell.
    for tick in 0..<10 {
      let news = watch.take([transfer(1, 99)], at: Self.second * UInt64(3 + tick))
      #expect(news.moving.count == (tick == 0 ? 1 : 0))
    }
    #expect(watch.take([transfer(1, 99, isHeld: true)], at: Self.second * 20).moving.count == 1)
    #expect(watch.take(nil, at: Self.second * 21) == TransferWatch.News())
  }

  @Test func eachIsToldForItself() {
    var watch = TransferWatch()
    #expect(watch.take([transfer(1, 0), transfer(2, 0)], at: Self.second).moving.map(\.key) == [1, 2])
    #expect(watch.take([transfer(1, 0), transfer(2, 5)], at: Self.second * 2).moving.map(\.key) == [2])
    // Of another process nothing is known but a name.
    #expect(watch.take([transfer(0, 1)], at: Self.second * 3).moving.isEmpty)
  }

  @Test func anEndIsLookedForUntilItIsOnRecord() {
    var watch = TransferWatch()
    _ = watch.take([transfer(1, 0)], at: Self.second)
    #expect(watch.take([], at: Self.second * 2).ended == [1])
    #expect(watch.take(nil, at: Self.second * 3).ended == [1])
    watch.end(1)
    #expect(watch.take(nil, at: Self.second * 4).ended.isEmpty)
    // One that begins again has not ended.
    _ = watch.take([transfer(2, 0)], at: Self.second * 5)
    #expect(watch.take([], at: Self.second * 6).ended == [2])
    #expect(watch.take([transfer(2, 1)], at: Self.second * 7).ended.isEmpty)
    // And it is not looked for without end.
    _ = watch.take([], at: Self.second * 8)
    #expect(watch.take(nil, at: Self.second * 60).ended.isEmpty)
  }
}
