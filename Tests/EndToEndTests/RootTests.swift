import Foundation
import Testing

/// `--root DIR`: no file outside of a folder is taken in, however it is named, and whatever is changed later.
@Suite(.serialized)
struct RootTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.storing())
    try folder.write("in/a.txt", "inside\n")
    try folder.write("in/sub/b.txt", "inside too\n")
    try folder.write("inner/c.txt", "its name begins alike\n")
    try folder.write("secret/b.txt", "a secret!!\n")
    try FileManager.default.createSymbolicLink(
      atPath: folder.path + "/in/link", withDestinationPath: folder.path + "/secret")
    try folder.write(
      "list.jsonl",
      ["in/a.txt", "in/../secret/b.txt", "in/link/b.txt", "inner/c.txt", "in/sub/b.txt"]
        .map { "{\"path\":\"\($0)\"}\n" }.joined())
  }

  private let outside = "and only files in there are taken in (--root)"

  @Test(arguments: [["enqueue"], ["ingest", "-c", "pipeline.yaml"]])
  func whatACommandNamesOutsideIsRefusedByIt(command: [String]) throws {
    let outcome = try SluiceCommand.run(
      command + ["--home", "home", "--root", "in", "--manifest", "list.jsonl", "--format", "json"], in: folder
    )
    #expect(outcome.status == 1)
    let problems = outcome.records(Printed.Problem.self)
    #expect(problems.map(\.line) == [2, 3, 4] && problems.allSatisfy { $0.message.hasSuffix(outside) })
    #expect(
      problems.map(\.path) == ["secret/b.txt", "secret/b.txt", "inner/c.txt"].map { "\(folder.path)/\($0)" })
    #expect(
      try SluiceCommand.run(["list", "--home", "home", "--format", "json"], in: folder).attachments.count == 2
    )
  }

  @Test func whatAClientNamesOutsideIsRefusedByTheCoordinator() throws {
    let resident = try Resident(folder, options: ["--root", "in"])
    let outcome = try SluiceCommand.run(
      ["enqueue", "--home", "home", "--manifest", "list.jsonl", "--format", "json"], in: folder)
    #expect(outcome.status == 1)
    #expect(outcome.records(Printed.Problem.self).map(\.line) == [2, 3, 4], "\(outcome.out)")
    let items = outcome.records(Printed.Item.self)
    #expect(items.map(\.origin) == ["list.jsonl:1", "list.jsonl:5"], "each has its own answer")
    try resident.wait(for: 2)
    #expect(Set(resident.ended.map(\.id)) == Set(items.map(\.id)))
    // A batch of which nothing is left.
    let alone = try SluiceCommand.run(["enqueue", "--home", "home", "secret/b.txt"], in: folder)
    #expect(alone.status == 1 && alone.out == "0 queued\n" && alone.err.contains(outside))
    #expect(resident.stop() == 0)
    #expect(folder.files(below: "home/store").count == 2)
  }

  @Test func aClientThatNamesPathsAsItLikesGetsNoFurther() throws {
    let resident = try Resident(folder, options: ["--root", "in"])
    let client = try RawClient(folder.path + "/home/sluice.sock")
    for path in [
      "in/../secret/b.txt", "in/./../secret/b.txt", "in//../secret/b.txt", "inner/c.txt", "in-side",
    ] {
      client.send(RawClient.enqueue(conversation: "c", path: "\(folder.path)/\(path)"))
    }
    // Below the folder by its words, and over a link: the kernel refuses that when it is opened.
    client.send(RawClient.enqueue(conversation: "c", path: "\(folder.path)/in/link/b.txt"))
    let answers = client.received(within: 2)
    #expect(answers.components(separatedBy: outside).count > 5, "\(answers)")
    #expect(try SluiceCommand.run(["enqueue", "--home", "home", "in/a.txt"], in: folder).status == 0)
    try resident.wait(for: 1)
    usleep(300_000)
    #expect(resident.stop() == 0)
    #expect(folder.files(below: "home/store").count == 1)
  }

  /// Also on a kernel that lacks openat2(2).
  @Test(arguments: ["nothing", "openat2"]) func aLinkThatIsPutThereLaterLeadsNowhere(lacks: String) throws {
    let environment = ["LD_PRELOAD": try OldKernelTests.library.get(), "LACKS": lacks]
    let resident = try Resident(folder, options: ["--root", "in"], environment: environment)
    #expect(try SluiceCommand.run(["enqueue", "--home", "home", "in/a.txt"], in: folder).status == 0)
    try resident.wait(for: 1)
    #expect(try SluiceCommand.run(["pause", "--home", "home", "attachments"], in: folder).status == 0)
    #expect(try SluiceCommand.run(["enqueue", "--home", "home", "in/sub/b.txt"], in: folder).status == 0)
    try FileManager.default.removeItem(atPath: folder.path + "/in/sub")
    try FileManager.default.createSymbolicLink(
      atPath: folder.path + "/in/sub", withDestinationPath: folder.path + "/secret")
    #expect(try SluiceCommand.run(["resume", "--home", "home", "attachments"], in: folder).status == 0)
    try Resident.wait("it says so") { resident.errors.contains("/in/sub is a symbolic link now") }
    #expect(resident.stop() == 0)
    #expect(folder.files(below: "home/store").count == 1)
  }

  @Test func aRootThatIsNoFolderIsRefused() throws {
    for (name, reason) in [("none", "No such file or directory"), ("in/a.txt", "not a folder")] {
      let outcome = try SluiceCommand.run(["run", "--home", "home", "--root", name], in: folder)
      #expect(outcome.status == 2 && outcome.err.contains("--root \(name): \(reason)"), "\(outcome.err)")
    }
  }
}
