import Foundation
import Testing

/// Archives in archives: one that never ends is bounded by the pipeline, and each level of one that ends is looked at soon.
struct EndlessArchiveTests {
  private static let code = "too-deep"

  /// Its tree has a level for each that `depth` allows. What is at the last of them is rejected, and all else is completed.
  @Test(arguments: [1, 3]) func anArchiveThatContainsItselfEndsAtTheDepthThatIsAllowed(depth: Int) throws {
    let home = try DerivedHome("- use: archive", more: "expand: { depth: \(depth) }")
    try home.folder.write("pack/quine.gz", Data(Quine.gzip))
    try home.folder.write("pack/beside.txt", "beside\n")
    let tar = try FixtureStages.run(
      "/bin/tar",
      ["-cf", home.folder.path + "/in/all.tar", "-C", home.folder.path + "/pack", "quine.gz", "beside.txt"])
    try #require(tar == 0)
    #expect(try home.ingest().status == 1)
    let rows = try home.rows()
    #expect(rows.count == depth + 2, "\(rows.map(\.fileName))")
    #expect(try home.row("all.tar").status == "completed" && home.row("beside.txt").status == "completed")
    let rejected = rows.filter { $0.status == "rejected" }
    #expect(rejected.map(\.code) == [Self.code] && rejected.first?.reason?.stage == "archive")
    #expect(rejected.first?.reason?.message.contains("'depth'") == true, "\(rejected)")
    #expect(rows.count { $0.status == "completed" } == depth + 1)
    let levels = try home.count(
      "attachments WHERE sha256 = (SELECT sha256 FROM attachments WHERE file_name = 'quine.gz')")
    #expect(levels == depth, "each level holds the same")
    try home.checkWhole()
  }

  @Test func aCheckFindsAnArchiveThatContainsItself() throws {
    let folder = try TemporaryFolder()
    try folder.write("quine.gz", Data(Quine.gzip))
    try folder.write("judge.yaml", "version: 1\nexpand: { depth: 5 }\nstages:\n  - use: archive\n")
    let outcome = try SluiceCommand.run(["check", "--config", "judge.yaml", "quine.gz"], in: folder)
    #expect(outcome.status == 1 && outcome.out.contains(Self.code), "\(outcome.out)\(outcome.err)")
  }

  /// The fastest of five tries counts, since a busy machine is slow. A wait would take a second for each level.
  @Test func aCheckLooksAtEachLevelAtOnce() throws {
    let levels = 12
    let folder = try TemporaryFolder()
    try folder.write("flat", "content\n")
    let deeper =
      "set -e; cp flat deep; for i in $(seq \(levels)); do gzip -n -c deep >next; mv next deep; done"
    try #require(try FixtureStages.run("/bin/sh", ["-c", "cd '\(folder.path)'; \(deeper)"]) == 0)
    try folder.write(
      "judge.yaml",
      "version: 1\nexpand: { depth: \(levels + 1) }\nstages:\n  - use: archive\n")
    func seconds(_ file: String) throws -> Double {
      let start = Date()
      let outcome = try SluiceCommand.run(["check", "--config", "judge.yaml", file], in: folder)
      #expect(outcome.status == 0, "\(outcome.out)\(outcome.err)")
      return Date().timeIntervalSince(start)
    }
    let more = try (0..<5).map { _ in try seconds("deep") - seconds("flat") }.min() ?? .infinity
    #expect(more < 0.75 * Double(levels), "\(levels) levels take \(more) s")
  }
}
