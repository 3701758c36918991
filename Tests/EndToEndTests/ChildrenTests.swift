import Foundation
import Testing

/// `sluice show` says what was taken out of an attachment, and what an attachment was taken out of.
struct ChildrenTests {
  private func ingested(_ content: String) throws -> DerivedHome {
    let home = try DerivedHome("- use: expand")
    try home.add("a.txt", content)
    try home.ingest()
    return home
  }

  private func json(_ home: DerivedHome, _ id: String) throws -> JSON {
    try JSON(try home.sluice("show", id, "--format", "json").out)
  }

  @Test func whatWasTakenOutIsListedInOrderWithHowItEnded() throws {
    let home = try ingested(">one|>inner\n>bad two\n>three\n")
    let parent = try home.row("a.txt")
    let children = try home.rows("--parent", parent.id).filter { $0.parentId == parent.id }
    #expect(children.map(\.fileName) == ["line-1.txt", "line-2.txt", "line-3.txt"])
    let shown = try home.sluice("show", parent.id).out
    #expect(
      shown.contains(
        """

        Children
          \(children[0].id)  completed  line-1.txt
          \(children[1].id)  rejected   line-2.txt  expand: unwanted: it begins with `bad`
          \(children[2].id)  completed  line-3.txt

        Attempts

        """), "what is in a child is that child's: \(shown)")
    let json = try json(home, parent.id)
    let listed = json["children"].elements.map {
      [$0["id"].text, $0["fileName"].text, $0["state"].text, $0["code"].text]
    }
    #expect(
      listed == [
        [children[0].id, "line-1.txt", "completed", nil],
        [children[1].id, "line-2.txt", "rejected", "unwanted"],
        [children[2].id, "line-3.txt", "completed", nil],
      ])
    #expect(json["moreChildren"] == .number(0))
  }

  /// Many contents have the same name.
  @Test func linesAndTablesShowTheWayToWhatWasTakenOut() throws {
    let home = try DerivedHome("- use: expand")
    try home.add("a.txt", ">>bad two\n>three\n")
    let ingest = try home.sluice("ingest", "--format", "text", "in")
    let file = "\(home.folder.path)/in/a.txt"
    let way = "\(file) > line-1.txt > line-1.txt"
    #expect(ingest.out.contains("rejected     \(way)  text/plain"), "\(ingest.out)")
    #expect(ingest.out.contains("\n               \(way): it begins with `bad`\n"), "\(ingest.out)")
    #expect(ingest.out.contains("completed    \(file) > line-1.txt  "), "\(ingest.out)")
    #expect(
      ingest.out.contains("(of 1 content 1 rejected)\n"), "the one that it was in says so: \(ingest.out)")
    #expect(ingest.out.contains("\n1 of the completed has contents that were not completed\n"))
    let again = try home.sluice("ingest", "--format", "text", "in")
    #expect(again.status == 1)
    #expect(again.out.contains("1 of them are not completed or hold contents that are not"), "\(again.out)")
    let list = try home.sluice("list").out
    #expect(list.contains("rejected     \(way)  ") && list.contains("(of 1 content 1 rejected)\n"), "\(list)")
    let inner = try #require(try home.rows().first { $0.status == "rejected" })
    let outer = try #require(inner.parentId)
    let table = try home.sluice("list", "--format", "csv").out
    #expect(table.hasPrefix("id,status,"))
    #expect(table.contains(",finishedAt,parentId,way,metadata."))
    #expect(table.contains(",\(outer),\(way),"), "\(table)")
    #expect(try json(home, inner.id)["parentId"].text == outer)
  }

  /// By the rules that hold now, at all levels.
  @Test func contentsAreValidatedAgainWithWhatTheyWereIn() throws {
    let home = try DerivedHome("- use: expand")
    try home.add("a.txt", ">>deeper\n>two\n")
    #expect(try home.sluice("ingest", "in").status == 0)
    try home.pipeline("- use: expand", more: "expand: { depth: 1 }")
    #expect(try home.sluice("ingest", "in").status == 0, "what is known is left as it is")
    let again = try home.sluice("ingest", "--again", "in")
    #expect(again.status == 1 && again.out.contains("1 known from before, validated again"), "\(again.out)")
    #expect(try home.rows("--status", "rejected").map(\.code) == ["too-deep"])
    #expect(try home.row("a.txt").status == "completed")
    #expect(try home.sluice("ingest", "in").status == 1)
    try home.pipeline("- use: expand")
    #expect(try home.sluice("ingest", "--again", "in").status == 0)
    #expect(try home.rows().allSatisfy { $0.status == "completed" })
    try home.checkWhole()
  }

  @Test func whatStaysOfADeletedOneIsSaid() throws {
    let home = try ingested(">one\n>two\n")
    let (root, children) = (try home.row("a.txt"), try home.rows().filter { $0.parentId != nil })
    let dry = try home.sluice("delete", "--dry-run", root.id)
    #expect(
      dry.err.contains("2 attachments that came out of it would stay; `sluice delete --parent \(root.id)"))
    let deleted = try home.sluice("delete", root.id, children[0].id)
    let words = "1 attachment that came out of it stays; `sluice delete \(children[1].id)"
    #expect(deleted.status == 0 && deleted.err.contains(words), "\(deleted.err)")
    #expect(try home.sluice("delete", "-q", children[1].id).err == "")
    #expect(try home.rows().isEmpty)
  }

  @Test func ofManyTheFirstAreListedAndTheRestIsCounted() throws {
    let home = try ingested((1...52).map { ">content \($0)\n" }.joined())
    let parent = try home.row("a.txt")
    let shown = try home.sluice("show", parent.id).out
    #expect(
      shown.contains("line-50.txt\n  and 2 more; `sluice list --parent \(parent.id) --home home` lists all"))
    #expect(!shown.contains("line-51.txt"))
    #expect(try home.rows("--parent", parent.id).count == 52)
    let json = try json(home, parent.id)
    #expect(json["children"].elements.count == 50 && json["moreChildren"] == .number(2))
  }

  /// The file from which it was worked on is gone.
  @Test func aChildNamesItsParentAndNoFileOfTheHome() throws {
    let home = try ingested(">one\n>bad two\n")
    let parent = try home.row("a.txt")
    for child in try home.rows("--parent", parent.id) {
      let shown = try home.sluice("show", child.id).out
      #expect(shown.contains("source        attachment \(parent.id)\n"), "\(shown)")
      #expect(shown.contains("taken out of  \(parent.id)  a.txt\n"), "\(shown)")
      #expect(!shown.contains("uploads") && !shown.contains("\nChildren\n"), "\(shown)")
      let json = try json(home, child.id)
      #expect(json["source"].text == "attachment \(parent.id)" && json["parentFileName"].text == "a.txt")
      #expect(json["parentId"].text == parent.id && json["children"].elements.isEmpty)
    }
    for words in [["list", "--format", "json"], ["list", "--format", "csv"]] {
      let listed = try home.sluice(words).out
      #expect(listed.contains("attachment \(parent.id)") && !listed.contains("/uploads/"), "\(listed)")
    }
    let alone = try json(home, parent.id)
    #expect(alone["source"].text == home.folder.path + "/in/a.txt" && alone["parentFileName"].text == nil)
  }

  @Test func whatHasNoObjectNamesWhatItWasTakenOutOf() throws {
    let home = try DerivedHome("- use: expand", isStored: false)
    try home.add("a.txt", ">one\n")
    try home.ingest()
    let parent = try home.row("a.txt").id
    let got = try home.sluice("get", try home.row("line-1.txt").id)
    #expect(got.status == 1 && got.err.contains("the source was attachment \(parent)"), "\(got.err)")
  }
}
