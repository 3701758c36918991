import Foundation
import Testing

/// `stages check` of sources: the template passes, and one with a mistake in it fails in the expected check.
struct SourceConformanceTests {
  /// A mistake in the template in C: the text to replace, its replacement, and the first check that must fail.
  struct Break: CustomTestStringConvertible, Sendable {
    var check: String
    /// Another check that must fail.
    var also: String?
    var old: String
    var new: String
    /// Bytes a second; slow enough that a transfer can be interrupted in the middle.
    var rate = "64MB"
    /// What the check says.
    var says: String
    var testDescription: String { "\(check): \(new.prefix(60))" }
  }

  static let breaks = [
    Break(
      check: "fetch", old: ".bytes = one->at, .total = one->size",
      new: ".bytes = one->at + 4096, .total = UINT64_MAX", says: "a checkpoint says"),
    Break(
      check: "fetch", old: "ftruncate(one->given->content, (off_t)one->size) != 0", new: "0",
      says: "with something in it"),
    Break(
      check: "fetch", old: "SYNC_BYTES = 8 << 20", new: "SYNC_BYTES = 1 << 30",
      says: "come without a checkpoint"),
    Break(
      check: "fetch", old: ".total = one->size, .etag", new: ".total = one->size + 1, .etag", says: "in all"),
    Break(
      check: "links", old: "\"the link is not \" PLACE \"LINES\"", new: "given->url", says: "quotes it"),
    Break(check: "links", old: "if (count == 0) {", new: "if (0) {", says: "passes with 0 bytes"),
    Break(
      check: "links", old: "  uint64_t count = lines(given->url);",
      new: "  uint64_t count = lines(given->url); if (strlen(given->url) > 3000) abort();", says: "crashed"),
    Break(
      check: "several", old: "  for (size_t done = 0;",
      new: "  if (self->first->next) piece[0] ^= 1;\n  for (size_t done = 0;", says: "beside 7 others"),
    Break(
      check: "stop", old: "else settle(self, one, SLUICE_RETRY, \"stopped\"",
      new: "else if (0) settle(self, one, SLUICE_RETRY, \"stopped\"", rate: "4MB", says: "goes on to its end"),
    Break(
      check: "stop",
      old: "  if (save(self, one) != 0) settle_unwritable(self, one, \"syncing the file\");\n  else",
      new: " ", rate: "4MB", says: "tells no checkpoint"),
    Break(
      check: "hold", old: "one->is_held = is_held;", new: "(void)is_held;", rate: "4MB",
      says: "is still written to"),
    Break(
      check: "limit", old: "if (one->size > given->limit) {", new: "if (0) {", says: "allowed"),
    Break(
      check: "limit", old: "SLUICE_REJECT, \"too-large\"", new: "SLUICE_RETRY, \"too-large\"",
      says: "another attempt"),
    Break(
      check: "stop", also: "killed", old: "given->bytes <= one->size) one->at = given->bytes;",
      new: "given->bytes) one->at = given->bytes + 100;", rate: "4MB", says: "differs from byte"),
    Break(
      check: "transfers", old: "  uint64_t count = lines(given->url);",
      new:
        "  uint64_t count = lines(given->url); static void *volatile last; last = malloc(64 << 10); memset(last, 1, 64 << 10);",
      says: "more"),
    Break(
      check: "transfers", old: "  uint64_t count = lines(given->url);",
      new: "  uint64_t count = lines(given->url); dup(2);", says: "descriptor"),
    Break(
      check: "declared", old: "{\"too-large\", \"The", new: "{\"larger\", \"The", says: "too-large"),
  ]

  /// The first of each check; all of them in the long run.
  private static var tried: [Break] {
    var seen: Set<String> = []
    return breaks.filter { seen.insert($0.check).inserted || Soak.isOn }
  }

