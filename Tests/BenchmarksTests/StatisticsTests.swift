import Testing

@testable import sluice_bench

struct StatisticsTests {
  @Test func theMedianIsTheMiddleOne() {
    #expect(Series([5, 1, 3]).median == 3)
    #expect(Series([7]).median == 7)
  }

  @Test func theMedianOfAnEvenNumberLiesBetweenTheTwoInTheMiddle() {
    #expect(Series([4, 1, 2, 10]).median == 3)
  }

  @Test func aQuantileIsInterpolated() {
    #expect(Series([0, 10, 20, 30, 40]).quantile(0.99) == 39.6)
    #expect(Series([1, 2]).quantile(1) == 2)
  }

  @Test func theSpreadIsFromTheLeastToTheMost() {
    let series = Series([2, 9, 4])
    #expect(series.least == 2)
    #expect(series.most == 9)
  }

  @Test func withoutValuesThereIsNoNumber() {
    #expect(Series().median.isNaN)
    #expect(Series().least.isNaN)
  }

  /// The second round was slow for both: each value is compared with that of its own round.
  @Test func ratiosAreThoseOfTheRounds() {
    let paired = Paired([100, 10, 90], [50, 5, 60])
    #expect(paired.ratios.median == 2)
    #expect(paired.ratios.least == 1.5)
    #expect(paired.ours.median == 90)
    #expect(paired.theirs.median == 50)
  }
}
