import LedgerPort
import Pipeline
import Testing

/// A completed attachment that is worked on again keeps its object until another takes its place.
struct ReprocessTests {
  private static let path = "documents/a"

  /// A completed attachment that was queued again, and is in hand.
  private func again(_ bench: Bench, metadata: String? = nil) throws -> (id: String, lease: Lease) {
    try bench.takeIn(Sample.item("a"))
    let first = try bench.claimOne()
    let ending = Sample.ended(first) { if let metadata { $0.outcome.metadata = metadata } }
    try bench.settle(first, ending)
    let id = try bench.attachment("a").origin.id
    #expect(try bench.command(.reprocess(id)) == [.done(hasChanged: true)])
    return (id, try bench.claimOne())
  }

  private func source(_ lease: Lease) -> AttachmentSource? {
    if case .attachment(let attachment) = lease.work { attachment.source } else { nil }
  }

  private func deletes(_ id: String, _ bench: Bench) throws -> [String] {
    try bench.exchange { $0.commands = [.delete(id)] }.objectsToDelete
  }

  @Test(arguments: Engine.allCases) func itsObjectIsReadAndStays(engine: Engine) throws {
    let bench = try Bench(engine)
    let (id, lease) = try again(bench)
    #expect(
      source(lease) == .object(path: Self.path, sha256: Sample.content(9), source: Array("/in/a".utf8)))
    let record = try bench.attachment("a")
    #expect(record.outcome.status == .queued && record.keptObject == Self.path && record.outcome.url == nil)
    #expect(try bench.reader.hasName(Self.path))
    // It has the same object again: nothing is to be deleted, and its path is used once.
    let reply = try bench.exchange { $0.settlements = [Settlement(lease, Sample.ended(lease))] }
    #expect(reply.settled == [.counted] && reply.objectsToDelete.isEmpty)
    let ended = try bench.attachment("a")
    #expect(ended.outcome.url == Self.path && ended.keptObject == nil)
    #expect(try deletes(id, bench) == [Self.path])
  }

  @Test(arguments: Engine.allCases) func anotherPathTakesItsPlace(engine: Engine) throws {
    let bench = try Bench(engine)
    let (id, lease) = try again(bench)
    let elsewhere = Sample.ended(lease) { $0.outcome.url = "other/a" }
    let reply = try bench.exchange { $0.settlements = [Settlement(lease, elsewhere)] }
    #expect(reply.settled == [.counted] && reply.objectsToDelete == [Self.path])
    #expect(try bench.attachment("a").keptObject == nil)
    _ = try bench.exchange { $0.deletedObjects = [Self.path] }
    #expect(try deletes(id, bench) == ["other/a"])
  }

  @Test(arguments: Engine.allCases) func aRejectedOneKeepsItUntilItIsDeleted(engine: Engine) throws {
    let bench = try Bench(engine)
    let (id, lease) = try again(bench)
    let reply = try bench.exchange { $0.settlements = [Settlement(lease, Sample.failed(lease))] }
    #expect(reply.settled == [.counted] && reply.objectsToDelete.isEmpty)
    #expect(try bench.attachment("a").keptObject == Self.path)
    // It can be tried again from it, as often as a person wants.
    try bench.command(.retry(id))
    let third = try bench.claimOne()
    #expect(source(third)?.keptObject == Self.path)
    try bench.settle(third, Sample.failed(third))
    #expect(try deletes(id, bench) == [Self.path])
  }

  /// The content that came may be gone, and the object has the path of what would be made of it.
  @Test(arguments: Engine.allCases) func whatAStageHadMadeStaysAsItIs(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"))
    let first = try bench.claimOne()
    try bench.settle(first, Sample.ended(first) { $0.outcome.metadata = #"{"original.sha256":"ab"}"# })
    let before = try bench.attachment("a")
    let reply = try bench.exchange { $0.commands = [.reprocess(before.origin.id)] }
    guard case .refused? = reply.results.first else { return #expect(Bool(false), "\(reply.results)") }
    let after = try bench.attachment("a")
    #expect(after.outcome == before.outcome && after.keptObject == nil && reply.objectsToDelete.isEmpty)
  }

  /// A pipeline that stores nothing leaves no object in its place.
  @Test(arguments: Engine.allCases) func oneThatCompletesWithoutAnObjectKeepsIt(engine: Engine) throws {
    let bench = try Bench(engine)
    let (id, lease) = try again(bench)
    let ending = Sample.ended(lease) { $0.outcome.url = nil }
    let reply = try bench.exchange { $0.settlements = [Settlement(lease, ending)] }
    #expect(reply.settled == [.counted] && reply.objectsToDelete.isEmpty)
    #expect(try bench.attachment("a").keptObject == Self.path)
    // A pipeline that stores gives it its object back.
    #expect(try bench.command(.reprocess(id)) == [.done(hasChanged: true)])
    let third = try bench.claimOne()
    #expect(source(third)?.keptObject == Self.path)
    try bench.settle(third, Sample.ended(third))
    let ended = try bench.attachment("a")
    #expect(ended.outcome.url == Self.path && ended.keptObject == nil)
    #expect(try deletes(id, bench) == [Self.path])
  }

  @Test(arguments: Engine.allCases) func anObjectThatOthersHaveStays(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("b"))
    let other = try bench.claimOne()
    try bench.settle(other, Sample.ended(other) { $0.outcome.url = Self.path })
    let (id, lease) = try again(bench)
    let elsewhere = Sample.ended(lease) { $0.outcome.url = "other/a" }
    let reply = try bench.exchange { $0.settlements = [Settlement(lease, elsewhere)] }
    #expect(reply.settled == [.counted] && reply.objectsToDelete.isEmpty)
    #expect(try deletes(id, bench) == ["other/a"])
    #expect(try deletes(bench.attachment("b").origin.id, bench).sorted() == [Self.path, "other/a"])
  }

  /// One that was not completed is queued as by `retry`.
  @Test(arguments: Engine.allCases) func othersAreQueuedAsByRetry(engine: Engine) throws {
    let bench = try Bench(engine)
    try bench.takeIn(Sample.item("a"))
    let first = try bench.claimOne()
    try bench.settle(first, Sample.failed(first))
    let id = try bench.attachment("a").origin.id
    #expect(try bench.command(.reprocess(id)) == [.done(hasChanged: true)])
    #expect(try bench.command(.reprocess(id)) == [.done(hasChanged: false)])
    #expect(try bench.attachment("a").keptObject == nil)
  }
}
