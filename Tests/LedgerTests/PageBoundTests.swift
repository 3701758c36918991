import Pipeline
import Testing

@testable import LedgerPort
@testable import LedgerRules
@testable import LedgerSQLite

/// A page looks at so many at most, and the next goes on.
struct PageBoundTests {
  @Test func aPageThatHasLookedAtEnoughEndsWithAMark() throws {
    let desk = try Desk()
    for number in 0..<50 {
      try desk.takeIn(Desk.item("\(number)"))
      desk.clock.pass(1)
    }
    desk.ledger.candidates.attachments = 8
    for statuses in [Set(Status.allCases), [.queued]] {
      for isNewestFirst in [false, true] {
        var filter = AttachmentFilter(statuses: statuses)
        filter.fileName = "[1-4]7"
        filter.isNewestFirst = isNewestFirst
        var (names, pages, mark) = ([String](), 0, PageMark?.none)
        repeat {
          let page = try desk.ledger.attachments(filter, after: mark, limit: 5)
          names += page.rows.map(\.origin.fileName)
          mark = page.next
          pages += 1
        } while mark != nil
        let found = ["17", "27", "37", "47"]
        #expect(names == (isNewestFirst ? found.reversed() : found))
        #expect(pages == 7, "50 are looked at 8 at a time, though hardly any answers")
      }
    }
  }

  /// No statement sorts more, or looks at more, than the one that finds the oldest.
  @Test func theNewestAreFoundByTheSameIndexesAsTheOldest() throws {
    let desk = try Desk()
    for number in 0..<20 {
      try desk.takeIn(Desk.item("\(number)"))
      desk.clock.pass(1)
    }
    let changes: [(inout AttachmentFilter) -> Void] = [
      { _ in }, { $0.statuses = [.queued] }, { $0.statuses = [.rejected, .failed] }, { $0.codes = ["x"] },
      { $0.codes = ["x", "y"] },
      { $0.sha256 = [UInt8](repeating: 1, count: 32) }, { $0.mediaType = "image/png" },
      { $0.fileName = "*.pdf" }, { ($0.since, $0.until) = (5, .max) }, { $0.conversationId = "c" },
      { $0.messageId = "m" }, { ($0.conversationId, $0.messageId) = ("c", "m") }, { $0.objectPath = "a" },
      { $0.participant = "ann" },
    ]
    for (number, change) in changes.enumerated() {
      let plans = try [false, true].map { isNewestFirst in
        var filter = AttachmentFilter()
        change(&filter)
        filter.isNewestFirst = isNewestFirst
        let facts = Selection.Facts(
          conversations: { id, _ in [id ?? "c", "d"] }, areRare: { _ in true }, types: { [$0] },
          time: { _ in 10 }, key: { _ in 10 })
        let selection = try Selection(filter, after: isNewestFirst ? .newest : .oldest, facts)
        var plan = ""
        try desk.ledger.connection.prepare("EXPLAIN QUERY PLAN \(selection.sql)").rows(selection.values) {
          plan += $0.text(3) + "; "
        }
        return plan.replacing(/rowid>\?|rowid<\?|\([a-z_]+[<>]\?\)/, with: "")
      }
      #expect(plans[0] == plans[1], "\(number)")
      #expect(plans.allSatisfy { !$0.contains("SCAN a;") && !$0.contains("SCAN a ") }, "\(plans)")
    }
  }

  /// Else each page would sort all that have these codes.
  @Test func severalCodesThatAreNotRareAreFoundInOrderOfIntake() throws {
    let desk = try Desk()
    for areRare in [false, true] {
      var filter = AttachmentFilter()
      filter.codes = ["x", "y"]
      let facts = Selection.Facts(
        conversations: { _, _ in nil }, areRare: { areRare && $0 == ["x", "y"] }, types: { [$0] },
        time: { _ in 10 }, key: { _ in 10 })
      let selection = try Selection(filter, after: .oldest, facts)
      var plan = ""
      try desk.ledger.connection.prepare("EXPLAIN QUERY PLAN \(selection.sql)").rows(selection.values) {
        plan += $0.text(3) + "; "
      }
      #expect(plan.contains("INDEX attachments_\(areRare ? "by_code" : "not_completed")"), "\(plan)")
      #expect(areRare || !plan.contains("B-TREE FOR ORDER BY;"), "\(plan)")
    }
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
        for (limit, isNewestFirst) in [(1, false), (2, true), (7, false), (7, true), (100, true)] {
          filter.isNewestFirst = isNewestFirst
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
