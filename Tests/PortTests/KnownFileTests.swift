import LedgerPort
import Pipeline
import Testing

struct KnownFileTests {
  @Test(arguments: Engine.allCases) func aFileIsKnownAsItsAttachmentUntilAPersonDeletesIt(engine: Engine)
    throws
  {
    let bench = try Bench(engine)
    let item = Sample.item("a")
    #expect(try bench.reader.known(item) == nil)
    try bench.end("a")
    let id = try bench.attachment("a").origin.id
    let known = try #require(try bench.reader.known(item))
    #expect(known.id == id && known.status == .completed && known.url == "documents/a")
    #expect(known.sizeBytes == 5 && known.sha256 == Sample.content(9) && known.sourceSHA256 == known.sha256)
    #expect(try bench.reader.known(Sample.item("a", message: "m")) == nil, "another message")
    #expect(try !bench.reader.wasDeleted(item))
    try bench.command(.delete(id))
    #expect(try bench.reader.known(item) == nil)
    #expect(try bench.reader.wasDeleted(item))
  }
}
