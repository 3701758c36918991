import Foundation
import Testing

/// `run --watch DIR` with Maildirs in it.
@Suite(.serialized)
struct WatchedMaildirTests {
  private let folder: TemporaryFolder
  private let mail: Maildir

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.storing())
    mail = try Maildir(folder, "in/mail")
  }

  private func watch(_ options: String..., root: String = "in") throws -> Resident {
    try Resident(folder, options: ["--watch", root, "--quiet-for", "100ms"] + options)
  }

  private func sluice(_ words: String...) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(words + ["--home", "home"], in: folder)
  }

  private func names(_ resident: Resident) -> [String] { resident.ended.map(\.fileName).sorted() }

  @Test(arguments: ["in", "in/mail"])
  func aDeliveredMessageIsOneAttachmentHoweverItIsRenamed(root: String) throws {
    try folder.write("in/mail/tmp/0.unfinished", Maildir.mail("zero@x"))
    let resident = try watch(root: root)
    try mail.deliver("17.a", Maildir.mail("one@x"))
    try resident.wait(for: 1)
    try mail.move("new/17.a", "cur/17.a:2,S")
    try mail.move("cur/17.a:2,S", "cur/17.a:2,RS")
    try folder.write("in/mail/tmp/1.unfinished", Maildir.mail("more@x"))
    try folder.write("in/mail/uidlist", "1\n")
    try mail.deliver("18.b", Maildir.mail("two@x"))
    // It ended after what came before it was at rest.
    try resident.wait(for: 2)
    #expect(resident.stop() == 0)
    #expect(names(resident) == ["17.a.eml", "18.b.eml"])
    #expect(
      try Maildir.messages(folder).map { $0.split(separator: "|")[1...2].joined(separator: "|") }
        == ["one@x|ann@example.com", "two@x|ann@example.com"])
    let again = try watch(root: root)
    try mail.deliver("19.c", Maildir.mail("three@x"))
    try again.wait(for: 1)
    #expect(again.stop() == 0)
    #expect(names(again) == ["19.c.eml"])
  }

  @Test func aMaildirThatIsMadeLaterIsOneOnceItIsWhole() throws {
    let resident = try watch()
    for part in ["tmp", "new", "cur"] {
      try FileManager.default.createDirectory(
        atPath: "\(folder.path)/in/late/\(part)", withIntermediateDirectories: true)
    }
    let late = try Maildir(folder, "in/late")
    try folder.write("in/late/tmp/0.unfinished", Maildir.mail("zero@x"))
    try late.deliver("17.a", Maildir.mail("one@x"))
    try resident.wait(for: 1)
    try folder.write("in/plain.txt", "no mail\n")
    try resident.wait(for: 2)
    #expect(resident.stop() == 0)
    #expect(names(resident) == ["17.a.eml", "plain.txt"])
  }

  @Test func aMessageThatIsRefusedIsNamedAndTheNextIsTaken() throws {
    let resident = try watch()
    try mail.deliver("17.a", Maildir.mail(String(repeating: "x", count: 300)))
    try mail.deliver("18.b", Maildir.mail("two@x"))
    try resident.wait(for: 1)
    try Resident.wait("the first is named") {
      resident.errors.contains("/in/mail/new/17.a: 'messageId' has 300 bytes")
    }
    #expect(resident.stop() == 0)
    #expect(names(resident) == ["18.b.eml"])
  }

  // MARK: --consume

  private func wait(for files: [String]) throws {
    try Resident.wait("the messages are \(files)") { folder.files(below: "in/mail") == files }
  }

  @Test func aMessageThatWasRenamedIsConsumedUnderItsNewName() throws {
    let resident = try watch("--consume", "delete")
    try #require(try sluice("pause", "attachments").status == 0)
    try mail.deliver("17.a", Maildir.mail("one@x"))
    try Resident.wait("it is queued") {
      try sluice("list", "--format", "json").attachments.map(\.fileName) == ["17.a.eml"]
    }
    try mail.move("new/17.a", "cur/17.a:2,RS")
    try #require(try sluice("resume", "attachments").status == 0)
    try resident.wait(for: 1)
    try wait(for: [])
    #expect(resident.stop() == 0)
    #expect(resident.ended.allSatisfy { $0.isCompleted })
  }

  @Test func aMessageThatACrashLeftInAnotherFolderIsSettled() throws {
    for (name, id) in [("17.a", "one@x"), ("18.b", "two@x")] { try mail.deliver(name, Maildir.mail(id)) }
    let first = try watch()
    try first.wait(for: 2)
    #expect(first.stop() == 0)
    let ids = Dictionary(first.ended.map { ($0.fileName, $0.id) }) { $1 }
    for (name, change) in [("17.a", 0), ("18.b", 1)] {
      var facts = stat()
      try #require(stat("\(folder.path)/in/mail/new/\(name)", &facts) == 0)
      let modified = Int(facts.st_mtim.tv_sec) * 1_000_000_000 + Int(facts.st_mtim.tv_nsec) + change
      let id = try #require(ids["\(name).eml"])
      try mail.move("new/\(name)", "cur/.sluice-taken.\(id).\(facts.st_size).\(modified)")
    }
    // One fits its name and goes. The other does not: it gets its own name again, and goes under that.
    let second = try watch("--consume", "delete")
    try wait(for: [])
    #expect(second.stop() == 0, "\(second.errors)")
    #expect(!second.errors.contains("belongs at"))
  }
}
