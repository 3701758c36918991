import Pipeline
import Testing

@testable import LedgerPort
@testable import LedgerRules
@testable import LedgerSQLite

/// The attachments of a message are found by the index of messages, without a look at the others.
struct MessageFilterTests {
  /// Sixty attachments of twelve conversations; the message `m` of three of them has eight.
  private static func desk() throws -> Desk {
    let desk = try Desk()
    for number in 0..<60 {
      let conversation = number % 12
      let message = conversation % 4 == 1 && number < 40 ? "m" : "n\(number)"
      try desk.takeIn(Desk.item("\(number)", message: message, conversation: "c\(conversation)"))
      desk.clock.pass(1)
    }
    desk.ledger.candidates.attachments = 12
    return desk
  }

  private static let found = ["1", "5", "9", "13", "17", "21", "25", "29", "33", "37"]

  private func read(
    _ desk: Desk, limit: Int = 50, isNewestFirst: Bool = false, _ conversation: String? = nil
  ) throws -> (names: [String], pages: Int) {
    var filter = AttachmentFilter()
    (filter.messageId, filter.conversationId, filter.isNewestFirst) = ("m", conversation, isNewestFirst)
    var (names, pages, mark) = ([String](), 0, PageMark?.none)
    repeat {
      let page = try desk.ledger.attachments(filter, after: mark, limit: limit)
      names += page.rows.map(\.origin.fileName)
      mark = page.next
      pages += 1
    } while mark != nil && pages < 100
    return (names, pages)
  }

  @Test func aPageHasAllOfAMessageThoughItLooksAtFew() throws {
    let desk = try Self.desk()
    for isNewestFirst in [false, true] {
      let (names, pages) = try read(desk, isNewestFirst: isNewestFirst)
      #expect(names == (isNewestFirst ? Self.found.reversed() : Self.found))
      #expect(pages == 1, "60 were looked at 12 at a time")
      #expect(try read(desk, limit: 3, isNewestFirst: isNewestFirst).names == names)
    }
    let ofOne = try read(desk, "c5")
    #expect(ofOne.names == ["5", "17", "29"] && ofOne.pages == 1)
    #expect(try read(desk, "c4").names.isEmpty)
  }

  /// Where there are more conversations than a page looks at, all attachments are looked at, so many with each page.
  @Test func manyConversationsCostNoPageMoreThanOthers() throws {
    let desk = try Self.desk()
    desk.ledger.candidates.attachments = 11
    for isNewestFirst in [false, true] {
      for limit in [1, 2, 50] {
        let (names, pages) = try read(desk, limit: limit, isNewestFirst: isNewestFirst)
        #expect(names == (isNewestFirst ? Self.found.reversed() : Self.found), "\(limit) in a page")
        #expect(pages >= 6, "60 are looked at 11 at a time")
      }
    }
    let ofOne = try read(desk, "c5")
    #expect(ofOne.names == ["5", "17", "29"] && ofOne.pages == 1, "its conversation is known")
  }

  /// Else each page of many would look for the message in vain before it begins.
  @Test func aPageAfterAWindowLooksForNoMessage() throws {
    let queued = "\(Int64.min).7"
    for (isNewestFirst, text, statuses) in [
      (false, "7.\(Int64.max)", Set(Status.allCases)), (true, "7.\(Int64.min)", Set(Status.allCases)),
      (false, queued, [.queued]), (true, queued, [.queued]),
    ] {
      var filter = AttachmentFilter(statuses: statuses)
      (filter.messageId, filter.isNewestFirst) = ("m", isNewestFirst)
      for mark in [isNewestFirst ? Selection.Mark.newest : .oldest, try #require(Selection.Mark(text))] {
        var asked = 0
        let facts = Selection.Facts(
          conversations: { _, _ in
            asked += 1
            return nil
          }, areRare: { _ in true }, types: { [$0] }, time: { _ in 10 }, key: { _ in 10 })
        let selection = try Selection(filter, after: mark, facts)
        #expect(selection.window == (statuses == [.queued] ? .key(10) : .time(10)))
        #expect(asked == (mark.text == text ? 0 : 1))
      }
    }
  }

  @Test func noStatementLooksAtMoreThanTheMessage() throws {
    let desk = try Self.desk()
    for conversation in [nil, "c5"] {
      var filter = AttachmentFilter()
      (filter.messageId, filter.conversationId) = ("m", conversation)
      let facts = Selection.Facts(
        conversations: { id, _ in id.map { [$0] } ?? ["c1", "c5"] }, areRare: { _ in true }, types: { [$0] },
        time: { _ in 10 }, key: { _ in 10 })
      let selection = try Selection(filter, after: .oldest, facts)
      var plan = ""
      try desk.ledger.connection.prepare("EXPLAIN QUERY PLAN \(selection.sql)").rows(selection.values) {
        plan += $0.text(3) + "; "
      }
      #expect(
        plan.contains(
          "SEARCH a USING INDEX attachments_by_message (conversation_id=? AND message_id=?)"), "\(plan)")
    }
  }
}
