import FrontWire
import LedgerPort
import Platform
import Testing

@testable import FrontDoor

/// Searches that wait.
struct SearchLineTests {
  private static func asked(_ serial: UInt64) -> RequestDesk.Asked {
    RequestDesk.Asked(
      request: FrontRequest(serial: serial, method: "GET", segments: [], query: [], fields: [], body: .none),
      life: 1)
  }

  @Test func oneAskerTakesNoMoreThanFourPlaces() throws {
    let line = SearchLine()
    func offer(_ name: String, _ serial: UInt64) -> Int? {
      line.offer(by: ByteText(name), Self.asked(serial)) { _ in .reply(Problem.away.reply) }?.status
    }
    #expect((1...4).map { offer("ann", $0) } == [nil, nil, nil, nil])
    #expect(offer("ann", 5) == 429)
    #expect(offer("ben", 6) == nil)
    line.close()
    var seen: [UInt64] = []
    line.run { asked, _ in seen.append(asked.serial) }
    #expect(seen == [1, 2, 3, 4, 6], "in their order")
  }

  @Test func thereIsAnEndOfPlaces() throws {
    let line = SearchLine()
    let all = (1...101).map { number in
      line.offer(by: ByteText("user \(number)"), Self.asked(UInt64(number))) { _ in .reply(Problem.away.reply)
      }?
      .status
    }
    #expect(all.dropLast().allSatisfy { $0 == nil } && all.last == 503)
  }
}
