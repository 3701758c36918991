import Pipeline
import Testing

struct DeliveryScheduleTests {
  private static func seconds(_ schedule: DeliverySchedule) -> [Int64?] {
    (1...12).map { schedule.delay(after: $0, jitter: 0).map { $0 / 1000 } }
  }

  @Test func whereNothingIsSaidItTakesThreeDaysAndGivesUp() {
    let schedule = DeliverySchedule()
    let waits: [Int64?] = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]
    #expect(Self.seconds(schedule) == waits + [nil, nil, nil])
    #expect(schedule.delay(after: 0, jitter: 0) == nil)
    #expect(schedule.delay(after: .max, jitter: 0) == nil)
  }

  @Test func itSpreadsOverATenth() {
    for attempt in 1...9 {
      let whole = DeliverySchedule.recommended[attempt - 1]
      #expect(DeliverySchedule().delay(after: attempt, jitter: 1) == whole + whole / 10)
    }
  }

  @Test func fewerAttemptsEndItSoonerAndMoreGoOnWithTheLastWait() {
    #expect(Self.seconds(DeliverySchedule(attempts: 3)) == [5, 300] + Array(repeating: nil, count: 10))
    #expect(Self.seconds(DeliverySchedule(attempts: 12)).suffix(4) == [86_400, 86_400, 86_400, nil])
  }

  @Test func aBackoffDoublesUpToTheLongestWait() {
    let schedule = DeliverySchedule(attempts: 6, backoff: 1000, max: 5000)
    #expect(Self.seconds(schedule).prefix(6) == [1, 2, 4, 5, 5, nil])
    #expect(DeliverySchedule(attempts: .max, backoff: .max / 2).delay(after: 90, jitter: 0) == 86_400_000)
  }

  @Test func theLongestWaitHoldsForTheRecommendedScheduleToo() {
    #expect(Self.seconds(DeliverySchedule(attempts: 5, max: 60_000)).prefix(5) == [5, 60, 60, 60, nil])
  }
}
