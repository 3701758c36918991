import Foundation
import Testing

/// What `sluice verify` finds, how it repairs it, and what it leaves alone.
@Suite struct VerifyTests {
  /// A home with six attachments, of which two have the same content.
  private struct Sample {
    let folder: TemporaryFolder

    init() throws {
      folder = try TemporaryFolder()
      try folder.write("pipeline.yaml", Pipelines.open)
      for number in 0..<6 { try folder.write("in/\(number).txt", "text \(number % 5)\n") }
      #expect(try ingest().status == 0)
    }

    @discardableResult
    func ingest(_ path: String = "in") throws -> SluiceCommand.Outcome {
      try SluiceCommand.run(
        ["ingest", "--format", "json", "--sender", "ann", "--participants", "ann,ben", path], in: folder)
    }

    func verify(_ options: String...) throws -> Verified {
      Verified(outcome: try SluiceCommand.run(["verify", "--format", "json"] + options, in: folder))
    }

    /// The paths of objects, in the order of their sources.
    func objects() throws -> [String] {
      try AttachmentRows.read(folder).sorted { $0.source < $1.source }.compactMap(\.url)
    }

    func path(_ object: String) -> String { "\(folder.path)/var/store/\(object)" }
    func execute(_ sql: String) throws { try Inbox.execute(sql, on: folder.path + "/var/sluice.db") }
  }

  private struct Verified {
    var outcome: SluiceCommand.Outcome
    var findings: [Printed.Finding] { outcome.records(Printed.Finding.self) }
    var codes: [String] { findings.map(\.code) }
    var places: [String] { findings.map(\.place) }
    var repaired: Int { findings.count { $0.repair != nil } }
  }

