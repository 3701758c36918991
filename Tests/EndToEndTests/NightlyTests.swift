import Foundation
import Testing

/// A job that ingests the same folder every night: nothing that was wrong turns green by itself.
@Suite(.serialized)
struct NightlyTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open + "\nkeep: { rejected: 1s, completed: 1s }\n")
    try folder.write("in/good.txt", "a text\n")
    try folder.write("in/broken.pdf", "%PDF-1.4\nnothing\n")
  }

  private func sluice(_ words: String...) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(words + ["--home", "home"], in: folder)
  }

  private func prune() throws {
    try Resident.wait("all is old enough") {
      _ = try sluice("prune")
      return try sluice("list").out.isEmpty
    }
  }

  @Test func whatRetentionTookAwayIsValidatedAgain() throws {
    #expect(try sluice("ingest", "in").status == 1)
    #expect(try sluice("ingest", "in").status == 1, "it is known, and was rejected")
    try prune()
    let again = try sluice("ingest", "--format", "json", "in")
    #expect(again.status == 1, "\(again.out)\(again.err)")
    // The completed file is known.
    #expect(again.attachments.map(\.fileName) == ["broken.pdf"])
    #expect(try sluice("verify").status == 0)
  }

  @Test func whatAPersonDeletedStaysAway() throws {
    #expect(try sluice("ingest", "in").status == 1)
    #expect(try sluice("delete", "--status", "rejected").status == 0)
    let again = try sluice("ingest", "in")
    #expect(again.status == 0 && again.out.contains("1 of them deleted since"), "\(again.out)\(again.err)")
  }

  /// After a stage was mended, or its limits were changed.
  @Test func allThatIsNamedIsValidatedAgainOnRequest() throws {
    #expect(try sluice("ingest", "in").status == 1)
    try folder.write("pipeline.yaml", Pipelines.open.replacingOccurrences(of: "max: 100MB", with: "max: 3B"))
    let rehearsed = try sluice("ingest", "--again", "--dry-run", "in")
    #expect(rehearsed.status == 1 && rehearsed.out.contains("2 files of "), "\(rehearsed.out)")
    #expect(rehearsed.out.contains("0 completed, 2 rejected"), "\(rehearsed.out)")
    let again = try sluice("ingest", "--again", "--format", "json", "in")
    #expect(again.status == 1, "\(again.err)")
    #expect(again.attachments.map(\.status) == ["rejected", "rejected"], "\(again.out)")
    try folder.write("pipeline.yaml", Pipelines.open)
    #expect(try sluice("delete", "--status", "rejected").status == 0)
    let deleted = try sluice("ingest", "--again", "--format", "json", "in")
    #expect(
      deleted.attachments.map(\.status).sorted() == ["completed", "rejected"], "\(deleted.out)\(deleted.err)")
    #expect(try sluice("verify").status == 0)
  }

  @Test func fewerFilesThanThereAreToBeAreNoSuccess() throws {
    try FileManager.default.removeItem(atPath: folder.path + "/in/broken.pdf")
    #expect(try sluice("ingest", "--at-least", "1", "in").status == 0)
    let few = try sluice("ingest", "--at-least", "2", "in")
    #expect(few.status == 1 && few.err.contains("1 file found, and --at-least says 2"), "\(few.err)")
    #expect(try sluice("ingest", "--dry-run", "--at-least", "1", "in").status == 0)
    #expect(try sluice("ingest", "--dry-run", "--at-least", "2", "in").status == 1)
    #expect(try sluice("ingest", "--at-least=-1", "in").status == 2)
    try FileManager.default.removeItem(atPath: folder.path + "/in/good.txt")
    #expect(try sluice("ingest", "in").status == 0)
    #expect(try sluice("ingest", "--at-least", "1", "in").status == 1)
  }

  @Test func aHomeThatIsGoneIsNotMadeAnew() throws {
    let gone = try sluice("ingest", "--expect-home", "in")
    #expect(gone.status == 78 && gone.err.contains("home has no ledger; is its disk mounted?"), "\(gone.err)")
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/home"))
    try folder.write("home/sluice.db", "")
    #expect(try sluice("ingest", "--expect-home", "in").status == 78, "nothing is in it")
    #expect(try sluice("ingest", "in").status == 1)
    #expect(try sluice("ingest", "--expect-home", "in").status == 1)
  }

  /// For cron(8), which mails what is printed: the summary with its groups, and no line a file.
  @Test func aQuietIngestPrintsGroupsAndNoLineForEachFile() throws {
    for number in 0..<20 { try folder.write("in/\(number).pdf", "%PDF-1.4\nnothing \(number)\n") }
    let quiet = try sluice("ingest", "-q", "in")
    #expect(quiet.status == 1)
    #expect(quiet.out.contains("rejected     pdf: pdf-damaged: 21 attachments"), "\(quiet.out)")
    #expect(quiet.out.contains("22 attachments: 1 completed, 21 rejected"), "\(quiet.out)")
    #expect(quiet.out.split(separator: "\n").count < 12, "\(quiet.out)")
  }
}
