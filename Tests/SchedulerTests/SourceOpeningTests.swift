import Testing

@testable import LedgerPort
@testable import Scheduler

/// Sources are opened one after the other; the first may hang.
struct SourceOpeningTests {
  private static func source(_ serial: UInt64) -> Source {
    Source(serial: serial, .file(Array("/in/\(serial)".utf8), folderDevice: nil))
  }

  private var openings = SourceOpenings()
  private static let second: UInt64 = 1_000_000_000

  @Test mutating func anAnswerIsTakenOnceAndNotAfterItIsDropped() {
    for serial: UInt64 in 1...3 { openings.add(Self.source(serial)) }
    let batch = openings.nextBatch(at: 0).map(\.serial)
    let again = openings.nextBatch(at: 0).count
    #expect(batch == [1, 2, 3] && again == 0)
    let first = openings.answered(1, at: 0)
    let twice = openings.answered(1, at: 0)
    #expect(first && !twice)
    openings.add(Self.source(4))
    let dropped = openings.dropAll()
    let late = openings.answered(2, at: 0)
    #expect(dropped == [2, 3, 4] && !late, "those that were not asked for yet as well")
    let nothing = openings.nextBatch(at: 0)
    #expect(nothing.isEmpty)
  }

  @Test mutating func aSourceThatTakesLongIsToldOnce() {
    for serial: UInt64 in 1...2 { openings.add(Self.source(serial)) }
    _ = openings.nextBatch(at: Self.second)
    let early = openings.slow(at: 10 * Self.second)
    let slow = openings.slow(at: 11 * Self.second)
    let again = openings.slow(at: 60 * Self.second)
    #expect(early == nil && slow?.serial == 1 && again == nil)
    _ = openings.answered(1, at: 61 * Self.second)
    let next = openings.slow(at: 70 * Self.second)
    let nextSlow = openings.slow(at: 71 * Self.second)
    #expect(next == nil && nextSlow?.serial == 2, "the next has its own time")
    _ = openings.answered(2, at: 72 * Self.second)
    let none = openings.slow(at: 100 * Self.second)
    #expect(none == nil)
  }
}
