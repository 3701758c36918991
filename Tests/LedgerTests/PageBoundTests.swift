import Pipeline
import Testing

@testable import Ledger

/// A page looks at so many at most, and the next goes on.
struct PageBoundTests {
  @Test func aPageThatHasLookedAtEnoughEndsWithAMark() throws {
    let desk = try Desk()
    try desk.takeIn((0..<50).map { Desk.item("\($0)") })
    desk.ledger.candidates.attachments = 8
    var filter = AttachmentFilter()
    filter.fileName = "[1-4]7"
    var (names, pages, mark) = ([String](), 0, PageMark?.none)
    repeat {
      let page = try desk.ledger.attachments(filter, after: mark, limit: 5)
      names += page.rows.map(\.origin.fileName)
      mark = page.next
      pages += 1
    } while mark != nil
    #expect(names == ["17", "27", "37", "47"])
    #expect(pages == 7, "50 are looked at 8 at a time, though hardly any answers")
  }

  @Test func soDoesOneOfDeliveries() throws {
    let desk = try Desk()
    try desk.takeIn(Desk.item("a"))
    let lease = try desk.claimOne()
    let people = (0..<50).map { "person \($0)" }
    try desk.settle(lease, Desk.completed(lease) { $0.events = [Desk.event(people)] })
    let last = try #require(try desk.ledger.deliveries(of: Desk.key(lease)).last)
    desk.ledger.candidates.deliveries = 8
    var filter = DeliveryFilter()
    filter.ids = [last.id]
    var (keys, pages, mark) = ([Int64](), 0, PageMark?.none)
    repeat {
      let page = try desk.ledger.deliveries(filter, after: mark, limit: 5)
      keys += page.rows.map(\.key)
      mark = page.next
      pages += 1
    } while mark != nil
    #expect(keys == [last.key] && pages == 7)
  }
}
