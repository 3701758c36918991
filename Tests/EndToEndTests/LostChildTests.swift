import Foundation
import Testing

/// The content of a child is lost, and what it was in does not have it either: that is said, with a way out.
struct LostChildTests {
  private let home: DerivedHome

  /// `a.txt`, with a content in it that has one in turn.
  init() throws {
    home = try DerivedHome("- use: expand")
    try home.add("a.txt", ">one|>two\n")
    #expect(try home.ingest().status == 0)
    try home.checkWhole()
  }

  private func child(of parent: String) throws -> DerivedHome.Row {
    try #require(try home.rows().first { $0.parentId == parent })
  }

  private func lose(_ row: DerivedHome.Row) throws {
    try FileManager.default.removeItem(atPath: "\(home.folder.path)/home/store/\(#require(row.url))")
  }

  private func repair() throws -> String {
    let repaired = try home.sluice("verify", "--repair").out
    #expect(repaired.contains("what it was taken out of is queued again"), "\(repaired)")
    return repaired
  }

  @Test func whatItWasInIsDeleted() throws {
    let middle = try child(of: home.row("a.txt").id)
    let inner = try child(of: middle.id)
    #expect(try home.sluice("delete", middle.id).status == 0)
    try lose(inner)
    _ = try repair()
    // Its parent's parent may have it, for all that is on record, and does not.
    #expect(try home.ingest().status == 0)
    let found = try home.sluice("verify")
    #expect(found.status == 1 && found.out.contains("content-lost"), "\(found)")
    #expect(found.out.contains(inner.id))
    #expect(try home.rows("--status", "failed").map(\.id) == [inner.id])
    #expect(try home.sluice("verify", "--repair").out.contains("content-lost"), "it does not go by itself")
    #expect(try home.sluice("delete", inner.id).status == 0)
    try home.checkWhole()
  }

  @Test func whatItWasInIsLostToo() throws {
    let root = try home.row("a.txt")
    let middle = try child(of: root.id)
    for row in [root, middle, try child(of: middle.id)] { try lose(row) }
    let (file, aside) = (home.folder.path + "/in/a.txt", home.folder.path + "/a.txt")
    try FileManager.default.moveItem(atPath: file, toPath: aside)
    let repaired = try home.sluice("verify", "--repair")
    #expect(repaired.status == 1 && repaired.out.contains("which it was taken out of, is lost as well"))
    #expect(!repaired.out.contains("queued again"), "\(repaired.out)")
    // Nothing is tried that cannot succeed: to users it is completed.
    #expect(try home.ingest("pipeline.yaml").status == 0)
    #expect(try home.rows("--status", "failed").isEmpty)
    // The way out: the file is put back, and what came out of it comes out of it again.
    try FileManager.default.moveItem(atPath: aside, toPath: file)
    _ = try repair()
    #expect(try home.ingest().status == 0)
    #expect(try home.rows().filter { $0.status != "completed" }.isEmpty)
    try home.checkWhole()
  }
}
