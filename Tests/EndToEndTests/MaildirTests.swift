import Foundation
import Testing

/// Messages of a Maildir are taken in as they are, and once, whatever their files are called by then.
@Suite(.serialized)
struct MaildirTests {
  private let folder: TemporaryFolder
  private let mail: Maildir

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.storing())
    mail = try Maildir(folder)
  }

  private func sluice(_ words: String...) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(words + ["--home", "home"], in: folder)
  }

  private func ingest(_ words: String...) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(["ingest", "--home", "home", "--format", "json", "mail"] + words, in: folder)
  }

  private func listed() throws -> [Printed.Attachment] {
    try sluice("list", "--format", "json").attachments
  }

  @Test func eachMessageIsOneWithWhatItsHeaderSays() throws {
    try mail.deliver(
      "17.a.host", Maildir.mail("one@x", to: "Ben <ben@Example.com>, carl@x.org, ben@Example.com"))
    try folder.write("mail/cur/18.b.host:2,FS", Maildir.mail(nil, from: "not an address"))
    for name in ["tmp/19.c", "new/.hidden", "uidlist", "sieve/rules", "cur/deeper/20.d"] {
      try folder.write("mail/\(name)", "no message\n")
    }
    try Maildir(folder, "mail/.Sent").deliver("21.e", Maildir.mail("two@x"))
    try folder.write("mail/tmp/new/22.f", "no message\n")
    let outcome = try ingest()
    #expect(outcome.status == 1, "a folder among messages is told: \(outcome.err)")
    #expect(outcome.err.contains("mail/cur/deeper: not a file"))
    let names = outcome.attachments.map(\.fileName).sorted()
    #expect(names == ["17.a.host.eml", "18.b.host.eml", "21.e.eml"])
    #expect(outcome.attachments.allSatisfy { $0.mediaType == "message/rfc822" && $0.isCompleted })
    #expect(outcome.attachments.allSatisfy { $0.metadata["mime.declared"] == .text("message/rfc822") })
    #expect(
      try Maildir.messages(folder) == [
        #"default|18.b.host|operator|["ben@example.com"]"#,
        #"default|one@x|ann@example.com|["ben@Example.com","carl@x.org"]"#,
        #"default|two@x|ann@example.com|["ben@example.com"]"#,
      ])
  }

  @Test func whatTheUserSaysWinsOverHeaders() throws {
    try mail.deliver("17.a", Maildir.mail("one@x"))
    #expect(try ingest("--sender", "dora", "--participants", "eve,fay", "--conversation", "c").status == 0)
    #expect(try Maildir.messages(folder) == [#"c|one@x|dora|["eve","fay"]"#])
  }

  @Test func aMessageThatIsRenamedIsKnown() throws {
    try mail.deliver("17.a", Maildir.mail("one@x"))
    try mail.deliver("18.b", Maildir.mail(nil))
    #expect(try ingest().attachments.count == 2)
    try mail.move("new/17.a", "cur/17.a:2,")
    try mail.move("new/18.b", "cur/18.b:2,S")
    let second = try ingest()
    #expect(second.status == 0 && second.attachments.isEmpty)
    try mail.move("cur/17.a:2,", "cur/17.a:2,RS")
    let third = try sluice("enqueue", "mail")
    #expect(third.status == 0 && third.out == "0 queued, 2 known from before\n")
    #expect(try ingest("--conversation", "another").attachments.count == 2)
  }

  @Test func whatCannotBeTakenInIsNamedAndTheRestGoesOn() throws {
    try mail.deliver("17.a", Maildir.mail("one@x"))
    try mail.deliver("18.b", Maildir.mail(String(repeating: "x", count: 257)))
    try mail.deliver("19.c", Maildir.mail("one\0@x"))
    try mail.deliver("20.d", Maildir.mail("one@x", from: "eve@example.com"))
    try FileManager.default.createSymbolicLink(
      atPath: folder.path + "/mail/cur/21.e", withDestinationPath: folder.path + "/pipeline.yaml")
    try mail.deliver("22.f", Maildir.mail("two@x"))
    for words in [["--dry-run"], []] {
      let outcome = try SluiceCommand.run(["ingest", "--home", "home", "mail"] + words, in: folder)
      #expect(outcome.status == 1)
      let lines = outcome.err.split(separator: "\n")
      func isSaid(_ name: String, _ reason: String) -> Bool {
        lines.contains { $0.contains("/mail/\(name): ") && $0.contains(reason) }
      }
      #expect(isSaid("new/18.b", "'messageId' has 257 bytes where 1 to 256 are allowed"), "\(outcome.err)")
      #expect(isSaid("new/19.c", "'messageId' holds a NUL character"))
      #expect(isSaid("cur/21.e", "a symbolic link; not followed"))
      // Another sender cannot add to a message; that is known once the other is on record.
      #expect(isSaid("new/20.d", "not from 'eve@example.com'") == words.isEmpty)
    }
    #expect(try listed().map(\.fileName).sorted() == ["17.a.eml", "22.f.eml"])
  }

  @Test func aDryRunShowsTheMessagesAndTakesNoneIn() throws {
    try mail.deliver("17.a", Maildir.mail("one@x"))
    try folder.write("mail/tmp/18.b", Maildir.mail("two@x"))
    let outcome = try ingest("--dry-run")
    let rehearsals = outcome.records(Printed.Rehearsal.self)
    #expect(outcome.status == 0 && rehearsals.count == 1)
    #expect(rehearsals.first?.mediaType == "message/rfc822")
    #expect(rehearsals.first?.source.hasSuffix("/mail/new/17.a") == true)
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/home"))
  }

  @Test func aLimitCountsMessagesOnce() throws {
    for number in 1...4 { try mail.deliver("\(number).a", Maildir.mail("\(number)@x")) }
    #expect(try ingest("--limit", "3").attachments.count == 3)
    for number in 1...4 { try mail.move("new/\(number).a", "cur/\(number).a:2,S") }
    #expect(try ingest("--limit", "3").attachments.map(\.fileName) == ["4.a.eml"])
  }

  @Test func whatIsQueuedIsFoundThoughItIsRenamedBeforeItsTurn() throws {
    let resident = try Resident(folder)
    try #require(try sluice("pause", "attachments").status == 0)
    for number in 1...4 { try mail.deliver("\(number).a", Maildir.mail("\(number)@x")) }
    #expect(try sluice("enqueue", "mail").out == "4 queued\n")
    for (number, flags) in zip(1...4, ["", "S", "FRS", "T"]) {
      try mail.move("new/\(number).a", "cur/\(number).a:2,\(flags)")
    }
    #expect(try sluice("enqueue", "mail").out == "0 queued, 4 known from before\n")
    try #require(try sluice("resume", "attachments").status == 0)
    try resident.wait(for: 4)
    #expect(resident.stop() == 0)
    #expect(resident.ended.allSatisfy { $0.isCompleted }, "\(resident.ended)")
  }

  /// Each of 2,000 messages is taken in once, through a kill of the ingest and a rename of each.
  @Test func thousandsOfMessagesAreTakenInOnceThroughAKillAndARename() throws {
    let count = 2000
    for number in 0..<count {
      try folder.write("mail/new/\(number).M1.host", Maildir.mail("\(number)@x", to: "p\(number)@x.org"))
    }
    let first = try SluiceCommand.start(
      ["ingest", "--home", "home", "--format", "json", "mail"], in: folder, out: folder.path + "/first.out",
      err: folder.path + "/first.err")
    try Resident.wait("some have ended, and more are queued") {
      Printed.records(Printed.Attachment.self, in: try folder.read("first.out")).count > 50
    }
    kill(first.processIdentifier, SIGKILL)
    first.waitUntilExit()
    for number in 0..<count {
      try mail.move("new/\(number).M1.host", "cur/\(number).M1.host:2,\(number % 2 == 0 ? "S" : "FR")")
    }
    let second = try ingest()
    #expect(second.status == 0, "\(second.err)")
    let names = try listed()
    #expect(names.count == count && names.allSatisfy(\.isCompleted))
    #expect(Set(names.map(\.fileName)) == Set((0..<count).map { "\($0).M1.host.eml" }))
    #expect(try Maildir.messages(folder).count == count)
  }
}
