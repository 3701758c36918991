import Foundation
import Testing

/// `sluice replay` tries another configuration on ended attachments, and changes nothing.
struct ReplayTests {
  private static let pipeline = """
    version: 1
    stages:
      - use: mime
        options: { allow: ["*/*"] }
      - use: size
        options: { max: 1KB }
      - use: store
        options: { path: "{conversationId}/{messageId}" }
    """

  /// Two files that complete, and one that is too large.
  private func ingested() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Self.pipeline)
    try folder.write("inbox/small.txt", "small\n")
    try folder.write("inbox/middle.txt", String(repeating: "middle\n", count: 100))
    try folder.write("inbox/large.txt", String(repeating: "large\n", count: 1000))
    let outcome = try SluiceCommand.run(["ingest", "inbox"], in: folder)
    #expect(outcome.status == 1)
    return folder
  }

  private func state(_ folder: TemporaryFolder) throws -> [String: Data] {
    var state: [String: Data] = [:]
    for file in folder.files(below: "var") where !file.hasSuffix("-shm") {
      state[file] = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/var/" + file))
    }
    return state
  }

  @Test func theSameConfigurationChangesNothing() throws {
    let folder = try ingested()
    let before = try state(folder)
    let outcome = try SluiceCommand.run(["replay", "--diff"], in: folder)
    #expect(outcome.status == 0, "\(outcome.out)\(outcome.err)")
    #expect(outcome.out.contains("3 attachments from 'mime' on: 0 would change, 3 would not"))
    #expect(try state(folder) == before)
  }

  @Test func whatWouldChangeIsShown() throws {
    let folder = try ingested()
    let before = try state(folder)
    try folder.write("loose.yaml", Self.pipeline.replacingOccurrences(of: "1KB", with: "10KB"))
    try folder.write("strict.yaml", Self.pipeline.replacingOccurrences(of: "1KB", with: "100B"))
    let loose = try SluiceCommand.run(
      ["replay", "--from", "size", "-c", "loose.yaml", "--diff", "--format", "json"], in: folder)
    #expect(loose.status == 1)
    let changed = try loose.only(Printed.Replay.self)
    #expect(changed.fileName == "large.txt")
    #expect(changed.status == "completed")
    let strict = try SluiceCommand.run(
      ["replay", "--from", "size", "-c", "strict.yaml", "--diff"], in: folder)
    #expect(strict.out.contains("middle.txt"))
    #expect(strict.out.contains("completed -> rejected"))
    #expect(strict.out.contains("nothing -> size: too-large"))
    #expect(strict.out.contains("3 attachments from 'size' on: 1 would change, 2 would not"))
    #expect(try state(folder) == before)
  }

  /// Nothing but the bytes that would be stored differs.
  @Test func contentThatWouldBeStoredOtherwiseIsAChange() throws {
    let inbox = try Inbox()
    func pipeline(_ quality: Int) -> String {
      Pipelines.storing("- { use: image, when: image/*, options: { quality: \(quality) } }")
    }
    try inbox.folder.write("pipeline.yaml", pipeline(20))
    try inbox.folder.write("finer.yaml", pipeline(95))
    try inbox.folder.write("in/photo.png", Samples.data("photo.png"))
    let before = try #require(inbox.run().record("photo.png").sha256)
    func replay(_ words: [String]) throws -> SluiceCommand.Outcome {
      try SluiceCommand.run(["replay", "--home", "home", "--diff"] + words, in: inbox.folder)
    }
    for words in [[], ["--from", "store"]] {
      let same = try replay(words)
      #expect(same.status == 0 && same.out.contains("0 would change, 1 would not"), "\(same.out)\(same.err)")
    }
    let finer = try replay(["-c", "finer.yaml", "--format", "json"])
    #expect(finer.status == 1)
    let changes = try finer.only(Printed.Replay.self).changes
    #expect(changes.map(\.key) == ["sha256"] && changes[0].before == before, "\(finer.out)\(finer.err)")
    let after = try #require(changes[0].after)
    let text = try replay(["-c", "finer.yaml"])
    #expect(
      text.out.contains("sha256  \(before.prefix(16))… -> \(after.prefix(16))…"), "\(text.out)\(text.err)")
    #expect(text.out.contains("1 would change, 0 would not"))
    // That is what this pipeline stores.
    let other = try SluiceCommand.run(
      ["ingest", "--home", "other", "-c", "finer.yaml", "--format", "json", "in"], in: inbox.folder)
    #expect(other.attachments.map(\.sha256) == [after], "\(other.err)")
  }

  /// Where it would be stored lies the object that there is: the attachment would be rejected for its own content.
  @Test func whatHasNoPathOfItsOwnStaysAsItIs() throws {
    let inbox = try Inbox()
    func pipeline(_ quality: Int, _ path: String = "{attachmentId}") -> String {
      Pipelines.storing("- { use: image, when: image/*, options: { quality: \(quality) } }", path: path)
    }
    let plain = Pipelines.storing(path: "{attachmentId}")
    try inbox.folder.write("pipeline.yaml", plain)
    try inbox.folder.write("smaller.yaml", pipeline(20))
    try inbox.folder.write("apart.yaml", pipeline(20, "{sha256}"))
    try inbox.folder.write("in/photo.jpg", Samples.photo(orientation: 6))
    #expect(try inbox.run().record("photo.jpg").isCompleted)
    func apply(_ pipeline: String) throws -> SluiceCommand.Outcome {
      try SluiceCommand.run(
        ["replay", "--home", "home", "--diff", "--apply", "-c", pipeline], in: inbox.folder)
    }
    let refused = try apply("smaller.yaml")
    #expect(refused.status == 1 && refused.err.contains("1 attachment stays as before"), "\(refused.err)")
    #expect(refused.out.contains("another content has the path"), "\(refused.out)")
    let again = try SluiceCommand.run(["list", "--home", "home", "--status", "queued"], in: inbox.folder)
    #expect(again.out == "", "\(again.out)")
    let applied = try apply("apart.yaml")
    #expect(applied.status == 0 && applied.out.contains("1 attachment queued again"), "\(applied.err)")
    let ingest = try SluiceCommand.run(
      ["ingest", "--home", "home", "-c", "apart.yaml", "--manifest", "/dev/null"], in: inbox.folder)
    #expect(ingest.status == 0, "\(ingest.out)\(ingest.err)")
    #expect(inbox.folder.files(below: "home/store").count == 1)
  }

  /// Of several that would go to one path, one does.
  @Test func ofThoseThatWouldShareAPathOneIsApplied() throws {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.storing(path: "a/{attachmentId}"))
    try folder.write("one.yaml", Pipelines.storing(path: "one/object"))
    for number in 0..<3 { try folder.write("in/\(number).txt", "text \(number)\n") }
    #expect(try SluiceCommand.run(["ingest", "in"], in: folder).status == 0)
    let applied = try SluiceCommand.run(["replay", "--diff", "--apply", "-c", "one.yaml"], in: folder)
    #expect(applied.status == 1 && applied.out.contains("1 attachment queued again"), "\(applied.out)")
    #expect(applied.err.contains("2 attachments stay as before"), "\(applied.err)")
    let ingest = try SluiceCommand.run(["ingest", "--manifest", "/dev/null", "-c", "one.yaml"], in: folder)
    #expect(ingest.status == 0, "\(ingest.out)")
  }

  /// The large file was rejected at `size` and never reached the store.
  @Test func onlyWhatCameSoFarIsTried() throws {
    let folder = try ingested()
    let outcome = try SluiceCommand.run(["replay", "--from", "store"], in: folder)
    #expect(outcome.out.contains("2 attachments from 'store' on"))
  }

  @Test func aSampleAndSingleOnesCanBeChosen() throws {
    let folder = try ingested()
    func replayed(_ words: String...) throws -> [String] {
      try SluiceCommand.run(["replay", "--format", "json"] + words, in: folder).every(Printed.Replay.self)
        .map(\.id)
    }
    let sample = try replayed("--sample", "2")
    #expect(sample.count == 2)
    #expect(try replayed("--sample", "2") == sample)
    #expect(try replayed(sample[0]) == [sample[0]])
    let all = try replayed()
    #expect(all.count == 3)
    #expect(try replayed("--limit", "2") == Array(all.prefix(2)))
    let both = try SluiceCommand.run(["replay", "--limit", "2", "--sample", "2"], in: folder)
    #expect(both.status == 2 && both.err.contains("give --sample or --limit, not both"), "\(both.err)")
  }

  @Test func contentThatIsGoneIsSaid() throws {
    let folder = try ingested()
    try folder.write("inbox/large.txt", "otherwise")
    for file in folder.files(below: "var/store") {
      try FileManager.default.removeItem(atPath: folder.path + "/var/store/" + file)
    }
    try FileManager.default.removeItem(atPath: folder.path + "/inbox/small.txt")
    let outcome = try SluiceCommand.run(["replay"], in: folder)
    #expect(outcome.out.contains("1 attachment from"))
    #expect(outcome.out.contains("2 could not be tried"))
    #expect(outcome.err.contains("small.txt: its content is neither in the store nor at its source"))
  }

  /// A stricter pipeline, and then a looser one, are applied to what is completed and has no source any more.
  @Test func whatWouldChangeIsQueuedAgain() throws {
    let folder = try ingested()
    try folder.write("strict.yaml", Self.pipeline.replacingOccurrences(of: "1KB", with: "100B"))
    try FileManager.default.removeItem(atPath: folder.path + "/inbox/middle.txt")
    let object =
      "var/store/" + (try #require(folder.files(below: "var/store").first { size($0, folder) == 700 }))
    func applied(_ pipeline: String) throws -> Printed.Attachment {
      let replay = try SluiceCommand.run(["replay", "--diff", "--apply", "-c", pipeline], in: folder)
      #expect(
        replay.status == 0 && replay.out.contains("1 attachment queued again"), "\(replay.out)\(replay.err)")
      let ingest = try SluiceCommand.run(["ingest", "--manifest", "/dev/null", "-c", pipeline], in: folder)
      #expect(ingest.status == (pipeline == "strict.yaml" ? 1 : 0), "\(ingest.out)\(ingest.err)")
      let list = try SluiceCommand.run(["list", "--name", "middle.txt", "--format", "json"], in: folder)
      return try list.only(Printed.Attachment.self)
    }
    func verified() throws {
      let verify = try SluiceCommand.run(["verify"], in: folder)
      #expect(verify.status == 0, "\(verify.out)\(verify.err)")
    }
    let rejected = try applied("strict.yaml")
    #expect(rejected.status == "rejected" && rejected.url == nil)
    #expect(FileManager.default.fileExists(atPath: folder.path + "/" + object), "it is all that is left")
    let show = try SluiceCommand.run(["show", folder.path + "/inbox/middle.txt"], in: folder)
    #expect(show.out.contains("kept object"), "\(show.out)\(show.err)")
    try verified()
    #expect(try applied("pipeline.yaml").status == "completed")
    #expect(FileManager.default.fileExists(atPath: folder.path + "/" + object))
    try verified()
    // At the end it goes as any object does.
    #expect(try applied("strict.yaml").status == "rejected")
    let deleted = try SluiceCommand.run(["delete", "--name", "middle.txt"], in: folder)
    #expect(deleted.status == 0, "\(deleted.err)")
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/" + object))
    try verified()
  }

  private func size(_ file: String, _ folder: TemporaryFolder) -> Int? {
    let facts = try? FileManager.default.attributesOfItem(atPath: folder.path + "/var/store/" + file)
    return facts?[.size] as? Int
  }

  /// `verify` looks at what is kept, too; and where the source is still there, nothing needs to be kept.
  @Test func aKeptObjectIsVerifiedAndCanBeGot() throws {
    let folder = try ingested()
    try folder.write("strict.yaml", Self.pipeline.replacingOccurrences(of: "1KB", with: "100B"))
    let object =
      "var/store/" + (try #require(folder.files(below: "var/store").first { size($0, folder) == 700 }))
    _ = try SluiceCommand.run(["replay", "--diff", "--apply", "-c", "strict.yaml"], in: folder)
    _ = try SluiceCommand.run(["ingest", "--manifest", "/dev/null", "-c", "strict.yaml"], in: folder)
    let list = try SluiceCommand.run(["list", "--name", "middle.txt", "--format", "json"], in: folder)
    let id = try list.only(Printed.Attachment.self).id
    let got = try SluiceCommand.run(["get", id], in: folder)
    #expect(got.out == String(repeating: "middle\n", count: 100), "\(got.err)")
    try folder.write(object, String(repeating: "MIDDLE\n", count: 100))
    let verify = try SluiceCommand.run(["verify"], in: folder)
    #expect(verify.status == 1 && verify.out.contains("object-damaged"), "\(verify.out)\(verify.err)")
    #expect(try SluiceCommand.run(["get", id], in: folder).status == 70)
    let repair = try SluiceCommand.run(["verify", "--repair"], in: folder)
    #expect(repair.out.contains("nothing is kept any more"), "\(repair.out)\(repair.err)")
    #expect(try SluiceCommand.run(["verify"], in: folder).status == 0)
    // The damaged file is in lost+found; the source is read again.
    _ = try SluiceCommand.run(["retry", id], in: folder)
    let last = try SluiceCommand.run(["ingest", "--manifest", "/dev/null"], in: folder)
    #expect(last.status == 0, "\(last.out)\(last.err)")
  }

  /// One that failed for want of what it kept is queued by the repair that mends that, whether from its source or another's object.
  @Test(arguments: [false, true]) func whatFailedForWantOfItsKeptObjectIsTriedAgain(hasTwin: Bool) throws {
    let folder = try ingested()
    let object = try #require(folder.files(below: "var/store").first { size($0, folder) == 700 })
    if hasTwin {
      try folder.write("inbox/twin.txt", String(repeating: "middle\n", count: 100))
      try FileManager.default.copyItem(
        atPath: folder.path + "/var/store/" + object, toPath: folder.path + "/var/store/stray.txt")
      try FileManager.default.removeItem(atPath: folder.path + "/inbox/middle.txt")
    }
    let other = Self.pipeline.replacingOccurrences(of: "{messageId}", with: "{messageId}/{attachmentId}")
    try folder.write("other.yaml", other)
    let replay = try SluiceCommand.run(
      ["replay", "--apply", "--name", "middle.txt", "-c", "other.yaml"], in: folder)
    #expect(replay.status == 0, "\(replay.err)")
    try FileManager.default.removeItem(atPath: folder.path + "/var/store/" + object)
    _ = try SluiceCommand.run(["ingest", "--manifest", "/dev/null", "-c", "other.yaml"], in: folder)
    func middle() throws -> Printed.Attachment {
      try SluiceCommand.run(["list", "--name", "middle.txt", "--format", "json"], in: folder)
        .only(Printed.Attachment.self)
    }
    #expect(try middle().reason?.code == "object-missing")
    let repair = try SluiceCommand.run(["verify", "--repair"], in: folder)
    #expect(repair.out.contains("queued again, since it failed"), "\(repair.out)\(repair.err)")
    _ = try SluiceCommand.run(["ingest", "--manifest", "/dev/null"], in: folder)
    #expect(try middle().status == "completed")
    #expect(try SluiceCommand.run(["verify"], in: folder).status == 0)
  }

  /// Their objects are one file, which changes as each of them gets another path.
  @Test func equalContentsDoNotDisturbEachOther() throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "pipeline.yaml",
      Self.pipeline.replacingOccurrences(of: "{conversationId}/{messageId}", with: "a/{attachmentId}"))
    try folder.write(
      "other.yaml",
      Self.pipeline.replacingOccurrences(of: "{conversationId}/{messageId}", with: "b/{attachmentId}"))
    for number in 0..<60 { try folder.write("inbox/\(number).txt", "all the same\n") }
    #expect(try SluiceCommand.run(["ingest", "inbox"], in: folder).status == 0)
    let replay = try SluiceCommand.run(["replay", "--apply", "--quiet", "-c", "other.yaml"], in: folder)
    #expect(replay.status == 0, "\(replay.err)")
    let ingest = try SluiceCommand.run(["ingest", "--manifest", "/dev/null", "-c", "other.yaml"], in: folder)
    #expect(ingest.status == 0, "\(ingest.out)\(ingest.err)")
    #expect(!ingest.err.contains("source-changed"), "\(ingest.err)")
    let objects = folder.files(below: "var/store")
    #expect(objects.count == 60 && objects.allSatisfy { $0.hasPrefix("b/") }, "\(objects.prefix(3))")
    #expect(try SluiceCommand.run(["verify"], in: folder).status == 0)
  }

  /// What is kept is compared with its hash before a stage sees it.
  @Test func aKeptObjectThatWasChangedIsNotTakenForTheContent() throws {
    let folder = try ingested()
    try folder.write("strict.yaml", Self.pipeline.replacingOccurrences(of: "1KB", with: "100B"))
    let object =
      "var/store/" + (try #require(folder.files(below: "var/store").first { size($0, folder) == 700 }))
    _ = try SluiceCommand.run(["replay", "--diff", "--apply", "-c", "strict.yaml"], in: folder)
    let file = folder.path + "/" + object
    try FileManager.default.removeItem(atPath: file)
    try folder.write(object, String(repeating: "MIDDLE\n", count: 100))
    // What took it for the content would try to store it without end.
    let ingest = try SluiceCommand.run(
      ["20", SluiceCommand.folder + "/sluice", "ingest", "--manifest", "/dev/null"], in: folder,
      program: "/usr/bin/timeout")
    try #require(ingest.status == 1, "\(ingest.out)\(ingest.err)")
    let list = try SluiceCommand.run(["list", "--code", "object-damaged"], in: folder)
    #expect(list.out.contains("middle.txt"), "\(ingest.out)\(ingest.err)")
    // Brought back from a backup, it is tried again.
    try FileManager.default.removeItem(atPath: file)
    let retried = try SluiceCommand.run(["retry", "--code", "object-damaged"], in: folder)
    #expect(retried.status == 0)
    _ = try SluiceCommand.run(["ingest", "--manifest", "/dev/null"], in: folder)
    #expect(
      try SluiceCommand.run(["list", "--code", "object-missing"], in: folder).out.contains("middle.txt"))
    try folder.write(object, String(repeating: "middle\n", count: 100))
    _ = try SluiceCommand.run(["retry", "--code", "object-missing"], in: folder)
    let last = try SluiceCommand.run(["ingest", "--manifest", "/dev/null"], in: folder)
    #expect(last.status == 0, "\(last.out)\(last.err)")
  }

  @Test func aStageThatIsNotThereIsSuggested() throws {
    let folder = try ingested()
    let outcome = try SluiceCommand.run(["replay", "--from", "sise"], in: folder)
    #expect(outcome.status == 2)
    #expect(outcome.err.contains("did you mean 'size'?"))
  }
}
