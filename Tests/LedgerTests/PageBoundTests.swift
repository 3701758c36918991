import Pipeline
import Testing

@testable import Ledger

/// A page looks at so many at most, and the next goes on.
struct PageBoundTests {
  @Test func aPageThatHasLookedAtEnoughEndsWithAMark() throws {
    let desk = try Desk()
    for number in 0..<50 {
      try desk.takeIn(Desk.item("\(number)"))
      desk.clock.pass(1)
    }
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

  /// Whatever a clock does: all that answer are found, once each.
  @Test func clocksThatStandOrAreSetBackHideNothing() throws {
    let steps: [Int64] = [0, 1, -3, 5, 0, 0, 7, -9, 2, 0]
    for bound in [1, 2, 3, 8, 1000] {
      let desk = try Desk()
      desk.ledger.candidates.attachments = bound
      for number in 0..<60 {
        try desk.takeIn(Desk.item("\(number)"))
        desk.clock.pass(steps[number % steps.count])
      }
      var filter = AttachmentFilter()
      filter.fileName = "*[0369]"
      for statuses in [Set(Status.allCases), [.queued]] {
        filter.statuses = statuses
        for limit in [1, 2, 7, 100] {
          var (names, mark, pages) = ([String](), PageMark?.none, 0)
          repeat {
            let page = try desk.ledger.attachments(filter, after: mark, limit: limit)
            names += page.rows.map(\.origin.fileName)
            (mark, pages) = (page.next, pages + 1)
          } while mark != nil && pages < 500
          let all = (0..<60).map(String.init).filter { "0369".contains($0.last ?? " ") }
          #expect(names.sorted() == all.sorted(), "\(bound) at a time, \(limit) in a page")
        }
      }
    }
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
