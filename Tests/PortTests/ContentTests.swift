import LedgerPort
import Pipeline
import Testing

/// What is known of a content.
struct ContentTests {
  private func ask(_ bench: Bench, _ question: ContentQuestion) throws -> KnownContent {
    try #require(try bench.exchange { $0.contents = [question] }.contents.first)
  }

  @Test(arguments: Engine.allCases) func aContentIsItsHashAndSize(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.end("a")
    #expect(try ask(bench, Sample.question(9)).url == "documents/a")
    #expect(try ask(bench, Sample.question(9, 6)).url == nil)
    #expect(try ask(bench, Sample.question(8)).url == nil)
    try bench.end("b") { ($0.outcome.url, $0.outcome.sha256) = (nil, Sample.content(7)) }
    #expect(try ask(bench, Sample.question(7)).url == nil, "it has no object")
  }

  @Test(arguments: Engine.allCases) func wordsAreReusedWhereStagesAndClaimsAreEqual(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.end("a.pdf") { $0.fingerprint = "line 1" }
    let said = try #require(try ask(bench, Sample.question(9, 5, "line 1", name: "b.pdf")).said)
    #expect(said.mediaType == "application/pdf")
    #expect(said.metadata == [Metadatum(key: "pdf.pages", value: .integer(2))])
    for other in [
      Sample.question(9, 5, nil, name: "b.pdf"), Sample.question(9, 5, "line 2", name: "b.pdf"),
      Sample.question(9, 5, "line 1", name: "b.doc"), Sample.question(9, 5, "line 1", name: "b"),
      Sample.question(9, 5, "line 1", name: "b.pdf", declaredType: "text/plain"),
    ] {
      let known = try ask(bench, other)
      #expect(known.url == "documents/a.pdf" && known.said == nil, "\(other)")
    }
  }

  @Test(arguments: Engine.allCases) func whatIsQueuedAgainIsNotKnown(engine: Engine) throws {
    let bench = try Bench(engine)
    let lease = try bench.end("a") {
      ($0.outcome.status, $0.outcome.reason, $0.fingerprint) = (.quarantined, Sample.reason, "line 1")
    }
    #expect(try ask(bench, Sample.question(9, 5, "line 1")).said != nil)
    try bench.command(.retry(Sample.id(lease)))
    #expect(try ask(bench, Sample.question(9, 5, "line 1")).url == nil)
  }

  @Test(arguments: Engine.allCases) func whatTheSameExchangeEndsIsKnown(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"))
    let lease = try bench.claimOne()
    let reply = try bench.exchange {
      $0.settlements = [Settlement(lease, Sample.ended(lease) { $0.fingerprint = "line 1" })]
      $0.contents = [Sample.question(9, 5, "line 1"), Sample.question(1)]
    }
    #expect(reply.contents.map(\.url) == ["documents/a", nil] && reply.contents[0].said != nil)
  }
}