  @Test func aSoundHomeIsCalledSound() throws {
    let sample = try Sample()
    let verified = try sample.verify()
    #expect(verified.outcome.status == 0 && verified.findings.isEmpty)
    let summary = try verified.outcome.last(Printed.Verification.self)
    #expect(summary.objects == 6 && summary.read == 6 && summary.ok)
    let text = try SluiceCommand.run(["verify", "--sample", "2"], in: sample.folder)
    #expect(
      text.status == 0 && text.out.hasPrefix("6 objects, 2 of them read: ")
        && text.out.hasSuffix("nothing is wrong\n"))
    #expect(try SluiceCommand.run(["verify", "--quiet"], in: sample.folder).out == "")
  }

  @Test func equalContentIsOneObjectOfTwoNames() throws {
    let sample = try Sample()
    let objects = try sample.objects()
    let links = try objects.map { object in
      try FileManager.default.attributesOfItem(atPath: sample.path(object))[.referenceCount] as? Int
    }
    #expect(links == [2, 1, 1, 1, 1, 2])
  }

  // MARK: Objects

  enum Harm: CaseIterable { case flipped, longer, shorter, missing, folder, link, linkBetween, device }

  @Test(arguments: Harm.allCases)
  func anObjectThatIsNotWhatItsRowSaysIsNamedAndStoredAnew(harm: Harm) throws {
    let sample = try Sample()
    let object = try sample.objects()[2]
    let path = sample.path(object)
    let files = FileManager.default
    switch harm {
    case .flipped: try Data("text 3\n".utf8).write(to: URL(fileURLWithPath: path))
    case .longer: try Data("text 2\n\n".utf8).write(to: URL(fileURLWithPath: path))
    case .shorter: truncate(path, 3)
    case .missing: unlink(path)
    case .folder:
      unlink(path)
      try files.createDirectory(atPath: path + "/in", withIntermediateDirectories: true)
    case .link:
      unlink(path)
      symlink(sample.folder.path + "/in/2.txt", path)
    case .linkBetween:
      let parent = (path as NSString).deletingLastPathComponent
      try files.moveItem(atPath: parent, toPath: sample.folder.path + "/elsewhere")
      symlink(sample.folder.path + "/elsewhere", parent)
    case .device:
      unlink(path)
      mkfifo(path, 0o600)
    }
    let found = try sample.verify()
    #expect(found.outcome.status == 1)
    #expect(found.places.contains("store/" + object), "\(found.outcome.out)")
    #expect(found.codes.allSatisfy { $0.hasPrefix("object-") || $0 == "strange-file" })

    let repaired = try sample.verify("--repair")
    #expect(
      repaired.outcome.status == 0 && repaired.repaired == repaired.findings.count, "\(repaired.outcome.out)")
    #expect(try sample.ingest().attachments.count == 1, "it is stored by the next ingest")
    #expect(try sample.verify().outcome.status == 0)
    #expect(try sample.objects()[2] == object)
    try whole(sample)
    let moved = harm == .linkBetween ? (object as NSString).deletingLastPathComponent : object
    let lost = "\(sample.folder.path)/var/lost+found/\(moved)"
    var facts = stat()
    #expect((lstat(lost, &facts) == 0) == (harm != .missing), "what lay there is kept")
  }

  /// Everything is intact, and every recipient was told once, whatever was stored again.
  private func whole(_ sample: Sample) throws {
    let sources = try AttachmentRows.read(sample.folder).map(\.source)
    try Witness(folder: sample.folder).checkCompleted(sources, recipients: ["ben"])
  }

  @Test(arguments: [nil, "text 9\n"])
  func anObjectWhoseSourceIsGoneOrChangedStaysAndIsReported(source: String?) throws {
    let sample = try Sample()
    let object = try sample.objects()[2]
    try Data("TEXT 2\n".utf8).write(to: URL(fileURLWithPath: sample.path(object)))
    if let source {
      try sample.folder.write("in/2.txt", source)
    } else {
      unlink(sample.folder.path + "/in/2.txt")
    }
    for _ in 0..<2 {
      let verified = try sample.verify("--repair")
      #expect(verified.outcome.status == 1 && verified.codes == ["object-damaged"] && verified.repaired == 0)
      let remedy = verified.findings.first?.remedy ?? ""
      #expect(remedy.contains(source == nil ? "in/2.txt cannot be read" : "in/2.txt has changed since"))
    }
    #expect(FileManager.default.contents(atPath: sample.path(object)) == Data("TEXT 2\n".utf8))
  }

  @Test func aDamagedObjectIsNotLinkedToTheNextWithItsContent() throws {
    let sample = try Sample()
    let object = try sample.objects()[2]
    try Data("TEXT 2\n".utf8).write(to: URL(fileURLWithPath: sample.path(object)))
    try sample.folder.write("more/x.txt", "text 2\n")
    #expect(try sample.ingest("more").status == 0)
    #expect(try sample.verify().places == ["store/" + object], "the new one is whole")
  }

  // MARK: Files without an owner

  @Test func whatNobodyOwnsIsMovedAndNeverDeleted() throws {
    let sample = try Sample()
    let name = "documents/\u{1B}[31m\u{202E}"
    for path in ["orphan", "documents/default/orphan", ".hidden", name, ".incoming/of-nobody"] {
      try sample.folder.write("var/store/" + path, "mine\n")
    }
    symlink("/etc/passwd", sample.path("documents/link"))
    try sample.folder.write("var/lost+found/orphan", "an earlier one\n")
    let found = try sample.verify()
    #expect(found.outcome.status == 1 && found.findings.count == 6)
    #expect(Set(found.codes) == ["orphan", "leftover", "strange-file"])
    #expect(!(try SluiceCommand.run(["verify"], in: sample.folder).out.contains("\u{1B}")))
    let repaired = try sample.verify("--repair")
    #expect(repaired.outcome.status == 0 && repaired.repaired == 6)
    let kept = sample.folder.files(below: "var/lost+found")
    #expect(kept.count == 7, "\(kept)")
    #expect(try sample.folder.read("var/lost+found/orphan") == "an earlier one\n")
    #expect(try sample.folder.read("var/lost+found/orphan.2") == "mine\n")
    #expect(try sample.verify().outcome.status == 0)
    try whole(sample)
  }

  @Test func anObjectThatWaitsForItsNameGetsIt() throws {
    let sample = try Sample()
    let all = try AttachmentRows.read(sample.folder).filter { $0.url != nil }
    // One object waits; the path of the other has been taken by another file meanwhile.
    for attachment in all.prefix(2) {
      let object = sample.path(attachment.url ?? "")
      try FileManager.default.moveItem(atPath: object, toPath: sample.path(".incoming/\(attachment.id)"))
    }
    try Data("TEXT 1\n".utf8).write(to: URL(fileURLWithPath: sample.path(all[1].url ?? "")))
    let found = try sample.verify()
    #expect(
      found.outcome.status == 1 && found.codes.contains("object-unnamed")
        && found.codes.contains("object-damaged"))
    let repaired = try sample.verify("--repair")
    #expect(repaired.outcome.status == 0, "\(repaired.outcome.out)")
    #expect(try repaired.outcome.last(Printed.Verification.self).queued == 0)
    #expect(try sample.verify().outcome.status == 0)
    try whole(sample)
  }

  /// As after a ledger was restored from a backup that is older than the store.
  @Test func anObjectUnderAnotherPathGetsItsOwn() throws {
    let sample = try Sample()
    let objects = try sample.objects()
    for (index, object) in objects.prefix(2).enumerated() {
      try FileManager.default.moveItem(atPath: sample.path(object), toPath: sample.path("elsewhere-\(index)"))
      unlink(sample.folder.path + "/in/\(index).txt")
    }
    let repaired = try sample.verify("--repair")
    #expect(repaired.outcome.status == 0, "\(repaired.outcome.out)")
    #expect(repaired.codes == ["object-missing", "object-missing"] && repaired.repaired == 2)
    #expect(try sample.verify().outcome.status == 0)
    #expect(sample.folder.files(below: "var/lost+found").isEmpty)
    try whole(sample)
  }

  /// Two of the attachments have the same content: the object of one is that of both.
  @Test func anObjectIsTakenFromAnotherAttachmentWithItsContent() throws {
    let sample = try Sample()
    let objects = try sample.objects()
    for name in ["0", "5"] { unlink(sample.folder.path + "/in/\(name).txt") }
    for (lost, isDamaged) in [(objects[0], false), (objects[5], true)] {
      unlink(sample.path(lost))
      if isDamaged { try sample.folder.write("var/store/" + lost, "TEXT 0\n") }
      let repaired = try sample.verify("--repair")
      #expect(repaired.outcome.status == 0, "\(repaired.outcome.out)")
      #expect(try sample.verify().outcome.status == 0)
      #expect(try sample.folder.read("var/store/" + lost) == "text 0\n")
    }
    try whole(sample)
  }

  @Test func anObjectThatWaitsForItsNameIsReadToo() throws {
    let sample = try Sample()
    let attachment = try #require(try AttachmentRows.read(sample.folder).first { $0.url != nil })
    try FileManager.default.removeItem(atPath: sample.path(attachment.url ?? ""))
    try Data("TEXT 0\n".utf8).write(to: URL(fileURLWithPath: sample.path(".incoming/\(attachment.id)")))
    #expect(try sample.verify().codes == ["object-damaged"])
    #expect(try sample.verify("--repair").outcome.last(Printed.Verification.self).queued == 1)
    try sample.ingest()
    #expect(try sample.verify().outcome.status == 0)
    try whole(sample)
  }

  @Test(.enabled(if: SmallDisk.isPossible, .init(rawValue: SmallDisk.skipped)))
  func aStoreOnADiskOfItsOwnHasItsOwnLostAndFound() throws {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open)
    try folder.write("in/a.txt", "text\n")
    let disk = try SmallDisk(folder.path + "/var/store", size: "4m")
    #expect(try SluiceCommand.run(["ingest", "in"], in: folder).status == 0)
    try folder.write("var/store/orphan", "mine\n")
    let repaired = try SluiceCommand.run(["verify", "--repair"], in: folder)
    #expect(
      repaired.status == 0 && repaired.out.contains("moved to store/.lost+found/orphan"), "\(repaired.out)")
    #expect(try folder.read("var/store/.lost+found/orphan") == "mine\n")
    #expect(try SluiceCommand.run(["verify"], in: folder).status == 0)
    withExtendedLifetime(disk) {}
  }

  // MARK: Rows

  /// Rows that another program may have written, the name of the finding, and whether a repair fixes it.
  static let rows: [(sql: String, code: String, isRepaired: Bool)] = [
    ("UPDATE counts SET attachments = attachments + 1 WHERE status = 'completed'", "counts-differ", true),
    ("UPDATE counts SET bytes = 9223372036854775807 WHERE status = 'failed'", "counts-differ", true),
    ("DELETE FROM counts WHERE status = 'failed'", "counts-differ", true),
    ("DELETE FROM ledger", "row-missing", false),
    ("UPDATE ledger SET position = 0", "row-malformed", false),
    ("UPDATE ledger SET holder = 9223372036854775806", "row-malformed", false),
    ("UPDATE deliveries SET status = 'pending', finished_at = NULL WHERE key = 1", "job-missing", true),
    (
      "INSERT INTO jobs (kind, subject, lane, priority, state, due_at) VALUES ('attachment', 1, 1, 0, 'due', 0)",
      "job-of-ended", true
    ),
    (
      "INSERT INTO jobs (kind, subject, lane, priority, state, due_at) VALUES ('delivery', 1, 1, 0, 'due', 0)",
      "job-malformed", false
    ),
    (
      "INSERT INTO jobs (kind, subject, lane, priority, state, due_at, holder, token) VALUES ('attachment', 1, 1, 0, 'leased', 0, 9999999, 1)",
      "job-malformed", false
    ),
    (
      "INSERT INTO jobs (kind, subject, lane, priority, state, due_at) VALUES ('attachment', 9999999, 1, 0, 'due', 0)",
      "job-malformed", false
    ),
    ("UPDATE names SET uses = uses + 1", "names-differ", true),
    ("DELETE FROM names", "names-differ", true),
    ("INSERT INTO names VALUES ('documents/nobody', zeroblob(32), 1)", "names-differ", true),
    ("UPDATE attachments SET id = '../../x' WHERE key = 1", "row-malformed", false),
    ("UPDATE attachments SET metadata = '{' WHERE key = 1", "row-malformed", false),
    ("UPDATE attachments SET size_bytes = NULL WHERE key = 1", "row-malformed", false),
    ("UPDATE attachments SET url = '../../../etc/passwd' WHERE key = 1", "row-malformed", true),
    (
      "UPDATE attachments SET url = (SELECT url FROM attachments WHERE key = 2) WHERE key = 1",
      "object-damaged", true
    ),
    ("UPDATE attachments SET sha256 = zeroblob(32) WHERE key = 1", "object-damaged", false),
    ("UPDATE events SET data = '[]' WHERE key = 1", "row-malformed", false),
    (
      "DELETE FROM messages WHERE message_id = (SELECT message_id FROM attachments WHERE key = 1)",
      "row-missing", false
    ),
    (
      "INSERT INTO conversations VALUES (1, 'c', 'group', NULL, 'all', NULL, NULL, 2, 0, 0, 0)",
      "conversation-differs", false
    ),
    (
      "UPDATE messages SET number = 1, changed = 1 WHERE message_id = (SELECT min(message_id) FROM messages)",
      "conversation-differs", false
    ),
    (
      """
      INSERT INTO conversations VALUES (1, 'c', 'group', NULL, 'all', NULL, NULL, 0, 0, 0, 0);
      INSERT INTO members VALUES (1, 'ann', 'admin', 1, 0, 0, NULL, NULL, NULL, 1, 1, NULL, 1, 0, 0)
      """, "conversation-differs", false
    ),
    (
      "INSERT INTO conversations VALUES (1, 'c', 'group', NULL, 'all', NULL, NULL, 0, 0, 0, 1 << 40)",
      "conversation-differs", false
    ),
    ("CREATE TABLE more (x)", "ledger-damaged", false),
    ("DROP INDEX attachments_by_content", "ledger-damaged", false),
  ]

  @Test(arguments: rows.indices)
  func rowsThatDoNotAgreeAreFound(row: Int) throws {
    let (sql, code, isRepaired) = Self.rows[row]
    let sample = try Sample()
    try sample.execute(sql)
    let found = try sample.verify()
    #expect(
      found.outcome.status == 1 && found.codes.contains(code),
      "\(sql): \(found.outcome.out)\(found.outcome.err)")
    let repaired = try sample.verify("--repair")
    #expect(
      (repaired.outcome.status == 0) == isRepaired, "\(sql): \(repaired.outcome.out)\(repaired.outcome.err)")
    if !isRepaired { return }
    try sample.ingest()
    let last = try sample.verify()
    #expect(last.outcome.status == 0, "\(sql): \(last.outcome.out)")
  }

  // MARK: During an ingest

  @Test func whatAnIngestIsAtWorkOnIsNoDamage() throws {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open)
    for number in 0..<2500 { try folder.write("in/\(number).txt", "text \(number % 2000)\n") }
    let process = try SluiceCommand.start(
      ["ingest", "in"], in: folder, out: folder.path + "/out", err: folder.path + "/err")
    var looks = 0
    while process.isRunning {
      let outcome = try SluiceCommand.run(["verify"], in: folder)
      if [2, 75].contains(outcome.status) && looks == 0 { continue }  // no ledger yet, or an incomplete one
      looks += 1
      #expect(outcome.status == 0, "\(outcome.out)\(outcome.err)")
      let repair = try SluiceCommand.run(["verify", "--repair"], in: folder)
      #expect(repair.status == 75 || !process.isRunning, "\(repair.out)\(repair.err)")
    }
    process.waitUntilExit()
    #expect(process.terminationStatus == 0 && looks > 2, "\(looks) looks")
    #expect(try SluiceCommand.run(["verify"], in: folder).status == 0)
  }
}
