import LedgerPort
import Pipeline
import Testing

/// Contents that were judged and are not kept, put on record.
struct RecordedCheckTests {
  private func check(_ name: String, _ outcome: AttachmentOutcome) -> Command {
    var item = Sample.item(name)
    item.source = Array("/dev/null/\(name)".utf8)
    return .record(RecordedCheck(item, outcome, steps: [Sample.step]))
  }

  /// No lane has anything to do with it.
  @Test(arguments: Engine.allCases) func itHasEndedAtOnce(engine: Engine) throws {
    let bench = try Bench(engine)
    let rejected = AttachmentOutcome(.rejected, reason: Sample.reason, mediaType: "a/b", sizeBytes: 7)
    let results = try bench.command(
      check("a", rejected), check("b", AttachmentOutcome(.completed, sizeBytes: 3)))
    #expect(
      Sample.counted(results) == [.takenIn(Sample.report(added: 1)), .takenIn(Sample.report(added: 1))])
    #expect(try bench.count(.rejected) == 1 && bench.count(.completed) == 1 && bench.count(.queued) == 0)
    #expect(try bench.claim(9).isEmpty)
    guard case .takenIn(let report) = results[0], let id = report.outcomes.first?.id else {
      return #expect(Bool(false), "it is on record")
    }
    let record = try #require(try bench.reader.attachments(idPrefix: id).first)
    #expect(record.outcome.status == .rejected && record.outcome.reason == Sample.reason)
    #expect(record.outcome.sizeBytes == 7 && record.outcome.url == nil && record.finishedAt != nil)
    #expect(try bench.reader.attempts(of: record.key).map(\.step) == [Sample.step])
    #expect(try bench.reader.place(of: record.key) == nil)
  }

  /// What was said of a content for one is not forgotten for another: each is one of its own.
  @Test(arguments: Engine.allCases) func itCanBeDeletedAndIsNotTriedAgain(engine: Engine) throws {
    let bench = try Bench(engine)
    let results = try bench.command(check("a", AttachmentOutcome(.rejected, reason: Sample.reason)))
    guard case .takenIn(let report) = results[0], let id = report.outcomes.first?.id else {
      return #expect(Bool(false), "it is on record")
    }
    for action in [.retry, .reprocess] as [AttachmentCommand.Action] {
      guard case .refused(let why)? = try bench.command(.attachment(AttachmentCommand(id, action))).first
      else {
        return #expect(Bool(false), "there is no content")
      }
      #expect(why.contains("is the record of a check"))
    }
    #expect(try bench.count(.queued) == 0)
    #expect(
      try bench.command(.attachment(AttachmentCommand(id, .delete(by: "ann")))) == [.done(hasChanged: true)])
    #expect(try bench.count(.queued) == 0 && bench.count(.rejected) == 0)
  }
}