  private static func check(_ folder: TemporaryFolder, _ words: [String]) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(
      ["stages", "check", "./libsluice-greeting.so", "--format", "json"] + words, in: folder)
  }

  @Test(arguments: tried)
  func aBrokenSourceFailsItsCheck(_ change: Break) throws {
    let folder = try TemporaryFolder()
    try FixtureStages.brokenGreeting(
      in: folder, kind: "source", old: change.old, new: change.new)
    let only =
      change.check == "declared"
      ? "limit,declared" : [change.check, change.also].compactMap(\.self).joined(separator: ",")
    let outcome = try Self.check(
      folder,
      [
        "--link", "https://lines.example/\(change.rate == "64MB" ? 1_000_000 : 500_000)", "--set",
        "rate=\(change.rate)", "--only", only,
      ])
    #expect(outcome.status == 1, "\(outcome.err)")
    let failed = try outcome.every(Printed.Check.self).filter { $0.result == "failed" }
    #expect(failed.first?.name == change.check, "\(failed)")
    let said = "\(failed.first?.message ?? "") \(failed.first?.remedy ?? "")"
    #expect(said.contains(change.says), "\(failed)")
    if let also = change.also { #expect(failed.map(\.name) == [change.check, also], "\(failed)") }
  }

  @Test func withoutALinkTheChecksThatNeedOneSaySo() throws {
    let folder = try TemporaryFolder()
    try FixtureStages.brokenGreeting(
      in: folder, kind: "source", old: "PIECE = 64 << 10", new: "PIECE = 64 << 10")
    let outcome = try Self.check(folder, [])
    #expect(outcome.status == 0, "\(outcome.out)")
    let skipped = try outcome.every(Printed.Check.self).filter { $0.message?.contains("--link URL") == true }
    #expect(skipped.map(\.name) == ["fetch", "several", "stop", "hold", "limit", "killed", "transfers"])
    #expect(skipped.allSatisfy { $0.result == "skipped" })
  }

  @Test func aLinkThatIsNotFetchedFails() throws {
    let folder = try TemporaryFolder()
    try FixtureStages.brokenGreeting(
      in: folder, kind: "source", old: "PIECE = 64 << 10", new: "PIECE = 64 << 10")
    let outcome = try Self.check(
      folder, ["--link", "https://lines.example/5", "--link", "https://no.example/5"])
    let failed = try outcome.every(Printed.Check.self).filter { $0.result == "failed" }
    #expect(failed.map(\.name) == ["fetch"])
    #expect(failed.first?.message?.hasPrefix("link 2 is not fetched: fail, unknown-link") == true)
  }

  /// A source written for tests of the coordinator passes as well, but for the limit, which it leaves to the kernel.
  @Test func theWellPassesButForItsLimit() throws {
    let outcome = try SluiceCommand.run(
      [
        "stages", "check", "\(FixtureStages.folder())/libsluice-well.so", "--link",
        "https://a.example/slow/3000000",
        "--link", "https://a.example/bytes/100", "--format", "json",
      ], in: TemporaryFolder())
    let failed = try outcome.every(Printed.Check.self).filter { $0.result == "failed" }
    #expect(failed.map(\.name) == ["limit"], "\(outcome.out)\(outcome.err)")
    #expect(failed.first?.message?.contains("where 50 are allowed") == true)
    #expect(failed.first?.remedy?.contains("compare with `limit` before each write") == true)
  }

  @Test func linksAreForSourcesAndFilesForTheOthers() throws {
    let folder = try TemporaryFolder()
    let link = try SluiceCommand.run(["stages", "check", "size", "--link", "https://a.example/"], in: folder)
    #expect(link.status == 2 && link.err.contains("'size' is no source"), "\(link.err)")
    try folder.write("a.txt", "a")
    let file = try SluiceCommand.run(["stages", "check", "http", "a.txt"], in: folder)
    #expect(file.status == 2 && file.err.contains("'http' is a source and gets no FILE"), "\(file.err)")
    let run = try SluiceCommand.run(["stages", "run", "http", "a.txt"], in: folder)
    #expect(run.status == 2 && run.err.contains("fetches links"), "\(run.err)")
    let other = try SluiceCommand.run(
      ["stages", "check", "size", "--only", "fetch", "--format", "json"], in: folder)
    #expect(try other.every(Printed.Check.self).first?.message == "it is for sources")
  }

  @Test func casesOfASourceHaveALink() throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "cases.yaml",
      """
      stage: \(FixtureStages.folder())/libsluice-well.so
      cases:
        - name: a link
          link: https://a.example/bytes/3
          expect: { verdict: pass, produced: { size: 3 } }
        - name: it crashes
          link: https://a.example/crash
          expect: { verdict: crashed, code: crashed }
        - name: a file
          input: { text: abc }
          expect: { verdict: pass }
        - name: it has more
          link: https://a.example/bytes/3
          expect: { verdict: pass, produced: { size: 4 } }
      """)
    let outcome = try SluiceCommand.run(["test", "cases.yaml", "--format", "json"], in: folder)
    #expect(outcome.records(Printed.Case.self).map(\.ok) == [true, true, false, false], "\(outcome.out)")
    #expect(outcome.out.contains("write what it is to fetch as 'link: URL'"))
    let size = try CasesTests.test(
      "stage: size\ncases:\n  - name: a\n    link: https://a.example/\n    expect: {}\n")
    #expect(size.outcome.status == 1)
    #expect(size.outcome.out.contains("is no source"), "\(size.outcome.out)\(size.outcome.err)")
  }
}
