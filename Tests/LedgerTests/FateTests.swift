import Pipeline
import Testing

@testable import LedgerPort
@testable import LedgerRules
@testable import LedgerSQLite

/// An exchange is done once, however often it is sent.
struct FateTests {
  private let desk: Desk

  init() throws { desk = try Desk(inFolder: ()) }

  /// An exchange of every kind of work, and what is in the ledger for it.
  private func exchange(_ number: Int64) throws -> Exchange {
    try desk.takeIn(Desk.item("a"), Desk.item("b"), Desk.item("c"))
    let leases = try desk.claim(2)
    var exchange = Exchange(number: desk.number + number)
    exchange.commands = [
      .takeIn([Desk.item("d")]), .retry("nobody's"),
      .lane(LaneCommand(.attachments, .resume(nil))),
    ]
    exchange.settlements = [
      Settlement(leases[0], Desk.completed(leases[0]) { $0.events = [Desk.event()] }),
      Settlement(leases[1], Desk.again(leases[1], after: 60_000)),
    ]
    exchange.wanted = [Want(.attachments, 1), Want(.channel("events"), 1)]
    exchange.contents = [Desk.question(9, 5)]
    return exchange
  }

  private func everything() throws -> [String] { try Desk.rows(of: desk.ledger.connection) }

  /// As text, since replies hold no two kinds of value that look the same.
  private func text(_ reply: ExchangeReply?) -> String { reply.map { String(describing: $0) } ?? "none" }

  private func expectFenced(_ body: () throws -> Void) throws {
    let before = try everything()
    let error = try #require(throws: LedgerError.self) { try body() }
    #expect(error.code == .fenced, "\(error)")
    #expect(try everything() == before)
  }

  @Test func theSameExchangeSentTwiceIsDoneOnceAndAnsweredTwice() throws {
    let exchange = try exchange(1)
    let first = try desk.ledger.exchange(exchange)
    #expect(first.leases.count == 2 && first.settled == [.counted, .counted] && first.position != nil)
    let after = try everything()
    desk.clock.pass(1000)
    let second = try desk.ledger.exchange(exchange)
    #expect(text(second) == text(first))
    #expect(try everything() == after)
  }

  @Test func theFateOfOneThatWasNeverSentIsThatItWasNotDone() throws {
    let exchange = try exchange(1)
    let before = try everything()
    #expect(try desk.ledger.fate(of: exchange) == nil)
    #expect(try everything() == before)
    let reply = try desk.ledger.exchange(exchange)
    #expect(reply.settled == [.counted, .counted], "it can be sent yet")
  }

  @Test func theFateOfTheLastIsItsAnswer() throws {
    let exchange = try exchange(1)
    let reply = try desk.ledger.exchange(exchange)
    let after = try everything()
    #expect(text(try desk.ledger.fate(of: exchange)) == text(reply))
    #expect(try everything() == after)
  }

  /// The transaction was durable, but the program was told of an error.
  @Test func anAnswerThatWasLostIsFound() throws {
    let exchange = try exchange(1)
    let reply = try desk.ledger.exchange(exchange)
    (desk.ledger.last, desk.ledger.lastChange) = (nil, 0)
    #expect(text(try desk.ledger.fate(of: exchange)) == text(reply))
    #expect(text(try desk.ledger.exchange(exchange)) == text(reply))
    var next = Exchange(number: exchange.number + 1)
    next.commands = [.takeIn([Desk.item("e")])]
    #expect(
      try desk.ledger.exchange(next).position?.number == reply.position.map { $0.number + 1 },
      "changes go on where they were")
  }

  @Test func oneThatFailedWasNotDoneAndCanBeSentAgain() throws {
    let exchange = try exchange(1)
    try desk.execute(
      "CREATE TRIGGER no_d BEFORE INSERT ON attempts BEGIN SELECT RAISE(ABORT, 'no'); END")
    #expect(throws: LedgerError.self) { try desk.ledger.exchange(exchange) }
    #expect(try desk.ledger.fate(of: exchange) == nil)
    try desk.execute("DROP TRIGGER no_d")
    #expect(try desk.ledger.exchange(exchange).settled == [.counted, .counted])
    try desk.checkCounts()
  }

  @Test(arguments: [2, 3, -1, -2, 1000] as [Int64])
  func aNumberThatIsNotTheNextIsRefused(step: Int64) throws {
    let exchange = try exchange(step)
    try expectFenced { _ = try desk.ledger.exchange(exchange) }
    try expectFenced { _ = try desk.ledger.fate(of: exchange) }
  }

  @Test func anotherOpeningTakesOver() throws {
    let exchange = try exchange(1)
    let other = try desk.another()
    try expectFenced { _ = try desk.ledger.exchange(exchange) }
    try expectFenced { _ = try desk.ledger.fate(of: exchange) }
    var next = Exchange(number: 1)
    next.wanted = [Want(.attachments, 9)]
    #expect(try other.exchange(next).leases.map(\.losses) == [1, 1, 0])
    try expectFenced { _ = try desk.ledger.exchange(exchange) }
  }

  @Test func theNumberOfOneCoordinatorIsNotAnothers() throws {
    try desk.takeIn(Desk.item("a"))
    let other = try desk.another()
    var exchange = Exchange(number: 1)
    exchange.commands = [.takeIn([Desk.item("b")])]
    let reply = try other.exchange(exchange)
    guard case .takenIn(let report) = reply.results.first else {
      Issue.record("the intake is not answered")
      return
    }
    #expect(report.added == 1, "the first exchange of the other is not the first of this one")
  }

  @Test func whatOnlyAsksHasNoFateAndNoNumber() throws {
    try desk.takeIn(Desk.item("a"))
    var question = Exchange(number: 99)
    question.contents = [Desk.question(9, 5)]
    #expect(try desk.ledger.fate(of: question) == nil)
    #expect(try desk.ledger.exchange(question).contents.map(\.url) == [nil])
    #expect(try desk.takeIn(Desk.item("b")).added == 1, "the next number is the next")
  }
}
