import Foundation
import Testing

/// Messages of a mailbox file are taken in as they are, and once.
@Suite(.serialized)
struct MboxTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.storing())
  }

  private static func mailbox(_ mails: [String]) -> String {
    mails.map { "From ann@example.com Wed Nov 25 10:00:00 2026\n\($0)\n" }.joined()
  }

  private func sluice(_ words: String...) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(words + ["--home", "home"], in: folder)
  }

  private func ingest(_ words: String...) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(["ingest", "--home", "home", "--format", "json"] + words, in: folder)
  }

  private func listed() throws -> [Printed.Attachment] {
    try sluice("list", "--format", "json").attachments
  }

  @Test func eachMessageIsOneWithWhatItsHeaderSays() throws {
    let mails = [
      Maildir.mail("one@x", to: "Ben <ben@Example.com>, carl@x.org"), Maildir.mail(nil, from: "no address"),
      "\nHello\n",
    ]
    try folder.write("in.mbox", Self.mailbox(mails))
    let outcome = try ingest("in.mbox")
    #expect(outcome.status == 0, "\(outcome.err)")
    #expect(outcome.attachments.map(\.fileName).sorted() == ["in-1.eml", "in-2.eml", "in-3.eml"])
    #expect(outcome.attachments.allSatisfy { $0.isCompleted && $0.source.contains("/in.mbox//") })
    #expect(outcome.attachments.allSatisfy { $0.metadata["mime.declared"] == .text("message/rfc822") })
    for attachment in outcome.attachments {
      let content = try sluice("get", attachment.id)
      #expect(mails.contains(content.out))
    }
    let messages = try Maildir.messages(folder)
    #expect(messages.contains(#"default|one@x|ann@example.com|["ben@Example.com","carl@x.org"]"#))
    #expect(messages.count == 3)
    let again = try ingest("in.mbox")
    #expect(again.status == 0 && again.attachments.isEmpty)
    #expect(try sluice("enqueue", "in.mbox").out == "0 queued, 3 known from before\n")
    #expect(try sluice("verify").status == 0)
  }

  /// The list leaves the hash out.
  @Test func aMessageIsFoundByThePlaceThatTheListPrints() throws {
    try folder.write("in.mbox", Self.mailbox([Maildir.mail("one@x"), Maildir.mail("two@x")]))
    try #require(try ingest("in.mbox").status == 0)
    for record in try listed() {
      let place = String(record.source.prefix(upTo: try #require(record.source.lastIndex(of: "+"))))
      #expect(try sluice("list").out.contains(" \(place) "), "as it is printed")
      let relative = "in.mbox" + place.dropFirst("\(folder.path)/in.mbox".count)
      for word in [place, relative, record.source, String(record.source.dropLast(60)), "./" + relative + "+"]
      {
        let shown = try sluice("show", word)
        #expect(shown.out.hasPrefix("id            \(record.id)\n"), "\(word): \(shown.err)")
      }
      for word in [String(place.dropLast()), place + "0", place + "+x", "other.mbox//0+1"] {
        let shown = try sluice("show", word)
        #expect(shown.status == 2 && shown.err.contains("no attachment has the id"), "\(word): \(shown.out)")
      }
      #expect(try sluice("get", place).out == sluice("get", record.id).out)
    }
  }

  /// Others have been written to the place since.
  @Test func ofSeveralMessagesAtOnePlaceTheIdsAreListed() throws {
    for name in ["one@x", "two@x"] {
      try folder.write("in.mbox", Self.mailbox([Maildir.mail(name)]))
      try #require(try ingest("in.mbox").status == 0)
    }
    let records = try listed()
    let place = String(records[0].source.prefix(upTo: try #require(records[0].source.lastIndex(of: "+"))))
    try #require(records.count == 2 && records[1].source.hasPrefix(place + "+"))
    let shown = try sluice("show", place)
    #expect(
      shown.status == 2 && shown.err.contains("several attachments come from '\(place)'"), "\(shown.err)")
    #expect(records.allSatisfy { shown.err.contains($0.id) })
    #expect(try sluice("show", String(records[1].source.dropLast(56))).out.contains(records[1].id))
  }

  @Test func whatIsAMailboxIsToldByNameAndStart() throws {
    let text = Self.mailbox([Maildir.mail("one@x"), Maildir.mail("two@x")])
    for name in ["folder/a.mbox", "folder/mbox", "folder/inbox", "folder/a.patch", "spool"] {
      try folder.write(name, text)
    }
    try folder.write("folder/b.mbox", "no mailbox\n")
    #expect(
      try ingest("--conversation", "a", "folder").attachments.map(\.fileName).sorted()
        == ["a-1.eml", "a-2.eml", "a.patch", "b.mbox", "inbox", "mbox-1.eml", "mbox-2.eml"])
    #expect(
      try ingest("--conversation", "b", "spool").attachments.map(\.fileName).sorted()
        == ["spool-1.eml", "spool-2.eml"])
    try folder.write("list.jsonl", #"{"path": "spool", "conversationId": "c"}"# + "\n")
    #expect(try ingest("--manifest", "list.jsonl").attachments.map(\.fileName) == ["spool"])
    let dry = try ingest("--dry-run", "--conversation", "d", "spool")
    #expect(dry.records(Printed.Rehearsal.self).map(\.mediaType) == ["message/rfc822", "message/rfc822"])
  }

  @Test func aMailboxWithoutMailsHasNone() throws {
    for name in ["empty.mbox", "folder/mbox", "folder/empty"] { try folder.write(name, "") }
    #expect(try ingest("empty.mbox", "folder").attachments.map(\.fileName) == ["empty"])
  }

  @Test func whatCannotBeTakenInIsNamedAndTheRestGoesOn() throws {
    try folder.write(
      "in.mbox",
      Self.mailbox([
        Maildir.mail("one@x"), Maildir.mail(String(repeating: "x", count: 257)), Maildir.mail("three@x"),
      ]))
    let outcome = try ingest("in.mbox")
    #expect(outcome.status == 1)
    #expect(outcome.err.contains("in.mbox//") && outcome.err.contains("'messageId' has 257 bytes"))
    #expect(outcome.attachments.map(\.fileName).sorted() == ["in-1.eml", "in-3.eml"])
  }

  /// A program of mail takes messages out of the mailbox while others wait.
  @Test func aMailboxThatWasChangedIsTakenInAgain() throws {
    let mails = (1...4).map { Maildir.mail("\($0)@x") }
    try folder.write("in.mbox", Self.mailbox(mails))
    #expect(try sluice("enqueue", "in.mbox").out == "4 queued\n")
    try folder.write("in.mbox", Self.mailbox([mails[1], mails[3], Maildir.mail("5@x")]))
    let first = try sluice("enqueue", "in.mbox")
    #expect(first.out == "1 queued, 2 known from before\n")
    let outcome = try ingest("in.mbox")
    #expect(outcome.status == 1)
    #expect(
      Set(outcome.attachments.filter(\.isCompleted).map(\.fileName)) == ["in-2.eml", "in-4.eml", "in-3.eml"])
    let failed = outcome.attachments.filter { !$0.isCompleted }
    #expect(failed.map { $0.reason?.code } == ["source-changed", "source-changed"], "\(outcome.out)")
    // They are put back.
    try folder.write("in.mbox", Self.mailbox([mails[3], mails[2], mails[0]]))
    #expect(try sluice("enqueue", "in.mbox").out == "0 queued, 3 known from before\n")
    #expect(try sluice("retry", "--status", "failed").status == 0)
    #expect(try ingest("in.mbox").attachments.count == 2)
    #expect(try listed().count == 5)
    #expect(try listed().allSatisfy(\.isCompleted))
  }

  @Test func aMailboxThatAnotherProgramHasLockedIsLeft() throws {
    try folder.write("in.mbox", Self.mailbox([Maildir.mail("one@x")]))
    let script =
      "import fcntl,sys; f=open('in.mbox','r+'); fcntl.lockf(f,fcntl.LOCK_EX); print('locked',end='',flush=True); sys.stdin.read()"
    let holder = Process()
    let (input, output) = (Pipe(), Pipe())
    holder.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    holder.arguments = ["python3", "-c", script]
    holder.currentDirectoryURL = URL(fileURLWithPath: folder.path)
    (holder.standardInput, holder.standardOutput) = (input, output)
    try holder.run()
    #expect(String(decoding: output.fileHandleForReading.availableData, as: UTF8.self) == "locked")
    let outcome = try ingest("in.mbox")
    #expect(outcome.status == 1 && outcome.err.contains("another program has locked the mailbox"))
    try input.fileHandleForWriting.close()
    holder.waitUntilExit()
    #expect(try ingest("in.mbox").attachments.count == 1)
  }

  /// Python's library agrees on the messages, and each is taken in once, through kills of the ingest.
  @Test func thousandsOfMessagesAreTakenInOnceThroughKillsAndAsPythonReadsThem() throws {
    let script = """
      import mailbox, hashlib, email.message, email.policy
      box = mailbox.mbox('in.mbox', create=True)
      for n in range(2000):
          mail = email.message.EmailMessage(policy=email.policy.default)
          mail['From'], mail['To'], mail['Message-ID'] = f'p{n}@example.com', 'ben@example.com', f'<{n}@x>'
          mail.set_content('From here on\\n' * (n % 3) + '\\nFrom: x\\n\\nFrom there\\n' * (n % 2) + 'word ' * n)
          box.add(mailbox.mboxMessage(mail))
      box.flush()
      for key in box.keys():
          print(hashlib.sha256(box.get_bytes(key)).hexdigest())
      """
    let python = Process()
    let output = Pipe()
    python.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    python.arguments = ["python3", "-c", script]
    python.currentDirectoryURL = URL(fileURLWithPath: folder.path)
    python.standardOutput = output
    try python.run()
    let hashes = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      .split(separator: "\n").map(String.init)
    python.waitUntilExit()
    try #require(python.terminationStatus == 0 && hashes.count == 2000)
    for run in 1...3 {
      let process = try SluiceCommand.start(
        ["ingest", "--home", "home", "--format", "json", "in.mbox"], in: folder,
        out: folder.path + "/\(run).out",
        err: folder.path + "/\(run).err")
      try Resident.wait("some have ended, and more are queued") {
        Printed.records(Printed.Attachment.self, in: try folder.read("\(run).out")).count > 50
      }
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
    #expect(try ingest("in.mbox").status == 0)
    let attachments = try listed()
    #expect(attachments.allSatisfy { $0.isCompleted })
    #expect(attachments.compactMap(\.sha256).sorted() == hashes.sorted())
    #expect(try Maildir.messages(folder).count == 2000)
  }
}
