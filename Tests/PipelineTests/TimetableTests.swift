import Pipeline
import Testing

struct TimetableTests {
  private static func minute(_ day: Int, _ hour: Int, _ minute: Int = 0) -> Int {
    (day * 24 + hour) * 60 + minute
  }

  @Test func aNightGoesOnUntilTheNextDay() throws {
    let night = try #require(Timetable("22:00-06:00"))
    for day in 0..<7 {
      #expect(night.contains(Self.minute(day, 22)))
      #expect(night.contains(Self.minute(day, 0)))
      #expect(night.contains(Self.minute(day, 5, 59)))
      #expect(!night.contains(Self.minute(day, 6)))
      #expect(!night.contains(Self.minute(day, 21, 59)))
    }
    #expect(night.next(after: Self.minute(0, 12)) == "mon 22:00")
  }

  @Test func daysAreNamedAloneOrAsARange() throws {
    let table = try #require(Timetable("mon-fri 22:30-06:00, sat-sun 00:00-24:00"))
    #expect(!table.contains(Self.minute(4, 22, 29)))
    #expect(table.contains(Self.minute(4, 22, 30)))
    // Saturday and Sunday, all day; and the night to Monday belongs to no day that is named, but Sunday ends at midnight.
    #expect(table.contains(Self.minute(5, 12)))
    #expect(table.contains(Self.minute(6, 23, 59)))
    #expect(!table.contains(Self.minute(0, 0)))
    #expect(!table.contains(Self.minute(0, 12)))
    #expect(table.next(after: Self.minute(0, 12)) == "mon 22:30")
  }

  @Test func theWeekBeginsAgain() throws {
    let table = try #require(Timetable("sun 20:00-04:00"))
    #expect(table.contains(Self.minute(6, 23)))
    #expect(table.contains(Self.minute(0, 3, 59)))
    #expect(!table.contains(Self.minute(0, 4)))
    #expect(table.next(after: Self.minute(0, 4)) == "sun 20:00")
    let over = try #require(Timetable("sat-mon 8:00-9:00"))
    #expect(
      over.contains(Self.minute(0, 8)) && over.contains(Self.minute(6, 8))
        && !over.contains(Self.minute(1, 8)))
  }

  @Test(arguments: [
    "", "22:00", "22-06", "22:00-", "25:00-06:00", "22:60-06:00", "06:00-06:00", "24:00-06:00",
    "day 22:00-06:00",
    "mon-tue-wed 1:00-2:00", "mon 22:00-06:00,", "mon tue 1:00-2:00", "-1:00-2:00", "+1:00-2:00", "1:5-2:00",
  ])
  func anythingElseIsNone(_ text: String) {
    #expect(Timetable(text) == nil)
  }

  /// Each minute of a week, against what the words mean.
  @Test func everyMinuteIsAsTheWordsSay() throws {
    let table = try #require(Timetable("tue-thu 7:15-12:00, fri 13:00-13:01"))
    for minute in 0..<Timetable.minutesOfWeek {
      let (day, time) = (minute / 1440, minute % 1440)
      let isIn = (1...3).contains(day) && (435..<720).contains(time) || day == 4 && time == 780
      #expect(table.contains(minute) == isIn, "\(minute)")
    }
  }
}
