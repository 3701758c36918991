import Foundation
import Testing

/// Verbs that are about all that was taken out of an attachment say why they find nothing.
struct TreeVerbTests {
  private func home() throws -> DerivedHome {
    let home = try DerivedHome("- use: expand")
    try home.add("a.txt", ">one\n>two\n")
    return home
  }

  @Test func whatIsNotExpandedYetIsTakenBackItself() throws {
    let home = try home()
    try #require(try home.sluice("enqueue", "in").status == 0)
    let id = try home.row("a.txt").id
    let remedy =
      "nothing is taken out of \(id) (a.txt) yet, which is queued; `sluice cancel \(id) --home home` takes it back"
    for words in [[], ["--dry-run"], ["--format", "json"]] {
      let cancelled = try home.sluice(["cancel", "--parent", id] + words)
      #expect(cancelled.status == 0 && cancelled.err.contains(remedy), "\(cancelled.out)\(cancelled.err)")
    }
    #expect(try home.sluice("cancel", "--parent", id, "--quiet").err == "")
    let retried = try home.sluice("retry", "--parent", id)
    #expect(
      retried.err.contains("yet, which is queued; `sluice show \(id) --home home` tells more"),
      "\(retried.err)")
    // As it says.
    try home.sluice("cancel", id)
    _ = try home.ingest("in")
    #expect(try home.rows().map(\.status) == ["cancelled"])
    let again = try home.sluice("cancel", "--parent", id)
    #expect(
      again.out == "0 attachments cancelled\n"
        && again.err.contains("nothing was taken out of \(id) (a.txt), which is cancelled"), "\(again.err)")
  }

  @Test func whereNothingAnswersTheListIsNamed() throws {
    let home = try home()
    #expect(try home.ingest().status == 0)
    let id = try home.row("a.txt").id
    let cancelled = try home.sluice("cancel", "--parent", id)
    #expect(
      cancelled.err.contains(
        "of what was taken out of \(id) (a.txt), nothing answers to that; `sluice list --parent \(id) --home home`"
      ),
      "\(cancelled.err)")
    let deleted = try home.sluice("delete", "--parent", id)
    #expect(deleted.out == "2 attachments deleted\n" && deleted.err == "", "\(deleted.err)")
  }
}
