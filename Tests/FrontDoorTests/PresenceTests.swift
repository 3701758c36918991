import Platform
import Testing

@testable import FrontDoor

/// Who is online, by open streams.
struct PresenceTests {
  private static let second: UInt64 = 1_000_000_000
  private let presence = Presence()

  private func changes(after seconds: UInt64 = 0, limit: Int = 9) -> [String] {
    presence.takeChanges(at: Clock.monotonic() + seconds * Self.second, limit: limit)
      .map { "\($0.user) \($0.isOnline)" }.sorted()
  }

  @Test func aUserIsOnlineFromItsFirstStreamToItsLast() {
    presence.begin(1, "ann")
    presence.begin(2, "ann")
    #expect(changes() == ["ann true"] && changes().isEmpty)
    presence.end([1])
    #expect(changes(after: 60).isEmpty && presence.sights(of: nil).map(\.user) == ["ann"])
    presence.end([2, 3])
    #expect(changes(after: 2).isEmpty, "it may come back")
    #expect(presence.sights(of: nil).map(\.user) == ["ann"], "the list says the same as the events")
    #expect(changes(after: 4) == ["ann false"] && changes(after: 60).isEmpty)
    #expect(presence.sights(of: nil).isEmpty)
    #expect(presence.sights(of: ["ann", "ben"]).map { $0.lastSeenAt != nil } == [true])
  }

  @Test func aLostConnectionIsNotTold() {
    presence.begin(1, "ann")
    #expect(changes() == ["ann true"])
    presence.end([1])
    presence.begin(2, "ann")
    #expect(changes(after: 60).isEmpty && presence.sights(of: ["ann"]).first?.isOnline == true)
    // Nobody is told of a short visit.
    presence.begin(3, "ben")
    presence.end([3])
    #expect(changes(after: 60).isEmpty)
  }

  @Test func manyAreToldByAndByAndTheEndOfTheProcessIsToldOfEach() {
    for serial in 1...20 as ClosedRange<UInt64> { presence.begin(serial, "user \(serial)") }
    #expect(changes(limit: 15).count == 15 && changes(limit: 15).count == 5)
    presence.endAll()
    #expect(changes(after: 4, limit: 50).count == 20 && presence.sights(of: nil).isEmpty)
  }

  @Test func namesAreOfBytes() {
    presence.begin(1, "ren\u{E9}")
    presence.begin(2, "rene\u{301}")
    presence.end([2])
    #expect(presence.sights(of: nil).count == 1)
  }
}
