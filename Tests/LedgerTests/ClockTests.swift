import Pipeline
import Testing

@testable import LedgerPort
@testable import LedgerRules
@testable import LedgerSQLite

/// What waits for later waits as long as it was to, whatever somebody makes of the clock while no coordinator is running.
struct ClockTests {
  private let desk: Desk
  private static let hour: Int64 = 3_600_000

  /// One attachment waits for a minute.
  init() throws {
    desk = try Desk(inFolder: ())
    try desk.takeIn(Desk.item("a"), Desk.item("b"))
    let lease = try desk.claimOne()
    try desk.settle(lease, Desk.again(lease, after: 60_000))
  }

  @Test(arguments: [-5 * hour, 5 * hour, -1000, 1000])
  func aClockThatWasSetMovesWhatWaits(milliseconds: Int64) throws {
    desk.clock.set(by: milliseconds)
    try desk.reopen()
    #expect(try desk.state().nextDue == 60_000)
    try desk.reopen()
    #expect(try desk.state().nextDue == 60_000, "once")
    desk.clock.pass(60_000)
    #expect(try desk.claim(9).map(Desk.name) == ["a", "b"])
  }

  @Test(arguments: [-5 * hour, 0, 5 * hour])
  func timeThatPassesBetweenTwoOpeningsCounts(milliseconds: Int64) throws {
    desk.clock.pass(20_000)
    desk.clock.set(by: milliseconds)
    try desk.reopen()
    #expect(try desk.state().nextDue == 40_000)
  }

  @Test func aCorrectionOfLessThanASecondMovesNothing() throws {
    let due = try desk.number("SELECT due_at FROM jobs WHERE state = 'scheduled'")
    desk.clock.set(by: -999)
    try desk.reopen()
    #expect(try desk.number("SELECT due_at FROM jobs WHERE state = 'scheduled'") == due)
  }

  /// How long the machine was off is not known, so that a later time is taken for time that has passed.
  @Test(arguments: [-hour, 0, 20_000])
  func afterTheMachineStartedAgainOnlyTimeThatGoesBackIsFollowed(milliseconds: Int64) throws {
    desk.clock.restart()
    desk.clock.set(by: milliseconds)
    try desk.reopen()
    #expect(try desk.state().nextDue == 60_000 - max(milliseconds, 0))
  }

  @Test func theTimeOfTheLastExchangeCountsNotThatOfTheOpening() throws {
    desk.clock.pass(30_000)
    #expect(try desk.claim(1).count == 1)
    desk.clock.set(by: -Self.hour)
    try desk.reopen()
    #expect(try desk.state().nextDue == 30_000)
  }
}
