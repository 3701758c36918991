import Foundation
import Testing

/// `sluice replay` compares what stages leave beside a content, and take out of it, too.
struct ReplayPiecesTests {
  private static let stages = "- use: expand\n- use: derive"
  private static let content = "head\n>one|>inner\n>bad two\n>same\n>same\n"

  private func ingested(_ stages: String = Self.stages, content: String = Self.content) throws -> DerivedHome
  {
    let home = try DerivedHome(stages)
    try home.add("a.txt", content)
    try home.ingest()
    return home
  }

  /// The differences of the attachment `a.txt`, as `KEY: BEFORE -> AFTER`, with the beginnings of hashes.
  private func changes(
    _ home: DerivedHome, _ words: String..., environment: [String: String] = [:]
  ) throws -> [String] {
    let replay = try home.sluice(["replay", "--diff", "--format", "json"] + words, environment: environment)
    #expect(replay.err == "")
    let changed = try replay.every(Printed.Replay.self)
    #expect(changed.isEmpty == (replay.status == 0))
    return changed.filter { $0.fileName == "a.txt" }.flatMap(\.changes).map {
      "\($0.key): \(Self.brief($0.before)) -> \(Self.brief($0.after))"
    }
  }

  private static func brief(_ value: String?) -> String {
    guard let value else { return "nothing" }
    let hash = value.split(separator: " ").last.map { $0.utf8.count == 64 } ?? false
    return hash ? String(value.dropLast(60)) : value
  }

  private static func hash(_ text: String) throws -> String {
    String(try Inbox.sha256(Data(text.utf8)).prefix(4))
  }

  @Test func theSamePipelineChangesNothing() throws {
    let home = try ingested()
    for words in [[], ["--from", "expand"], ["--from", "derive"], ["--from", "store"]] {
      let replay = try home.sluice(["replay", "--diff"] + words)
      #expect(replay.status == 0 && replay.out.contains(": 0 would change, "), "\(replay.out)")
    }
  }

  @Test func whatComesOutNoMoreIsGone() throws {
    let home = try ingested()
    try home.pipeline("")
    let lost = try [
      "derived/constant: text/plain, 9 bytes, \(Self.hash("the same\n")) -> nothing",
      "derived/head: text/plain, 38 bytes, \(Self.hash(Self.content)) -> nothing",
      "child/line-1.txt: 10 bytes, \(Self.hash("one\n>inner")) -> nothing",
      "child/line-2.txt: 7 bytes, \(Self.hash("bad two")) -> nothing",
      "child/line-3.txt: 4 bytes, \(Self.hash("same")) -> nothing",
      "child/line-4.txt: 4 bytes, \(Self.hash("same")) -> nothing",
    ]
    #expect(try changes(home) == lost)
    let text = try home.sluice("replay", "--diff", try home.row("a.txt").id)
    let hash = try Inbox.sha256(Data("the same\n".utf8)).prefix(16)
    #expect(
      text.out.contains("derived/constant  text/plain, 9 bytes, \(hash)… -> nothing\n"), "\(text.out)")
    #expect(text.out.contains("1 attachment from 'mime' on: 1 would change"), "\(text.out)")
  }

  @Test func whatComesOutForTheFirstTimeIsNew() throws {
    let home = try ingested("")
    try home.pipeline(Self.stages)
    #expect(
      try changes(home) == [
        "derived/constant: nothing -> text/plain, 9 bytes, \(Self.hash("the same\n"))",
        "derived/head: nothing -> text/plain, 38 bytes, \(Self.hash(Self.content))",
        "child/line-1.txt: nothing -> 10 bytes, \(Self.hash("one\n>inner"))",
        "child/line-2.txt: nothing -> 7 bytes, \(Self.hash("bad two"))",
        "child/line-3.txt: nothing -> 4 bytes, \(Self.hash("same"))",
        "child/line-4.txt: nothing -> 4 bytes, \(Self.hash("same"))",
      ])
    #expect(try changes(home, "--from", "store") == [], "the stages before are not run")
  }

  /// The stages are built anew, and nothing else differs.
  @Test func whatComesOutOtherwiseIsChangedAndApplied() throws {
    let home = try ingested()
    let folder = try TemporaryFolder()
    try FixtureStages.compile("expand", into: folder.path, ["-DLINE_BREAK=' '"])
    try FixtureStages.compile("derive", into: folder.path, ["-DCONSTANT=\"other\""])
    let plugins = ["SLUICE_PLUGIN_PATH": folder.path]
    #expect(
      try changes(home, environment: plugins) == [
        "derived/constant: text/plain, 9 bytes, \(Self.hash("the same\n")) -> text/plain, 5 bytes, \(Self.hash("other"))",
        "child/line-1.txt: 10 bytes, \(Self.hash("one\n>inner")) -> 10 bytes, \(Self.hash("one >inner"))",
      ])
    let applied = try home.sluice(["replay", "--apply", "--name", "a.txt"], environment: plugins)
    #expect(
      applied.status == 0 && applied.out.contains("1 attachment queued again"), "\(applied.out)\(applied.err)"
    )
    _ = try home.sluice(["ingest", "--manifest", "/dev/null"], environment: plugins)
    let row = try home.row("a.txt")
    #expect(try home.sluice("get", row.id, "--derived", "constant").out == "other")
    // What comes out no more stays, and is told until a person deletes it.
    let old = try #require(
      try home.rows("--parent", row.id).first { $0.parentId == row.id && $0.fileName == "line-1.txt" })
    #expect(
      try changes(home, environment: plugins) == [
        "child/line-1.txt: 10 bytes, \(Self.hash("one\n>inner")) -> nothing"
      ])
    try home.sluice("delete", "--parent", old.id)
    try home.sluice("delete", old.id)
    #expect(try changes(home, environment: plugins) == [])
  }

  /// The stages before the first one that runs again have left theirs, and taken out what they did.
  @Test func whatEarlierStagesLeftIsKept() throws {
    let home = try ingested()
    try home.pipeline("- use: expand\n- use: oracle\n- use: derive")
    #expect(try changes(home, "--from", "oracle").allSatisfy { !$0.contains("/") })
    try home.pipeline("- use: derive\n- use: oracle\n- use: expand")
    #expect(try changes(home, "--from", "oracle").allSatisfy { !$0.contains("/") })
  }

  /// A person does not want it: it is not taken in again, and what was in it counts as taken out of the parent.
  @Test func whatWasDeletedIsNoChange() throws {
    let home = try ingested()
    let child = try #require(try home.rows().first { $0.fileName == "line-1.txt" && $0.url != nil })
    try home.sluice("delete", child.id)
    #expect(try changes(home) == [])
  }

  @Test func whereItIsNotCompletedTheObjectsAreGone() throws {
    let home = try ingested("- use: derive", content: "reject it not\n")
    #expect(try home.row("a.txt").status == "rejected")
    try home.add("b.txt", "keep it\n")
    try home.ingest()
    try home.pipeline("- use: derive\n- { use: size, options: { max: 4B } }")
    let replay = try home.sluice("replay", "--diff")
    #expect(replay.out.contains(#/derived +2 objects -> nothing\n/#), "\(replay.out)")
    #expect(!replay.out.contains("derived/"), "\(replay.out)")
  }
}
